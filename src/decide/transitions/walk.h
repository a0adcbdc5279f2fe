// Moves one node through its states within one pass (arch-A4).
#ifndef DRIVERUPGRADE_SRC_DECIDE_TRANSITIONS_WALK_H_
#define DRIVERUPGRADE_SRC_DECIDE_TRANSITIONS_WALK_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decide/maintenance_requestor.h"
#include "decide/marks_of_view.h"
#include "decide/shown_wait.h"
#include "decide/verdict.h"
#include "driverupgrade/drain_manager.h"
#include "driverupgrade/pod_manager.h"
#include "driverupgrade/safe_load_manager.h"
#include "driverupgrade/validation_manager.h"
#include "model/cordon.h"
#include "model/node_marks.h"

namespace driverupgrade {

// The arguments of Judge that are the same for every node, and objects that are derived once from these arguments.
struct JudgeContext {
  JudgeContext(const StateMachine& machine, const NodeRules& rules, const DriverFacts& facts, absl::Time at,
               absl::Time since)
      : identity(machine.identity()),
        options(machine.options()),
        pod_deletion(machine.pod_deletion()),
        policy(rules),
        driver(facts),
        now(at),
        active_since(since),
        drains(options.own_pod) {
    if (options.requestor) requestor.emplace(*options.requestor);
  }

  const DriverIdentity& identity;
  const StateMachineOptions& options;
  const bool pod_deletion;
  const NodeRules& policy;
  const DriverFacts& driver;
  absl::Time now;
  absl::Time active_since;
  DrainManager drains;
  // Set if the operator is configured as a requestor.
  std::optional<internal::MaintenanceRequestor> requestor = std::nullopt;
};

using internal::Failures;
using internal::Flag;
using internal::Mark;
using internal::NodeMarks;

// The result of a transition function. kMoved: the walk has entered another state, whose function can continue.
enum class Progress { kMoved, kStopped };

// The result of admission: whether a node may leave upgrade-required, and the unit with which the node starts. See
// StateMachine::Judge.
struct Admission {
  bool admitted = false;
  // True if the rollout admits the node only so that it loads the driver that it has (RolloutNode::reloads).
  bool reload_only = false;
  std::string_view unit = {};
};

// Moves a node from state to state. Edits a copy of the node's marks, which is created on the first write because most
// nodes only wait. The patch contains only the final differences from the node, so the walk never writes a value twice,
// or a value that the node already has (defect-D31).
class Walk {
 public:
  // Starts a walk. `judged`: a new Verdict, which the walk fills in.
  Walk(const JudgeContext& context, const NodeView& view, const Admission& admission, Verdict& judged);
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  const JudgeContext& in;
  const NodeView& view;
  const bool admitted;
  const bool reload_only;
  const std::string_view unit;
  const DrainManager& drains;
  const PodManager pods{};
  const std::optional<internal::MaintenanceRequestor>& requestor;
  DriverPods driver;
  Verdict& verdict;

  UpgradeState state() const { return state_; }
  // The state in which the node was read; nullopt if the label is invalid.
  std::optional<UpgradeState> read_state() const { return before().State(); }

  // The marks that were read, and the marks after the patch.
  const NodeMarks& before() const { return *read_; }
  const NodeMarks& after() const { return edited_ ? *edited_ : *read_; }
  NodeMarks& Edit();
  template <typename T>
  void Write(Mark<T> NodeMarks::*mark, T value) {
    if (!internal::IsWritten(after().*mark, value)) (Edit().*mark).Write(std::move(value));
  }
  // Removes the mark. Returns true if it was present.
  template <typename T>
  bool Remove(Mark<T> NodeMarks::*mark) {
    if (!(after().*mark).present()) return false;
    (Edit().*mark).Remove();
    return true;
  }

  // Enters `next`, and drops the timers of the previous state.
  Progress Enter(UpgradeState next, std::string reason);
  // Ends the upgrade, and changes the state to `unknown`. Must be called after our marks have been removed.
  void Release(std::string reason);
  // Enters upgrade-failed, and records a Warning Event with the message "<what>, <why>".
  Progress Fail(std::string_view what, std::string why);
  // Same as Fail, for a node that could not be evacuated. With OnFailure::kGiveBack, the node returns to service if its
  // old driver is still running.
  Progress FailEvacuation(OnFailure on_failure, std::string_view what, std::string why);
  // Plans the evictions that are due, and waits until `deadline` for the other pods. `fails_at`: time at which the node
  // fails if pods are still left.
  Progress Evict(EvictionRound round, absl::Time deadline, absl::Time fails_at = absl::InfiniteFuture());
  // Returns true if the policy deletes pods that are left at `deadline`, unless a pod is stuck despite its deletion.
  bool DeletesOverdue(OnTimeout on_timeout, const std::vector<const Pod*>& overdue_pods, absl::Time deadline) const;
  // Returns the pods of the node that the drain evicts, and the pods that stay. A pod that tolerates the cordon stays
  // if it was created later than the pods that the drain has evicted, unless it uses the driver, because another pod
  // like it would take its place.
  PodSelection SelectForDrain(const std::vector<Pod>& on_node) const;
  // Records on the node the creation time of the newest pod in `evict` that tolerates the cordon. Both this time and
  // the times that are compared with it come from the API server's clock.
  void NoteDrainStart(const std::vector<const Pod*>& evict);
  // Deletes pods whose eviction is overdue, and waits until they no longer exist.
  Progress DeleteOverdue(OnTimeout on_timeout, const std::vector<const Pod*>& overdue_pods, EvictionRound round,
                         absl::Time deadline);
  // Stops for this pass. The arguments form the gate that users see.
  Progress Wait(GateReason reason, std::string detail, absl::Time not_before = absl::InfiniteFuture());
  // Same as Wait above, but takes a gate, which can have a subject. Ignores Gate::not_before.
  Progress Wait(Gate gate, absl::Time not_before = absl::InfiniteFuture());
  // Requests another evaluation at `time`, when the verdict may change. InfiniteFuture has no effect.
  void WakeAt(absl::Time time);
  // Stops without a gate, because nothing is left to do.
  Progress Rest() { return Progress::kStopped; }

  void Note(FindingCode code, std::string message);
  void Event(bool warning, std::string message);

  // Returns the time at which the current stage exceeds its time limit, `timeout`: `began + timeout`, but not before
  // the engine has been active for min(timeout, 60 s) (dep-F4). Writes or repairs the timer of the stage if necessary.
  absl::Time Deadline(absl::Duration timeout);
  bool Expired(absl::Time deadline) const { return in.now >= deadline; }

  // Returns the node's past failures. Their number is zero if the annotation is missing or invalid.
  Failures PastFailures() const;
  void WriteFailures(const Failures& failures);

  // Ensures that the node is cordoned: cordons the node unless another client already has (T11, dep-F8). Does nothing
  // if the devices are isolated instead.
  void HoldCordon();
  // Returns true if the devices are isolated instead of the node.
  bool IsolatesDevices() const { return after().isolated_devices.present(); }
  // Cordons the node instead of isolating its devices.
  void CordonInstead();
  // Requests the pods of the node. Returns the pods if they have been read since the node was cordoned, otherwise
  // nullptr (arch-A11).
  const std::vector<Pod>* KnownPods();
  // Same as KnownPods, but also returns the pods of a node that is not cordoned.
  const std::vector<Pod>* ReadPods();
  // Waits until `deadline` for the node's pods, if the pods have not been listed yet or if the list failed.
  Progress WaitForPods(absl::Time deadline);
  // Makes the plan depend on the node as it was read. The node is then patched first, even if the patch is empty.
  void ConfirmNode() { verdict.plan.patch.emplace(); }
  // Restarts the timer of the current stage if the stage has a time limit, or if `timeout`, the limit of the current
  // wait, is finite.
  void RestartStage(absl::Duration timeout);
  // Evaluates the driver pods. Must be called again if the annotation that names a pod to restart has changed.
  void AssessDriver();

  // Returns true if the upgrade of the node uses a NodeMaintenance, even if the operator no longer uses requestor mode
  // for new upgrades (dep-F13).
  bool InRequestorMode() const { return after().requestor_mode.present(); }
  // Returns true if the driver's init container has set the annotation with which the driver waits until the node is
  // evacuated (T39, T43).
  bool AwaitsSafeLoad() const { return SafeLoadManager::IsWaiting(after()); }
  // Returns the gate text for a node without a bound driver pod. `until`: end of the text if no cause is known.
  std::string WhyNoDriverPod(std::string_view until = "") const;
  // Allows the current driver pods to be restarted without an evacuation until the target changes (T8).
  void SetRestartsOnly();
  // Returns true if the driver pods can be restarted without an evacuation: the mark of SetRestartsOnly covers the
  // target and the revisions of all pods to restart (T8).
  bool RestartsOnly() const;

  // Ends the walk and completes its plan: the patch, the cordon set, the last timers, and a label that another client
  // has removed. `acts`: whether the node may be written to. `shown_wait`: decides when the annotation that shows the
  // node's gate is written; nullptr if the annotation must not change.
  void Finish(bool acts, const internal::ShownWait* shown_wait);

 private:
  absl::Time StageBegan(absl::Duration timeout);
  // Returns true if the timer was started for the target revision, or for a newer revision.
  bool IsForTarget(const internal::Stage& stage);
  std::optional<absl::Time> UpstreamTimer(absl::Duration timeout) const;
  void WriteStage(absl::Time began);
  void DropStage();
  std::optional<absl::Duration> StageTimeout() const;
  std::string TargetRevision() const;
  void UpdateCordonSet();
  bool AwaitsUpgrade() const;
  void Steer();
  void RemoveOldTaint();
  void Resume();
  void NoteLabelLoss();
  void PaceLabel();
  void ShowWait(const internal::ShownWait& wait);
  bool HasPatch() const;
  bool OnlyWritesLabel() const;
  bool RunsOldDriver() const;

  internal::MarksOfView read_;
  std::optional<NodeMarks> edited_;  // set by the first write
  UpgradeState state_;
  bool entered_ = false;  // true if `state_` was entered in this walk
};

// Same as StateMachine::Judge, but stores the result in `judged`, a new Verdict. A Verdict takes 1.2 kB, so it should
// not be moved for every node. `shown_wait`: see Walk::Finish.
void JudgeInto(const JudgeContext& in, const NodeView& view, const Admission& admission,
               const internal::ShownWait* shown_wait, Verdict& judged);

// Returns the timeout of the evacuation that the policy prescribes (pod deletion or drain); nullopt if the policy
// prescribes no evacuation.
std::optional<absl::Duration> EvacuationTimeout(const JudgeContext& in);

// Returns the policy for pod deletion; nullopt if pod deletion is off (dep-F10). `known`: whether the views name the
// pods that use the driver.
std::optional<PodDeletionPolicy> PodDeletion(bool known, const NodeRules& rules);
std::optional<PodDeletionPolicy> PodDeletion(const JudgeContext& in);

// Returns `time`, or nullopt for InfiniteFuture.
std::optional<absl::Time> Finite(absl::Time time);

// A timer whose start lies further in the future than this was written with a wrong clock (dep-F4).
inline constexpr absl::Duration kClockSkewMax = absl::Seconds(60);

// Returns the time in whole seconds, which is the precision of the marks.
inline absl::Time WholeSecond(absl::Time time) { return absl::FromUnixSeconds(absl::ToUnixSeconds(time)); }

// Returns the time at which a failed read is retried: the next multiple of 5 s. With a delay of 5 s from now, each
// evaluation would postpone the retry, and nodes that are evaluated often would never be read.
absl::Time NextRead(absl::Time now);

// The transition functions, one for each state (src/decide/transitions/{start,evacuate,maintain,restart,failed,finish}.cc).
Progress LeaveUnknownOrDone(Walk& walk);
Progress LeaveUpgradeRequired(Walk& walk);
Progress LeaveCordonRequired(Walk& walk);
Progress LeaveWaitForJobs(Walk& walk);
Progress LeavePodDeletion(Walk& walk);
Progress LeaveDrain(Walk& walk);
Progress LeaveNodeMaintenance(Walk& walk);
Progress LeavePodRestart(Walk& walk);
// Plans the deletion of the driver pods together with the patch that enters pod-restart-required, if the walk ends in
// that state. That patch also confirms that the node has not changed since it was read. If the deletions were planned
// in the next pass, this confirmation would need a separate patch.
void RestartOnEntry(Walk& walk);
Progress LeaveFailed(Walk& walk);
Progress LeaveValidation(Walk& walk);
Progress LeaveUncordon(Walk& walk);
// upgrade-required -> node-maintenance-required, for a node that is admitted in requestor mode.
Progress RequestMaintenance(Walk& walk);
// Plans the next step that releases our claims on the node's NodeMaintenances, and stops the walk until no claim is
// left. Returns nullopt if we have no claim.
std::optional<Progress> ReleaseMaintenance(Walk& walk);
// Returns true if we claim a NodeMaintenance of the node. Returns false if the node's NodeMaintenances are unknown.
bool ClaimsMaintenance(const Walk& walk);
// Reports to the maintenance operator that the driver of the node failed (M7).
void ReportFailedMaintenance(Walk& walk);
// Removes our name from the cordon set of a failed node in requestor mode if another client has lifted the cordon.
// Without this, other drivers would mistake the next cordon, which the maintenance operator sets, for ours.
void ForgetLiftedCordon(Walk& walk);

// Decides whether the devices of a starting node are isolated instead of the node (transitions/isolate.cc).
void ChooseScope(Walk& walk);
// Returns why the node must not start: the policy isolates only devices, but the devices of the node cannot be isolated
// or are still unknown. Empty if the node may start.
std::string WhyUnfitForDevices(const Walk& walk);
// Isolates the devices of a node in progress before the node continues. Returns nullopt once the devices are isolated,
// or if the node is isolated instead.
std::optional<Progress> HoldDevices(Walk& walk);
// Returns true if HoldDevices must run before this walk may evict pods or replace the driver, because the walk
// started in a state in which the rules are not maintained.
bool DevicesAreOpen(const Walk& walk);
// Removes rules that an earlier upgrade left behind, or that a cordon has replaced.
void RemoveOldRules(Walk& walk);
// Removes the rules of the node. Returns nullopt once no rule is left.
std::optional<Progress> ReleaseRules(Walk& walk);
// Returns the gate of a node whose devices may still be in use; nullopt if the node need not wait for any claim or pod.
// First waits for claims of the node's pods that have not been read yet. Then waits for pods that hold a device but are
// not bound yet, and evicts the late pods among them.
std::optional<Gate> WhyDevicesInUse(Walk& walk, absl::Time& due);
// Returns why the driver is not confirmed to work although its pod is ready: its devices have not been published again.
// Empty if the devices have been published. `due`: time of the next check.
std::string WhyDevicesMissing(const Walk& walk, absl::Time& due);
// Sets NodePlan::late_holders and pods_kept for a node whose devices are isolated.
void CountPods(Walk& walk);

// Returns why the driver pod `name` is not ready. Reports a finding if the pod cannot start.
std::string WhyDriverNotReady(Walk& walk, std::string_view name);
// Checks whether the validation pods among `pods` have validated the driver of the node.
Validation Validate(const Walk& walk, const std::vector<Pod>& pods);
// With EarlyValidation::kRestart, deletes validation pods that have a controller and have validated only the old
// driver. Returns the time at which the next deletion is due.
absl::Time RestartEarly(Walk& walk, Validation& validation);

// Returns to service a node that enters upgrade-failed with its old driver: lifts a cordon on which only our upgrade
// relies, and marks the node so that it holds no slot (internal::IsGivenBack).
void ReturnToService(Walk& walk);
// Removes from `after` everything that our upgrade wrote to `node`, and lifts a cordon on which no other driver relies
// (dep-F9). The decision is based on the node as it was read. Returns a description of the changes for users.
std::string GiveBack(const Node& node, const DriverIdentity& identity, NodeMarks& after);
// Holds a node on which no DaemonSet of the driver wants a pod, and releases the node after ten minutes. The node is
// marked once it has waited for a minute according to `shown_wait`; immediately if that is nullptr. Returns true if the
// node was held or released.
bool ReleaseUnwanted(Walk& walk, const internal::ShownWait* shown_wait);
// For a node in progress without a state label, records that the cordon is not ours if the cordon set does not contain
// our name.
void NoteForeignCordon(Walk& walk);
// Returns the patch that changes the marks of `node` from `from` to `to`.
PatchNodeParams PatchBetween(const Node& node, const NodeMarks& from, const NodeMarks& to,
                             const DriverIdentity& identity);
// Enters upgrade-required, and records whether an administrator owns the node's cordon (dep-F7).
Progress RequireUpgrade(Walk& walk, std::string reason);
// Enters upgrade-done and returns the node to service. Waits while we claim a NodeMaintenance of the node, or while
// another driver relies on the cordon that would be lifted.
Progress EnterDone(Walk& walk, std::string reason);
// Leaves pod-restart-required, validation-required or upgrade-failed once the driver is confirmed to work (T48).
Progress FinishUpgrade(Walk& walk, std::string reason);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_TRANSITIONS_WALK_H_
