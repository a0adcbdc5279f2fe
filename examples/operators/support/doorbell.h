/// Wakes a loop that several threads have news for.
///
/// Defines Doorbell.
///
///     const auto bell = std::make_shared<Doorbell>();
///     watch.OnChange([bell] { bell->Ring(); });
///     while (!stop.stop_requested()) bell->Wait(Turn(), *clock, stop);
///
/// Thread-safe; one thread waits. A ring while nobody waits is not lost: the next wait returns at once.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DOORBELL_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DOORBELL_H_

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#include "absl/time/time.h"
#include "driverupgrade/clock.h"

namespace examples {

class Doorbell {
 public:
  void Ring() {
    const std::lock_guard lock(mutex_);
    rung_ = true;
    changed_.notify_all();
  }

  /// Until `until` by `clock`, a ring or a stop; in real time. Returns early after an hour.
  void Wait(absl::Time until, const driverupgrade::Clock& clock, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const absl::Duration pause = std::min(until - clock.Now(), absl::Hours(1));
    if (pause > absl::ZeroDuration()) {
      changed_.wait_for(lock, stop, absl::ToChronoNanoseconds(pause), [this] { return rung_; });
    }
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool rung_ = false;
};

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DOORBELL_H_
