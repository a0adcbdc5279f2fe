#include "read/view_maker.h"

namespace driverupgrade::internal {
namespace {

ViewScope ScopeOf(const SnapshotOptions& options) {
  return {.ns = options.ns,
          .driver_labels = options.driver_labels,
          .node_selector = options.node_selector,
          .requestor = options.requestor,
          .asks_uses_driver = options.uses_driver != nullptr,
          .asks_restart_only = options.restart_only != nullptr};
}

// A call that overruns goes on after this object, so it owns what it uses.
class HookCalls final : public NodeHooks {
 public:
  HookCalls(const CallContext& context, const SnapshotOptions& options, HookRunner& runner)
      : context_(context), options_(options), runner_(runner) {}

  absl::StatusOr<bool> UsesDriver(const Pod& pod) override {
    return runner_.Run(
        context_, "the pod filter",
        [filter = options_.uses_driver, pod](const CallContext& bounded) { return filter(bounded, pod); });
  }
  absl::StatusOr<bool> RestartOnly(const Pod& pod, const ControllerRevision& running,
                                   const ControllerRevision& wanted) override {
    return runner_.Run(context_, "the restart-only predicate",
                       [predicate = options_.restart_only, pod, running, wanted](const CallContext& bounded) {
                         return predicate(bounded, pod, running, wanted);
                       });
  }

 private:
  const CallContext& context_;
  const SnapshotOptions& options_;
  HookRunner& runner_;
};

}  // namespace

ViewMaker::ViewMaker(DriverIdentity identity, SnapshotOptions options)
    : options_(std::move(options)), runner_(options_.hook_timeout), views_(std::move(identity), ScopeOf(options_)) {}

NodeView ViewMaker::Make(const CallContext& context, NodeParts parts, const DriverParts& driver, AttemptLog& log,
                         std::vector<Finding>& findings) {
  HookCalls hooks(context, options_, runner_);
  return views_.Make(hooks, std::move(parts), driver, log, findings);
}

void ViewMaker::AddPods(const CallContext& context, std::vector<Pod> pods, NodeView& view, AttemptLog& log,
                        std::vector<Finding>& findings) {
  HookCalls hooks(context, options_, runner_);
  views_.AddPods(hooks, std::move(pods), view, log, findings);
}

}  // namespace driverupgrade::internal
