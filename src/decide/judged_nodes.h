// Stores the verdicts on all nodes in pieces that copies share. A copy costs O(pieces), and a change after a copy costs
// O(nodes in a piece).
#ifndef DRIVERUPGRADE_SRC_DECIDE_JUDGED_NODES_H_
#define DRIVERUPGRADE_SRC_DECIDE_JUDGED_NODES_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "decide/step_parts.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

struct JudgedNode {
  std::string name = {};
  // The view on which the verdict is based; not null.
  std::shared_ptr<const NodeView> view = nullptr;
  KeptVerdict verdict = {};
  Tally tally = {};
};

std::shared_ptr<JudgedNode> CopyOf(const JudgedNode& node);

// The verdicts on all nodes, by name. Another thread may read a copy while the original changes.
class JudgedNodes {
 public:
  JudgedNodes();

  // Adds the node, or replaces the node with the same name.
  void Put(std::shared_ptr<const JudgedNode> node);
  // Removes the node. Does nothing if there is no such node.
  void Remove(std::string_view name);

  // Returns the node; nullptr if there is no such node.
  const JudgedNode* Find(std::string_view name) const;
  // Visits the nodes in unspecified order.
  void ForEach(const std::function<void(const JudgedNode&)>& look) const;

  // Returns a copy of the current content. Not const, because Share marks the pieces as shared.
  JudgedNodes Share();

 private:
  using Nodes = std::vector<std::shared_ptr<const JudgedNode>>;  // by name
  struct Piece {
    std::shared_ptr<Nodes> nodes = nullptr;  // nullptr if empty
    bool is_shared = false;
  };

  static std::size_t PieceOf(std::string_view name);
  static Nodes::iterator PlaceIn(Nodes& nodes, std::string_view name);
  // Returns the nodes of the piece for modification. Copies them first if they are shared.
  Nodes& Own(Piece& piece);

  std::vector<Piece> pieces_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_JUDGED_NODES_H_
