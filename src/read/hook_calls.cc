#include "read/hook_calls.h"

namespace driverupgrade::internal {

// A call that exceeds its time limit can outlive this object, so it owns everything that it uses.
absl::StatusOr<bool> HookCalls::UsesDriver(const Pod& pod) {
  if (thread_ == HookThread::kCallers) return options_.uses_driver(context_, pod);
  return runner_.Run(context_, "the pod filter",
                     [filter = options_.uses_driver, pod](const CallContext& bounded) { return filter(bounded, pod); });
}

absl::StatusOr<bool> HookCalls::RestartOnly(const Pod& pod, const ControllerRevision& running,
                                            const ControllerRevision& wanted) {
  if (thread_ == HookThread::kCallers) return options_.restart_only(context_, pod, running, wanted);
  return runner_.Run(context_, "the restart-only predicate",
                     [predicate = options_.restart_only, pod, running, wanted](const CallContext& bounded) {
                       return predicate(bounded, pod, running, wanted);
                     });
}

}  // namespace driverupgrade::internal
