#include "upgradectl/text.h"

#include <algorithm>
#include <cstdint>

#include "fmt/format.h"

namespace upgradectl {

std::string Printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    // U+0080 to U+009F are also control characters. In UTF-8, they are C2 80 to C2 9F.
    const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<std::uint8_t>(text[i + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else if (c1) {
      result += fmt::format("\\xc2\\x{:02x}", static_cast<std::uint8_t>(text[++i]));
    } else {
      result += text[i];
    }
  }
  return result;
}

std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0) != 0x80; }));
}

}  // namespace upgradectl
