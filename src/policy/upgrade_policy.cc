#include "driverupgrade/upgrade_policy.h"

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "policy/field_checker.h"
#include "policy/policy_fields.h"

namespace driverupgrade {
namespace {

// Default time limit for the restart of a driver pod if the policy has a rollout or a failure policy. Without a time
// limit, a driver that never becomes ready would not count as a failure.
constexpr absl::Duration kPodRestartDefault = absl::Minutes(30);

DeadlinePolicy DeadlinesOf(const UpgradePolicy& policy) {
  DeadlinePolicy deadlines = policy.deadlines;
  const bool needs_limit = policy.rollout.has_value() || policy.failure_policy.has_value();
  if (!deadlines.pod_restart) deadlines.pod_restart = needs_limit ? kPodRestartDefault : absl::InfiniteDuration();
  return deadlines;
}

// Returns the keys of the labels that decide the stages and the groups of nodes.
std::vector<std::string> LabelsOf(const std::optional<RolloutPolicy>& rollout) {
  std::set<std::string> keys;
  if (!rollout) return {};
  if (rollout->groups) keys.insert(rollout->groups->by);
  for (const RolloutStage& stage : rollout->stages) {
    const LabelSelector* selector = std::get_if<LabelSelector>(&stage.nodes);
    if (selector == nullptr) continue;
    for (const LabelSelector::Requirement& requirement : selector->requirements()) keys.insert(requirement.key);
  }
  return {keys.begin(), keys.end()};
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
      keep_gangs(policy.rollout && policy.rollout->gangs),
      steer_gangs(policy.rollout && policy.rollout->gangs && policy.rollout->gangs->steer == Steer::kPrefer),
      rollout_labels(LabelsOf(policy.rollout)),
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
  internal::CheckFields(internal::kPolicyFields, "", policy, checker);
  return checker.Result();
}

}  // namespace driverupgrade
