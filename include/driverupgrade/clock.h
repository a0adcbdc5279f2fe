/// Clocks, and limits on calls that may block. Step uses no clock: it receives the time as an argument.
///
/// Defines Clock, SystemClock() and CallContext. Tests use testing/fake_cluster.h.
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
  /// Wall clock time. Deadlines are stored on nodes in Unix seconds, so the clocks of replicas should agree to within a
  /// few seconds.
  virtual absl::Time Now() const = 0;
  /// Returns true after `duration`, or false as soon as a stop is requested. Returns immediately if `duration` is zero
  /// or negative.
  virtual bool SleepFor(absl::Duration duration, std::stop_token stop) = 0;
};

/// Returns the machine's clock.
std::shared_ptr<Clock> SystemClock();

/// The limits of one call that may block: its deadline, and a token to stop it.
///
///     CallContext context{.deadline = clock.Now() + absl::Seconds(30), .stop = stop_source.get_token()};
///     absl::StatusOr<Node> node = cluster.GetNode(context, {.name = "gpu-7"});
///
/// A plain value type.
struct CallContext {
  /// Wall clock time. The call returns DeadlineExceeded if there is no response by then.
  absl::Time deadline = absl::InfiniteFuture();
  /// The call returns Cancelled soon after a stop is requested.
  std::stop_token stop = {};
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CLOCK_H_
