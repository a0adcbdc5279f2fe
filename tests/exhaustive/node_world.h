// One node of the abstract cluster: its true state at the API server, the writes in progress, and each controller's
// view.
//
// Defines NodeState, Move and NodeWorld. A NodeWorld numbers the states of a node and computes the possible moves in
// each state. cluster_world.h models the interaction of several nodes: admission, the ledger, and crashes.
//
// - Versions are ranks: only the order of a node's versions matters, so they are renumbered at each change.
// - A controller sees nodes, driver pods and other pods with separate delays. Only after a crash can the controller see
//   older data again.
// - The kubelet occasionally reports the node's status, which creates a new version of the otherwise unchanged node.
// - A write is applied and acknowledged, refused with 409, or left open. A write that is left open arrives later, or
//   never. A crash may happen during a write, and at any other time.
#ifndef DRIVERUPGRADE_TESTS_EXHAUSTIVE_NODE_WORLD_H_
#define DRIVERUPGRADE_TESTS_EXHAUSTIVE_NODE_WORLD_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "exhaustive/judge.h"

namespace driverupgrade::tests {

// Protected workload on the node, which must be gone before the driver restarts: none, evictable, or blocked by a
// disruption budget.
enum class Workload : std::uint8_t { kNone, kEvictable, kBlocked };

// A controller's knowledge about the node.
struct Side {
  ViewId view = 0;
  std::uint8_t version = 1;
  // True if the cordon has changed since the version of the view.
  bool missed_cordon = false;
  // Version of the grant in the controller's copy of the ledger; 0 if there is no grant.
  std::uint8_t grant = 0;
  friend bool operator==(const Side&, const Side&) = default;
};

struct NodeState {
  ContentId content = 0;
  std::uint8_t version = 1;
  Driver driver = Driver::kOld;
  Workload workload = Workload::kEvictable;
  // True if the cordon belongs to an administrator; we must not lift such a cordon (I3).
  bool admin_cordon = false;
  // True if the node's upgrade took a slot when it started, and has not succeeded yet (I1).
  bool started = false;
  // Content of the node after the patch in progress; 0 if no patch is in progress.
  ContentId late = 0;
  // Versions of the grant in the ledger, and in the ledger write in progress; 0 if there is no grant.
  std::uint8_t grant = 0;
  std::uint8_t late_grant = 0;
  std::array<Side, kControllersMax> sides = {};
  friend bool operator==(const NodeState&, const NodeState&) = default;
};

using NodeId = std::uint32_t;

// Listed in the order in which a fault-free world makes the moves.
enum class MoveKind : std::uint8_t {
  kPatchLands,
  kSeesNode,
  kSeesDriver,
  kSeesPods,
  kListsPods,
  kDriverStarts,
  kDriverReady,
  kDriverRecovers,
  kBudgetYields,
  kPatchesAndRestarts,
  kPatches,
  kEvicts,
  kRestartsDriver,
  kLastCalm = kRestartsDriver,
  kKubeletReports,  // without faults, happens only if no other move is possible
  kPatchConflicts,
  kPatchNeverLands,
  kDriverCrashes,
  kBudgetBlocks,
  kWorkloadComes,
  kRelistsNodes,
  kPatchLate,          // faults start here
  kPatchLateAndCrash,  // the controller does not receive the result
  kAdminCordons,
  kAdminUncordons,
};
std::string_view ToString(MoveKind kind);
inline bool IsCalm(MoveKind kind) { return kind <= MoveKind::kLastCalm; }
inline bool IsFault(MoveKind kind) { return kind >= MoveKind::kPatchLate; }

struct Move {
  MoveKind kind = MoveKind::kPatchLands;
  std::int8_t controller = -1;
  NodeId to = 0;
  // Argument of NodeWorld::broken() for the violated invariant. 0: no invariant is violated.
  std::uint8_t broken = 0;
};

class NodeWorld {
 public:
  explicit NodeWorld(const ModelOptions& options);

  NodeId first() const { return first_; }
  const NodeState& state(NodeId id) const { return states_[id]; }
  NodeId IdOf(NodeState state);
  std::size_t size() const { return states_.size(); }

  // These functions return the possible moves by kind. Starts are separate, because they need a slot.
  const std::vector<Move>& moves(NodeId id);
  const std::vector<Move>& starts(NodeId id, int controller);
  const Judged& judged(NodeId id, int controller) const {
    return judge_.judged(states_[id].sides[static_cast<std::size_t>(controller)].view);
  }
  // Returns the node as the controller sees it after a crash.
  NodeId Crashed(NodeId id, int controller);
  // Returns the same node with the two controllers exchanged.
  NodeId Swapped(NodeId id);

  // Returns whether the node is done, has its initial cordon state, and has none of our marks left (L2).
  bool IsFinished(NodeId id) const;
  const std::string& broken(std::uint8_t number) const { return broken_[number]; }
  Judge& judge() { return judge_; }
  std::string Describe(NodeId id) const;

 private:
  void Environment(const NodeState& state, std::vector<Move>& moves);
  bool VersionMatters(const NodeState& state) const;
  void Administrator(const NodeState& state, std::vector<Move>& moves);
  void Deliveries(const NodeState& state, int controller, std::vector<Move>& moves);
  void Acts(const NodeState& state, int controller, std::vector<Move>& moves);
  void Patches(const NodeState& state, int controller, const Action& action, std::vector<Move>& moves);
  void RestartsDriver(MoveKind kind, NodeState state, int controller, const Action& action, std::vector<Move>& moves);
  std::uint8_t Commit(NodeState& state, ContentId after, UpgradeState from);
  void Externally(NodeState& state, ContentId after);
  ViewId Seen(const NodeState& state, const Side& side, bool forget_pods);
  void Add(std::vector<Move>& moves, MoveKind kind, int controller, NodeState state, std::uint8_t broken = 0);
  std::uint8_t Broken(const std::string& what);

  const ModelOptions options_;
  Judge judge_;
  struct Hash {
    std::size_t operator()(const NodeState& state) const;
  };
  std::unordered_map<NodeState, NodeId, Hash> ids_;
  std::deque<NodeState> states_;
  struct Known {
    bool moves_known = false;
    std::vector<Move> moves = {};
    std::array<bool, kControllersMax> starts_known = {};
    std::array<std::vector<Move>, kControllersMax> starts = {};
    std::array<NodeId, kControllersMax> crashed = {};  // 0: not known
    NodeId swapped = 0;
  };
  std::deque<Known> known_;
  std::vector<std::string> broken_ = {""};
  NodeId first_ = 0;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_EXHAUSTIVE_NODE_WORLD_H_
