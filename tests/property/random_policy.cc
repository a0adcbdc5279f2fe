// Creates random policies and options.
#include "property/random_cluster.h"

namespace driverupgrade::tests {
namespace {

absl::Duration RandomTimeout(SeededRandom& random) {
  return random.Pick({absl::InfiniteDuration(), absl::Seconds(1), absl::Seconds(30), absl::Seconds(300),
                      absl::Seconds(601), absl::Hours(1)});
}

LabelSelector RandomSelector(SeededRandom& random, std::initializer_list<const char*> choices) {
  return *LabelSelector::Parse(random.Pick(choices));
}

CountOrPercent RandomLimit(SeededRandom& random) {
  if (random.Chance(50)) return Count{random.Pick({0, 1, 2, 3, 5, 100})};
  return Percent{random.Pick({0, 1, 10, 25, 33, 50, 100, 150})};
}

OnTimeout RandomOnTimeout(SeededRandom& random) { return random.Chance(25) ? OnTimeout::kDelete : OnTimeout::kFail; }

void AddEvacuation(SeededRandom& random, UpgradePolicy& policy) {
  if (random.Chance(40)) {
    policy.wait_for_completion = WaitForCompletionPolicy{
        .pod_selector = RandomSelector(random, {"", "app=job", "app in (job,web)"}), .timeout = RandomTimeout(random)};
  }
  if (random.Chance(50)) {
    policy.pod_deletion = PodDeletionPolicy{.force = random.Chance(50),
                                            .delete_empty_dir = random.Chance(50),
                                            .pod_selector = RandomSelector(random, {"", "", "app=web"}),
                                            .timeout = RandomTimeout(random),
                                            .on_timeout = RandomOnTimeout(random)};
  }
  if (random.Chance(60)) {
    policy.drain = DrainPolicy{
        .force = random.Chance(50),
        .delete_empty_dir = random.Chance(50),
        .pod_selector = RandomSelector(random, {"", "app!=job", "nvidia.com/gpu-driver-upgrade-drain.skip!=true"}),
        .timeout = RandomTimeout(random),
        .on_timeout = RandomOnTimeout(random)};
  }
}

void AddFailures(SeededRandom& random, UpgradePolicy& policy) {
  policy.deadlines = {.pod_restart = RandomTimeout(random), .validation = RandomTimeout(random)};
  if (random.Chance(30)) {
    policy.failure_policy =
        FailurePolicy{.max_failures = random.Chance(50) ? CountOrPercent(Count{random.Between(1, 4)})
                                                        : CountOrPercent(Percent{random.Between(1, 120)})};
  }
  if (random.Chance(30)) {
    policy.retry = {.max_attempts = random.Between(0, 3),
                    .backoff = random.Pick({absl::Seconds(1), absl::Minutes(1), absl::Hours(1)})};
  }
}

}  // namespace

UpgradePolicy RandomPolicy(SeededRandom& random) {
  UpgradePolicy policy{.auto_upgrade = random.Chance(95), .paused = random.Chance(7)};
  policy.max_parallel = random.Chance(25) ? std::nullopt : std::optional(random.Pick({1, 1, 2, 3, 5, 50}));
  if (random.Chance(50)) policy.max_unavailable = RandomLimit(random);
  AddEvacuation(random, policy);
  policy.pacing = random.Chance(30) ? Pacing::kEveryState : Pacing::kChained;
  policy.cordoned_nodes = random.Pick(
      {CordonedNodes::kProceed, CordonedNodes::kProceed, CordonedNodes::kWithinBudget, CordonedNodes::kIgnore});
  if (random.Chance(30)) policy.on_unscheduled_pods = OnUnscheduledPods::kIgnore;
  AddFailures(random, policy);
  policy.safe_load = random.Chance(30);
  return policy;
}

UpgradePolicy RandomInvalidPolicy(SeededRandom& random) {
  UpgradePolicy policy = RandomPolicy(random);
  const auto number = [&] { return random.Pick({-2'147'483'647, -1, 0, 1, 2'147'483'647}); };
  const auto timeout = [&] {
    return random.Pick({absl::ZeroDuration(), -absl::Seconds(1), -absl::InfiniteDuration(), absl::InfiniteDuration(),
                        absl::Hours(1'000'000'000)});
  };
  policy.max_parallel = number();
  policy.max_unavailable = random.Chance(50) ? CountOrPercent(Count{number()}) : CountOrPercent(Percent{number()});
  if (policy.wait_for_completion) policy.wait_for_completion->timeout = timeout();
  if (policy.pod_deletion) policy.pod_deletion->timeout = timeout();
  if (policy.drain) policy.drain->timeout = timeout();
  policy.deadlines = {.pod_restart = timeout(), .validation = timeout()};
  policy.failure_policy = FailurePolicy{.max_failures = Percent{number()}};
  policy.retry = {.max_attempts = number(), .backoff = timeout()};
  return policy;
}

StateMachineOptions RandomOptions(SeededRandom& random) {
  StateMachineOptions options{.driver_restart_count_max = random.Pick({0, 10})};
  if (random.Chance(40)) options.validation_selector = *LabelSelector::Parse("app=validator");
  if (random.Chance(25)) options.own_pod = PodRef{.ns = "operators", .name = "operator-0"};
  if (random.Chance(25)) options.own_node = random.Pick({"node-a", "node-2", "gpu-10"});
  return options;
}

}  // namespace driverupgrade::tests
