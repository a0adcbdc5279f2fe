// Decides how a node continues if another client removes its state label, and when the label is written again (ADR
// 0018).
#include "decide/attempt_log.h"
#include "decide/transitions/walk.h"
#include "fmt/format.h"

namespace driverupgrade {

// Determines the state of a node that has neither a state label nor a timer. If we claim a NodeMaintenance of the node,
// the node waits for the maintenance operator unless the driver is already confirmed to work. If no driver pod must be
// replaced or waits to be loaded, the node was already evacuated, and continues with the restart.
void Walk::Resume() {
  if (before().HasLabel()) return;
  const bool is_claimed =
      state_ == UpgradeState::kUnknown && before().requestor_mode.present() && ClaimsMaintenance(*this);
  if (!is_claimed && state_ != UpgradeState::kCordonRequired) return;
  const bool is_evacuated =
      !AwaitsSafeLoad() && (is_claimed ? driver.ready : driver.to_restart.empty() && !driver.unknown);
  if (!is_claimed && !is_evacuated) return;
  state_ = is_evacuated ? UpgradeState::kPodRestartRequired : UpgradeState::kNodeMaintenanceRequired;
  read_.SetUnlabelled(state_);
}

void Walk::NoteLabelLoss() {
  const std::optional<LabelLoss>& loss = view.attempts.label_loss;
  if (!loss || in.now >= internal::LabelLossEnds(*loss)) return;
  const std::string times = loss->count == 1 ? "once" : fmt::format("{} times", loss->count);
  Note(FindingCode::kLabelTakenAway,
       fmt::format("another client has removed the label {} {}; the upgrade continues from the node's other labels "
                   "and annotations. The usual cause is an NVIDIA operator with autoUpgrade: false; give our operator "
                   "another domain or driver name",
                   in.identity.StateLabel(), times));
  WakeAt(internal::LabelLossEnds(*loss));
}

// Returns true if the only necessary action of the plan is to write the state label.
bool Walk::OnlyWritesLabel() const {
  const NodePlan& plan = verdict.plan;
  return plan.patch && plan.patch->annotations.empty() && !plan.patch->unschedulable && plan.remove.empty() &&
         plan.maintenance.empty() && !plan.confirm && !admitted;
}

// Writes a missing label in a patch that is needed anyway, if there is one. Otherwise writes the label in a separate
// patch, which is delayed if another client has removed the label.
void Walk::PaceLabel() {
  NodePlan& plan = verdict.plan;
  const std::optional<LabelLoss>& loss = view.attempts.label_loss;
  if (!loss || !OnlyWritesLabel()) return;
  plan.events.clear();  // the state was already reported, and a finding reports the loss
  if (in.now >= internal::NextLabelDue(*loss)) return;
  WakeAt(internal::NextLabelDue(*loss));
  plan.from = state_;
  plan.path.clear();
  plan.patch.reset();
  plan.reason.clear();
}

}  // namespace driverupgrade
