#include "read/hook_calls.h"

namespace driverupgrade::internal {

absl::StatusOr<bool> HookCalls::UsesDriver(const Pod& pod) {
  constexpr std::string_view kWhat = "the pod filter";
  if (!IsLimited()) {
    return HookRunner::RunHere(context_, kWhat,
                               [&](const CallContext& context) { return options_.uses_driver(context, pod); });
  }
  // A call that exceeds its time limit can outlive this object, so the callable owns everything that it uses.
  return runner_.Run(context_, kWhat,
                     [filter = options_.uses_driver, pod](const CallContext& bounded) { return filter(bounded, pod); });
}

absl::StatusOr<bool> HookCalls::RestartOnly(const Pod& pod, const ControllerRevision& running,
                                            const ControllerRevision& wanted) {
  constexpr std::string_view kWhat = "the restart-only predicate";
  if (!IsLimited()) {
    return HookRunner::RunHere(context_, kWhat, [&](const CallContext& context) {
      return options_.restart_only(context, pod, running, wanted);
    });
  }
  return runner_.Run(context_, kWhat,
                     [predicate = options_.restart_only, pod, running, wanted](const CallContext& bounded) {
                       return predicate(bounded, pod, running, wanted);
                     });
}

}  // namespace driverupgrade::internal
