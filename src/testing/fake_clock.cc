#include "driverupgrade/testing/fake_clock.h"

#include <algorithm>

namespace driverupgrade::inline v1::testing {

absl::Time FakeClock::DefaultStart() { return absl::FromUnixSeconds(1767225600); }

FakeClock::FakeClock(absl::Time start) : now_(start) {}

absl::Time FakeClock::Now() const {
  std::lock_guard lock(mutex_);
  return now_;
}

bool FakeClock::SleepFor(absl::Duration duration, std::stop_token stop) {
  if (stop.stop_requested()) return false;
  if (duration > absl::ZeroDuration()) Advance(duration);
  return true;
}

void FakeClock::Advance(absl::Duration duration) {
  std::lock_guard lock(mutex_);
  now_ += duration;
}

void FakeClock::SetTime(absl::Time time) {
  std::lock_guard lock(mutex_);
  now_ = time;
}

absl::Time FakeClock::AdvanceTo(absl::Time time) {
  std::lock_guard lock(mutex_);
  now_ = std::max(now_, time);
  return now_;
}

}  // namespace driverupgrade::inline v1::testing
