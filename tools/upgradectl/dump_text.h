// Handles the encodings and formats in which programs on different systems write a dump.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_DUMP_TEXT_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_DUMP_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace upgradectl {

/// Returns the text without a byte order mark. Returns InvalidArgument for UTF-16, and for the output of kubectl
/// without `-o json`. The error starts with `name` and suggests a remedy.
[[nodiscard]] absl::StatusOr<std::string> DumpText(std::string_view name, std::string text);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_DUMP_TEXT_H_
