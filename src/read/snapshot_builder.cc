#include "driverupgrade/snapshot_builder.h"

#include <map>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "decide/attempt_log.h"
#include "model/unreadable.h"
#include "read/hook_calls.h"
#include "read/listed_objects.h"
#include "read/view_scope.h"

namespace driverupgrade {

struct SnapshotBuilder::Impl {
  Impl(DriverIdentity identity, std::shared_ptr<ClusterReader> cluster, const SnapshotOptions& options,
       const std::optional<RequestorOptions>& requestor, internal::AttemptLog* attempts)
      : cluster(std::move(cluster)),
        log(attempts == nullptr ? none : *attempts),
        scope(internal::ScopeOf(options, requestor)),
        hooks(options),
        views(std::move(identity), scope) {}

  using StatusByNode = std::map<std::string, absl::Status>;
  void TakePods(const CallContext& context, const StatusByNode& read, ClusterSnapshot& snapshot);

  std::shared_ptr<ClusterReader> cluster;
  internal::AttemptLog none;
  internal::AttemptLog& log;
  internal::ViewScope scope;
  internal::HookCalls hooks;
  internal::NodeViews views;
  internal::ListedObjects objects;
};

SnapshotBuilder::SnapshotBuilder(DriverIdentity identity, std::shared_ptr<ClusterReader> cluster,
                                 SnapshotOptions options, const std::optional<RequestorOptions>& requestor,
                                 internal::AttemptLog* attempts)
    : impl_(std::make_unique<Impl>(std::move(identity), std::move(cluster), options, requestor, attempts)) {}

SnapshotBuilder::~SnapshotBuilder() = default;

absl::StatusOr<ClusterSnapshot> SnapshotBuilder::Build(const CallContext& context) {
  internal::ListedObjects& objects = impl_->objects;
  internal::NodeViews& views = impl_->views;
  impl_->hooks.BeginPass(context);
  DRIVERUPGRADE_RETURN_IF_ERROR(objects.List(context, *impl_->cluster, impl_->scope));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(internal::DriverObjects of_driver, objects.Driver());
  const internal::DriverParts driver =
      internal::MakeDriverParts(of_driver.daemon_sets, std::move(of_driver.revisions), objects.DriverPods(""),
                                objects.Maintenances("").value_or(std::vector<NodeMaintenance>()));
  ClusterSnapshot snapshot;
  snapshot.driver = driver.facts;
  snapshot.findings = objects.Findings();
  snapshot.findings.insert(snapshot.findings.end(), driver.findings.begin(), driver.findings.end());
  std::set<std::string> uids;
  std::set<std::string> managed;
  for (internal::NodeParts& parts : objects.TakeAll(snapshot.findings)) {
    uids.insert(parts.node.uid);
    if (!views.IsManaged(parts)) continue;
    managed.insert(parts.node.name);
    snapshot.nodes.push_back(
        views.Share(views.Make(impl_->hooks, std::move(parts), driver, impl_->log, snapshot.findings)));
  }
  impl_->log.KeepOnly(uids);
  views.KeepOnly(managed);
  return snapshot;
}

void SnapshotBuilder::ReadPods(const CallContext& context, const std::vector<std::string>& interest,
                               ClusterSnapshot& snapshot) {
  const std::set<std::string> nodes(interest.begin(), interest.end());
  impl_->TakePods(context, impl_->objects.ListPodsOf(context, *impl_->cluster, nodes), snapshot);
}

void SnapshotBuilder::Impl::TakePods(const CallContext& context, const StatusByNode& read, ClusterSnapshot& snapshot) {
  hooks.Use(context);
  for (std::shared_ptr<const NodeView>& view : snapshot.nodes) {
    const std::string& node = view->node.name;
    const auto status = read.find(node);
    if (status == read.end() && view->attempts.pods.empty()) continue;
    NodeView changed = *view;
    if (status == read.end()) {
      views.DropOldAttempts(changed, log);
    } else if (!status->second.ok()) {
      snapshot.findings.push_back(internal::PodsNotRead(node, status->second));
    } else {
      views.AddPods(hooks, objects, *objects.PodsOn(node), changed, log, snapshot.findings);
    }
    view = views.Share(std::move(changed));
  }
}

}  // namespace driverupgrade
