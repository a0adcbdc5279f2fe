// Node views for engines with threads: the embedding operator's callbacks are asked off the caller's thread.
#ifndef DRIVERUPGRADE_SRC_READ_VIEW_MAKER_H_
#define DRIVERUPGRADE_SRC_READ_VIEW_MAKER_H_

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/attempt_log.h"
#include "driverupgrade/call_context.h"
#include "driverupgrade/snapshot_builder.h"
#include "read/hook_runner.h"
#include "read/node_views.h"

namespace driverupgrade::internal {

// As NodeViews, with the callbacks of `options` as its hooks. Not thread-safe.
class ViewMaker {
 public:
  ViewMaker(DriverIdentity identity, SnapshotOptions options);

  bool IsManaged(const NodeParts& parts) const { return views_.IsManaged(parts); }
  NodeView Make(const CallContext& context, NodeParts parts, const DriverParts& driver, AttemptLog& log,
                std::vector<Finding>& findings);
  void AddPods(const CallContext& context, std::vector<Pod> pods, NodeView& view, AttemptLog& log,
               std::vector<Finding>& findings);
  void DropOldAttempts(NodeView& view, AttemptLog& log) const { views_.DropOldAttempts(view, log); }
  std::shared_ptr<const NodeView> Share(NodeView view) const { return views_.Share(std::move(view)); }
  // Before the first call of a pass: a callback that hangs costs each pass its limit once, not once a pod.
  void BeginPass() { runner_.BeginRound(); }
  void KeepOnly(const std::set<std::string>& nodes) { views_.KeepOnly(nodes); }
  void Forget(const std::string& node) { views_.Forget(node); }

 private:
  const SnapshotOptions options_;
  HookRunner runner_;
  NodeViews views_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_VIEW_MAKER_H_
