// The abstract cluster: unordered nodes, the ledger of grants, the controllers, and the number of faults that may still
// happen.
//
// Defines ClusterState, Step and ClusterWorld. Equal nodes are interchangeable, and so are the controllers: of all
// states that differ only in names, one is checked. Nodes are admitted by name, so every candidate is assumed to be the
// first.
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
  // One bit per controller: set if its copy of the ledger is the current version.
  std::uint8_t current = 0;
  // True if a write of the ledger is in progress, which stores the late_grant of the nodes.
  bool late_ledger = false;
  friend auto operator<=>(const ClusterState&, const ClusterState&) = default;
};

// One event.
struct Step {
  // Description for a reader.
  std::string_view what = {};
  int controller = -1;
  // The node, before and after; equal if the step affects the ledger or a whole controller.
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
  // Visits every state that may follow.
  void Expand(const ClusterState& state, const Visitor& visit);
  // Returns the next state in a world without faults, in which everything is delivered, and the controllers take turns
  // starting with `first`. Returns nullopt if nothing more happens.
  std::optional<ClusterState> CalmNext(const ClusterState& state, int first);

  // Returns the violation of the state itself (I1), or an empty text.
  std::string BrokenState(const ClusterState& state) const;
  bool IsFinished(const ClusterState& state) const;
  std::string Describe(const Step& step) const;
  NodeWorld& nodes() { return nodes_; }
  const NodeWorld& nodes() const { return nodes_; }

 private:
  // Returns the last kind of move that may happen: faults of later kinds are excluded.
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
  // Returns whether the node may start without another write of the ledger.
  bool MayStart(const ClusterState& state, int controller, std::size_t node);
  ClusterState StoreGrants(ClusterState state, int controller, const LedgerDecision& decision, bool late);
  ClusterState CopyLedger(ClusterState state, int controller);
  // Changes every node, and sorts the nodes again.
  template <typename F>
  ClusterState Changed(ClusterState state, F change);

  const ModelOptions options_;
  NodeWorld nodes_;
  AdmissionTable admission_;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_EXHAUSTIVE_CLUSTER_WORLD_H_
