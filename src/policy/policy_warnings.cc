#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "driverupgrade/policy_codec.h"
#include "fmt/format.h"
#include "policy/windows.h"

namespace driverupgrade {
namespace {

using Texts = std::vector<std::string>;

std::string Text(const CountOrPercent& limit) {
  if (const Count* count = std::get_if<Count>(&limit)) return fmt::format("{}", count->value);
  return fmt::format("{}%", std::get_if<Percent>(&limit)->value);
}

// Returns true if `limit` covers all nodes of a fleet of any size.
bool IsWhole(const CountOrPercent& limit) {
  const Percent* percent = std::get_if<Percent>(&limit);
  return percent != nullptr && percent->value >= 100;
}

// Returns true if `limit` is at least `other` for a fleet of any size. Returns false for a number and a percentage,
// which cannot be compared.
bool IsAtLeast(const CountOrPercent& limit, const CountOrPercent& other) {
  if (const Count* count = std::get_if<Count>(&limit)) {
    const Count* least = std::get_if<Count>(&other);
    return least != nullptr && count->value >= least->value;
  }
  const Percent* least = std::get_if<Percent>(&other);
  return least != nullptr && std::get_if<Percent>(&limit)->value >= least->value;
}

void WarnOfTimeout(std::string_view section, absl::Duration timeout, OnTimeout on_timeout, Texts& warnings) {
  if (on_timeout == OnTimeout::kFail || timeout != absl::InfiniteDuration()) return;
  warnings.push_back(fmt::format("{}.onTimeout: has no effect: with timeoutSeconds 0 there is no timeout", section));
}

void WarnOfEvacuation(const UpgradePolicy& policy, Texts& warnings) {
  const auto& wait = policy.wait_for_completion;
  if (wait && wait->pod_selector.empty() && wait->timeout != absl::InfiniteDuration()) {
    warnings.emplace_back("waitForCompletion.timeoutSeconds: has no effect without podSelector");
  }
  if (policy.pod_deletion) {
    WarnOfTimeout("podDeletion", policy.pod_deletion->timeout, policy.pod_deletion->on_timeout, warnings);
    if (policy.drain && policy.pod_deletion->on_failure == OnFailure::kGiveBack) {
      warnings.emplace_back("podDeletion.onFailure: has no effect, because a drain follows if pod deletion fails");
    }
  }
  if (policy.drain) WarnOfTimeout("drain", policy.drain->timeout, policy.drain->on_timeout, warnings);
}

bool ReturnsNodes(const UpgradePolicy& policy) {
  return (policy.drain && policy.drain->on_failure == OnFailure::kGiveBack) ||
         (policy.pod_deletion && policy.pod_deletion->on_failure == OnFailure::kGiveBack);
}

void WarnOfFailurePolicy(const UpgradePolicy& policy, Texts& warnings) {
  if (!policy.failure_policy) return;
  const CountOrPercent& max_failures = policy.failure_policy->max_failures;
  const Count* failures = std::get_if<Count>(&max_failures);
  const Count* unavailable = policy.max_unavailable ? std::get_if<Count>(&*policy.max_unavailable) : nullptr;
  if (IsWhole(max_failures)) {
    warnings.push_back(fmt::format("failurePolicy.maxFailures: {} stops the rollout only when all nodes have failed",
                                   Text(max_failures)));
  } else if (failures != nullptr && unavailable != nullptr && failures->value > unavailable->value &&
             !ReturnsNodes(policy)) {
    warnings.push_back(fmt::format(
        "failurePolicy.maxFailures: {} is never reached: failed nodes are unavailable, and maxUnavailable is {}",
        failures->value, unavailable->value));
  }
  for (const auto& [failure, budget] : policy.failure_policy->by_class) {
    const std::string path = fmt::format("failurePolicy.byClass.{}", ToString(failure));
    if (IsAtLeast(budget, max_failures)) {
      warnings.push_back(
          fmt::format("{}: {} has no effect: maxFailures is {}", path, Text(budget), Text(max_failures)));
    } else if (failure == FailureClass::kImagePull && policy.deadlines.pod_restart == absl::InfiniteDuration()) {
      warnings.push_back(path +
                         ": has no effect: without deadlines.podRestartSeconds no node fails because of its image");
    }
  }
}

void WarnOfRetry(const RetryPolicy& retry, Texts& warnings) {
  if (retry.max_attempts > 0 && retry.backoff == absl::InfiniteDuration()) {
    warnings.emplace_back("retry.maxAttempts: has no effect: with backoffSeconds 0 there is no retry");
  } else if (retry.max_attempts == 0 && retry.backoff != RetryPolicy{}.backoff) {
    warnings.emplace_back("retry.backoffSeconds: has no effect without maxAttempts");
  }
}

// Returns the number of nodes in the stage; nullopt if the policy alone does not determine this number.
std::optional<int> SizeOf(const RolloutStage& stage) {
  const auto* nodes = std::get_if<CountOrPercent>(&stage.nodes);
  const Count* count = nodes == nullptr ? nullptr : std::get_if<Count>(nodes);
  return count == nullptr ? std::nullopt : std::optional(count->value);
}

bool TakesEveryNode(const RolloutStage& stage) {
  const auto* nodes = std::get_if<CountOrPercent>(&stage.nodes);
  return nodes != nullptr && IsWhole(*nodes);
}

void WarnOfFailures(const std::string& path, const RolloutStage& stage, Texts& warnings) {
  if (!stage.max_failures) return;
  const Percent* percent = std::get_if<Percent>(&*stage.max_failures);
  const Count* count = std::get_if<Count>(&*stage.max_failures);
  const std::optional<int> size = SizeOf(stage);
  if (IsWhole(*stage.max_failures)) {
    warnings.push_back(fmt::format("{}.maxFailures: {} is never exceeded", path, Text(*stage.max_failures)));
  } else if (size && count != nullptr && count->value >= *size) {
    warnings.push_back(
        fmt::format("{}.maxFailures: {} is never exceeded: the stage has {} nodes", path, count->value, *size));
  } else if (size && percent != nullptr && percent->value > 0 && std::int64_t{percent->value} * *size < 100) {
    warnings.push_back(fmt::format("{}.maxFailures: {}% of {} nodes is 0, so one failure halts the rollout", path,
                                   percent->value, *size));
  }
}

void WarnOfLimit(const std::string& path, const RolloutStage& stage, const std::optional<int>& max_parallel,
                 Texts& warnings) {
  if (!stage.max_parallel) return;
  if (const auto size = SizeOf(stage); size && *stage.max_parallel > *size) {
    warnings.push_back(
        fmt::format("{}.maxParallel: {} has no effect: the stage has {} nodes", path, *stage.max_parallel, *size));
  } else if (max_parallel && *stage.max_parallel > *max_parallel) {
    warnings.push_back(fmt::format("{}.maxParallel: {} has no effect: maxParallelUpgrades is {}", path,
                                   *stage.max_parallel, *max_parallel));
  }
}

void WarnOfStages(const UpgradePolicy& policy, Texts& warnings) {
  const std::vector<RolloutStage>& stages = policy.rollout->stages;
  const std::string* takes_all = nullptr;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const RolloutStage& stage = stages[i];
    const std::string path = fmt::format("rollout.stages[{}]", i);
    if (takes_all != nullptr) {
      warnings.push_back(
          fmt::format("{}: never has a node, because the earlier stage {} takes all nodes", path, *takes_all));
    } else if (TakesEveryNode(stage)) {
      takes_all = &stage.name;
      const bool is_manual = stage.approval == Approval::kManual;
      if (is_manual || stage.soak > absl::ZeroDuration()) {
        warnings.push_back(fmt::format("{}.{}: has no effect: stage {} takes all nodes, so no node waits for it", path,
                                       is_manual ? "approval" : "soakSeconds", stage.name));
      }
    }
    WarnOfFailures(path, stage, warnings);
    WarnOfLimit(path, stage, policy.max_parallel, warnings);
  }
}

// Returns why criterion `i` never decides between two nodes; empty if the criterion can decide.
std::string WhyUndecided(const std::vector<RolloutOrder>& order, std::size_t i) {
  for (std::size_t j = 0; j < i; ++j) {
    if (order[j].by == OrderBy::kName) return "has no effect after Name";  // names are unique
    if (order[j] == order[i]) return fmt::format("has no effect: order[{}] is the same", j);
    // Idle nodes have no pods, so FewestPods already puts idle nodes first.
    if (order[j].by == OrderBy::kFewestPods && order[i].by == OrderBy::kIdle) return "has no effect after FewestPods";
  }
  return "";
}

void WarnOfOrder(const RolloutPolicy& rollout, Texts& warnings) {
  for (std::size_t i = 0; i < rollout.order.size(); ++i) {
    const std::string why = WhyUndecided(rollout.order, i);
    if (!why.empty()) warnings.push_back(fmt::format("rollout.order[{}]: {}", i, why));
  }
}

void WarnOfGroups(const UpgradePolicy& policy, Texts& warnings) {
  const std::optional<NodeGroups>& groups = policy.rollout->groups;
  if (!groups || groups->mode != GroupMode::kSpread) return;
  if (IsWhole(groups->max_per_group)) {
    warnings.push_back(fmt::format("rollout.groups.maxPerGroup: {} has no effect: it covers the whole group",
                                   Text(groups->max_per_group)));
  } else if (policy.max_parallel && IsAtLeast(groups->max_per_group, Count{*policy.max_parallel})) {
    warnings.push_back(fmt::format("rollout.groups.maxPerGroup: {} has no effect: maxParallelUpgrades is {}",
                                   Text(groups->max_per_group), *policy.max_parallel));
  }
}

void WarnOfTimes(const RolloutPolicy& rollout, Texts& warnings) {
  constexpr absl::Duration kYear = absl::Hours(24 * 365);
  if (!rollout.windows.empty() && internal::LongestWindow(rollout) > kYear) {
    warnings.emplace_back("rollout.windows: has no effect: a window is always open");
  }
  if (rollout.closed_time_zone && rollout.closed.empty()) {
    warnings.emplace_back("rollout.closedTimeZone: has no effect without closed");
  }
  if (rollout.rollback == Rollback::kFast && rollout.stages.empty()) {
    warnings.emplace_back("rollout.rollback: has no effect without stages");
  }
  if (rollout.expected_node_duration && !rollout.finish_by) {
    warnings.emplace_back("rollout.expectedNodeSeconds: has no effect without finishBy");
  }
}

void WarnOfHealth(const RolloutPolicy& rollout, Texts& warnings) {
  const RolloutHealth& health = *rollout.health;
  if (health == RolloutHealth{}) warnings.emplace_back("rollout.health: has no effect without fields");
  const std::vector<SickCondition>& sick = health.node_conditions;
  for (std::size_t i = 0; i < sick.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (sick[i].type != sick[j].type) continue;
      const std::string path = fmt::format("rollout.health.nodeConditions[{}]", i);
      if (sick[i] == sick[j]) {
        warnings.push_back(fmt::format("{}: has no effect: nodeConditions[{}] is the same", path, j));
      } else if (sick[i].status != "Unknown" && sick[j].status != "Unknown") {
        warnings.push_back(fmt::format("{}: every node that reports {} is sick, whether its status is True or False",
                                       path, sick[i].type));
      }
    }
  }
  // Only stages wait for the pods that the selector matches.
  if (health.pod_selector && rollout.stages.empty()) {
    warnings.emplace_back("rollout.health.podSelector: has no effect without stages");
  }
}

void WarnOfRollout(const UpgradePolicy& policy, Texts& warnings) {
  const RolloutPolicy& rollout = *policy.rollout;
  if (rollout == RolloutPolicy{}) warnings.emplace_back("rollout: has no effect without fields");
  WarnOfStages(policy, warnings);
  WarnOfOrder(rollout, warnings);
  WarnOfGroups(policy, warnings);
  WarnOfTimes(rollout, warnings);
  if (rollout.health) WarnOfHealth(rollout, warnings);
}

}  // namespace

std::vector<std::string> Warnings(const UpgradePolicy& policy) {
  Texts warnings;
  WarnOfEvacuation(policy, warnings);
  const bool limits_unavailable = policy.max_unavailable && !IsWhole(*policy.max_unavailable);
  if (policy.on_unscheduled_pods == OnUnscheduledPods::kIgnore && !limits_unavailable) {
    warnings.emplace_back("onUnscheduledPods: has no effect without maxUnavailable");
  }
  WarnOfFailurePolicy(policy, warnings);
  WarnOfRetry(policy.retry, warnings);
  if (policy.rollout) WarnOfRollout(policy, warnings);
  return warnings;
}

}  // namespace driverupgrade
