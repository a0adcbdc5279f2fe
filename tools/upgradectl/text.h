// Functions for text that users see.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TEXT_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace upgradectl {

/// Returns the message as std::string_view, because absl::string_view is a separate type in Debian.
inline std::string_view Message(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

/// Replaces control characters with \xNN. Text from a dump is untrusted, and must not start a new line or control the
/// terminal.
std::string Printable(std::string_view text);

/// Returns the number of columns that UTF-8 text occupies on a terminal. Assumes one column for each character.
std::size_t Width(std::string_view text);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TEXT_H_
