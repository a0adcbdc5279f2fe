#include "whatif/preflight/policy_effects.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <variant>

#include "decide/admission/upgrade_budget.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/rollout_policy.h"
#include "fmt/format.h"
#include "whatif/age.h"
#include "whatif/durations.h"

namespace driverupgrade::whatif {
namespace {

using Texts = std::vector<std::string>;

std::optional<int> CountOf(const CountOrPercent& limit) {
  const Count* count = std::get_if<Count>(&limit);
  return count == nullptr ? std::nullopt : std::optional(count->value);
}

UpgradeBudget BudgetOf(const UpgradePolicy& policy, const Report& report) {
  Tally fleet;
  fleet.total = static_cast<int>(report.nodes.size());
  return internal::ComputeBudget(fleet, policy);
}

// Returns the values of a label on the nodes of the rollout, with one entry for each node.
std::vector<std::string_view> ValuesOf(const std::string& label, const Situation& situation, const Report& report) {
  std::set<std::string_view> ours;
  for (const NodeReport& node : report.nodes) ours.insert(node.plan.node);
  std::vector<std::string_view> values;
  for (const Node& node : situation.question.cluster.nodes) {
    const auto found = node.labels.find(label);
    if (ours.contains(node.name) && found != node.labels.end()) values.push_back(found->second);
  }
  return values;
}

bool ReturnsNodes(const UpgradePolicy& policy) {
  return (policy.drain && policy.drain->on_failure == OnFailure::kGiveBack) ||
         (policy.pod_deletion && policy.pod_deletion->on_failure == OnFailure::kGiveBack);
}

void CheckLimits(const UpgradePolicy& policy, const Report& report, Texts& fields) {
  const int total = static_cast<int>(report.nodes.size());
  if (policy.max_parallel && *policy.max_parallel > total) {
    fields.push_back(
        fmt::format("maxParallelUpgrades: {} has no effect: the rollout has {} nodes", *policy.max_parallel, total));
  }
  if (!policy.failure_policy) return;
  const std::optional<int> failures = CountOf(policy.failure_policy->max_failures);
  if (!failures) return;
  // If both fields are numbers, `Warnings` already compares them. Failed nodes that return to service count as
  // available.
  const bool is_percentage = policy.max_unavailable && !CountOf(*policy.max_unavailable);
  const int unavailable =
      is_percentage && !ReturnsNodes(policy) ? BudgetOf(policy, report).unavailable_max.value_or(INT_MAX) : INT_MAX;
  if (*failures > total) {
    fields.push_back(
        fmt::format("failurePolicy.maxFailures: {} is never reached: the rollout has {} nodes", *failures, total));
  } else if (*failures > unavailable) {
    fields.push_back(fmt::format("failurePolicy.maxFailures: {} is never reached: {} of {} nodes may be unavailable",
                                 *failures, unavailable, total));
  }
}

// Skips stages whose size is a number, because `Warnings` checks them.
void CheckFailuresOf(const RolloutStage& stage, std::size_t i, int size, Texts& fields) {
  const auto* nodes = std::get_if<CountOrPercent>(&stage.nodes);
  const auto* percent = stage.max_failures ? std::get_if<Percent>(&*stage.max_failures) : nullptr;
  if (percent == nullptr || percent->value == 0 || size == 0 || (nodes != nullptr && CountOf(*nodes))) return;
  if (std::int64_t{percent->value} * size >= 100) return;
  fields.push_back(fmt::format("rollout.stages[{}].maxFailures: {}% of {} nodes is 0, so one failure halts the rollout",
                               i, percent->value, size));
}

// Skips a stage of 100%, which `Warnings` reports.
void CheckStages(const RolloutPolicy& rollout, const Report& report, Texts& fields) {
  if (!report.rollout) return;
  const auto& stages = report.rollout->stages;
  const int total =
      std::accumulate(stages.begin(), stages.end(), 0, [](int sum, const auto& stage) { return sum + stage.nodes; });
  for (std::size_t i = 0; i < std::min(rollout.stages.size(), stages.size()); ++i) {
    CheckFailuresOf(rollout.stages[i], i, stages[i].nodes, fields);
    const auto* nodes = std::get_if<CountOrPercent>(&rollout.stages[i].nodes);
    const bool is_whole = nodes != nullptr && *nodes == CountOrPercent(Percent{100});
    if (total == 0 || stages[i].nodes < total || is_whole) continue;
    fields.push_back(fmt::format("rollout.stages[{}]: has all {} nodes, so no node waits for it", i, total));
  }
}

void CheckValidation(const Situation& situation, Texts& fields) {
  if (situation.question.machine.validation_selector) return;
  const UpgradePolicy& policy = situation.question.policy;
  const auto& failures = policy.failure_policy;
  if (failures && failures->by_class.contains(FailureClass::kValidation)) {
    fields.emplace_back("failurePolicy.byClass.Validation: has no effect: the operator has no validation pods");
  }
  if (policy.deadlines.validation != DeadlinePolicy{}.validation) {
    fields.emplace_back("deadlines.validationSeconds: has no effect: the operator has no validation pods");
  }
}

// A group of one node starts and counts like a single node, so it has no effect, except that it makes other groups wait
// under OneAtATime.
void CheckGroups(const Situation& situation, const Report& report, Texts& fields) {
  const auto& groups = situation.question.policy.rollout->groups;
  if (!groups || groups->mode == GroupMode::kOneAtATime) return;
  const std::vector<std::string_view> values = ValuesOf(groups->by, situation, report);
  const std::set<std::string_view> distinct(values.begin(), values.end());
  if (values.size() < 2 || distinct.size() < values.size()) return;
  fields.push_back(fmt::format("rollout.groups.by: has no effect: each node has its own value of {}", groups->by));
}

void CheckOrder(const Situation& situation, const Report& report, Texts& fields) {
  const auto& order = situation.question.policy.rollout->order;
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].by != OrderBy::kLabel) continue;
    const std::vector<std::string_view> values = ValuesOf(order[i].label, situation, report);
    if (values.empty() || std::any_of(values.begin(), values.end(), is_number)) continue;
    fields.push_back(
        fmt::format("rollout.order[{}].label: has no effect: no value of {} is a number; topology orders by text", i,
                    order[i].label));
  }
}

// Reports a date range only if it ended before yesterday in UTC, so that it has ended in every time zone.
void CheckClosed(const Situation& situation, Texts& fields) {
  const auto& closed = situation.question.policy.rollout->closed;
  const absl::CivilDay yesterday = absl::ToCivilDay(situation.question.at, absl::UTCTimeZone()) - 1;
  for (std::size_t i = 0; i < closed.size(); ++i) {
    if (closed[i].last >= yesterday) continue;
    fields.push_back(
        fmt::format("rollout.closed[{}]: has no effect: it ended on {}", i, absl::FormatCivilTime(closed[i].last)));
  }
}

// Returns true if the node is in a stage that selects nodes by labels, or may be in a stage that has a size. Other
// nodes form the last stage, for which no node waits.
bool IsInStage(const RolloutPolicy& rollout, const Node& node) {
  return std::any_of(rollout.stages.begin(), rollout.stages.end(), [&](const RolloutStage& stage) {
    const auto* selector = std::get_if<LabelSelector>(&stage.nodes);
    return selector == nullptr || selector->Matches(node.labels);
  });
}

// Finds nodes that belong to a stage but have no pod that matches the selector, because such a stage never finishes.
void CheckHealthPods(const Situation& situation, const LabelSelector& selector, Texts& selectors) {
  std::set<std::string_view> covered;
  std::set<std::string_view> with_driver;
  for (const Pod& pod : situation.question.cluster.pods) {
    if (selector.Matches(pod.labels)) covered.insert(pod.node_name);
    if (situation.question.snapshot.driver_labels.Matches(pod.labels)) with_driver.insert(pod.node_name);
  }
  Texts missing;
  for (const Node& node : situation.question.cluster.nodes) {
    const bool counts = with_driver.contains(node.name) && IsInStage(*situation.question.policy.rollout, node);
    if (counts && !covered.contains(node.name)) missing.push_back(node.name);
  }
  // If a selector matches no pod at all, it is probably misspelled, and SelectorsWithoutPods reports it.
  if (missing.empty() || covered.empty()) return;
  selectors.push_back(
      fmt::format("rollout.health.podSelector: {} nodes in stages have no pod that matches {}, for example {}",
                  missing.size(), selector.ToString(), missing.front()));
}

}  // namespace

Texts FieldsWithoutEffect(const Situation& situation, const Report& report) {
  Texts fields;
  if (report.nodes.empty()) return fields;
  CheckLimits(situation.question.policy, report, fields);
  CheckValidation(situation, fields);
  if (!situation.question.policy.rollout) return fields;
  CheckStages(*situation.question.policy.rollout, report, fields);
  CheckGroups(situation, report, fields);
  CheckOrder(situation, report, fields);
  CheckClosed(situation, fields);
  return fields;
}

Texts SelectorsWithoutPods(const Situation& situation) {
  const UpgradePolicy& policy = situation.question.policy;
  Texts selectors;
  const auto check = [&](std::string_view field, const LabelSelector& selector) {
    const auto& pods = situation.question.cluster.pods;
    const auto matches = [&](const Pod& pod) { return selector.Matches(pod.labels); };
    if (selector.empty() || pods.empty() || std::any_of(pods.begin(), pods.end(), matches)) return;
    selectors.push_back(fmt::format("{}: no pod matches {}", field, selector.ToString()));
  };
  if (policy.wait_for_completion) check("waitForCompletion.podSelector", policy.wait_for_completion->pod_selector);
  if (policy.pod_deletion) check("podDeletion.podSelector", policy.pod_deletion->pod_selector);
  if (policy.drain) check("drain.podSelector", policy.drain->pod_selector);
  if (!policy.rollout || !policy.rollout->health || !policy.rollout->health->pod_selector) return selectors;
  check("rollout.health.podSelector", *policy.rollout->health->pod_selector);
  CheckHealthPods(situation, *policy.rollout->health->pod_selector, selectors);
  return selectors;
}

Texts DeadlinesTooShort(const Situation& situation) {
  const NodeRules rules(situation.question.policy);
  const absl::Duration deadline = *rules.deadlines.pod_restart;
  const std::optional<Measured> start = MeasureStart(situation, /*of_driver=*/true);
  if (!start || start->took < deadline) return {};
  return {fmt::format("deadlines.podRestartSeconds: is {}, but half of {} driver pods took {} or more to start",
                      Age(deadline), start->count, Age(start->took))};
}

Texts WhyAllAtOnce(const Situation& situation, const Report& report) {
  const UpgradePolicy& policy = situation.question.policy;
  const int total = static_cast<int>(report.nodes.size());
  const bool is_ordered = policy.rollout && (policy.rollout->groups || !policy.rollout->stages.empty());
  if (total < 2 || is_ordered) return {};
  const UpgradeBudget budget = BudgetOf(policy, report);
  const auto allows_all = [&](const std::optional<int>& limit) { return !limit || *limit >= total; };
  if (!allows_all(budget.parallel_max) || !allows_all(budget.unavailable_max)) return {};
  return {fmt::format("maxParallelUpgrades and maxUnavailable allow {} of {} nodes", total, total)};
}

}  // namespace driverupgrade::whatif
