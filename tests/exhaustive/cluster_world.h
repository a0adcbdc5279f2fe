// The abstract cluster: unordered nodes, the ledger of grants, the controllers, and the number of remaining faults.
//
// Defines ClusterState, Step and ClusterWorld. Equal nodes are interchangeable, and so are the controllers. If several
// states differ only in names, only one of them is checked. Nodes are admitted in name order, but names are not
// modeled, so every candidate is assumed to be the first in that order.
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
  // Sorted. Elements beyond the number of nodes are 0.
  std::array<NodeId, kNodesMax> nodes = {};
  std::uint8_t faults = 0;
  // One bit per controller. A bit is set if the controller's copy of the ledger is the current version.
  std::uint8_t current = 0;
  // True if a write to the ledger is in progress. This write stores each node's late_grant.
  bool late_ledger = false;
  friend auto operator<=>(const ClusterState&, const ClusterState&) = default;
};

// A single event.
struct Step {
  // Description of the event for a reader.
  std::string_view what = {};
  int controller = -1;
  // State of the affected node before and after the event. Equal if the event affects the ledger or an entire
  // controller.
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
  // Calls `visit` for every state that can follow `state`.
  void Expand(const ClusterState& state, const Visitor& visit);
  // Returns the next state in a fault-free world in which everything is delivered. The controllers take turns, starting
  // with `first`. Returns nullopt if nothing more happens.
  std::optional<ClusterState> CalmNext(const ClusterState& state, int first);

  // Returns the violation (I1) of the state itself, or an empty string.
  std::string BrokenState(const ClusterState& state) const;
  bool IsFinished(const ClusterState& state) const;
  std::string Describe(const Step& step) const;
  NodeWorld& nodes() { return nodes_; }
  const NodeWorld& nodes() const { return nodes_; }

 private:
  // Returns the last kind of move that can happen. Later kinds are faults that the options exclude.
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
  // Returns whether the node may start without a further write to the ledger.
  bool MayStart(const ClusterState& state, int controller, std::size_t node);
  ClusterState StoreGrants(ClusterState state, int controller, const LedgerDecision& decision, bool late);
  ClusterState CopyLedger(ClusterState state, int controller);
  // Changes every node and sorts the nodes again.
  template <typename F>
  ClusterState Changed(ClusterState state, F change);

  const ModelOptions options_;
  NodeWorld nodes_;
  AdmissionTable admission_;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_EXHAUSTIVE_CLUSTER_WORLD_H_
