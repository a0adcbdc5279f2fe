#include <algorithm>
#include <utility>

#include "driverupgrade/testing/fake_cluster.h"

namespace driverupgrade::testing {

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

template <class F>
absl::Time FakeClock::Move(F move) {
  std::vector<std::shared_ptr<const Listener>> listeners;
  absl::Time now;
  {
    std::lock_guard lock(mutex_);
    now = move(now_);
    if (now == now_) return now;
    now_ = now;
    for (const std::weak_ptr<const Listener>& listener : listeners_) {
      if (std::shared_ptr<const Listener> held = listener.lock()) listeners.push_back(std::move(held));
    }
  }
  for (const std::shared_ptr<const Listener>& listener : listeners) (*listener)();
  return now;
}

void FakeClock::Advance(absl::Duration duration) {
  Move([&](absl::Time now) { return now + duration; });
}

void FakeClock::SetTime(absl::Time time) {
  Move([&](absl::Time) { return time; });
}

absl::Time FakeClock::AdvanceTo(absl::Time time) {
  return Move([&](absl::Time now) { return std::max(now, time); });
}

std::shared_ptr<const void> FakeClock::OnMove(std::function<void()> listener) {
  auto held = std::make_shared<const Listener>(std::move(listener));
  std::lock_guard lock(mutex_);
  std::erase_if(listeners_, [](const auto& one) { return one.expired(); });
  listeners_.push_back(held);
  return held;
}

}  // namespace driverupgrade::testing
