// What the options of `upgradectl plan` name, read and checked.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_REQUEST_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_REQUEST_H_

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "upgradectl/options.h"
#include "whatif/what_if.h"

namespace upgradectl {

/// More is no dump, but a mistake that would fill the memory.
inline constexpr std::size_t kDumpBytesMax = std::size_t{512} << 20;
inline constexpr std::size_t kPolicyBytesMax = std::size_t{1} << 20;

/// `in` is standard input, for `--cluster -`. Errors: one line that begins with the option or the file it is about.
[[nodiscard]] absl::StatusOr<driverupgrade::whatif::Question> Load(const Options& options, std::istream& in);

/// All of `in`. Errors, beginning with `name`: Unavailable; ResourceExhausted beyond `bytes_max`.
[[nodiscard]] absl::StatusOr<std::string> ReadAll(std::istream& in, std::string_view name, std::size_t bytes_max);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_REQUEST_H_
