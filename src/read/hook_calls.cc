#include "read/hook_calls.h"

namespace driverupgrade::internal {

ViewScope ScopeOf(const SnapshotOptions& options) {
  return {.ns = options.ns,
          .driver_labels = options.driver_labels,
          .node_selector = options.node_selector,
          .requestor = options.requestor,
          .asks_uses_driver = options.uses_driver != nullptr,
          .asks_restart_only = options.restart_only != nullptr};
}

// A call that overruns goes on after this object, so it owns what it uses.
absl::StatusOr<bool> HookCalls::UsesDriver(const Pod& pod) {
  return runner_.Run(context_, "the pod filter",
                     [filter = options_.uses_driver, pod](const CallContext& bounded) { return filter(bounded, pod); });
}

absl::StatusOr<bool> HookCalls::RestartOnly(const Pod& pod, const ControllerRevision& running,
                                            const ControllerRevision& wanted) {
  return runner_.Run(context_, "the restart-only predicate",
                     [predicate = options_.restart_only, pod, running, wanted](const CallContext& bounded) {
                       return predicate(bounded, pod, running, wanted);
                     });
}

}  // namespace driverupgrade::internal
