// Stores and reports verdicts, for both StateMachine::Step and IncrementalPlanner.
#ifndef DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_
#define DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decide/verdict.h"

namespace driverupgrade::internal {

// A verdict in compact form, for code that evaluates many nodes. Most nodes only wait, so a KeptVerdict allocates a
// plan only if necessary, and is a fifth of the size of a Verdict. Size matters because the duration of a pass over a
// large fleet depends mostly on how much memory it writes. The tally, if needed, must be stored separately.
struct KeptVerdict {
  std::unique_ptr<NodePlan> plan = nullptr;  // nullptr if no action is planned
  UpgradeState from = UpgradeState::kUnknown;
  UpgradeState state = UpgradeState::kUnknown;  // NodePlan::to
  bool needs_grant = false;
  bool holds_slot = false;   // according to the tally
  bool in_progress = false;  // according to the tally
  bool pod_interest = false;
  std::optional<Gate> gate = std::nullopt;
  std::optional<Candidate> candidate = std::nullopt;
  std::vector<Finding> findings = {};
  std::optional<absl::Time> wake_at = std::nullopt;
};

KeptVerdict Keep(Verdict&& verdict);

KeptVerdict CopyOf(const KeptVerdict& verdict);

// Cancels the actions that were planned for a node: the node keeps its state, and waits with `gate`.
void Withhold(const Gate& gate, KeptVerdict& verdict);

// Adds the verdict on `node` to all members of `plan` except for the totals, the budget and the readings.
void AddVerdict(const std::string& node, KeptVerdict&& verdict, Plan& plan);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_
