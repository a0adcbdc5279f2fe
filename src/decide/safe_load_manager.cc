#include "driverupgrade/safe_load_manager.h"

namespace driverupgrade::inline v1 {

bool SafeLoadManager::IsWaiting(const Node& node) const {
  const auto annotation = node.annotations.find(identity_.SafeLoadAnnotation());
  return annotation != node.annotations.end() && !annotation->second.empty();
}

void SafeLoadManager::Unblock(Node& node) const { node.annotations.erase(identity_.SafeLoadAnnotation()); }

}  // namespace driverupgrade::inline v1
