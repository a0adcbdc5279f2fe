// Text for users.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TEXT_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace upgradectl {

/// Debian's absl::string_view is a separate type.
inline std::string_view Message(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

/// Replaces control characters by \xNN: the text of a dump is untrusted and must neither start a new line nor control
/// the terminal.
std::string Printable(std::string_view text);

/// Returns the number of columns that UTF-8 text occupies on a terminal, for scripts with one column per character.
std::size_t Width(std::string_view text);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TEXT_H_
