#include "read/view_scope.h"

namespace driverupgrade::internal {

ViewScope ScopeOf(const SnapshotOptions& options, const std::optional<RequestorOptions>& requestor) {
  return {.ns = options.ns,
          .driver_labels = options.driver_labels,
          .node_selector = options.node_selector,
          .requestor = requestor,
          .devices = options.devices,
          .asks_uses_driver = options.uses_driver != nullptr,
          .asks_restart_only = options.restart_only != nullptr};
}

}  // namespace driverupgrade::internal
