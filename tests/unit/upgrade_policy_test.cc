#include "driverupgrade/upgrade_policy.h"

#include <limits>
#include <string>

#include "support/catch.h"

namespace driverupgrade {
namespace {

// Parts of a policy that contain a changed field.
struct Parts {
  bool rules;
  bool limits;
};
Parts PartsOf(const UpgradePolicy& changed) {
  const UpgradePolicy policy;
  REQUIRE(changed != policy);
  return {.rules = NodeRules(changed) != NodeRules(policy),
          .limits = AdmissionLimits(changed) != AdmissionLimits(policy)};
}
bool IsRule(const UpgradePolicy& changed) {
  const Parts parts = PartsOf(changed);
  return parts.rules && !parts.limits;
}
bool IsLimit(const UpgradePolicy& changed) {
  const Parts parts = PartsOf(changed);
  return parts.limits && !parts.rules;
}

TEST_CASE("each field of a policy is a rule for a node or a limit on admission") {
  CHECK(IsRule({.auto_upgrade = true}));
  CHECK(IsLimit({.paused = true}));
  CHECK(IsLimit({.max_parallel = 2}));
  CHECK(IsLimit({.max_unavailable = Count{1}}));
  CHECK(IsRule({.wait_for_completion = WaitForCompletionPolicy{}}));
  CHECK(IsRule({.pod_deletion = PodDeletionPolicy{}}));
  CHECK(IsRule({.drain = DrainPolicy{}}));
  CHECK(IsRule({.pacing = Pacing::kEveryState}));
  CHECK(IsRule({.cordoned_nodes = CordonedNodes::kIgnore}));
  CHECK(IsRule({.on_unscheduled_pods = OnUnscheduledPods::kIgnore}));
  CHECK(IsRule({.deadlines = {.validation = absl::Seconds(1)}}));
  CHECK(IsRule({.retry = {.max_attempts = 1}}));
  CHECK(IsRule({.isolation = {.scope = IsolationScope::kDevices}}));
}

TEST_CASE("a failurePolicy is both a rule, because failed nodes take no slot, and a limit on failed nodes") {
  const Parts parts = PartsOf({.failure_policy = FailurePolicy{}});
  CHECK(parts.rules);
  CHECK(parts.limits);
  const UpgradePolicy one{.failure_policy = FailurePolicy{.max_failures = Count{1}}};
  const UpgradePolicy two{.failure_policy = FailurePolicy{.max_failures = Count{2}}};
  CHECK(NodeRules(one) == NodeRules(two));
  CHECK(AdmissionLimits(one) != AdmissionLimits(two));
}

constexpr int kIntMax = std::numeric_limits<int>::max();

struct LimitRow {
  std::string name;
  CountOrPercent limit;
  int total;
  int expected;
};

TEST_CASE("a limit scales with the fleet as an IntOrString percentage does in Kubernetes") {
  const LimitRow row = GENERATE(values<LimitRow>({
      {"a count is itself", Count{3}, 10, 3},
      {"a count may exceed the fleet", Count{30}, 10, 30},
      {"count zero", Count{0}, 10, 0},
      {"a quarter rounds up", Percent{25}, 10, 3},
      {"a quarter of one node is one node", Percent{25}, 1, 1},
      {"an even share", Percent{25}, 8, 2},
      {"one percent of a hundred", Percent{1}, 100, 1},
      {"one percent of a hundred and one", Percent{1}, 101, 2},
      {"all", Percent{100}, 7, 7},
      {"more than all", Percent{150}, 7, 11},
      {"nothing", Percent{0}, 7, 0},
      {"of nothing", Percent{25}, 0, 0},
      {"of less than nothing", Percent{25}, -4, 0},
      {"saturates", Percent{kIntMax}, kIntMax, kIntMax},
      {"just short of saturation", Percent{100}, kIntMax, kIntMax},
  }));
  CAPTURE(row.name);
  CHECK(ScaledLimit(row.limit, row.total) == row.expected);
}

TEST_CASE("the default policy is valid") { CHECK(Validate(UpgradePolicy{}).ok()); }

struct ValidationRow {
  std::string error;
  UpgradePolicy policy;
};

TEST_CASE("an invalid policy is refused with an error that uses the field names of policy documents") {
  const ValidationRow row = GENERATE(values<ValidationRow>({
      {"maxParallelUpgrades: must be >= 1, got 0", {.max_parallel = 0}},
      {"maxParallelUpgrades: must be >= 1, got -1", {.max_parallel = -1}},
      {"maxUnavailable: must be >= 0, got -1", {.max_unavailable = Count{-1}}},
      {"maxUnavailable: must be >= 0, got -25", {.max_unavailable = Percent{-25}}},
      {"waitForCompletion.timeoutSeconds: must be > 0 and at most 2147483647 s, or infinite, got 0",
       {.wait_for_completion = WaitForCompletionPolicy{.timeout = absl::ZeroDuration()}}},
      {"podDeletion.timeoutSeconds: must be > 0 and at most 2147483647 s, or infinite, got -1s",
       {.pod_deletion = PodDeletionPolicy{.timeout = absl::Seconds(-1)}}},
      {"drain.timeoutSeconds: must be > 0 and at most 2147483647 s, or infinite, got -inf",
       {.drain = DrainPolicy{.timeout = -absl::InfiniteDuration()}}},
      {"deadlines.podRestartSeconds: must be > 0 and at most 2147483647 s, or infinite, got 0",
       {.deadlines = {.pod_restart = absl::ZeroDuration()}}},
      {"deadlines.validationSeconds: must be > 0 and at most 2147483647 s, or infinite, got 596523h14m8s",
       {.deadlines = {.validation = absl::Seconds(2147483648)}}},
      {"retry.maxAttempts: must be >= 0, got -1", {.retry = {.max_attempts = -1}}},
      {"maxParallelUpgrades: must be >= 1, got 0; maxUnavailable: must be >= 0, got -1",
       {.max_parallel = 0, .max_unavailable = Count{-1}}},
  }));
  const absl::Status status = Validate(row.policy);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(std::string(status.message()) == row.error);
}

TEST_CASE(
    "W11: if failures are limited, a driver pod has 30 minutes to become ready unless the policy sets another time") {
  const auto deadline = [](const UpgradePolicy& policy) { return NodeRules(policy).deadlines.pod_restart; };
  CHECK(deadline({}) == absl::InfiniteDuration());
  CHECK(deadline({.failure_policy = FailurePolicy{}}) == absl::Minutes(30));
  CHECK(deadline({.rollout = RolloutPolicy{}}) == absl::Minutes(30));
  UpgradePolicy policy{.failure_policy = FailurePolicy{}};
  policy.deadlines.pod_restart = absl::InfiniteDuration();
  CHECK(deadline(policy) == absl::InfiniteDuration());
  policy.deadlines.pod_restart = absl::Minutes(5);
  CHECK(deadline(policy) == absl::Minutes(5));
}

TEST_CASE("the boundaries of every range are valid") {
  CHECK(Validate(UpgradePolicy{.max_parallel = 1, .max_unavailable = Count{0}}).ok());
  CHECK(Validate(UpgradePolicy{.max_parallel = kIntMax, .max_unavailable = Percent{kIntMax}}).ok());
  CHECK(Validate(UpgradePolicy{.max_parallel = std::nullopt, .max_unavailable = std::nullopt}).ok());
  CHECK(Validate(UpgradePolicy{.drain = DrainPolicy{.timeout = absl::InfiniteDuration()}}).ok());
  CHECK(Validate(UpgradePolicy{.drain = DrainPolicy{.timeout = absl::Milliseconds(1)}}).ok());
  CHECK(Validate(UpgradePolicy{.drain = DrainPolicy{.timeout = absl::Seconds(kIntMax)}}).ok());
}

}  // namespace
}  // namespace driverupgrade
