// The abstract cluster: nodes in no order, the ledger of grants, the controllers, and how many faults are to come yet.
//
// Defines ClusterState, Step and ClusterWorld. Nodes that are alike are interchangeable, and so are the controllers: of
// all states that differ in names alone one is looked at. As the order of admission is by name, every candidate is
// taken to be the first.
#ifndef DRIVERUPGRADE_TESTS_EXHAUSTIVE_CLUSTER_WORLD_H_
#define DRIVERUPGRADE_TESTS_EXHAUSTIVE_CLUSTER_WORLD_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "exhaustive/admission_table.h"
#include "exhaustive/node_world.h"

namespace driverupgrade::tests {

struct ClusterState {
  // Sorted; 0 beyond the number of nodes.
  std::array<NodeId, kNodesMax> nodes = {};
  std::uint8_t faults = 0;
  // A bit for each controller: its copy of the ledger is the present version.
  std::uint8_t current = 0;
  // A write of the ledger is under way: the late_grant of the nodes.
  bool late_ledger = false;
  friend auto operator<=>(const ClusterState&, const ClusterState&) = default;
};

// One thing that happens.
struct Step {
  // For people.
  std::string_view what = {};
  int controller = -1;
  // The node concerned, before and after; the same for what concerns the ledger or a whole controller.
  NodeId from = 0;
  NodeId to = 0;
  bool start = false;
  std::string_view broken = {};
};

class ClusterWorld {
 public:
  explicit ClusterWorld(const ModelOptions& options);

  ClusterState First() const;
  using Visitor = std::function<void(const ClusterState&, const Step&)>;
  // Everything that may happen next.
  void Expand(const ClusterState& state, const Visitor& visit);
  // What happens next in a world without faults, where everything is delivered, and the controllers take turns from
  // `first` on; nullopt: nothing ever again.
  std::optional<ClusterState> CalmNext(const ClusterState& state, int first);

  // What is wrong with the state by itself (I1); empty: nothing.
  std::string BrokenState(const ClusterState& state) const;
  bool IsFinished(const ClusterState& state) const;
  std::string Describe(const Step& step) const;
  NodeWorld& nodes() { return nodes_; }
  const NodeWorld& nodes() const { return nodes_; }

 private:
  // Faults of later kinds do not happen.
  MoveKind LastKind() const;
  std::size_t size() const { return static_cast<std::size_t>(options_.nodes); }
  void ExpandNode(const ClusterState& state, std::size_t i, const Visitor& visit);
  void ExpandController(const ClusterState& state, int controller, const Visitor& visit);
  void ExpandLedger(const ClusterState& state, int controller, const std::optional<std::size_t>& wanted,
                    const Visitor& visit);
  void ExpandLateLedger(const ClusterState& state, const Visitor& visit);
  void Emit(ClusterState state, const Step& step, const Visitor& visit);
  void SortNodes(ClusterState& state) const;
  ClusterState With(const ClusterState& state, std::size_t i, NodeId to) const;
  ClusterState Crashed(ClusterState state, int controller);

  void CalmMove(const ClusterState& state, int first, const Visitor& visit);
  void CalmAdmission(const ClusterState& state, int controller, const Visitor& visit);

  NodeShares Shares(const ClusterState& state, int controller) const;
  bool NeedsGrant(const ClusterState& state, int controller, std::size_t node) const;
  // Whether the node may be started without another write of the ledger.
  bool MayStart(const ClusterState& state, int controller, std::size_t node);
  ClusterState StoreGrants(ClusterState state, int controller, const LedgerDecision& decision, bool late);
  ClusterState CopyLedger(ClusterState state, int controller);
  // Changes every node, and sorts them anew.
  template <typename F>
  ClusterState Changed(ClusterState state, F change);

  const ModelOptions options_;
  NodeWorld nodes_;
  AdmissionTable admission_;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_EXHAUSTIVE_CLUSTER_WORLD_H_
