#include "whatif/age.h"

#include <algorithm>
#include <cstdint>

#include "fmt/format.h"

namespace driverupgrade::whatif {

std::string Age(absl::Duration duration) {
  const std::int64_t seconds = std::max<std::int64_t>(0, absl::ToInt64Seconds(duration));
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 7200) return fmt::format("{}m", seconds / 60);
  if (seconds < 172800) return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d{}h", seconds / 86400, seconds / 3600 % 24);
}

}  // namespace driverupgrade::whatif
