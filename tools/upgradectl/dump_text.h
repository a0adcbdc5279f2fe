// Reads the text of a dump as programs on different systems write it.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_DUMP_TEXT_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_DUMP_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace upgradectl {

/// Returns the text without a byte order mark. Errors start with `name` and name a remedy: InvalidArgument for UTF-16,
/// and for the output of kubectl without `-o json`.
[[nodiscard]] absl::StatusOr<std::string> DumpText(std::string_view name, std::string text);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_DUMP_TEXT_H_
