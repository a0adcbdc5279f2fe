#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>

#include "driverupgrade/policy_values.h"

namespace driverupgrade {

int ScaledLimit(const CountOrPercent& limit, int total) {
  if (const Count* count = std::get_if<Count>(&limit)) return count->value;
  const Percent* percent = std::get_if<Percent>(&limit);
  // The product of two 32-bit integers cannot overflow 64 bits.
  const std::int64_t hundredths = std::int64_t{percent == nullptr ? 0 : percent->value} * std::max(total, 0);
  const std::int64_t scaled = std::max<std::int64_t>(hundredths, 0) / 100 + (hundredths > 0 && hundredths % 100 != 0);
  return static_cast<int>(std::min<std::int64_t>(scaled, std::numeric_limits<int>::max()));
}

}  // namespace driverupgrade
