// Adapts the embedding operator's callbacks to NodeHooks.
#ifndef DRIVERUPGRADE_SRC_READ_HOOK_CALLS_H_
#define DRIVERUPGRADE_SRC_READ_HOOK_CALLS_H_

#include <utility>

#include "absl/status/statusor.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/snapshot_builder.h"
#include "read/hook_runner.h"
#include "read/node_views.h"

namespace driverupgrade::internal {

// Not thread-safe.
class HookCalls final : public NodeHooks {
 public:
  explicit HookCalls(SnapshotOptions options) : options_(std::move(options)), runner_(options_.hook_timeout) {}

  // Must be called before the first call of a pass, so that a callback that hangs delays each pass only once, instead
  // of once per pod.
  void BeginPass(const CallContext& context) {
    Use(context);
    runner_.BeginRound();
  }
  // Sets the context for the next calls.
  void Use(const CallContext& context) { context_ = context; }
  absl::StatusOr<bool> UsesDriver(const Pod& pod) override;
  absl::StatusOr<bool> RestartOnly(const Pod& pod, const ControllerRevision& running,
                                   const ControllerRevision& wanted) override;

 private:
  bool IsLimited() const { return options_.hook_timeout < absl::InfiniteDuration(); }

  const SnapshotOptions options_;
  CallContext context_ = {};
  HookRunner runner_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_HOOK_CALLS_H_
