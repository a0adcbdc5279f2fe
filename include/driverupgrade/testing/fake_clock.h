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

#include <mutex>
#include <stop_token>

#include "absl/time/time.h"
#include "driverupgrade/clock.h"

namespace driverupgrade::inline v1::testing {

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

 private:
  mutable std::mutex mutex_;
  absl::Time now_;
};

}  // namespace driverupgrade::inline v1::testing

#endif  // DRIVERUPGRADE_TESTING_FAKE_CLOCK_H_
