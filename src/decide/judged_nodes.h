// The verdicts on all nodes, in pieces that copies share. A copy costs the number of pieces, and a change after it the
// number of nodes in a piece, however many nodes there are in total.
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
  // Not null: the view that was judged.
  std::shared_ptr<const NodeView> view = nullptr;
  KeptVerdict verdict = {};
  Tally tally = {};
};

std::shared_ptr<JudgedNode> CopyOf(const JudgedNode& node);

// A copy may be read by another thread while this one changes.
class JudgedNodes {
 public:
  JudgedNodes();

  // Replaces the node of that name, if there is one.
  void Put(std::shared_ptr<const JudgedNode> node);
  // Does nothing if there is no such node.
  void Remove(std::string_view name);

  // Returns nullptr if there is no such node.
  const JudgedNode* Find(std::string_view name) const;
  // In no order.
  void ForEach(const std::function<void(const JudgedNode&)>& look) const;

  // Returns the present content. Not const: the pieces are shared from here on.
  JudgedNodes Share();

 private:
  using Nodes = std::vector<std::shared_ptr<const JudgedNode>>;  // by name
  struct Piece {
    std::shared_ptr<Nodes> nodes = nullptr;  // nullptr: empty
    bool is_shared = false;
  };

  static std::size_t PieceOf(std::string_view name);
  static Nodes::iterator PlaceIn(Nodes& nodes, std::string_view name);
  // Returns the nodes of the piece for modification.
  Nodes& Own(Piece& piece);

  std::vector<Piece> pieces_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_JUDGED_NODES_H_
