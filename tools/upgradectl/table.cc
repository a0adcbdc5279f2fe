#include "upgradectl/table.h"

#include <algorithm>

#include "upgradectl/text.h"

namespace upgradectl {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrow = 12;
// Minimum width of the last column, wide enough for the name of a gate.
constexpr std::size_t kLastAtLeast = 16;

std::vector<std::size_t> Widths(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i].text));
  }
  return widths;
}

std::size_t BeforeLast(const std::vector<std::size_t>& widths) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) sum += widths[i] + kGap;
  return sum;
}

// Shrinks the last column first, and then the widest of the other columns.
void FitInto(std::size_t columns, std::vector<std::size_t>& widths) {
  if (columns == 0 || widths.empty()) return;
  const std::size_t before = BeforeLast(widths);
  widths.back() = std::min(widths.back(), std::max(columns > before ? columns - before : 0, kLastAtLeast));
  while (BeforeLast(widths) + widths.back() > columns) {
    const auto widest = std::max_element(widths.begin(), widths.end() - 1);
    if (widest == widths.end() - 1 || *widest <= kNarrow) return;
    --*widest;
  }
}

// Returns the first `columns` characters of UTF-8 text.
std::string_view Head(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t taken = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<std::uint8_t>(text[end]) & 0xC0) != 0x80;
    if (begins && taken++ == columns) break;
  }
  return text.substr(0, end);
}

}  // namespace

std::string Paint(std::string_view text, Colour colour, const Screen& screen) {
  if (!screen.colour || colour == Colour::kNone || text.empty()) return std::string(text);
  static constexpr std::string_view kCodes[] = {"0", "32", "33", "31", "36", "1"};
  std::string painted = "\x1b[";
  painted += kCodes[static_cast<std::size_t>(colour)];
  painted += "m";
  painted += text;
  return painted + "\x1b[0m";
}

std::string CutTo(std::string_view text, std::size_t columns) {
  if (columns == 0 || Width(text) <= columns) return std::string(text);
  return std::string(Head(text, columns - 1)) + "…";
}

std::string CutMiddle(std::string_view text, std::size_t columns) {
  const std::size_t width = Width(text);
  if (columns == 0 || width <= columns) return std::string(text);
  const std::size_t tail = columns / 2;
  const std::string_view before_tail = Head(text, width - tail);
  return std::string(Head(text, columns - 1 - tail)) + "…" + std::string(text.substr(before_tail.size()));
}

std::string FormatRows(const std::vector<TableRow>& rows, const Screen& screen) {
  std::vector<std::size_t> widths = Widths(rows);
  FitInto(screen.columns, widths);
  std::string text;
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_last = i + 1 == widths.size();
      const std::string cell = is_last ? CutTo(row[i].text, widths[i]) : CutMiddle(row[i].text, widths[i]);
      text += Paint(cell, row[i].colour, screen);
      // The last column is not padded, so that no line ends in spaces.
      if (i + 1 < row.size()) text += std::string(widths[i] - Width(cell) + kGap, ' ');
    }
    text += "\n";
  }
  return text;
}

}  // namespace upgradectl
