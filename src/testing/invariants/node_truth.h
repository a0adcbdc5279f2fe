// The checker's record of a node, and how it reads nodes. Implemented again from docs/state-machine.md, independently
// of the library, so that it does not share the library's mistakes.
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

// The keys of the identity, computed once.
struct Keys {
  explicit Keys(const DriverIdentity& identity);
  std::string name;
  std::string state;
  std::string skip;
  std::string initial;
  std::string stage;
  std::string restart_only;
  std::string restart_pod;
  std::string safe_load;
  std::string requestor_mode;
  std::string cordoned_by;
  std::string failure_class;
  std::string failed_revision;
  std::string isolated_devices;
  std::string taint;
  // Annotations that the engine may write, and those that it may only remove.
  std::vector<std::string> written;
  std::vector<std::string> removed;
};

// Returns the state in the label. Without a label, returns the state that the marks on a cordoned node show. nullopt if
// the label has another value.
std::optional<UpgradeState> StateOf(const Node& node, const Keys& keys);
bool HasLabel(const Node& node, const Keys& keys);
// Returns true if the node has the taint by which we steer gangs to other nodes.
bool Steers(const Node& node, const Keys& keys);
// Returns true if the node has no label, so that other objects also decide whether the upgrade continues. These are its
// driver pods if it has our name and is no longer cordoned, and NodeMaintenances in requestor mode.
bool MayGoOn(const Node& node, const Keys& keys);
bool IsBusy(const std::optional<UpgradeState>& state);
// The facts that decide whether a node holds a slot and whether pods may be removed from it, and the revision since
// which they hold.
struct NodeFacts {
  std::int64_t since = 0;
  std::optional<UpgradeState> state = UpgradeState::kUnknown;
  bool unschedulable = false;
  // The node's devices are isolated instead of the node.
  bool isolated = false;
  // An administrator's cordon was noted when the upgrade started.
  bool noted = false;
  // Another driver relies on the cordon, and keeps no name on it.
  bool unnamed_driver_relies = false;
  // Start of its current state, according to its timer.
  std::optional<absl::Time> stage_began = std::nullopt;
  // Class of its failure, according to its annotation; nullopt if it has not failed.
  std::optional<FailureClass> failure_class = std::nullopt;
  // The node failed because it could not be evacuated, and returned to service with its old driver
  // (OnFailure::kGiveBack).
  bool given_back = false;
  // Another client has removed the label; the marks show the state.
  bool unlabelled = false;

  bool operator==(const NodeFacts&) const = default;
};
// Returns the facts without `since`.
NodeFacts FactsOf(const Node& node, const Keys& keys);
// Returns true if the node counts towards maxParallel.
bool HoldsSlot(const NodeFacts& node, const UpgradePolicy& policy);
// Returns true if workloads may be evicted from a node in that state.
bool IsEvacuating(const std::optional<UpgradeState>& state);
// Returns true if our upgrade will certainly cordon a node in that state.
bool WillBeCordoned(const std::optional<UpgradeState>& state);
// Returns true if our name is on the node's cordon.
bool IsMarked(const Node& node, const Keys& keys);
// Returns true if an upgrade of ours has taken the node, or only its devices, out of service.
bool IsOutOfService(const Node& node, const Keys& keys);
// Returns true if another driver is named on the cordon, or is active without a name on it.
bool OtherDriverAtWork(const Node& node, const Keys& keys);
// Returns another driver whose name on the cordon is live, or an empty string.
std::string LiveName(const Node& node, const Keys& keys);
// Returns all such drivers.
std::set<std::string> OthersLiveNames(const Node& node, const Keys& keys);
// Returns another driver that relies on the cordon: its name on it is live, or it is active without a name. Empty if no
// driver does.
std::string WhoRelies(const Node& node, const Keys& keys);
// Returns true if another driver without a name on the cordon started before the node was cordoned, and will lift the
// cordon (dep-F8).
bool UnnamedDriverMadeCordon(const Node& node, const Keys& keys);
// Returns true if the maintenance operator has the node for another driver, which has no name on the cordon.
bool UnnamedDriverIsMaintained(const Node& node, const Keys& keys);
// Returns true if the cordon names a driver whose upgrade has not ended. An interrupted upgrade leaves its name there.
bool AnUpgradesNameIsOn(const Node& node, const Keys& keys);
// Returns the reason why our upgrade, when it ends, must leave the cordon on the node, according to the node's marks
// (dep-F7, dep-F8, dep-F13). Empty if the cordon must be lifted. `starts`: the patch that ends the upgrade also leaves
// upgrade-required.
std::string WhyCordonStays(const Node& node, const Keys& keys, bool starts);
// Returns the first difference that we are not allowed to make, or an empty string.
std::string ForeignChange(const Node& before, const Node& after, const Keys& keys);
// Returns the start of the stage in the annotation. PresentStageBegan returns it only for the stage of the node's
// state.
std::optional<absl::Time> StageBegan(const Node& node, const Keys& keys);
std::optional<absl::Time> PresentStageBegan(const Node& node, const Keys& keys);

// kOperator: the maintenance operator, in requestor mode. kPeer: another driver of this library.
enum class Maker : std::uint8_t { kNobody, kEngine, kAdministrator, kRival, kOperator, kPeer };

struct NodeTruth {
  std::string uid = {};
  absl::Time created = absl::UnixEpoch();
  std::int64_t revision = 0;
  bool changed_by_engine = false;
  // The operator selects the node.
  bool selected = true;
  Maker cordon = Maker::kNobody;
  // Revision at which the node was last cordoned.
  std::int64_t cordoned_at = 0;
  // Revision at which it last became ready.
  std::int64_t ready_at = 0;
  // Another client has touched our marks, or has cordoned a node that carried them, so the owner of the cordon is
  // unknown.
  bool uncertain = false;
  // The node belongs to the driver, by its label or by our name on its cordon.
  bool has_label = false;
  // Other objects also decide whether its upgrade continues (see MayGoOn).
  bool may_go_on = false;
  bool unavailable = false;
  // We made the node unavailable, so it counts whatever a reader knows.
  bool unavailable_by_engine = false;
  std::int64_t unavailable_since = 0;
  bool slot = false;
  // An engine requested the slot, so it counts whatever a reader knows.
  bool slot_by_engine = false;
  std::int64_t slot_since = 0;
  // Last few facts, newest last. Never empty once the node has been seen.
  std::vector<NodeFacts> history = {};
  // Whether an upgrade is in progress, and the start of the last one.
  bool busy = false;
  absl::Time busy_since = absl::UnixEpoch();
  std::optional<UpgradeState> state = UpgradeState::kUnknown;
  // Time until which a NodeMaintenance existed that we claim and have not released.
  absl::Time claimed_until = absl::InfinitePast();
  // A NodeMaintenance that we claim has been ready since the node last left node-maintenance-required.
  bool evacuated = false;
  // During the current attempt, or since the last one: patches, deletions and evictions sent to the server; pods
  // removed as a consequence; changes by others; and the time of the first request.
  int writes = 0;
  int pods_gone = 0;
  int meddled = 0;
  absl::Time first_write = absl::InfinitePast();
  // Number of templates at the start of the attempt.
  int templates = 0;
  // I19: number of nodes that the policy allowed in the hands of engines when one of them last started this node;
  // nullopt if the node is not in an engine's hands.
  std::optional<int> hands_allowed = std::nullopt;
  // An engine has deleted a driver pod, and none has been Ready on the node since.
  bool driver_taken = false;
  // UIDs of the driver pods on the node that are Ready and not terminating.
  std::set<std::string> ready_drivers = {};
  // Another client has removed the label of a node that has our name.
  bool unlabelled_mark = false;
  bool cordoned = false;
  // The node counts among the nodes that engines are processing.
  bool in_hand = false;
};

// Adds the facts that hold from `revision` on.
void Remember(NodeFacts facts, std::int64_t revision, std::vector<NodeFacts>& history);
// Returns the index of the last entry that is not newer than `revision`, or of the first entry if all are newer.
std::size_t IndexAt(const std::vector<NodeFacts>& history, std::int64_t revision);
// Returns the revision since which the node has held a slot without a break under this policy; nullopt if it holds no
// slot.
std::optional<std::int64_t> SlotSince(const std::vector<NodeFacts>& history, const UpgradePolicy& policy);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_INVARIANTS_NODE_TRUTH_H_
