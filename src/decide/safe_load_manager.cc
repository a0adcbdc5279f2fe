#include "driverupgrade/safe_load_manager.h"

#include "model/node_marks.h"

namespace driverupgrade {

bool SafeLoadManager::IsWaiting(const Node& node) const { return IsWaiting(internal::DecodeMarks(node, identity_)); }

PatchNodeParams SafeLoadManager::Unblocking(const Node& node) const {
  const internal::NodeMarks before = internal::DecodeMarks(node, identity_);
  internal::NodeMarks after = before;
  Unblock(after);
  return {.name = node.name,
          .uid = node.uid,
          .resource_version = node.resource_version,
          .annotations = internal::ChangesBetween(before, after, identity_).annotations};
}

bool SafeLoadManager::IsWaiting(const internal::NodeMarks& marks) { return marks.safe_load.value().has_value(); }

void SafeLoadManager::Unblock(internal::NodeMarks& marks) { marks.safe_load.Remove(); }

}  // namespace driverupgrade
