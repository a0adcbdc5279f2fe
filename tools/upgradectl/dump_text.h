// The text of a dump, as programs of several systems write it.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_DUMP_TEXT_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_DUMP_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace upgradectl {

/// Returns the text without a byte order mark. Errors, which begin with `name` and state what to do: InvalidArgument for
/// UTF-16, and for what kubectl prints without `-o json`.
[[nodiscard]] absl::StatusOr<std::string> DumpText(std::string_view name, std::string text);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_DUMP_TEXT_H_
