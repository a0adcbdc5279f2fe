// Formats tables for a terminal or a file.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TABLE_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace upgradectl {

enum class Colour : std::uint8_t { kNone, kGreen, kYellow, kRed, kCyan, kBold };

/// Properties of the output.
struct Screen {
  /// Width of the terminal in characters. 0 if the output is not a terminal; text is then not cut.
  std::size_t columns = 0;
  bool colour = false;
};

struct Cell {
  /// Printable.
  std::string text = {};
  Colour colour = Colour::kNone;
};
using TableRow = std::vector<Cell>;

/// Returns `text`, in color if the screen has colors.
std::string Paint(std::string_view text, Colour colour, const Screen& screen);

/// Cuts the text to at most `columns`, with `…` at the end. If `columns` is 0, returns the entire text.
std::string CutTo(std::string_view text, std::size_t columns);

/// Same as CutTo, but with `…` in the middle, because node names often differ at their ends.
std::string CutMiddle(std::string_view text, std::size_t columns);

/// Formats the rows in columns with two spaces between them; the first row is the header. If a line is wider than the
/// screen, first cuts the end of the last column, which keeps at least 16 characters. Then cuts the middle of the
/// widest other columns, which keep at least 12. No line ends with spaces.
std::string FormatRows(const std::vector<TableRow>& rows, const Screen& screen);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TABLE_H_
