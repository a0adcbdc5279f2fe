#include "driverupgrade/safe_load_manager.h"

namespace driverupgrade::inline v1 {

bool SafeLoadManager::IsWaiting(const Node& node) const {
  const auto annotation = node.annotations.find(identity_.SafeLoadAnnotation());
  return annotation != node.annotations.end() && !annotation->second.empty();
}

void SafeLoadManager::Unblock(NodePatch& patch) const {
  patch.annotations[identity_.SafeLoadAnnotation()] = std::nullopt;
}

}  // namespace driverupgrade::inline v1
