// Advances a rollout through its stages (assign_stages.h): decides which stages are open, and updates the record.
//
//     const std::vector<int> stages = AssignStages(view.nodes, rules.policy);
//     const RolloutStep step = AdvanceRollout(stored, view, RolloutCensus(rules.policy, view.nodes, stages), rules, now);
//     if (step.record != stored) ...   // store it by compare-and-set, before the next call
//     if (!step.halted && stages[i] <= step.open) ...   // node i may start
//
// A stage starts only once its record is stored: a replica that has not read the record does not know that the stage
// has started. Pure.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_STAGES_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_STAGES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "decide/rollout/census.h"
#include "decide/rollout/record.h"
#include "decide/rollout/view.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

// Data derived from a policy, computed only once.
struct RolloutRules {
  RolloutPolicy policy = {};
  // Two policies have the same `fingerprint` if a change from one to the other does not lift a halt: they differ only
  // in times and in the order. They have the same `stages_fingerprint` if their stages select the same nodes.
  std::string fingerprint = {};
  std::string stages_fingerprint = {};
  // The `fingerprint` of earlier releases, which covers the whole section.
  std::string whole_fingerprint = {};
};
// A change of a stage's soak, approval or limits leaves `stages_fingerprint` unchanged.
RolloutRules RulesOf(const RolloutPolicy& policy, const FailureBudgets& budgets);

struct RolloutStep {
  // The record to store.
  RolloutRecord record = {};
  // Nodes of the stages up to this one may start.
  int open = 0;
  // The reason why no node may start; nullopt: not halted.
  std::optional<Gate> halted = std::nullopt;
  // The reason why the nodes of later stages wait.
  Gate closed = {};
  // Text that names an unwell node of the last group, with GroupMode::kOneAtATime: no other group starts. Empty if all
  // nodes are healthy.
  std::string last_group = {};
  // True if the fleet has completed this revision before.
  bool returns = false;
  // Time at which the result changes even if the cluster does not.
  std::optional<absl::Time> wake_at = std::nullopt;
  friend bool operator==(const RolloutStep&, const RolloutStep&) = default;
};
// Returns the duration of a node's upgrade: the measured duration, or else the duration that the policy expects. For
// StartTimeAt.
absl::Duration NodeTakes(const RolloutRecord& record, const RolloutPolicy& policy);

// `stored`: the record that was read, regardless of the replica that wrote it. `census`: the census of the nodes in the
// view.
RolloutStep AdvanceRollout(const RolloutRecord& stored, const RolloutView& view, const RolloutCensus& census,
                           const RolloutRules& rules, absl::Time now);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_STAGES_H_
