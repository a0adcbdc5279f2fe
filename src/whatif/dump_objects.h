// Holds the objects of a dump.
#ifndef DRIVERUPGRADE_SRC_WHATIF_DUMP_OBJECTS_H_
#define DRIVERUPGRADE_SRC_WHATIF_DUMP_OBJECTS_H_

#include <map>
#include <string>
#include <vector>

#include "driverupgrade/wire/kubernetes_json.h"
#include "read/held_objects.h"
#include "read/node_views.h"

namespace driverupgrade::whatif {

// Pods without a UID, which occur only in manually written dumps, get a UID derived from their names. A dump is not
// filtered by label selectors, so any unreadable object may belong to the driver, and an unreadable pod without a node
// may be on any node.
class DumpObjects final : public internal::HeldObjects {
 public:
  DumpObjects(ClusterObjects objects, const internal::ViewScope& scope);

  // A dump contains the pods of every node, so the pods of a node are unknown only if one of them may be unreadable.
  bool KnowsPodsOn(const std::string& node) const override { return PodsStatus(node).ok(); }
  absl::Status PodsStatus(const std::string& node) const override;

 private:
  void TakePods(std::vector<Pod> pods, const internal::ViewScope& scope);

  std::map<std::string, absl::Status> unreadable_;  // by node
};

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_DUMP_OBJECTS_H_
