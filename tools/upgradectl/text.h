// Text for people.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TEXT_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace upgradectl {

/// Debian's absl::string_view is a type of its own.
inline std::string_view Message(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

/// Control characters as \xNN: a dump is foreign text and must neither begin a new line nor reach a terminal.
std::string Printable(std::string_view text);

/// How many columns UTF-8 text takes on a terminal, for scripts with one column a character.
std::size_t Width(std::string_view text);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TEXT_H_
