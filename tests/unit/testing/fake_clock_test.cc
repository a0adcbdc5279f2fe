#include <memory>
#include <stop_token>

#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

using testing::FakeClock;

TEST_CASE("a fake clock starts at the same time in every run, and does not advance on its own") {
  const FakeClock clock;
  CHECK(clock.Now() == FakeClock::DefaultStart());
  CHECK(clock.Now() == FakeClock().Now());
}

TEST_CASE("a fake clock jumps to any time that is set, even backwards, but AdvanceTo never moves it backwards") {
  FakeClock clock(absl::FromUnixSeconds(100));
  clock.Advance(absl::Seconds(5));
  CHECK(clock.Now() == absl::FromUnixSeconds(105));
  clock.SetTime(absl::FromUnixSeconds(50));
  CHECK(clock.Now() == absl::FromUnixSeconds(50));
  CHECK(clock.AdvanceTo(absl::FromUnixSeconds(40)) == absl::FromUnixSeconds(50));
  CHECK(clock.AdvanceTo(absl::FromUnixSeconds(60)) == absl::FromUnixSeconds(60));
}

TEST_CASE("sleeping on a fake clock takes only virtual time") {
  FakeClock clock(absl::FromUnixSeconds(0));
  CHECK(clock.SleepFor(absl::Hours(24), {}));
  CHECK(clock.Now() == absl::FromUnixSeconds(86400));
  CHECK(clock.SleepFor(-absl::Seconds(1), {}));
  CHECK(clock.Now() == absl::FromUnixSeconds(86400));
}

TEST_CASE("a sleep on a fake clock returns immediately if a stop has been requested") {
  FakeClock clock(absl::FromUnixSeconds(0));
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(clock.SleepFor(absl::Seconds(1), stop.get_token()));
  CHECK(clock.Now() == absl::FromUnixSeconds(0));
}

TEST_CASE("a clock notifies a listener of every change until the listener unregisters") {
  FakeClock clock;
  int moves = 0;
  absl::Time heard;
  std::shared_ptr<const void> listening = clock.OnMove([&] {
    ++moves;
    heard = clock.Now();
  });
  clock.Advance(absl::Seconds(1));
  clock.SleepFor(absl::Seconds(1), {});
  clock.AdvanceTo(clock.Now());
  CHECK(moves == 2);
  clock.SetTime(FakeClock::DefaultStart());
  CHECK(moves == 3);
  CHECK(heard == FakeClock::DefaultStart());
  listening.reset();
  clock.Advance(absl::Seconds(1));
  CHECK(moves == 3);
}

}  // namespace
}  // namespace driverupgrade
