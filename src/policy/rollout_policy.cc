#include "driverupgrade/rollout_policy.h"

#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "base/quote.h"
#include "driverupgrade/cluster_types.h"
#include "fmt/format.h"
#include "model/label_syntax.h"
#include "policy/field_checker.h"
#include "policy/rollout_checks.h"
#include "policy/windows.h"

namespace driverupgrade {
namespace {

using internal::FieldChecker;
using internal::IsLabelKey;
using internal::IsLabelName;
using internal::Quote;

constexpr std::size_t kItemsMax = 100;
constexpr absl::Duration kSecondsMax = absl::Seconds(std::numeric_limits<std::int32_t>::max());

void CheckKey(const std::string& field, const std::string& key, FieldChecker& checker) {
  checker.Require(IsLabelKey(key), field, fmt::format("must be the key of a label, got {}", Quote(key)));
}

void CheckStage(const std::string& path, const RolloutStage& stage, std::set<std::string_view>& names,
                FieldChecker& checker) {
  const std::string name = path + ".name";
  checker.Require(IsLabelName(stage.name), name,
                  fmt::format("must be up to 63 letters, digits, `-`, `_` and `.`, got {}", Quote(stage.name)));
  checker.Require(stage.name != kLastStage, name, "is the name of the stage of all nodes that no other stage selects");
  checker.Require(names.insert(stage.name).second, name, "another stage has the same name");
  if (const auto* nodes = std::get_if<CountOrPercent>(&stage.nodes)) {
    checker.AtLeast(path + ".nodes", 1, *nodes);
    const auto* percent = std::get_if<Percent>(nodes);
    checker.Require(percent == nullptr || percent->value <= 100, path + ".nodes", "must be <= 100%");
  } else {
    checker.Require(!std::get_if<LabelSelector>(&stage.nodes)->empty(), path + ".nodeSelector",
                    "must not be empty: it selects every node");
  }
  if (stage.max_parallel) checker.AtLeast(path + ".maxParallel", 1, *stage.max_parallel);
  checker.Between(path + ".soakSeconds", absl::ZeroDuration(), kSecondsMax, stage.soak);
  if (stage.max_failures) checker.AtLeast(path + ".maxFailures", 0, *stage.max_failures);
}

void CheckOrder(const std::string& path, const RolloutOrder& order, FieldChecker& checker) {
  if (order.by == OrderBy::kLabel) return CheckKey(path + ".label", order.label, checker);
  if (order.by == OrderBy::kTopology) return CheckKey(path + ".topology", order.label, checker);
  checker.Require(order.label.empty(), path, "only label and topology name a label");
}

void CheckWindow(const std::string& path, const RolloutWindow& window, FieldChecker& checker) {
  checker.Between(path + ".start", absl::ZeroDuration(), absl::Hours(24) - absl::Minutes(1), window.start);
  checker.Require(absl::Trunc(window.start, absl::Minutes(1)) == window.start, path + ".start",
                  "must be a whole number of minutes");
  // It comes back every week.
  checker.Between(path + ".durationSeconds", absl::Minutes(1), absl::Hours(7 * 24), window.duration);
  for (const int day : window.days_of_month) {
    checker.Require((day >= 1 && day <= 31) || day == kLastDayOfMonth, path + ".daysOfMonth",
                    fmt::format("must be 1 to 31 or Last, got {}", day));
  }
}

void CheckFinishBy(const RolloutPolicy& rollout, FieldChecker& checker) {
  if (rollout.expected_node_duration) {
    checker.Between("rollout.expectedNodeSeconds", absl::Seconds(1), kSecondsMax, *rollout.expected_node_duration);
  }
  if (!rollout.finish_by) return;
  checker.Require(!rollout.windows.empty() || !rollout.closed.empty(), "rollout.finishBy",
                  "needs windows or closed: without them there is no end");
  checker.Require(rollout.expected_node_duration.has_value(), "rollout.finishBy",
                  "needs expectedNodeSeconds, which counts until nodes have been measured");
  // Wrong windows have no length.
  if (!checker.Result().ok() || !rollout.expected_node_duration) return;
  const absl::Duration longest = internal::LongestWindow(rollout);
  checker.Require(*rollout.expected_node_duration < longest, "rollout.expectedNodeSeconds",
                  fmt::format("must be shorter than the longest window, {}: with finishBy no node would start",
                              absl::FormatDuration(longest)));
}

void CheckHealth(const RolloutHealth& health, FieldChecker& checker) {
  for (std::size_t i = 0; i < health.node_conditions.size(); ++i) {
    const SickCondition& sick = health.node_conditions[i];
    const std::string path = fmt::format("rollout.health.nodeConditions[{}]", i);
    checker.Require(IsLabelKey(sick.type), path + ".type",
                    fmt::format("must be the type of a condition, got {}", Quote(sick.type)));
    checker.Require(!IsKubeletCondition(sick.type), path + ".type",
                    fmt::format("{} is the kubelet's: a node that is not ready counts as unavailable", sick.type));
    checker.Require(sick.status == "True" || sick.status == "False" || sick.status == "Unknown", path + ".status",
                    fmt::format("must be one of True, False, Unknown, got {}", Quote(sick.status)));
  }
  checker.Require(!health.pod_selector || !health.pod_selector->empty(), "rollout.health.podSelector",
                  "must not be empty: it selects every pod");
  if (health.max_driver_restarts) {
    checker.AtLeast("rollout.health.maxDriverRestarts", 0, *health.max_driver_restarts);
  }
  if (health.unwell_max) {
    checker.AtLeast("rollout.health.unwellSeconds", 0, *health.unwell_max < absl::ZeroDuration() ? -1 : 0);
  }
}

template <typename T, typename Check>
void CheckItems(const std::string& path, const std::vector<T>& items, FieldChecker& checker, const Check& check) {
  // Some of these are evaluated in every pass.
  checker.Require(items.size() <= kItemsMax, path,
                  fmt::format("must have <= {} items, got {}", kItemsMax, items.size()));
  for (std::size_t i = 0; i < items.size(); ++i) check(fmt::format("{}[{}]", path, i), items[i]);
}

}  // namespace

std::string_view ToString(FailureClass failure) {
  switch (failure) {
    case FailureClass::kDriverCrash: return "DriverCrash";
    case FailureClass::kImagePull: return "ImagePull";
    case FailureClass::kValidation: return "Validation";
    case FailureClass::kDrainBlocked: return "DrainBlocked";
    case FailureClass::kNodeLost: return "NodeLost";
  }
  return "";
}

std::string_view ToString(Rollback rollback) { return rollback == Rollback::kFast ? "Fast" : "Staged"; }

std::string_view ToString(GangMode mode) { return mode == GangMode::kWhenDone ? "WhenDone" : "Together"; }
std::string_view ToString(Steer steer) { return steer == Steer::kNone ? "None" : "Prefer"; }
std::string_view ToString(TooBig too_big) { return too_big == TooBig::kSplit ? "Split" : "Wait"; }

void internal::Check(const RolloutPolicy& rollout, FieldChecker& checker) {
  std::set<std::string_view> names;
  CheckItems("rollout.stages", rollout.stages, checker,
             [&](const std::string& path, const RolloutStage& stage) { CheckStage(path, stage, names, checker); });
  CheckItems("rollout.order", rollout.order, checker,
             [&](const std::string& path, const RolloutOrder& order) { CheckOrder(path, order, checker); });
  if (rollout.groups) {
    CheckKey("rollout.groups.by", rollout.groups->by, checker);
    checker.AtLeast("rollout.groups.maxPerGroup", 1, rollout.groups->max_per_group);
  }
  checker.Require(!rollout.gangs || !rollout.groups, "rollout.gangs",
                  "cannot be combined with rollout.groups; remove one of them");
  if (rollout.gangs) {
    checker.Between("rollout.gangs.waitSeconds", absl::ZeroDuration(), kSecondsMax, rollout.gangs->wait);
  }
  CheckItems("rollout.windows", rollout.windows, checker,
             [&](const std::string& path, const RolloutWindow& window) { CheckWindow(path, window, checker); });
  CheckItems("rollout.closed", rollout.closed, checker, [&](const std::string& path, const ClosedDays& days) {
    checker.Require(days.first <= days.last, path, "ends before it starts");
  });
  CheckFinishBy(rollout, checker);
  if (rollout.health) CheckHealth(*rollout.health, checker);
}

void internal::Check(const FailureBudgets& budgets, FieldChecker& checker) {
  for (const auto& [failure, budget] : budgets) {
    checker.AtLeast(fmt::format("failurePolicy.byClass.{}", ToString(failure)), 1, budget);
  }
}

absl::Status Validate(const RolloutPolicy& rollout) {
  FieldChecker checker;
  internal::Check(rollout, checker);
  return checker.Result();
}

absl::Status Validate(const FailureBudgets& budgets) {
  FieldChecker checker;
  internal::Check(budgets, checker);
  return checker.Result();
}

}  // namespace driverupgrade
