/// Numbers of nodes, as policies give them: a count, or a percentage of some whole.
///
/// Defines Count, Percent, CountOrPercent and ScaledLimit.
///
///     CountOrPercent limit = Percent{25};
///     int nodes = ScaledLimit(limit, 10);   // 3
///
/// Values.
#ifndef DRIVERUPGRADE_COUNT_OR_PERCENT_H_
#define DRIVERUPGRADE_COUNT_OR_PERCENT_H_

#include <variant>

namespace driverupgrade {

struct Count {
  int value = 0;
  friend bool operator==(const Count&, const Count&) = default;
};
/// May exceed 100.
struct Percent {
  int value = 100;
  friend bool operator==(const Percent&, const Percent&) = default;
};
using CountOrPercent = std::variant<Count, Percent>;

/// The limit for a fleet of `total` nodes; percentages round up, as Kubernetes scales an int-or-percent.
/// 25 % of 1 is 1. Saturates instead of overflowing.
int ScaledLimit(const CountOrPercent& limit, int total);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_COUNT_OR_PERCENT_H_
