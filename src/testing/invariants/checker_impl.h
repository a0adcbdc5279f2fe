// The state of an InvariantChecker. checker.cc maintains the state, commits.cc, cordons.cc and budgets.cc check changes
// to nodes, and requests.cc checks requests.
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

// Returns maxUnavailable for this number of nodes. Rounds a percentage up, like the Go library.
int UnavailableLimit(const CountOrPercent& limit, int nodes);
// Returns true for 100 % or more: all nodes may be unavailable, even if clients count different numbers of nodes.
bool NeverLimits(const CountOrPercent& limit);
// Returns the number of failed nodes at which no more nodes start. A percentage is rounded down, but to at least 1.
int FailedLimit(const CountOrPercent& limit, int nodes);

// Time for which a fault can have effects. With a slow clock, a broken watch restarts half a minute later, at the
// replica's next check.
inline constexpr absl::Duration kAftermath = absl::Minutes(1);

class InvariantChecker::Impl {
 public:
  Impl(std::shared_ptr<FakeCluster> the_cluster, InvariantOptions the_options);

  void Fail(std::string invariant, std::string text);
  void SetPolicy(const UpgradePolicy& policy);
  void NoteFault();

  // Commits.
  void OnChange(const Change& change);
  // Records a revision of the driver, so that restarts that change the driver can be recognized.
  void NoteRevision(const ControllerRevision& revision);

  // Requests, which are checked before they are applied. `writer` is the sender of the request.
  void CheckPatch(const PatchNodeParams& params);
  void CheckEviction(const EvictPodParams& params);
  void CheckDeletion(const DeletePodParams& params);
  void CheckMaintenance(const std::string& name, const std::string& uid);
  void CheckVersion(const char* kind, const std::string& name, const std::string& resource_version);

  // `refusal` is nullopt if the response does not show why the pod stays.
  void NoteEvictionAnswer(const std::string& sender, const std::string& pod_uid, std::optional<Refusal> refusal) {
    eviction_answers_[{sender, pod_uid}] = refusal;
  }
  // Forgets the eviction requests of the sender, and the responses to these requests.
  void ForgetRequests(const std::string& sender) {
    const auto is_of_sender = [&](const auto& request) { return request.first.first == sender; };
    std::erase_if(asked_, is_of_sender);
    std::erase_if(eviction_answers_, is_of_sender);
  }
  // Records an eviction or a deletion that was not refused. `pod`: the pod's state before the request. `accepted`: true
  // if the request is known to be accepted.
  void NoteRemoval(const Pod& pod, bool accepted);
  void NoteRefusal(const Pod& pod);
  // Checks the plan of a replica that has read the current state of all objects.
  void CheckGates(const Writer& who, const Plan& plan);
  void CheckTotals(const Tally& totals);
  // Returns true if at least one node has a state label and is not done.
  bool AnyOpen() const { return open_ > 0; }
  // Returns the revision of the last change to any object that engines follow.
  std::int64_t revision() const { return revision_; }
  // Returns the revision of the last change to a NodeMaintenance.
  std::int64_t maintenance_revision() const { return maintenance_revision_; }

  void NoteSent(const Writer& sender, const PatchNodeParams& params);
  void NoteSent(const Writer& sender, const PatchNodeMaintenanceParams& params);
  // Returns true if the node's next patch must wait for the result of an earlier request.
  bool HasSent(const Writer& sender, const Node& node) const;
  // Records the path that a plan contains for one version of a node.
  void NotePath(const NodePlan& plan);

  const UpgradePolicy& PolicyOf(const Writer* writer) const;

  const std::shared_ptr<FakeCluster> cluster;
  const InvariantOptions options;
  const internal::Keys keys;
  std::shared_ptr<const UpgradePolicy> policy;
  // Sender of the request that is being applied; nullptr if the sender is not guarded.
  const Writer* writer = nullptr;
  bool rival_acts = false;
  bool disturbed = false;
  absl::Time last_fault = absl::InfinitePast();
  // Time at which the clocks of several leaders last differed by a minute.
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
  void JudgeRollout(const Node& as_read);
  bool NeedsNoUpgrade(const Node& node) const;
  std::string WhyNotPast(const RolloutStage& stage, const driverupgrade::internal::RolloutRecord& before,
                         const std::string& revision) const;
  bool KeepsMaintenance(const Node& node, absl::Time asked) const;
  std::string WhyNotStarted(const RolloutPolicy& rollout, const Node& node, absl::Time asked) const;
  // Return the shortest and the longest duration of a node's upgrade according to the records in effect since `time`.
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
  // Returns the writer's first request for this version of the node, or nullptr.
  const Attempt* FirstAttempt(const Node& started) const;
  // Returns the highest number of nodes that a reader may have counted if it has read changes up to at least `known`.
  int NodesWithDriver(std::int64_t known) const;
  void CountDriverNode(const std::string& node, std::int64_t revision);
  std::int64_t Known(const Node& started) const;
  int SlotsKnown(const UpgradePolicy& the_policy, const Node& started) const;
  int UnavailableKnown(const Node& started) const;
  // `failure` restricts the count to this class.
  int FailedKnown(const Node& started, std::optional<FailureClass> failure = std::nullopt) const;
  bool FailuresAreOut(const UpgradePolicy& the_policy) const;
  bool IsPastFailures(const UpgradePolicy& the_policy, const Node& started) const;
  // Returns a class whose budget in `failurePolicy.byClass` is used up, or nullopt.
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
  bool CameBack(const Pod& pod) const;
  bool Stays(const Pod& pod) const;
  bool HoldsDevices(const Pod& pod, const IsolationPolicy& isolation) const;
  bool Uses(const Pod& pod, const UpgradePolicy& the_policy) const;
  std::string WhyNotToRemove(const Pod& pod, const UpgradePolicy& the_policy, bool by_deletion) const;
  void JudgeRemoval(const Pod& pod, bool by_deletion, const char* what);
  std::int64_t NodeRead(const std::string& node) const;
  std::string WhyNotNow(const Pod& pod, const UpgradePolicy& the_policy, bool by_deletion) const;
  bool DeletesPods(const UpgradePolicy& the_policy) const;
  absl::Duration EvictionTime(const std::optional<UpgradeState>& state, const UpgradePolicy& the_policy) const;
  void JudgeEndOfWait(const PatchNodeParams& params);
  bool EndsWait(const Node& node, const PatchNodeParams& params) const;
  std::vector<const Pod*> Protected(const std::vector<Pod>& pods, bool isolated, const UpgradePolicy& the_policy) const;
  bool MayOnlyRestart(const Pod& driver_pod, std::string_view wanted_hash) const;
  void CheckRestart(const Pod& driver_pod);
  bool IsDriverPod(const Pod& pod) const;
  absl::Time WritersTime() const;
  std::int64_t PodsRead(const std::string& node) const;
  bool IsKnown(const Pod& pod) const;
  std::int64_t CordonRead(const std::string& node) const;
  bool MayGoByOldLabels(const Pod& pod) const;
  bool Asked(const Writer& who, const Pod& pod) const;
  // Returns true if an eviction of the pod may have been refused: by disruption budgets if `by_budget` is true;
  // otherwise for another reason.
  bool MayBeRefused(const Writer& who, const Pod& pod, bool by_budget) const;
  // UIDs of nodes that might be in progress, because a replica has sent a request or received a grant.
  using Uids = std::set<std::string>;
  Uids MayBeUnderWay(const Plan& plan) const;
  bool BudgetIsOut(const Writer& who, GateReason reason, const Uids& more) const;
  // Returns `uids`, plus the UIDs of the nodes in the node's group if groups start together.
  Uids WithItsGroup(const UpgradePolicy& the_policy, const Node& node, Uids uids) const;
  std::vector<Pod> DriverPodsOn(const Node& node) const;
  bool HasToGo(const Node& node, const Pod& driver_pod) const;
  bool RevisionIsUnknown(const Node& node) const;
  // Requestor mode: returns true if the node's marks or a NodeMaintenance show that the maintenance operator handles
  // the node.
  bool IsMaintained(const Node& node) const;
  bool IsForeignCordon(const Node& node) const;
  bool IsTrue(const Writer& who, const Node& node, const Gate& gate, const Uids& more) const;

  // Nodes that belong to the driver, the number of these nodes at each cluster revision, and the hashes of the driver
  // pods on each node.
  std::set<std::string> with_driver_;
  std::deque<std::pair<std::int64_t, int>> driver_nodes_;
  std::unordered_map<std::string, std::multiset<std::string, std::less<>>> driver_pods_;
  // Numbers of nodes: nodes that hold a slot, labeled nodes that are unavailable, failed nodes, and labeled nodes that
  // are not done.
  int slots_ = 0;
  int unavailable_ = 0;
  int failed_ = 0;
  int open_ = 0;
  // I19: number of nodes that engines are processing.
  int in_hands_ = 0;
  // Adds the node to these numbers, or removes it if `sign` is -1.
  void CountNode(const internal::NodeTruth& truth, int sign);
  std::int64_t revision_ = 0;
  std::int64_t maintenance_revision_ = 0;
  // The grants that are currently in the ledger. Each grant is stored as its line in the ledger.
  std::set<std::string> granted_;
  // Revision at which each grant was first stored.
  std::map<std::string, std::int64_t> granted_ever_;
  // Last response to an eviction, by the sender's name and the pod's UID.
  std::map<std::pair<std::string, std::string>, std::optional<Refusal>> eviction_answers_;
  // Time of the last write to the Lease.
  absl::Time lease_written_ = absl::InfinitePast();
  // The driver's ControllerRevisions by hash, including deleted ControllerRevisions.
  std::map<std::string, ControllerRevision, std::less<>> revisions_;
  // Hash, number and owner of the newest revision, and number of templates so far.
  std::string newest_hash_;
  std::int64_t newest_ = 0;
  std::string newest_owner_;
  int templates_ = 0;
  // Revision at which a pod was bound, orphaned or relabeled, by the pod's UID.
  std::unordered_map<std::string, std::int64_t> bound_;
  // UIDs of pods whose labels have changed since they were bound.
  std::unordered_set<std::string> relabelled_;
  // The most recent paths, by the node's UID.
  std::unordered_map<std::string, std::deque<Path>> paths_;
  // The first patch that a sender requested for the latest version of a node, by sender and UID of the node. If that
  // patch does not start the node, the sender's first later patch that does so for the same version replaces it.
  struct Attempt {
    std::string resource_version = {};
    bool starts = false;
    std::shared_ptr<const UpgradePolicy> policy = {};
    // Revision up to which the sender had read the nodes.
    std::int64_t nodes_read = 0;
    absl::Time time = absl::InfinitePast();
  };
  std::map<std::pair<std::string, std::string>, Attempt> attempts_;
  // The most recent rollout records in the ledger, and the time at which each record was stored.
  std::deque<std::pair<absl::Time, driverupgrade::internal::RolloutRecord>> records_;
  // A node under a policy with `rollout`. `ended`: time at which the node was last seen done, failed or left out.
  struct RolloutMember {
    Node node = {};
    absl::Time ended = absl::InfinitePast();
    // Time at which the node failed; InfiniteFuture if it has not failed.
    absl::Time failed = absl::InfiniteFuture();
    // `gone`: time at which the node was removed. `moved`: time at which its labels last moved it to another stage or
    // group.
    absl::Time gone = absl::InfiniteFuture();
    absl::Time moved = absl::InfinitePast();
  };
  std::map<std::string, RolloutMember> members_;
  // For each group that starts together, in order of time: the nodes that were still waiting when the first node of the
  // group was started, with the versions of these nodes.
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
  // `tries_began_`: start times of nodes in progress that an engine started, by UID. `tries_`: successful attempts,
  // newest last.
  struct Try {
    absl::Time began = absl::InfinitePast();
    absl::Time ended = absl::InfinitePast();
    // Time by which an engine must have stored the attempt's duration.
    absl::Time known_until = absl::InfinitePast();
  };
  std::map<std::string, absl::Time> tries_began_;
  std::vector<Try> tries_;
  // Client that last stored the rollout record.
  std::string stored_by_;
  // Approvals on DaemonSets, and the time until which each is valid.
  std::map<std::string, absl::Time> approvals_;
  // NodeMaintenances that were patched, by sender and name. A patch of a node may rely on such a NodeMaintenance.
  std::set<std::pair<std::string, std::string>> maintenance_attempts_;
  // UIDs of all requestors' NodeMaintenances, by node.
  std::map<std::string, std::set<std::string>> maintained_;
  // NodeMaintenances that we claim, by node and then by UID.
  struct Claim {
    std::string name = {};
    std::int64_t since = 0;
    bool ready = false;
    bool released = false;
  };
  std::map<std::string, std::map<std::string, Claim>> claims_;
  // Time of the writer's last eviction request for the pod, by the writer's name and the pod's UID.
  std::map<std::pair<std::string, std::string>, absl::Time> asked_;
};

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_SRC_TESTING_INVARIANTS_CHECKER_IMPL_H_
