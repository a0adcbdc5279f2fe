/// A clock that moves only when told.
///
/// Defines FakeClock.
///
///     auto clock = std::make_shared<FakeClock>();
///     clock->Advance(absl::Minutes(5));
///     clock->SleepFor(absl::Seconds(10), {});  // returns at once, ten seconds later
///
/// Thread-safe. Share one clock among a FakeCluster and everything that is tested against it.
#ifndef DRIVERUPGRADE_TESTING_FAKE_CLOCK_H_
#define DRIVERUPGRADE_TESTING_FAKE_CLOCK_H_

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/abseil_abi.h"
#include "driverupgrade/clock.h"

namespace driverupgrade::testing {

class FakeClock final : public Clock {
 public:
  /// 2026-01-01T00:00:00Z: the same in every run.
  static absl::Time DefaultStart();

  explicit FakeClock(absl::Time start = DefaultStart());
  absl::Time Now() const override;
  /// Advances the clock by `duration` and returns true; false, and the clock stands, if a stop is requested
  /// already. Never blocks, so that a loop that sleeps runs through virtual hours in no time. Threads that
  /// sleep side by side add up their durations: meant for one loop.
  bool SleepFor(absl::Duration duration, std::stop_token stop) override;
  /// A negative duration turns the clock back.
  void Advance(absl::Duration duration);
  /// May turn the clock back, as an administrator or NTP would.
  void SetTime(absl::Time time);
  /// Like SetTime, but never turns the clock back. Returns the time it then is.
  absl::Time AdvanceTo(absl::Time time);
  /// Calls `listener` after every move, on the thread that moved the clock, for as long as the result is held. It
  /// may read the clock, but must not move it, nor use a FakeCluster, which may be in the midst of a step.
  [[nodiscard]] std::shared_ptr<const void> OnMove(std::function<void()> listener);

 private:
  using Listener = std::function<void()>;
  /// Sets the time to `move(now)` and returns it.
  template <class F>
  absl::Time Move(F move);

  mutable std::mutex mutex_;
  absl::Time now_;
  std::vector<std::weak_ptr<const Listener>> listeners_;
};

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTING_FAKE_CLOCK_H_
