// The decoded marks of a view.
#ifndef DRIVERUPGRADE_SRC_DECIDE_MARKS_OF_VIEW_H_
#define DRIVERUPGRADE_SRC_DECIDE_MARKS_OF_VIEW_H_

#include <optional>

#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/driver_identity.h"
#include "model/node_marks.h"

namespace driverupgrade::internal {

// What ShareView leaves in a view.
struct MarksOfDriver {
  DriverIdentity identity;
  NodeMarks marks;
};

// The marks that ShareView has decoded for `identity`, or else, for a view made by hand, decoded here. The view has to
// outlive them.
class MarksOfView {
 public:
  MarksOfView(const NodeView& view, const DriverIdentity& identity);
  MarksOfView(const MarksOfView&) = delete;
  MarksOfView& operator=(const MarksOfView&) = delete;
  const NodeMarks& operator*() const { return *marks_; }
  const NodeMarks* operator->() const { return marks_; }

 private:
  std::optional<NodeMarks> own_;
  const NodeMarks* marks_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_MARKS_OF_VIEW_H_
