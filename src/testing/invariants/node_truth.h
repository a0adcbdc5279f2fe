// The checker's record of a node, and functions that interpret nodes. The functions implement docs/state-machine.md
// independently of the library, so that they do not repeat the library's mistakes.
#ifndef DRIVERUPGRADE_SRC_TESTING_INVARIANTS_NODE_TRUTH_H_
#define DRIVERUPGRADE_SRC_TESTING_INVARIANTS_NODE_TRUTH_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/rollout_policy.h"
#include "driverupgrade/upgrade_policy.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade::testing::internal {

// The label and annotation keys of a driver identity, computed once.
struct Keys {
  explicit Keys(const DriverIdentity& identity);
  std::string name;
  std::string state;
  std::string skip;
  std::string initial;
  std::string stage;
  std::string restart_only;
  std::string reload_only;
  std::string restart_pod;
  std::string safe_load;
  std::string requestor_mode;
  std::string cordoned_by;
  std::string failure_class;
  std::string failed_revision;
  std::string isolated_devices;
  std::string taint;
  // Annotations that the engine may write, and annotations that the engine may only remove.
  std::vector<std::string> written;
  std::vector<std::string> removed;
};

// Returns the state in the node's label. Without a label, returns the state that the other marks on the node show.
// Returns nullopt if the label is not a state.
std::optional<UpgradeState> StateOf(const Node& node, const Keys& keys);
bool HasLabel(const Node& node, const Keys& keys);
// Returns true if the node has the taint with which we steer gangs to other nodes.
bool Steers(const Node& node, const Keys& keys);
// Returns true if the node has no label and other objects therefore also decide whether the upgrade continues. These
// objects are NodeMaintenances in requestor mode, and the driver pods if the node has our name and is no longer
// cordoned, or has our timer and another driver's cordon.
bool MayGoOn(const Node& node, const Keys& keys);
bool IsBusy(const std::optional<UpgradeState>& state);
// The properties of a node that decide whether it holds a slot and whether pods may be removed from it, and the
// revision since which these properties apply.
struct NodeFacts {
  std::int64_t since = 0;
  std::optional<UpgradeState> state = UpgradeState::kUnknown;
  bool unschedulable = false;
  // True if the node's devices are isolated instead of the whole node.
  bool isolated = false;
  // True if an annotation records that an administrator had cordoned the node before the upgrade.
  bool noted = false;
  // True if another driver that is not named on the cordon relies on the cordon.
  bool unnamed_driver_relies = false;
  // Start of the current state, according to the node's timer.
  std::optional<absl::Time> stage_began = std::nullopt;
  // True if the upgrade of the node has failed. False if the node could not load the driver that it has.
  bool failed = false;
  // Class of the failure, according to the node's annotation; nullopt if the upgrade of the node has not failed.
  std::optional<FailureClass> failure_class = std::nullopt;
  // True if the node failed because it could not be evacuated, and returned to service with its old driver
  // (OnFailure::kGiveBack).
  bool given_back = false;
  // True if another client removed the label; the state is then derived from the other marks on the node.
  bool unlabelled = false;

  bool operator==(const NodeFacts&) const = default;
};
// Returns the facts without `since`.
NodeFacts FactsOf(const Node& node, const Keys& keys);
// Returns true if the node counts towards maxParallel.
bool HoldsSlot(const NodeFacts& node, const UpgradePolicy& policy);
// Returns true if workloads may be evicted from a node in that state.
bool IsEvacuating(const std::optional<UpgradeState>& state);
// Returns true if our upgrade will definitely cordon a node in that state.
bool WillBeCordoned(const std::optional<UpgradeState>& state);
// Returns true if our name is on the node's cordon.
bool IsMarked(const Node& node, const Keys& keys);
// Returns true if our upgrade has taken the node, or only its devices, out of service.
bool IsOutOfService(const Node& node, const Keys& keys);
// Returns true if another driver is named on the cordon, or is active without being named on it.
bool OtherDriverAtWork(const Node& node, const Keys& keys);
// Returns another driver that is named on the cordon and whose upgrade is in progress, or an empty string.
std::string LiveName(const Node& node, const Keys& keys);
// Returns all other drivers that are named on the cordon and whose upgrades are in progress.
std::set<std::string> OthersLiveNames(const Node& node, const Keys& keys);
// Returns the name of another driver or program that relies on the cordon. A driver relies on it if it is named on the
// cordon and its upgrade is in progress, or if it is active without being named. Empty if there is no such driver or
// program.
std::string WhoRelies(const Node& node, const Keys& keys);
// Returns true if another driver that is not named on the cordon started before the node was cordoned, and will lift
// the cordon (dep-F8).
bool UnnamedDriverMadeCordon(const Node& node, const Keys& keys);
// Returns true if the maintenance operator maintains the node for another driver that is not named on the cordon.
bool UnnamedDriverIsMaintained(const Node& node, const Keys& keys);
// Returns true if the cordon names a driver whose upgrade has not ended. An interrupted upgrade leaves the driver's
// name on the cordon.
bool AnUpgradesNameIsOn(const Node& node, const Keys& keys);
// Returns the reason why our upgrade, when it ends, must leave the cordon on the node, according to the node's marks
// (dep-F7, dep-F8, dep-F13). Empty if the cordon must be lifted. `starts`: the patch that ends the upgrade also leaves
// upgrade-required.
std::string WhyCordonStays(const Node& node, const Keys& keys, bool starts);
// Returns the first difference that our engine is not allowed to make, or an empty string.
std::string ForeignChange(const Node& before, const Node& after, const Keys& keys);
// Returns the state in which the node continues. Without a label, the timer annotation shows this state, even if another
// client has removed the cordon, too.
std::optional<UpgradeState> TimedState(const Node& node, const Keys& keys);
// StageBegan returns the start time in the timer annotation. PresentStageBegan returns this time only if the annotation
// is for the node's TimedState.
std::optional<absl::Time> StageBegan(const Node& node, const Keys& keys);
std::optional<absl::Time> PresentStageBegan(const Node& node, const Keys& keys);

// The client that cordoned or changed a node. kOperator: the maintenance operator, in requestor mode. kPeer: another
// driver of this library.
enum class Maker : std::uint8_t { kNobody, kEngine, kAdministrator, kRival, kOperator, kPeer };

struct NodeTruth {
  std::string uid = {};
  absl::Time created = absl::UnixEpoch();
  std::int64_t revision = 0;
  bool changed_by_engine = false;
  // True if the operator selects the node.
  bool selected = true;
  Maker cordon = Maker::kNobody;
  // Revision at which the node was last cordoned.
  std::int64_t cordoned_at = 0;
  // Revision at which the node last became ready.
  std::int64_t ready_at = 0;
  // True if another client has changed our marks, or has cordoned a node that had such marks. The owner of the cordon
  // is then unknown.
  bool uncertain = false;
  // True if the node belongs to the driver because of its label, or because of our name on its cordon.
  bool has_label = false;
  // True if other objects also decide whether the upgrade continues (see MayGoOn).
  bool may_go_on = false;
  bool unavailable = false;
  // True if an engine made the node unavailable. The node then counts regardless of the data that a reader has.
  bool unavailable_by_engine = false;
  std::int64_t unavailable_since = 0;
  bool slot = false;
  // True if an engine requested the slot. The slot then counts regardless of the data that a reader has.
  bool slot_by_engine = false;
  std::int64_t slot_since = 0;
  // The most recent facts, newest last. Never empty once the node has been seen.
  std::vector<NodeFacts> history = {};
  // Whether an upgrade is in progress, and when the last upgrade started.
  bool busy = false;
  absl::Time busy_since = absl::UnixEpoch();
  std::optional<UpgradeState> state = UpgradeState::kUnknown;
  // Time until which there was a NodeMaintenance that we had claimed and not released.
  absl::Time claimed_until = absl::InfinitePast();
  // True if a NodeMaintenance that we claim has been ready since the node last left node-maintenance-required.
  bool evacuated = false;
  // Counts in the current attempt, or since the last attempt: requests (patches, deletions and evictions), pods removed
  // by these requests, refused evictions, and changes by other clients. `first_write`: time of the first request.
  int writes = 0;
  int pods_gone = 0;
  int refusals = 0;
  int meddled = 0;
  absl::Time first_write = absl::InfinitePast();
  // Time of the first eviction of a pod that tolerates the cordon since the node was last done.
  absl::Time tolerant_evicted = absl::InfiniteFuture();
  // Number of templates at the start of the attempt.
  int templates = 0;
  // I19: number of nodes that engines were allowed to process at the same time when an engine last started this node;
  // nullopt if no engine processes the node.
  std::optional<int> hands_allowed = std::nullopt;
  // True if an engine has deleted a driver pod, and no driver pod has been Ready on the node since then.
  bool driver_taken = false;
  // UIDs of the driver pods on the node that are Ready and not terminating.
  std::set<std::string> ready_drivers = {};
  // True if the node has our name on its cordon, but another client has removed the label.
  bool unlabelled_mark = false;
  bool cordoned = false;
  // True if the node counts among the nodes that engines are processing.
  bool in_hand = false;
};

// Adds the facts that hold from `revision` on.
void Remember(NodeFacts facts, std::int64_t revision, std::vector<NodeFacts>& history);
// Returns the index of the last entry that is not newer than `revision`, or of the first entry if all entries are
// newer.
std::size_t IndexAt(const std::vector<NodeFacts>& history, std::int64_t revision);
// Returns the revision since which the node has held a slot continuously under this policy; nullopt if it holds no
// slot.
std::optional<std::int64_t> SlotSince(const std::vector<NodeFacts>& history, const UpgradePolicy& policy);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_INVARIANTS_NODE_TRUTH_H_
