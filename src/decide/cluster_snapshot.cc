#include "driverupgrade/cluster_snapshot.h"

#include <utility>

#include "decide/marks_of_view.h"

namespace driverupgrade {

std::shared_ptr<const NodeView> ShareView(NodeView view, const DriverIdentity& identity) {
  auto shared = std::make_shared<NodeView>(std::move(view));
  // Only now: the marks refer to texts of the node, which must not move any more.
  shared->marks.decoded_ = std::make_shared<const internal::MarksOfDriver>(
      internal::MarksOfDriver{.identity = identity, .marks = internal::DecodeMarks(shared->node, identity)});
  return shared;
}

namespace internal {

MarksOfView::MarksOfView(const NodeView& view, const DriverIdentity& identity) {
  const MarksOfDriver* decoded = view.marks.decoded_.get();
  const bool is_known = decoded != nullptr && decoded->identity == identity;
  marks_ = is_known ? &decoded->marks : &own_.emplace(DecodeMarks(view.node, identity));
}

}  // namespace internal
}  // namespace driverupgrade
