#include <algorithm>

#include "driverupgrade/service/director.h"

namespace driverupgrade {

void Doorbell::Ring() {
  const std::lock_guard lock(mutex_);
  rung_ = true;
  changed_.notify_all();
}

void Doorbell::Wait(absl::Time until, const Clock& clock, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const absl::Duration pause = std::min(until - clock.Now(), absl::Minutes(1));
  if (pause > absl::ZeroDuration()) {
    changed_.wait_for(lock, stop, absl::ToChronoNanoseconds(pause), [this] { return rung_; });
  }
  rung_ = false;
}

}  // namespace driverupgrade
