// Core makes all decisions of an engine, but carries out none of them: it has no I/O, threads, locks or clock. It takes
// objects and responses as values, and returns requests, reads and Events as values. UpgradeEngine drives Core with a
// facade and threads; HostEngine drives Core by exchanging documents with a host in another language.
//
//     core.ledger()->Begin(now); // and send its requests
//     ...                                             // the objects are read
//     CorePass pass = *core.Apply(std::nullopt, policy, {}, now);
//     ...                                             // read pass.wanted_pods, and Apply again
//     if (core.Settle(pass, now)) ...                 // send the ledger's requests, and Settle again
//     core.Withhold(pass, now);
//     for (NodeRequests& requests : core.Begin(pass.plan, now)) ...  // send them
//     NodeOutcome outcome = core.End(requests, now);  // once their responses have arrived
#ifndef DRIVERUPGRADE_SRC_CORE_CORE_H_
#define DRIVERUPGRADE_SRC_CORE_CORE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/pool.h"
#include "decide/attempt_log.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/upgrade_policy.h"
#include "ledger/ledger_steps.h"
#include "read/node_views.h"
#include "read/object_source.h"
#include "write/node_requests.h"
#include "write/nodes_under_way.h"

namespace driverupgrade::internal {

struct CoreOptions {
  StateMachineOptions machine = {};
  ViewScope scope = {};
  // The ledger; nullopt: there is no ledger, and policies with a rollout are refused.
  std::optional<AdmissionLedger> ledger = std::nullopt;
  // Maximum number of nodes in progress at the same time over all pools; nullopt: only the limits of the policies apply.
  std::optional<int> parallel_total = std::nullopt;
  // See EngineOptions.
  std::size_t nodes_per_pass = std::numeric_limits<int>::max();
};

// State of an earlier engine, for a dry run, which is a pass that changes nothing.
struct DryRun {
  absl::Time active_since = absl::InfinitePast();
  // The record of the rollout; nullopt if no record is stored.
  std::optional<std::string> record = std::nullopt;
};

// Inputs of a pass that do not come from cluster objects.
struct PassFacts {
  std::optional<SharedSlots> shared_slots = std::nullopt;
  // The reason why the rollout must not continue; empty if it may continue.
  std::string sick = {};
  // Set for a dry run, which needs no ledger.
  std::optional<DryRun> dry_run = std::nullopt;
};

struct CorePass {
  // The plan of the pass. `nodes` contains the nodes whose requests may start; `gates` contains new and changed gates.
  Plan plan = {};
  // Nodes whose pods must be read with lists that start no earlier than now. A node is included in every pass until its
  // pods are known.
  std::set<std::string> wanted_pods = {};
  // Gates of the planned nodes that the ledger does not allow to start, by node.
  std::map<std::string, Gate> withheld = {};
  Pool* pool = nullptr;
};

// The status of a pool, with the pool's owner.
struct OwnedStatus {
  std::string owner = {};
  FleetStatus status = {};
};
// Counts over all pools of one owner.
struct OwnedPart {
  std::string owner = {};
  Tally totals = {};
  // Number of waiting nodes by reason.
  std::map<GateReason, int> waiting = {};
  std::optional<RolloutStatus> rollout = std::nullopt;
};

struct CoreReport {
  // Findings are present only if there is one pool.
  Plan plan = {};
  // Sorted by owner name.
  std::vector<OwnedPart> parts = {};
};

// Not thread-safe.
class Core {
 public:
  using Managed = std::map<std::string, std::shared_ptr<const NodeView>>;  // by name
  using Names = std::optional<std::set<std::string>>;                      // nullopt: all

  // `objects` and `hooks` must outlive this object.
  Core(const DriverIdentity& identity, CoreOptions options, ObjectSource& objects, NodeHooks& hooks);

  // Returns an error if a pass with the policy would fail.
  absl::Status CheckPolicy(const UpgradePolicy& policy, bool is_dry_run = false);
  // Processes changed objects without making a pass. Errors: same as for ObjectSource::Driver.
  absl::Status Look(absl::Time now);
  // The nodes that the engine manages, as of the last Look, Apply or Release.
  const Managed& managed() const { return managed_; }
  // Makes the next pass examine the node even if no object has changed.
  void LookAt(const std::string& node) { touched_.insert(node); }
  // Accepts the result of a read of the node's wanted pods. After a failure, the node returns to `wanted_pods` after a
  // pause that starts at `now`.
  void PodsRead(const std::string& node, const absl::Status& status, absl::Time now);

  // Makes a pass over the part to which `policy` applies. Errors: same as for Validate, and for ObjectSource::Ready and
  // Driver. InvalidArgument if the ledger does not accept the owner. FailedPrecondition if a policy has a rollout but
  // the engine has no ledger, or if two parts would share one record.
  absl::StatusOr<CorePass> Apply(const Part& part, const UpgradePolicy& policy, const PassFacts& facts, absl::Time now);
  // Uses the ledger to determine which nodes of the plan may start. Returns true if the ledger has requests to send.
  // Once the responses have arrived, the caller must call Settle again with the same plan or a newer plan.
  bool Settle(CorePass& pass, absl::Time now);
  // Final step of a pass: removes from the plan the starts that the ledger withholds.
  void Withhold(CorePass& pass, absl::Time now);
  // Returns the Events about the findings and gangs of `pass` if its plan is finished. If the next reminder is due
  // before the plan's wake-up time, the reminder's time becomes the wake-up time.
  std::vector<RecordEventParams> EventsOf(CorePass& pass, absl::Time now);
  // See StateMachine::Release. The plan's wake_at has no meaning. Errors: same as for Apply. In addition, Unavailable
  // if nothing else remains to be released, but a node or its NodeMaintenances cannot be read.
  absl::StatusOr<Plan> Release(const Names& nodes, absl::Time now);
  // Must be called before passes resume after an interruption, because another process may have made passes in the
  // meantime.
  void Resume();
  // Must be called when a pass with autoUpgrade off starts. Such a pass counts as an interruption even if it cannot
  // read anything.
  void Freeze();

  // Returns the requests of `plan`, and counts them as in flight from now on. No node of `plan` may have requests in
  // flight already.
  std::vector<NodeRequests> Begin(const Plan& plan, absl::Time now);
  // Finishes requests that Begin has returned. Must be called when no further request is left to send.
  NodeOutcome End(const NodeRequests& requests, absl::Time now);
  bool InFlight(const std::string& node) const { return under_way_.Contains(node); }

  // Returns the ledger of parts without an owner; nullptr if the engine has no ledger.
  LedgerSteps* ledger() { return ledger_options_ ? &ledgers_.at(ledger_options_->owner) : nullptr; }
  // Returns the ledgers of all owners, by owner. The engine adds a ledger for each new owner, and never removes one.
  std::map<std::string, LedgerSteps>& ledgers() { return ledgers_; }
  AttemptLog& log() { return log_; }
  const StateMachine& machine() const { return machine_; }
  bool SeesDaemonSet() const { return !driver_.facts->daemon_sets.empty(); }
  std::set<std::string> PodInterest() const;
  // Returns how many times nodes have been evaluated since the start.
  std::uint64_t judgements() const;

  // Returns the plan of the pool that contains all nodes. See IncrementalPlanner::Publish.
  std::shared_ptr<const PublishedPlan> Publish();
  // Returns the gate of the node; nullopt if the node does not wait or is unknown.
  std::optional<Gate> Explain(const std::string& node) const;
  // Returns the plans of all pools, merged into one and counted by owner.
  CoreReport Everything() const;
  // Returns the status of each pool that has nodes. If there is only one pool, returns its status even if it has no
  // nodes. Excludes guests (Pool::guests).
  std::vector<OwnedStatus> Statuses() const;

 private:
  // Number of consecutive failures of an action for a node, and the time of the next attempt.
  struct Retry {
    int failures = 0;
    std::optional<absl::Time> due = std::nullopt;  // nullopt: the attempt is in progress
    std::optional<Finding> finding = std::nullopt;
  };
  using Retries = std::map<std::string, Retry>;  // by node

  // ----- nodes (core_nodes.cc)
  void NoteTime(absl::Time now);
  // Processes changed objects. Errors: same as for ObjectSource::Driver.
  absl::Status NoteChanges();
  absl::Status ReadDriver();
  void TouchManaged();
  void TouchDue(Retries& retries);
  // Examines nodes that may have changed, in round-robin order, and leaves nodes beyond the limit to the next pass.
  void RefreshTouched();
  void Refresh(const std::string& node);
  void ShowTo(const std::string& node);
  void Forget(const std::string& node);
  void ForgetPods(const std::string& node);
  void NoteHooks(const NodeView& view);
  static void TryAgain(const std::string& node, absl::Time now, Retry& retry);
  std::string UidOf(const std::string& node) const;

  // ----- pools (core_pools.cc)
  Pool& PoolFor(const Part& part);
  // Returns the ledger that contains the owner's entry; nullptr if the engine has no ledger. Errors: same as for
  // AdmissionLedger::Create.
  absl::StatusOr<LedgerSteps*> LedgerFor(const std::string& owner);
  // Moves `nodes` into the pool. The pool's other nodes become guests, except nodes without a driver pod, which stay.
  void Assign(Pool& pool, const Names& nodes);
  void Move(const std::string& node, Pool& pool);
  void SetGuests(Pool& pool);
  // Returns the limit that the pool shares with the other pools.
  std::optional<SharedSlots> SharedSlotsFor(const Pool& pool) const;
  // Records the slots in use. If the pool has released slots, the other pools need a pass.
  void NoteSlots(Pool& pool, Plan& plan, absl::Time now) const;

  // ----- passes
  void SetFacts(Pool& pool, const UpgradePolicy& policy, const PassFacts& facts, absl::Time now);
  Plan Advance(Pool& pool, absl::Time now);
  void FollowPods(Pool& pool, const Plan& plan);
  bool WantsPodsOf(const std::string& node) const;
  std::set<std::string> WantedPods(const Pool& pool) const;
  bool MayHaveGangs(const Pool& pool, const std::string& node) const;
  // Returns true while the pods of the node are being read. Until they are known or the read fails, the node gets no
  // requests.
  bool Awaits(const std::string& node, const std::set<std::string>& wanted) const;
  void AddFindings(const Pool& pool, Plan& plan) const;
  void LeaveOut(Pool& pool, const std::set<std::string>& wanted, Plan& plan);
  void WithholdUnread(Pool& pool, const std::set<std::string>& wanted, bool for_gangs, Plan& plan);
  void WithholdEvictions(Pool& pool, Plan& plan, absl::Time now);
  // Returns the unit with which the node has started (RolloutPolicy::gangs); empty if the node has no unit.
  std::string UnitOf(const std::string& node) const;
  // Returns true if the node is known and its upgrade is in progress.
  bool HasStarted(const std::string& node) const;
  // Records the gangs that the plan may interrupt. Must be called before the plan's requests start.
  void NoteInterruptions(const NodePlan& plan);
  // Forgets units and nodes that are no longer in progress.
  void ForgetInterruptions(Pool& pool) const;
  // Returns FailedPrecondition if another pool uses the ledger of `pool`, because a ledger contains the record of only
  // one rollout.
  absl::Status CheckLedgerPool(const Pool& pool) const;
  bool UsesLedger(const Pool& pool) const {
    return pool.ledger != nullptr && (!pool.nodes.empty() || pools_.size() == 1);
  }
  // Returns true if other pools or engines have nodes of the same driver.
  bool SharesDriver(const Pool& pool) const { return !pool.owner.empty() || !scope_.node_selector.empty(); }
  void AddWakeUps(const Pool& pool, Plan& plan) const;

  const StateMachine machine_;
  const ViewScope scope_;
  const std::optional<int> parallel_total_;
  const std::size_t nodes_per_pass_;
  ObjectSource& objects_;
  NodeHooks& hooks_;
  NodeViews views_;
  // The last policy that was found valid. A policy is checked only when it changes, because the check examines its
  // windows for more than a year ahead.
  std::optional<UpgradePolicy> valid_policy_ = std::nullopt;
  std::optional<AdmissionLedgerOptions> ledger_options_;  // nullopt: there is no ledger
  std::map<std::string, LedgerSteps> ledgers_;            // by owner
  AttemptLog log_;
  NodesUnderWay under_way_;

  DriverParts driver_;
  bool driver_stale_ = true;
  Managed managed_;
  std::map<std::string, std::vector<Finding>> findings_;  // by node
  // Nodes whose requests were started or answered, or whose pods were read, since the last pass.
  std::set<std::string> written_;
  std::set<std::string> touched_;
  std::string touched_at_;  // last node examined; the next pass continues after this node, so that no node starves
  Retries reads_;           // only nodes whose pods are wanted
  Retries questions_;

  std::vector<std::unique_ptr<Pool>> pools_;
  std::map<std::string, Pool*> pool_of_;  // by node
  std::map<std::string, Pool*> left_;     // former pools of nodes that no caller currently names, by node
  absl::Time now_ = absl::InfinitePast();
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_CORE_CORE_H_
