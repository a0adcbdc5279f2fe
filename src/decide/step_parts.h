// What StateMachine::Step and IncrementalPlanner do alike: how they keep a verdict, and what they say of it.
#ifndef DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_
#define DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decide/verdict.h"

namespace driverupgrade::internal {

// A verdict as whoever judges many nodes keeps it. Most nodes only wait: without room for a plan where there is none it
// is a fifth of a Verdict, and in a big fleet what is written is what a pass takes its time for. Whoever needs the tally
// keeps it apart.
struct KeptVerdict {
  std::unique_ptr<NodePlan> plan = nullptr;  // nullptr: nothing is to be done
  UpgradeState from = UpgradeState::kUnknown;
  UpgradeState state = UpgradeState::kUnknown;  // NodePlan::to
  bool needs_grant = false;
  bool holds_slot = false;   // by the tally,
  bool in_progress = false;  // as well
  bool pod_interest = false;
  std::optional<Gate> gate = std::nullopt;
  std::optional<Candidate> candidate = std::nullopt;
  std::vector<Finding> findings = {};
  std::optional<absl::Time> wake_at = std::nullopt;
};

KeptVerdict Keep(Verdict&& verdict);

KeptVerdict CopyOf(const KeptVerdict& verdict);

// What was planned for a node is not to be done now, and it waits for `gate`: it stays where it is.
void Withhold(const Gate& gate, KeptVerdict& verdict);

// Adds the verdict on `node` to all but the totals, the budget and the readings of `plan`.
void AddVerdict(const std::string& node, KeptVerdict&& verdict, Plan& plan);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_
