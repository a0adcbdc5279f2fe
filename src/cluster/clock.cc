#include "driverupgrade/clock.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace driverupgrade {
namespace {

class MachineClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }

  bool SleepFor(absl::Duration duration, std::stop_token stop) override {
    // Uses the steady clock, because a step of the wall clock must neither extend nor shorten the sleep.
    const auto begin = std::chrono::steady_clock::now();
    std::mutex mutex;
    std::condition_variable_any nobody_signals;
    std::unique_lock<std::mutex> lock(mutex);
    while (!stop.stop_requested()) {
      const absl::Duration left = duration - absl::FromChrono(std::chrono::steady_clock::now() - begin);
      if (left <= absl::ZeroDuration()) return true;
      // Waits in slices, because an infinite duration added to a chrono time point overflows.
      const std::chrono::nanoseconds slice = absl::ToChronoNanoseconds(std::min(left, absl::Hours(1)));
      nobody_signals.wait_for(lock, stop, slice, [] { return false; });
    }
    return false;
  }
};

}  // namespace

Clock::~Clock() = default;

std::shared_ptr<Clock> SystemClock() { return std::make_shared<MachineClock>(); }

}  // namespace driverupgrade
