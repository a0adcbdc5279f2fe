// Advances a rollout through its stages (assign_stages.h): decides which stages are open, and updates the record.
//
//     const std::vector<int> stages = AssignStages(view.nodes, rules.policy);
//     const RolloutStep step = AdvanceRollout(stored, view, RolloutCensus(rules.policy, view.nodes, stages), rules, now);
//     if (step.record != stored) ...   // store it by compare-and-set, before the next call
//     if (!step.halted && stages[i] <= step.open) ...   // node i may start
//
// A stage starts only after the record that opens it has been stored, because a replica that has not read this record
// does not know that the stage has started. Pure.
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

// A policy, with data that is derived once from the policy.
struct RolloutRules {
  RolloutPolicy policy = {};
  // Two policies have the same `fingerprint` if they differ only in windows, closed days, order, expected duration,
  // `finishBy` or `rollback`. A change to these fields alone therefore does not lift a halt. They have the same
  // `stages_fingerprint` if their stages select the same nodes.
  std::string fingerprint = {};
  std::string stages_fingerprint = {};
  // Fingerprint as earlier releases computed it. It covers the whole section.
  std::string whole_fingerprint = {};
};
// Computes the data of RolloutRules. Changes to a stage's soak, approval or limits do not affect `stages_fingerprint`.
RolloutRules RulesOf(const RolloutPolicy& policy, const FailureBudgets& budgets);

struct RolloutStep {
  // The record to store.
  RolloutRecord record = {};
  // Index of the last open stage. Nodes of this stage and of all earlier stages may start.
  int open = 0;
  // Reason why no node may start; nullopt if the rollout is not halted.
  std::optional<Gate> halted = std::nullopt;
  // Reason why the nodes of later stages wait.
  Gate closed = {};
  // Message about an unwell node in the last group, if that node keeps other groups from starting. Empty if all nodes
  // of the group are healthy, or if the policy does not use GroupMode::kOneAtATime.
  std::string last_group = {};
  // True if the rollout returns to a revision that the fleet has completed before.
  bool returns = false;
  // Time at which the result changes even if the cluster does not change.
  std::optional<absl::Time> wake_at = std::nullopt;
  friend bool operator==(const RolloutStep&, const RolloutStep&) = default;
};
// Returns the duration of a node's upgrade for StartTimeAt: the measured duration if there are enough samples,
// otherwise the duration that the policy expects.
absl::Duration NodeTakes(const RolloutRecord& record, const RolloutPolicy& policy);

// Computes the next step of the rollout. `stored`: record that was read; any replica may have written it. `census`:
// census of the nodes in the view.
RolloutStep AdvanceRollout(const RolloutRecord& stored, const RolloutView& view, const RolloutCensus& census,
                           const RolloutRules& rules, absl::Time now);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_STAGES_H_
