// What the checker remembers of a node, and how it reads one. Written anew from docs/state-machine.md, not taken from
// the library, so that a mistake there is no mistake here.
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

// The identity's keys, made once.
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
  std::string taint;
  // Annotations that the engine may write, and those that it may only remove.
  std::vector<std::string> written;
  std::vector<std::string> removed;
};

// Returns the state that the label names, or without a label the state that the marks on a cordoned node show. nullopt: the
// label has another value.
std::optional<UpgradeState> StateOf(const Node& node, const Keys& keys);
bool HasLabel(const Node& node, const Keys& keys);
// Whether the node has the taint by which we steer gangs to other nodes.
bool Steers(const Node& node, const Keys& keys);
// Whether more than the node decides if its upgrade continues, because it has no label: its driver pods if it has our name
// and is no longer cordoned, and NodeMaintenances in requestor mode.
bool MayGoOn(const Node& node, const Keys& keys);
bool IsBusy(const std::optional<UpgradeState>& state);
// What decides whether a node holds a slot and whether pods may go from it, and since which revision it has been so.
struct NodeFacts {
  std::int64_t since = 0;
  std::optional<UpgradeState> state = UpgradeState::kUnknown;
  bool unschedulable = false;
  // An administrator's cordon was noted when the upgrade began.
  bool noted = false;
  // Another driver, which keeps no name on the cordon, relies on it.
  bool unnamed_driver_relies = false;
  // When its present state began, by its timer.
  std::optional<absl::Time> stage_began = std::nullopt;
  // Of a failed node, by what stands on it.
  std::optional<FailureClass> failure_class = std::nullopt;
  // It failed because it could not be evacuated, and returned to service with its old driver (OnFailure::kGiveBack).
  bool given_back = false;
  // Another client has removed the label; the marks tell the state.
  bool unlabelled = false;

  bool operator==(const NodeFacts&) const = default;
};
// Without `since`.
NodeFacts FactsOf(const Node& node, const Keys& keys);
// Whether the node counts for maxParallel.
bool HoldsSlot(const NodeFacts& node, const UpgradePolicy& policy);
// Whether workloads may be asked to go from a node in that state.
bool IsEvacuating(const std::optional<UpgradeState>& state);
// Whether an upgrade of ours will cordon the node in any case.
bool WillBeCordoned(const std::optional<UpgradeState>& state);
// Whether our name stands on the node's cordon.
bool IsMarked(const Node& node, const Keys& keys);
// Another driver that is named on the cordon, or is at work without a name.
bool OtherDriverAtWork(const Node& node, const Keys& keys);
// Another driver whose name on the cordon is live. Empty: none.
std::string LiveName(const Node& node, const Keys& keys);
// All of these.
std::set<std::string> OthersLiveNames(const Node& node, const Keys& keys);
// Another driver that relies on the cordon: its name on it is live, or it is at work without one. Empty: none.
std::string WhoRelies(const Node& node, const Keys& keys);
// Another driver without a name on the cordon that did not find the cordon there, and that will lift it (dep-F8).
bool UnnamedDriverMadeCordon(const Node& node, const Keys& keys);
// Another driver without a name on the cordon for which the maintenance operator has the node.
bool UnnamedDriverIsMaintained(const Node& node, const Keys& keys);
// Whether the cordon names a driver whose upgrade has not ended, as one that was broken off leaves its name.
bool AnUpgradesNameIsOn(const Node& node, const Keys& keys);
// Why an upgrade of ours that ends has to leave the cordon on the node, by what the node says (dep-F7, dep-F8, dep-F13).
// Empty: it has to be lifted. `starts`: the patch that ends it leaves upgrade-required, too.
std::string WhyCordonStays(const Node& node, const Keys& keys, bool starts);
// What differs that is not ours to change; empty if nothing does.
std::string ForeignChange(const Node& before, const Node& after, const Keys& keys);
// When the stage that the annotation tells of began, whichever it is; and the same if it is that of the node's state.
std::optional<absl::Time> StageBegan(const Node& node, const Keys& keys);
std::optional<absl::Time> PresentStageBegan(const Node& node, const Keys& keys);

// kOperator: the maintenance operator, in requestor mode. kPeer: another driver of this library.
enum class Maker : std::uint8_t { kNobody, kEngine, kAdministrator, kRival, kOperator, kPeer };

struct NodeTruth {
  std::string uid = {};
  absl::Time created = absl::UnixEpoch();
  std::int64_t revision = 0;
  bool changed_by_engine = false;
  // By the operator.
  bool selected = true;
  Maker cordon = Maker::kNobody;
  // At which revision the node was last cordoned.
  std::int64_t cordoned_at = 0;
  // At which it last became ready.
  std::int64_t ready_at = 0;
  // Somebody else has touched our marks, or has cordoned a node that carried them: nobody can tell whose cordon it is.
  bool uncertain = false;
  // It is the driver's, by its label or by our name on its cordon.
  bool has_label = false;
  // Its driver pods decide if an upgrade of it continues.
  bool may_go_on = false;
  bool unavailable = false;
  // It was our doing that it became unavailable: it counts whatever a reader knows.
  bool unavailable_by_engine = false;
  std::int64_t unavailable_since = 0;
  bool slot = false;
  // The slot was asked for: it counts whatever a reader knows.
  bool slot_by_engine = false;
  std::int64_t slot_since = 0;
  // The last few, the newest last. Never empty once the node has been seen.
  std::vector<NodeFacts> history = {};
  // When the last upgrade of it began.
  bool busy = false;
  absl::Time busy_since = absl::UnixEpoch();
  std::optional<UpgradeState> state = UpgradeState::kUnknown;
  // Until when a NodeMaintenance that we claim, and have not released, has been there.
  absl::Time claimed_until = absl::InfinitePast();
  // A NodeMaintenance that we claim has been ready since the node last left node-maintenance-required.
  bool evacuated = false;
  // Of the present try, or since the last one: patches, deletions and evictions that the server was asked for; pods
  // that a removal made go; changes by others; and when the first request came.
  int writes = 0;
  int pods_gone = 0;
  int meddled = 0;
  absl::Time first_write = absl::InfinitePast();
  // How many templates there had been when the try began.
  int templates = 0;
  // I19: as many nodes as the policy allowed in the hands of engines when one of them last started this node; nullopt: it
  // is in no engine's hands.
  std::optional<int> hands_allowed = std::nullopt;
  // An engine has deleted a driver pod, and none has been Ready on the node since.
  bool driver_taken = false;
  // UIDs of the driver pods on the node that are Ready and not terminating.
  std::set<std::string> ready_drivers = {};
  // Another client has removed the label of a node that carries our name.
  bool unlabelled_mark = false;
  bool cordoned = false;
  // The node is among those that are counted.
  bool in_hand = false;
};

// Adds what the node is like from `revision` on.
void Remember(NodeFacts facts, std::int64_t revision, std::vector<NodeFacts>& history);
// What the node was like at `revision`: the last entry that is as old. The first one if all are younger.
std::size_t IndexAt(const std::vector<NodeFacts>& history, std::int64_t revision);
// Since when the node has held a slot without a break, by this policy; nullopt: it holds none.
std::optional<std::int64_t> SlotSince(const std::vector<NodeFacts>& history, const UpgradePolicy& policy);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_INVARIANTS_NODE_TRUTH_H_
