// The state of an InvariantChecker: checker.cc keeps it, commits.cc and budgets.cc judge changes of nodes, requests.cc what is asked.
#ifndef DRIVERUPGRADE_SRC_TESTING_INVARIANTS_CHECKER_IMPL_H_
#define DRIVERUPGRADE_SRC_TESTING_INVARIANTS_CHECKER_IMPL_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "decide/rollout/record.h"
#include "driverupgrade/testing/invariants.h"
#include "testing/invariants/node_truth.h"

namespace driverupgrade::testing {

// What a percentage is of so many nodes: rounded up, as in the Go library.
int UnavailableLimit(const CountOrPercent& limit, int nodes);
// 100 % or more: all nodes may be unavailable. Whoever counts nodes may count some that others do not.
bool NeverLimits(const CountOrPercent& limit);
// As many failed nodes let none start: rounded down, to 1 at least.
int FailedLimit(const CountOrPercent& limit, int nodes);

// How long a fault may be felt: a watch that broke begins again half a minute later by a slow clock, when its replica
// next looks.
inline constexpr absl::Duration kAftermath = absl::Minutes(1);

class InvariantChecker::Impl {
 public:
  Impl(std::shared_ptr<FakeCluster> the_cluster, InvariantOptions the_options);

  void Fail(std::string invariant, std::string text);
  void SetPolicy(const UpgradePolicy& policy);
  void NoteFault();

  // Commits.
  void OnChange(const Change& change);
  // One of the driver's, which tells a restart that changes the driver from one that does not.
  void NoteRevision(const ControllerRevision& revision);

  // Requests, before they are applied. `writer`: who asks.
  void CheckPatch(const PatchNodeParams& params);
  void CheckEviction(const EvictPodParams& params);
  void CheckDeletion(const DeletePodParams& params);
  void CheckMaintenance(const std::string& name, const std::string& uid);
  void CheckVersion(const char* kind, const std::string& name, const std::string& resource_version);

  // nullopt: the answer does not say why the pod stays.
  void NoteEvictionAnswer(const std::string& sender, const std::string& pod_uid, std::optional<Refusal> refusal) {
    eviction_answers_[{sender, pod_uid}] = refusal;
  }
  // An eviction or a deletion of the pod, as it was before, that was not refused. `accepted`: it is known to be so.
  void NoteRemoval(const Pod& pod, bool accepted);
  // What a replica says, who has read everything as it is now.
  void CheckGates(const Writer& who, const Plan& plan);
  void CheckTotals(const Tally& totals);
  // Whether some node carries a label, and is not done.
  bool AnyOpen() const { return open_ > 0; }
  // Of the last change of anything that engines follow.
  std::int64_t revision() const { return revision_; }
  // Of the last change of a NodeMaintenance.
  std::int64_t maintenance_revision() const { return maintenance_revision_; }

  void NoteSent(const Writer& sender, const PatchNodeParams& params);
  void NoteSent(const Writer& sender, const PatchNodeMaintenanceParams& params);
  // Whether something was sent that the node's next patch has to wait for.
  bool HasSent(const Writer& sender, const Node& node) const;
  // What a plan says about a node at one of its versions.
  void NotePath(const NodePlan& plan);

  const UpgradePolicy& PolicyOf(const Writer* writer) const;

  const std::shared_ptr<FakeCluster> cluster;
  const InvariantOptions options;
  const internal::Keys keys;
  std::shared_ptr<const UpgradePolicy> policy;
  // Who makes the request that is being applied; nullptr: nobody that is guarded.
  const Writer* writer = nullptr;
  bool rival_acts = false;
  bool disturbed = false;
  absl::Time last_fault = absl::InfinitePast();
  // When clocks of several leaders were last a minute apart.
  absl::Time clocks_apart = absl::InfinitePast();
  std::optional<Violation> violation;
  std::int64_t upgrades = 0;
  std::map<std::pair<UpgradeState, UpgradeState>, std::int64_t> edges;
  ChangeObserver listener;
  std::map<std::string, internal::NodeTruth> nodes;

 private:
  struct Path {
    std::string resource_version = {};
    UpgradeState from = UpgradeState::kUnknown;
    std::vector<UpgradeState> path = {};
  };

  void OnNode(const Change& change);
  void OnPod(const Change& change);
  void OnOther(const Change& change);
  // Requestor mode: maintenances.cc.
  void OnMaintenance(const Change& change);
  void NoteMaintained(const NodeMaintenance& object, bool is_there);
  void JudgeMaintenance(const Node& before, const Node& after, internal::NodeTruth& truth);
  bool Claims(const NodeMaintenance& object) const;
  // I14, I20, I21: rollouts.cc; I22: durations.cc.
  struct RolloutMember;
  void NoteMember(const Node& after);
  void NoteTry(const Node& before, const Node& after);
  void ForgetTries();
  void JudgeDurations(const driverupgrade::internal::DurationSketch& before,
                      const driverupgrade::internal::DurationSketch& after);
  void NoteApprovals(const DaemonSet& daemon_set);
  void OnLedger(const ConfigMap* ledger);
  void JudgeAdvance(const driverupgrade::internal::RolloutRecord& before,
                    const driverupgrade::internal::RolloutRecord& after);
  void JudgeRollout(const Node& before);
  std::string WhyNotPast(const RolloutStage& stage, const driverupgrade::internal::RolloutRecord& before,
                         const std::string& revision) const;
  bool KeepsMaintenance(const Node& node, absl::Time asked) const;
  std::string WhyNotStarted(const RolloutPolicy& rollout, const Node& node, absl::Time asked) const;
  // What a node takes, by the records in force since `time`.
  absl::Duration ShortestSince(const RolloutPolicy& rollout, absl::Time time) const;
  absl::Duration LongestSince(const RolloutPolicy& rollout, absl::Time time) const;
  bool IsLeftOut(const Node& node) const;
  int SizeOf(const RolloutStage& stage) const;
  int FailedForLong(const RolloutStage& stage, const std::string& revision) const;
  bool MayBeClosed(const RolloutPolicy& rollout) const;
  bool HasJustMoved(const RolloutMember& member) const;
  bool CanTellStages(const RolloutPolicy& rollout) const;
  std::size_t StageOf(const RolloutPolicy& rollout, const Node& node) const;
  std::vector<const Node*> UnderWay(const UpgradePolicy& the_policy, const Node& started) const;
  std::string WhyBeyondStage(const RolloutPolicy& rollout, const Node& started,
                             const std::vector<const Node*>& under_way) const;
  std::string WhyNotBeside(const NodeGroups& groups, const Node& started,
                           const std::vector<const Node*>& under_way) const;
  void ExpectWholeGroup(const UpgradePolicy& the_policy, const Node& started);
  struct StartedGroup;
  bool IsHindered(const StartedGroup& group) const;
  void JudgeStartedGroups();
  void NoteCordon(const Node* before, const Node& after, internal::Maker maker, internal::NodeTruth& truth);
  void NoteShares(const Node& after, internal::Maker maker, std::int64_t revision, absl::Time time,
                  internal::NodeTruth& truth);
  void Judge(const Node& before, const Node& after, internal::NodeTruth& truth);
  struct Attempt;
  void JudgeBudget(const Node& before, const Node& after);
  std::string WhyOverBudget(const UpgradePolicy& the_policy, const Node& before, const Node& after) const;
  // What the writer first sent to this version of the node; nullptr: nothing.
  const Attempt* FirstAttempt(const Node& started) const;
  // The most that a reader may have counted who has read up to `known` or further.
  int NodesWithDriver(std::int64_t known) const;
  void CountDriverNode(const std::string& node, std::int64_t revision);
  std::int64_t Known(const Node& started) const;
  int SlotsKnown(const UpgradePolicy& the_policy, const Node& started) const;
  int UnavailableKnown(const Node& started) const;
  // `failure`: of that class alone.
  int FailedKnown(const Node& started, std::optional<FailureClass> failure = std::nullopt) const;
  bool FailuresAreOut(const UpgradePolicy& the_policy) const;
  bool IsPastFailures(const UpgradePolicy& the_policy, const Node& started) const;
  // The class of `failurePolicy.byClass` that is used up; nullopt: none.
  std::optional<FailureClass> ClassPastFailures(const UpgradePolicy& the_policy, const Node& started) const;
  void JudgeFailures(const Node& started);
  // I19: hands.cc.
  int HandsAllowed(const UpgradePolicy& the_policy, const Node& started) const;
  void CountHand(internal::NodeTruth& truth);
  void NoteHands(const Node& before, const Node& after, internal::Maker maker, internal::NodeTruth& truth);
  void LetGo(internal::NodeTruth& truth);
  void NoteDriverPod(const Change& change);
  void NoteDriverRemoved();
  void JudgeHands(const std::string& taken, int allowed);
  void JudgeStart(const Node& before, const Node& after);
  void JudgeGrant(const Node& before);
  void OnGrants(const ConfigMap* ledger);
  void OnLedgerLost();
  void OnLease(const Lease& before, const Lease& after);
  bool Starts(const Node& before, const Node& after) const;
  void JudgeCordon(const Node& before, const Node& after, const internal::NodeTruth& truth);
  void JudgeEnd(const Node& before, const Node& after, const internal::NodeTruth& truth);
  void JudgePath(const Node& before, const Node& after);
  void JudgePolicy(const std::string& object);
  void CountRequest(const std::string& node);
  bool Stays(const Pod& pod) const;
  bool Uses(const Pod& pod, const UpgradePolicy& the_policy) const;
  std::string WhyNotToRemove(const Pod& pod, const UpgradePolicy& the_policy, bool by_deletion) const;
  void JudgeRemoval(const Pod& pod, bool by_deletion, const char* what);
  std::int64_t NodeRead(const std::string& node) const;
  std::string WhyNotNow(const Pod& pod, const UpgradePolicy& the_policy, bool by_deletion) const;
  bool DeletesPods(const UpgradePolicy& the_policy) const;
  absl::Duration EvictionTime(const std::optional<UpgradeState>& state, const UpgradePolicy& the_policy) const;
  void JudgeEndOfWait(const PatchNodeParams& params);
  bool EndsWait(const Node& node, const PatchNodeParams& params) const;
  std::vector<const Pod*> Protected(const std::vector<Pod>& pods, const UpgradePolicy& the_policy) const;
  bool MayOnlyRestart(const Pod& driver_pod, std::string_view wanted_hash) const;
  void CheckRestart(const Pod& driver_pod);
  bool IsDriverPod(const Pod& pod) const;
  absl::Time WritersTime() const;
  std::int64_t PodsRead(const std::string& node) const;
  bool IsKnown(const Pod& pod) const;
  std::int64_t CordonRead(const std::string& node) const;
  bool MayGoByOldLabels(const Pod& pod) const;
  bool Asked(const Writer& who, const Pod& pod) const;
  // Whether the pod is still there although it was asked to go, and by budgets or by something else.
  bool MayBeRefused(const Writer& who, const Pod& pod, bool by_budget) const;
  // UIDs of nodes that might be under way by what a replica has sent or was granted.
  using Uids = std::set<std::string>;
  Uids MayBeUnderWay(const Plan& plan) const;
  bool BudgetIsOut(const Writer& who, GateReason reason, const Uids& more) const;
  // `uids`, and the others of the group with which the node starts.
  Uids WithItsGroup(const UpgradePolicy& the_policy, const Node& node, Uids uids) const;
  std::vector<Pod> DriverPodsOn(const Node& node) const;
  bool HasToGo(const Node& node, const Pod& driver_pod) const;
  bool RevisionIsUnknown(const Node& node) const;
  // Requestor mode: the maintenance operator has to do with the node.
  bool IsMaintained(const Node& node) const;
  bool IsForeignCordon(const Node& node) const;
  bool IsTrue(const Writer& who, const Node& node, const Gate& gate, const Uids& more) const;

  // Nodes that the driver is on or was, how many there have been since which revision, and driver pods by node.
  std::set<std::string> with_driver_;
  std::deque<std::pair<std::int64_t, int>> driver_nodes_;
  std::unordered_map<std::string, int> driver_pods_;
  // Nodes that hold a slot; labelled nodes that are unavailable, failed, and not done.
  int slots_ = 0;
  int unavailable_ = 0;
  int failed_ = 0;
  int open_ = 0;
  // I19: nodes in the hands of engines.
  int in_hands_ = 0;
  // Driver pods that are bound to no node.
  void CountNode(const internal::NodeTruth& truth, int sign);
  std::int64_t revision_ = 0;
  std::int64_t maintenance_revision_ = 0;
  // What stands in the ledger: lines; and all that have stood there.
  std::set<std::string> granted_;
  // Revision at which each line was first stored.
  std::map<std::string, std::int64_t> granted_ever_;
  // What the writer was last answered, by its name and the UID of the pod that was to be evicted.
  std::map<std::pair<std::string, std::string>, std::optional<Refusal>> eviction_answers_;
  // When the Lease was last written.
  absl::Time lease_written_ = absl::InfinitePast();
  // The driver's ControllerRevisions by their hash, those that are gone included.
  std::map<std::string, ControllerRevision, std::less<>> revisions_;
  // Of the newest one.
  std::string newest_hash_;
  std::int64_t newest_ = 0;
  std::string newest_owner_;
  int templates_ = 0;
  // Revision at which a pod was bound, by its UID.
  std::unordered_map<std::string, std::int64_t> bound_;
  // UIDs of pods whose labels have changed since they were bound.
  std::unordered_set<std::string> relabelled_;
  // By UID of the node: the last few.
  std::unordered_map<std::string, std::deque<Path>> paths_;
  // The first patch at the node's version, or the first that starts it, by sender and UID.
  struct Attempt {
    std::string resource_version = {};
    bool starts = false;
    std::shared_ptr<const UpgradePolicy> policy = {};
    // Up to which version the sender had read nodes then.
    std::int64_t nodes_read = 0;
    absl::Time time = absl::InfinitePast();
  };
  std::map<std::pair<std::string, std::string>, Attempt> attempts_;
  // What the ledger has said of the rollout, and since when; the last few.
  std::deque<std::pair<absl::Time, driverupgrade::internal::RolloutRecord>> records_;
  // Of a policy with `rollout`: each node, and when it was last seen to have ended: to be done, failed or left out.
  struct RolloutMember {
    Node node = {};
    absl::Time ended = absl::InfinitePast();
    // Since when it has been failed; InfiniteFuture: it is not.
    absl::Time failed = absl::InfiniteFuture();
    // When the node was removed, and when it last came into another stage or group by its labels.
    absl::Time gone = absl::InfiniteFuture();
    absl::Time moved = absl::InfinitePast();
  };
  std::map<std::string, RolloutMember> members_;
  // The nodes that waited when the first of a group that starts together did, at these versions; in order of time.
  struct StartedGroup {
    struct Waiting {
      std::string name = {};
      std::string uid = {};
      std::string resource_version = {};
    };
    absl::Time time = absl::InfinitePast();
    std::shared_ptr<const UpgradePolicy> policy = {};
    std::vector<Waiting> waiting = {};
  };
  std::deque<StartedGroup> started_groups_;
  // Nodes in progress by an engine's start, by UID; and tries that have ended well, the newest last.
  struct Try {
    absl::Time began = absl::InfinitePast();
    absl::Time ended = absl::InfinitePast();
    // By then an engine has stored it.
    absl::Time known_until = absl::InfinitePast();
  };
  std::map<std::string, absl::Time> tries_began_;
  std::vector<Try> tries_;
  // Who stored the record last.
  std::string stored_by_;
  // What a DaemonSet has approved, and until when.
  std::map<std::string, absl::Time> approvals_;
  // NodeMaintenances that were patched, by sender and name. A node's patch may rely on one.
  std::set<std::pair<std::string, std::string>> maintenance_attempts_;
  // UIDs of NodeMaintenances, whoever asked for them, by node.
  std::map<std::string, std::set<std::string>> maintained_;
  // NodeMaintenances that we claim, by node and then by UID.
  struct Claim {
    std::string name = {};
    std::int64_t since = 0;
    bool ready = false;
    bool released = false;
  };
  std::map<std::string, std::map<std::string, Claim>> claims_;
  // When the writer last asked for the pod, by its name and the pod's UID.
  std::map<std::pair<std::string, std::string>, absl::Time> asked_;
};

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_SRC_TESTING_INVARIANTS_CHECKER_IMPL_H_
