// What an engine tells of a pass is held against what it can know (I15, I16, I18).
#include "simulation/opinion/pass_opinion.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using testing::internal::ControllerTurn;
using testing::internal::EngineTime;
using testing::internal::WhyNotSooner;
using testing::internal::WhyOtherOutcome;
using testing::internal::WhyTooEarly;
using testing::internal::WhyTooOld;

TEST_CASE("I15: nothing times out by an engine that has just begun") {
  const NodePlan drain{.reason = "drain timed out after 300 s: 2 pods are left"};
  const auto is_early = [](const NodePlan& plan, EngineTime time) { return !WhyTooEarly(plan, time).empty(); };
  CHECK(is_early(drain, {.active = absl::Seconds(59)}));
  CHECK_FALSE(is_early(drain, {.active = absl::Seconds(60)}));
  CHECK_FALSE(is_early(drain, {.active = absl::Seconds(50), .skew = absl::Seconds(10)}));
  // A shorter time is over sooner.
  const NodePlan validation{.reason = "validation timed out after 20 s: the pods are not ready"};
  CHECK(is_early(validation, {.active = absl::Seconds(19)}));
  CHECK_FALSE(is_early(validation, {.active = absl::Seconds(20)}));
  // Of other reasons nothing is known.
  CHECK_FALSE(is_early({.reason = "drained"}, {}));
  CHECK_FALSE(is_early({.reason = "retried after a failure"}, {}));
}

TEST_CASE("I16: nothing is written by a watch that has been failing for minutes") {
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  CHECK(WhyTooOld({}, now).empty());
  CHECK(WhyTooOld({{Operation::kWatchPods, now - absl::Minutes(4)}}, now).empty());
  CHECK(WhyTooOld({{Operation::kWatchPods, now - absl::Minutes(4) - absl::Seconds(1)}}, now) ==
        "watch pods has been failing for 4m1s");
}

TEST_CASE("I18: evictions are told as they were answered") {
  const NodePlan plan{.node = "n1", .evict = {{"shop", "web-1", "u1"}, {"shop", "web-2", "u2"}}};
  const std::map<std::string, EvictionAnswer> answers = {{"u1", {}}, {"u2", {.refusal = Refusal::kThrottled}}};
  const auto is_wrong = [&](const NodeOutcome& outcome) { return !WhyOtherOutcome(plan, outcome, answers).empty(); };
  CHECK_FALSE(is_wrong({.evictions_accepted = 1, .evictions_refused = 1}));
  CHECK(is_wrong({.evictions_accepted = 2}));
  CHECK(is_wrong({.evictions_accepted = 0, .evictions_refused = 1}));
  // Of a node whose requests have failed the numbers say nothing.
  CHECK_FALSE(is_wrong({.status = absl::UnavailableError("no connection")}));
  CHECK(is_wrong({.status = absl::AlreadyExistsError("it is there")}));
  // Nor is anything known of a pod that was not asked for.
  CHECK(WhyOtherOutcome(plan, {.evictions_accepted = 2}, {{"u1", {}}}).empty());
}

TEST_CASE("I18: a pass follows at once on one whose requests were answered, and a term begins with one") {
  const ControllerStatus before{.leading = true, .passes = 7};
  const ControllerStatus passed{.leading = true, .passes = 8};
  const absl::Duration later = absl::Seconds(10);
  const auto is_late = [](const ControllerTurn& turn) { return !WhyNotSooner(turn).empty(); };

  CHECK(is_late({.before = before, .after = passed, .outcomes = 1, .until_next = later}));
  CHECK_FALSE(is_late({.before = before, .after = passed, .outcomes = 1, .until_next = absl::Seconds(1)}));
  CHECK_FALSE(is_late({.before = before, .after = passed, .outcomes = 0, .until_next = later}));
  // Whoever has failed waits before he tries again.
  const ControllerStatus failed{.leading = true, .last_error = absl::UnavailableError("503"), .passes = 8};
  CHECK_FALSE(is_late({.before = before, .after = failed, .outcomes = 1, .until_next = later}));

  CHECK(is_late({.before = before, .after = before, .term_begins = true, .until_next = later}));
  CHECK_FALSE(is_late({.before = before, .after = before, .term_begins = false, .until_next = later}));
  CHECK_FALSE(is_late({.before = before, .after = passed, .term_begins = true, .until_next = later}));
  CHECK_FALSE(is_late({.before = failed, .after = failed, .term_begins = true, .until_next = later}));
  // A standby makes no passes.
  const ControllerStatus standby{.leading = false, .passes = 7};
  CHECK_FALSE(is_late({.before = before, .after = standby, .term_begins = true, .until_next = later}));
}

}  // namespace
}  // namespace driverupgrade::tests
