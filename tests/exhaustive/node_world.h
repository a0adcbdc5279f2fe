// One node of the abstract cluster: the truth at the API server, what is under way, and what each controller has seen.
//
// Defines NodeState, Move and NodeWorld, which knows every state of a node by a number and what may happen in it. What
// concerns several nodes (admission, the ledger, crashes) is in cluster_world.h.
//
// - Versions are ranks: of the versions of one node only their order matters, so they are numbered anew at each change.
// - A controller sees nodes, driver pods and other pods each at its own pace, and never goes back but by a crash.
// - The kubelet reports now and then: a new version of the node that is otherwise the same.
// - A write is applied and acknowledged, refused with 409, or left open: then it lands later, or never. A crash may
//   come while it is under way, and at any other time.
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

// A pod that the policy protects.
enum class Workload : std::uint8_t { kNone, kEvictable, kBlocked };

// Of one node, as one controller knows it.
struct Side {
  ViewId view = 0;
  std::uint8_t version = 1;
  // The cordon has changed since that version.
  bool missed_cordon = false;
  // Version of the grant in its copy of the ledger; 0: none.
  std::uint8_t grant = 0;
  friend bool operator==(const Side&, const Side&) = default;
};

struct NodeState {
  ContentId content = 0;
  std::uint8_t version = 1;
  Driver driver = Driver::kOld;
  Workload workload = Workload::kEvictable;
  // An administrator's cordon, which is not ours to lift (I3).
  bool admin_cordon = false;
  // Its upgrade took a slot when it began, and has not ended well (I1).
  bool started = false;
  // What a patch under way makes of it; 0: none.
  ContentId late = 0;
  // Version of the grant in the ledger, and in the write of the ledger that is under way; 0: none.
  std::uint8_t grant = 0;
  std::uint8_t late_grant = 0;
  std::array<Side, kControllersMax> sides = {};
  friend bool operator==(const NodeState&, const NodeState&) = default;
};

using NodeId = std::uint32_t;

// In the order in which a calm world makes them.
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
  kKubeletReports,  // calm too, where nothing else happens
  kPatchConflicts,
  kPatchNeverLands,
  kDriverCrashes,
  kBudgetBlocks,
  kWorkloadComes,
  kRelistsNodes,
  kPatchLate,          // a fault from here on
  kPatchLateAndCrash,  // the controller does not hear of it
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
  // Number of the broken invariant in NodeWorld::broken(); 0: none.
  std::uint8_t broken = 0;
};

class NodeWorld {
 public:
  explicit NodeWorld(const ModelOptions& options);

  NodeId first() const { return first_; }
  const NodeState& state(NodeId id) const { return states_[id]; }
  NodeId IdOf(NodeState state);
  std::size_t size() const { return states_.size(); }

  // What may happen, by kind; starts apart, as they need a slot.
  const std::vector<Move>& moves(NodeId id);
  const std::vector<Move>& starts(NodeId id, int controller);
  const Judged& judged(NodeId id, int controller) const {
    return judge_.judged(states_[id].sides[static_cast<std::size_t>(controller)].view);
  }
  // As the controller finds the node after a crash.
  NodeId Crashed(NodeId id, int controller);
  // The same with the two controllers in each other's place.
  NodeId Swapped(NodeId id);

  // Done, given back as it was found, and nothing left behind (L2).
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
