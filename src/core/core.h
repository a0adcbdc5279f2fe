// Core decides everything that an engine does, and does nothing itself. It has no I/O, thread, lock or clock. Objects
// and responses are passed in as values; requests, reads and Events are returned as values. It is driven by
// UpgradeEngine, which has a facade and threads, or by HostEngine, which exchanges documents with a host in another
// language.
//
//     core.ledger()->Begin(now); // and send its requests
//     ...                                             // the objects are read
//     CorePass pass = *core.Apply(std::nullopt, policy, {}, now);
//     ...                                             // read pass.wanted_pods, and Apply again
//     if (core.Settle(pass, now)) ...                 // send the ledger's requests, and Settle again
//     core.Withhold(pass, now);
//     for (NodeRequests& requests : core.Begin(pass.plan, now)) ...  // send them
//     NodeOutcome outcome = core.End(requests, now);  // once they are answered
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
  // Without a ledger, a policy with a rollout is refused.
  std::optional<AdmissionLedger> ledger = std::nullopt;
  // See EngineOptions.
  std::size_t nodes_per_pass = std::numeric_limits<int>::max();
};

// Describes what a new engine cannot know, for a pass that changes nothing.
struct DryRun {
  absl::Time active_since = absl::InfinitePast();
  // The record of the rollout; nullopt: none is stored.
  std::optional<std::string> record = std::nullopt;
};

// Facts about a pass that do not come from objects.
struct PassFacts {
  std::optional<SharedSlots> shared_slots = std::nullopt;
  // The reason why the rollout must not continue; empty if it may continue.
  std::string sick = {};
  // A dry run needs no ledger.
  std::optional<DryRun> dry_run = std::nullopt;
};

struct CorePass {
  // `nodes` contains the nodes whose requests may start; `gates` contains new and changed gates.
  Plan plan = {};
  // Nodes whose pods must be read, by lists that start now or later. The same node is returned again until its pods are
  // known.
  std::set<std::string> wanted_pods = {};
  // Nodes of the plan that the ledger does not allow to start, with the reason.
  std::map<std::string, Gate> withheld = {};
  Pool* pool = nullptr;
};

// The status of a pool, and the owner of the pool.
struct OwnedStatus {
  std::string owner = {};
  FleetStatus status = {};
};
// The pools of one owner together, in numbers.
struct OwnedPart {
  std::string owner = {};
  Tally totals = {};
  // Number of waiting nodes by reason.
  std::map<GateReason, int> waiting = {};
  std::optional<RolloutStatus> rollout = std::nullopt;
};

// Not thread-safe.
class Core {
 public:
  using Managed = std::map<std::string, std::shared_ptr<const NodeView>>;  // by name
  using Names = std::optional<std::set<std::string>>;                      // nullopt: all

  // `objects` and `hooks` outlive this object.
  Core(const DriverIdentity& identity, CoreOptions options, ObjectSource& objects, NodeHooks& hooks);

  // Processes the changes of the objects. Errors: same as for ObjectSource::Driver.
  absl::Status Look(absl::Time now);
  // The nodes that the engine manages, as of the last Look, Apply or Release.
  const Managed& managed() const { return managed_; }
  // Makes the next pass examine the node again, even if no object has changed.
  void LookAt(const std::string& node) { touched_.insert(node); }
  // Accepts the outcome of a read of wanted pods. After a failure, the node is wanted again after a pause that starts
  // at `now`.
  void PodsRead(const std::string& node, const absl::Status& status, absl::Time now);

  // Makes a pass over the part to which `policy` applies. Errors: same as for Validate, and for ObjectSource::Ready and
  // Driver. InvalidArgument for an owner that the ledger does not accept. FailedPrecondition for a rollout without a
  // ledger, and for a second part that would share the record of another one.
  absl::StatusOr<CorePass> Apply(const Part& part, const UpgradePolicy& policy, const PassFacts& facts, absl::Time now);
  // Queries the ledger for the nodes of the plan that may start. Returns true if it has requests: once they are
  // answered, the same plan, or a newer one, is settled again.
  bool Settle(CorePass& pass, absl::Time now);
  // The final step of the plan: removes the starts that the ledger has withheld.
  void Withhold(CorePass& pass, absl::Time now);
  // Returns the Events about the findings and gangs of `pass` if its plan is finished; sets its wake-up to the next
  // reminder.
  std::vector<RecordEventParams> EventsOf(CorePass& pass, absl::Time now);
  // See StateMachine::Release. The plan's wake_at has no meaning. Errors: same as for Apply; Unavailable once nothing
  // else is left, if a node or a claim that may be ours cannot be read.
  absl::StatusOr<Plan> Release(const Names& nodes, absl::Time now);
  // Must be called after passes were interrupted: another process may have made passes in the meantime.
  void Resume();
  // Must be called when a pass with autoUpgrade off starts. It counts as an interruption even if the pass cannot read
  // anything.
  void Freeze();

  // Starts the requests of `plan`. None of its nodes may have requests in flight.
  std::vector<NodeRequests> Begin(const Plan& plan, absl::Time now);
  // Finishes requests from Begin once they have no further Next.
  NodeOutcome End(const NodeRequests& requests, absl::Time now);
  bool InFlight(const std::string& node) const { return under_way_.Contains(node); }

  // Returns the ledger of parts without an owner; nullptr: the engine has no ledger.
  LedgerSteps* ledger() { return ledger_options_ ? &ledgers_.at(ledger_options_->owner) : nullptr; }
  // Returns the ledgers of all owners by name. The engine adds a ledger for each new owner, and removes none.
  std::map<std::string, LedgerSteps>& ledgers() { return ledgers_; }
  AttemptLog& log() { return log_; }
  const StateMachine& machine() const { return machine_; }
  bool SeesDaemonSet() const { return !driver_.facts->daemon_sets.empty(); }
  std::set<std::string> PodInterest() const;
  // Returns the number of judgements since the start.
  std::uint64_t judgements() const;

  // Returns the plan of the pool that contains all nodes: see IncrementalPlanner::Publish.
  std::shared_ptr<const PublishedPlan> Publish();
  // nullopt if the node does not wait, or is unknown.
  std::optional<Gate> Explain(const std::string& node) const;
  // Returns the plans of all pools together.
  Plan Everything() const;
  // Returns the status of each pool with nodes, without nodes that callers no longer name.
  std::vector<OwnedStatus> Statuses() const;
  // Returns the parts of all owners, in order of their names.
  std::vector<OwnedPart> Parts() const;

 private:
  // A failure about a node, and the time of the next attempt.
  struct Retry {
    int failures = 0;
    std::optional<absl::Time> due = std::nullopt;  // nullopt: it is being tried
    std::optional<Finding> finding = std::nullopt;
  };
  using Retries = std::map<std::string, Retry>;  // by node

  // ----- nodes (core_nodes.cc)
  void NoteTime(absl::Time now);
  // Errors: same as for ObjectSource::Driver.
  absl::Status NoteChanges();
  absl::Status ReadDriver();
  void TouchManaged();
  void TouchDue(Retries& retries);
  // Examines nodes that may have changed, in turn. Nodes beyond the limit are left to the next pass.
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
  // Returns the ledger with the entry of the owner; nullptr: the engine has no ledger. Errors: same as for
  // AdmissionLedger::Create.
  absl::StatusOr<LedgerSteps*> LedgerFor(const std::string& owner);
  // Sets the nodes of the pool to `nodes`.
  void Assign(Pool& pool, const Names& nodes);
  void Move(const std::string& node, Pool& pool);
  void SetGuests(Pool& pool);

  // ----- passes
  void SetFacts(Pool& pool, const UpgradePolicy& policy, const PassFacts& facts, absl::Time now);
  Plan Advance(Pool& pool, absl::Time now);
  void FollowPods(Pool& pool, const Plan& plan);
  bool WantsPodsOf(const std::string& node) const;
  std::set<std::string> WantedPods(const Pool& pool) const;
  // Returns true while the pods of the node are being read: nothing is done on the node until they are known, or until
  // the read fails.
  bool MayHaveGangs(const Pool& pool, const std::string& node) const;
  bool Awaits(const std::string& node, const std::set<std::string>& wanted) const;
  void AddFindings(const Pool& pool, Plan& plan) const;
  void LeaveOut(Pool& pool, const std::set<std::string>& wanted, Plan& plan);
  void WithholdUnread(Pool& pool, const std::set<std::string>& wanted, bool for_gangs, Plan& plan);
  void WithholdEvictions(Pool& pool, Plan& plan, absl::Time now);
  // Returns the unit with which the node has started (RolloutPolicy::gangs); empty: none.
  std::string UnitOf(const std::string& node) const;
  // Returns true if the node is known and its upgrade is in progress.
  bool HasStarted(const std::string& node) const;
  // Notes the gangs that the plan may interrupt, before it is carried out.
  void NoteInterruptions(const NodePlan& plan);
  // Forgets units and nodes that are no longer in progress.
  void ForgetInterruptions(Pool& pool) const;
  // A ledger contains the record of one rollout, so only one pool may use it. Errors: FailedPrecondition if `pool` is a
  // different one.
  absl::Status CheckLedgerPool(const Pool& pool) const;
  bool UsesLedger(const Pool& pool) const {
    return pool.ledger != nullptr && (!pool.nodes.empty() || pools_.size() == 1);
  }
  // Returns true if other pools or engines have nodes of the same driver.
  bool SharesDriver(const Pool& pool) const { return !pool.owner.empty() || !scope_.node_selector.empty(); }
  void AddWakeUps(const Pool& pool, Plan& plan) const;

  const StateMachine machine_;
  const ViewScope scope_;
  const std::size_t nodes_per_pass_;
  ObjectSource& objects_;
  NodeHooks& hooks_;
  NodeViews views_;
  std::optional<AdmissionLedgerOptions> ledger_options_;  // nullopt: there is no ledger
  std::map<std::string, LedgerSteps> ledgers_;            // by owner
  AttemptLog log_;
  NodesUnderWay under_way_;

  DriverParts driver_;
  bool driver_stale_ = true;
  Managed managed_;
  std::map<std::string, std::vector<Finding>> findings_;  // by node
  std::set<std::string>
      written_;  // nodes whose requests were started or answered, or whose pods were read, since the last pass
  std::set<std::string> touched_;
  std::string touched_at_;  // the last that was taken, so that nodes that change often do not keep others waiting
  Retries reads_;           // only nodes whose pods are wanted
  Retries questions_;

  std::vector<std::unique_ptr<Pool>> pools_;
  std::map<std::string, Pool*> pool_of_;  // by node
  std::map<std::string, Pool*> left_;     // pools that nodes left with their driver pods, by node; a node may return
  absl::Time now_ = absl::InfinitePast();
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_CORE_CORE_H_
