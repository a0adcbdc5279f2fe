// Quotes foreign text in error messages, because it can be long and contain characters that confuse a terminal or a
// log.
#ifndef DRIVERUPGRADE_SRC_BASE_QUOTE_H_
#define DRIVERUPGRADE_SRC_BASE_QUOTE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "fmt/format.h"

namespace driverupgrade::internal {

inline constexpr std::size_t kQuoteSizeMax = 100;

/// Returns `text` in double quotes, escaped, and truncated after `kQuoteSizeMax` bytes.
inline std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text.substr(0, kQuoteSizeMax)) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c < ' ' || c > '~') {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + (text.size() > kQuoteSizeMax ? "...\"" : "\"");
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_BASE_QUOTE_H_
