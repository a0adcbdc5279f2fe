#include "driverupgrade/policy_warnings.h"

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fmt/format.h"

namespace driverupgrade {
namespace {

// How many nodes the stage has if its policy alone says so.
std::optional<int> SizeOf(const RolloutStage& stage) {
  const auto* nodes = std::get_if<CountOrPercent>(&stage.nodes);
  const Count* count = nodes == nullptr ? nullptr : std::get_if<Count>(nodes);
  return count == nullptr ? std::nullopt : std::optional(count->value);
}

bool TakesEveryNode(const RolloutStage& stage) {
  const auto* nodes = std::get_if<CountOrPercent>(&stage.nodes);
  const Percent* percent = nodes == nullptr ? nullptr : std::get_if<Percent>(nodes);
  return percent != nullptr && percent->value >= 100;
}

void WarnOfFailures(const std::string& path, const RolloutStage& stage, std::vector<std::string>& warnings) {
  if (!stage.max_failures) return;
  const Percent* percent = std::get_if<Percent>(&*stage.max_failures);
  const Count* count = std::get_if<Count>(&*stage.max_failures);
  if (percent != nullptr && percent->value >= 100) {
    warnings.push_back(fmt::format("{}.maxFailures: {}% is never exceeded", path, percent->value));
  } else if (const auto size = SizeOf(stage); size && count != nullptr && count->value >= *size) {
    warnings.push_back(
        fmt::format("{}.maxFailures: {} is never exceeded: the stage has {} nodes", path, count->value, *size));
  }
}

void WarnOfLimit(const std::string& path, const RolloutStage& stage, const std::optional<int>& max_parallel,
                 std::vector<std::string>& warnings) {
  if (!stage.max_parallel) return;
  if (const auto size = SizeOf(stage); size && *stage.max_parallel > *size) {
    warnings.push_back(
        fmt::format("{}.maxParallel: {} has no effect: the stage has {} nodes", path, *stage.max_parallel, *size));
  } else if (max_parallel && *stage.max_parallel > *max_parallel) {
    warnings.push_back(fmt::format("{}.maxParallel: {} has no effect: maxParallelUpgrades is {}", path,
                                   *stage.max_parallel, *max_parallel));
  }
}

void WarnOfStages(const UpgradePolicy& policy, std::vector<std::string>& warnings) {
  const std::vector<RolloutStage>& stages = policy.rollout->stages;
  const std::string* takes_all = nullptr;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::string path = fmt::format("rollout.stages[{}]", i);
    if (takes_all != nullptr) {
      warnings.push_back(fmt::format("{}: never has a node: stage {} before it takes all", path, *takes_all));
    }
    if (takes_all == nullptr && TakesEveryNode(stages[i])) takes_all = &stages[i].name;
    WarnOfFailures(path, stages[i], warnings);
    WarnOfLimit(path, stages[i], policy.max_parallel, warnings);
  }
}

// Names are unique, so that nothing after them decides.
void WarnOfOrder(const RolloutPolicy& rollout, std::vector<std::string>& warnings) {
  for (std::size_t i = 0; i + 1 < rollout.order.size(); ++i) {
    if (rollout.order[i].by != OrderBy::kName) continue;
    warnings.push_back(fmt::format("rollout.order[{}]: has no effect after Name", i + 1));
    return;
  }
}

}  // namespace

std::vector<std::string> Warnings(const UpgradePolicy& policy) {
  std::vector<std::string> warnings;
  if (!policy.rollout) return warnings;
  const RolloutPolicy& rollout = *policy.rollout;
  WarnOfStages(policy, warnings);
  WarnOfOrder(rollout, warnings);
  if (rollout.expected_node_duration && !rollout.finish_by) {
    warnings.emplace_back("rollout.expectedNodeSeconds: has no effect without finishBy");
  }
  if (rollout.closed_time_zone && rollout.closed.empty()) {
    warnings.emplace_back("rollout.closedTimeZone: has no effect without closed");
  }
  if (rollout.health && *rollout.health == RolloutHealth{}) {
    warnings.emplace_back("rollout.health: has no effect without fields");
  }
  return warnings;
}

}  // namespace driverupgrade
