/// Wakes a loop that several threads have news for.
///
/// Defines Doorbell.
///
///     const auto bell = std::make_shared<Doorbell>();
///     watch.OnChange([bell] { bell->Ring(); });
///     while (!stop.stop_requested()) bell->Wait(Turn(), *clock, stop);
///
/// Thread-safe; one thread waits. A ring while nobody waits is not lost: the next wait returns at once. Threads that
/// ring share the bell with the loop, so neither has to outlive the other.
#ifndef DRIVERUPGRADE_SERVICE_DOORBELL_H_
#define DRIVERUPGRADE_SERVICE_DOORBELL_H_

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "absl/time/time.h"
#include "driverupgrade/clock.h"

namespace driverupgrade {

class Doorbell {
 public:
  /// Wakes the waiting thread, or the next one that waits.
  void Ring();

  /// Until `until` by `clock`, a ring or a stop; in real time. Returns early after a minute.
  void Wait(absl::Time until, const Clock& clock, const std::stop_token& stop);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool rung_ = false;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SERVICE_DOORBELL_H_
