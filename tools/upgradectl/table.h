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

/// What the answer is written to.
struct Screen {
  /// 0: no terminal, so nothing is cut.
  std::size_t columns = 0;
  bool colour = false;
};

struct Cell {
  /// Printable.
  std::string text = {};
  Colour colour = Colour::kNone;
};
using TableRow = std::vector<Cell>;

/// `text`, coloured if the screen has colours.
std::string Paint(std::string_view text, Colour colour, const Screen& screen);

/// At most `columns` wide; what is cut ends in `…`. 0: whole.
std::string CutTo(std::string_view text, std::size_t columns);

/// At most `columns` wide, with `…` in place of its middle: names of nodes often differ at their end. 0: whole.
std::string CutMiddle(std::string_view text, std::size_t columns);

/// Formats the rows, the first of which is the header, in columns with two spaces between. If a line is wider than the
/// screen, the last column is cut at its end, to 16 columns at least. Then the widest of the other columns are cut in their
/// middle, to 12 columns at least. No line ends in spaces.
std::string FormatRows(const std::vector<TableRow>& rows, const Screen& screen);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TABLE_H_
