#include "support/progress.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("a rollout reports its progress when more nodes are done, with an estimate of the remaining time") {
  examples::Progress progress;
  const absl::Time began = absl::UnixEpoch();
  const auto line = [&](int done, int seconds) {
    const auto fields =
        progress.Note({.total = 12, .in_progress = done < 12, .done = done}, began + absl::Seconds(seconds));
    return fields ? fields->at(0).second + " " + fields->at(1).second : "";
  };
  CHECK(line(2, 0).empty());
  CHECK(line(4, 5).empty());  // too soon
  CHECK(line(4, 20) == "4 of 12 1m20s");
  CHECK(line(4, 60).empty());
  CHECK(line(7, 100) == "7 of 12 1m40s");
  CHECK(line(12, 200).empty());
  // The next rollout restarts the estimate. At first, some of its nodes still count as done.
  CHECK(line(11, 299).empty());
  CHECK(line(0, 300).empty());
  CHECK(line(6, 360) == "6 of 12 1m");
  // Another version during the rollout also restarts the estimate, but a single node that is upgraded again does not.
  CHECK(line(5, 361).empty());
  CHECK(line(6, 380) == "6 of 12 1m20s");
  CHECK(line(3, 381).empty());
  CHECK(line(0, 400).empty());
  CHECK(line(2, 420) == "2 of 12 1m40s");
}

}  // namespace
}  // namespace driverupgrade::tests
