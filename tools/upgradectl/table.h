// Tables for a terminal, or for a file.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TABLE_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace upgradectl {

enum class Colour : std::uint8_t { kNone, kGreen, kYellow, kRed, kCyan, kBold };

/// The output that results are written to.
struct Screen {
  /// 0 if the output is not a terminal, so that nothing is cut.
  std::size_t columns = 0;
  bool colour = false;
};

struct Cell {
  /// Printable.
  std::string text = {};
  Colour colour = Colour::kNone;
};
using TableRow = std::vector<Cell>;

/// Returns `text`, coloured if the screen has colours.
std::string Paint(std::string_view text, Colour colour, const Screen& screen);

/// Cuts the text to at most `columns`, with `…` at its end. 0 does not cut.
std::string CutTo(std::string_view text, std::size_t columns);

/// Cuts the text to at most `columns`, with `…` in its middle, because node names often differ at their ends. 0 does
/// not cut.
std::string CutMiddle(std::string_view text, std::size_t columns);

/// Formats the rows in columns with two spaces between them; the first row is the header. If a line is wider than the
/// screen, the last column is cut at its end, to at least 16 columns. Then the widest of the other columns are cut in
/// their middle, to at least 12 columns. No line ends in spaces.
std::string FormatRows(const std::vector<TableRow>& rows, const Screen& screen);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TABLE_H_
