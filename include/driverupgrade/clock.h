/// Where the ring around Step takes the time from. Step itself is given the time.
///
/// Defines Clock and SystemClock(). Tests use testing/fake_clock.h.
///
///     std::shared_ptr<Clock> clock = SystemClock();
///     absl::Time now = clock->Now();
///
/// Implementations are thread-safe.
#ifndef DRIVERUPGRADE_CLOCK_H_
#define DRIVERUPGRADE_CLOCK_H_

#include <memory>
#include <stop_token>

#include "absl/time/time.h"
#include "driverupgrade/abseil_abi.h"

namespace driverupgrade {

class Clock {
 public:
  virtual ~Clock();
  /// Wall clock time. Deadlines on nodes are kept in unix seconds, so replicas should agree within seconds.
  virtual absl::Time Now() const = 0;
  /// Returns true after `duration`, false as soon as a stop is requested. Zero and less return at once.
  virtual bool SleepFor(absl::Duration duration, std::stop_token stop) = 0;
};

/// The clock of the machine.
std::shared_ptr<Clock> SystemClock();

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CLOCK_H_
