#include "driverupgrade/clock.h"

#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>

#include "support/catch.h"

namespace driverupgrade {
namespace {

TEST_CASE("a sleep of zero or negative length returns immediately") {
  const std::shared_ptr<Clock> clock = SystemClock();
  CHECK(clock->SleepFor(absl::ZeroDuration(), {}));
  CHECK(clock->SleepFor(absl::Seconds(-1), {}));
  CHECK(clock->SleepFor(-absl::InfiniteDuration(), {}));
}

TEST_CASE("a sleep lasts as long as requested") {
  const std::shared_ptr<Clock> clock = SystemClock();
  const auto begin = std::chrono::steady_clock::now();
  CHECK(clock->SleepFor(absl::Milliseconds(20), {}));
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(20));
}

TEST_CASE("a stop request ends even an infinite sleep, whether it arrives before or during the sleep") {
  const std::shared_ptr<Clock> clock = SystemClock();
  std::stop_source source;
  std::jthread stopper([&source] { source.request_stop(); });
  CHECK_FALSE(clock->SleepFor(absl::InfiniteDuration(), source.get_token()));
  CHECK_FALSE(clock->SleepFor(absl::InfiniteDuration(), source.get_token()));
  CHECK_FALSE(clock->SleepFor(absl::ZeroDuration(), source.get_token()));
}

TEST_CASE("the system clock advances") {
  const std::shared_ptr<Clock> clock = SystemClock();
  const absl::Time before = clock->Now();
  CHECK(clock->SleepFor(absl::Milliseconds(2), {}));
  CHECK(clock->Now() > before);
}

}  // namespace
}  // namespace driverupgrade
