#include "driverupgrade/upgrade_policy.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "policy/field_checker.h"
#include "policy/rollout_checks.h"

namespace driverupgrade {
namespace {

// A rollout that has a limit for failures needs drivers that never become ready to count as failures.
constexpr absl::Duration kPodRestartDefault = absl::Minutes(30);

DeadlinePolicy DeadlinesOf(const UpgradePolicy& policy) {
  DeadlinePolicy deadlines = policy.deadlines;
  const bool needs_limit = policy.rollout.has_value() || policy.failure_policy.has_value();
  if (!deadlines.pod_restart) deadlines.pod_restart = needs_limit ? kPodRestartDefault : absl::InfiniteDuration();
  return deadlines;
}

void Check(const IsolationPolicy& isolation, internal::FieldChecker& checker) {
  checker.Between("isolation.settleSeconds", absl::ZeroDuration(), absl::Hours(1), isolation.settle);
  const auto all_named = [](const std::vector<std::string>& names) {
    return !names.empty() && std::none_of(names.begin(), names.end(), [](const auto& name) { return name.empty(); });
  };
  checker.Require(all_named(isolation.device_drivers), "isolation.deviceDrivers", "must have names");
  checker.Require(all_named(isolation.scheduler_names), "isolation.schedulerNames", "must have names");
}

}  // namespace

NodeRules::NodeRules(const UpgradePolicy& policy)
    : auto_upgrade(policy.auto_upgrade),
      frozen_because(policy.frozen_because),
      wait_for_completion(policy.wait_for_completion),
      pod_deletion(policy.pod_deletion),
      drain(policy.drain),
      pacing(policy.pacing),
      cordoned_nodes(policy.cordoned_nodes),
      on_unscheduled_pods(policy.on_unscheduled_pods),
      deadlines(DeadlinesOf(policy)),
      failed_hold_slots(!policy.failure_policy),
      classify_failures(policy.failure_policy && !policy.failure_policy->by_class.empty()),
      retry(policy.retry),
      steer_gangs(policy.rollout && policy.rollout->gangs && policy.rollout->gangs->steer == Steer::kPrefer),
      isolation(policy.isolation) {}

AdmissionLimits::AdmissionLimits(const UpgradePolicy& policy)
    : paused(policy.paused),
      max_parallel(policy.max_parallel),
      max_unavailable(policy.max_unavailable),
      rollout(policy.rollout) {
  if (!policy.failure_policy) return;
  max_failures = policy.failure_policy->max_failures;
  failures_by_class = policy.failure_policy->by_class;
}

absl::Status Validate(const UpgradePolicy& policy) {
  internal::FieldChecker checker;
  // Zero would be read back as "no limit", which is nullopt here. To admit no node, `paused` is used.
  if (policy.max_parallel) checker.AtLeast("maxParallelUpgrades", 1, *policy.max_parallel);
  if (policy.max_unavailable) {
    checker.AtLeast("maxUnavailable", 0, *policy.max_unavailable);
  }
  if (policy.wait_for_completion) {
    checker.Timeout("waitForCompletion.timeoutSeconds", policy.wait_for_completion->timeout);
  }
  if (policy.pod_deletion) checker.Timeout("podDeletion.timeoutSeconds", policy.pod_deletion->timeout);
  if (policy.drain) checker.Timeout("drain.timeoutSeconds", policy.drain->timeout);
  if (policy.deadlines.pod_restart) checker.Timeout("deadlines.podRestartSeconds", *policy.deadlines.pod_restart);
  checker.Timeout("deadlines.validationSeconds", policy.deadlines.validation);
  if (policy.failure_policy) {
    checker.AtLeast("failurePolicy.maxFailures", 1, policy.failure_policy->max_failures);
  }
  checker.AtLeast("retry.maxAttempts", 0, policy.retry.max_attempts);
  checker.Timeout("retry.backoffSeconds", policy.retry.backoff);
  Check(policy.isolation, checker);
  if (policy.failure_policy) internal::Check(policy.failure_policy->by_class, checker);
  if (policy.rollout) internal::Check(*policy.rollout, checker);
  return checker.Result();
}

}  // namespace driverupgrade
