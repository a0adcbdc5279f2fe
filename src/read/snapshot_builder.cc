#include "driverupgrade/snapshot_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "decide/admission/grants.h"
#include "fmt/format.h"
#include "model/unreadable.h"
#include "read/pods_by_node.h"
#include "read/view_maker.h"

namespace driverupgrade {
namespace {

using MaintenancesByNode = std::map<std::string, std::vector<NodeMaintenance>>;

// nullopt: not in requestor mode, or the list failed; nodes of the requestor wait then, and the others go on.
std::optional<MaintenancesByNode> ListMaintenances(const CallContext& context, ClusterReader& cluster,
                                                   const SnapshotOptions& options, std::vector<Finding>& findings) {
  if (!options.requestor) return std::nullopt;
  absl::StatusOr<std::vector<NodeMaintenance>> objects =
      cluster.ListNodeMaintenances(context, {.ns = options.requestor->ns, .on_unreadable = OnUnreadable::kMark});
  // Where the cluster has no such kind there are no such objects; asking for one will say why it cannot be had.
  if (absl::IsNotFound(objects.status())) return MaintenancesByNode{};
  if (!objects.ok()) {
    findings.push_back({.code = FindingCode::kReadFailed, .message = std::string(internal::Message(objects.status()))});
    return std::nullopt;
  }
  std::sort(objects->begin(), objects->end(),
            [](const NodeMaintenance& a, const NodeMaintenance& b) { return a.name < b.name; });
  MaintenancesByNode by_node;
  for (NodeMaintenance& object : *objects) by_node[object.node_name].push_back(std::move(object));
  return by_node;
}

// What becomes of the grant of a managed node is decided by its view. Another node holds none of our slots, unless a
// patch at the granted version is under way.
void KeepGrant(const Grants& grants, const Node& node, bool is_managed, Grants& standing) {
  // A node whose UID cannot be read may have any of them.
  if (node.uid.empty()) standing.insert(grants.begin(), grants.end());
  const auto grant = grants.find(node.uid);
  if (grant == grants.end()) return;
  if (is_managed) {
    standing.insert(*grant);
  } else if (auto kept = KeptGrant(grants, {.uid = node.uid, .resource_version = node.resource_version})) {
    standing.emplace(node.uid, *std::move(kept));
  }
}

}  // namespace

SnapshotBuilder::SnapshotBuilder(DriverIdentity identity, std::shared_ptr<ClusterReader> cluster,
                                 SnapshotOptions options)
    : cluster_(std::move(cluster)),
      options_(std::move(options)),
      views_(std::make_unique<internal::ViewMaker>(std::move(identity), options_)) {}

SnapshotBuilder::~SnapshotBuilder() = default;

absl::StatusOr<ClusterSnapshot> SnapshotBuilder::Build(const CallContext& context, AttemptLog& log,
                                                       const Grants& grants) {
  views_->BeginPass();
  // Nodes come first: whatever is read later is at least as new as the cordons seen here.
  DRIVERUPGRADE_ASSIGN_OR_RETURN(std::vector<Node> nodes,
                                 cluster_->ListNodes(context, {.on_unreadable = OnUnreadable::kMark}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(std::vector<Pod> driver_pods,
                                 cluster_->ListPods(context, {.ns = options_.ns,
                                                              .label_selector = options_.driver_labels,
                                                              .on_unreadable = OnUnreadable::kMark}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<DaemonSet> daemon_sets,
                                 cluster_->ListDaemonSets(context, {.ns = options_.ns,
                                                                    .label_selector = options_.driver_labels,
                                                                    .on_unreadable = OnUnreadable::kMark}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      std::vector<ControllerRevision> revisions,
      cluster_->ListControllerRevisions(context, {.ns = options_.ns, .on_unreadable = OnUnreadable::kMark}));

  ClusterSnapshot snapshot;
  auto maintenances = ListMaintenances(context, *cluster_, options_, snapshot.findings);
  std::map<std::string, std::vector<Pod>> pods_by_node;
  for (Pod& pod : driver_pods) pods_by_node[NodeOf(pod)].push_back(std::move(pod));
  std::vector<NodeMaintenance> unbound_maintenances;
  if (maintenances) unbound_maintenances = std::exchange((*maintenances)[""], {});
  // It may be of any node.
  if (internal::AnyUnreadable(unbound_maintenances)) maintenances.reset();
  const internal::DriverParts driver = internal::MakeDriverParts(
      daemon_sets, std::move(revisions), std::exchange(pods_by_node[""], {}), unbound_maintenances);
  pods_by_node.erase("");
  snapshot.driver = driver.facts;
  snapshot.findings.insert(snapshot.findings.end(), driver.findings.begin(), driver.findings.end());
  std::sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.name < b.name; });
  std::set<std::string> uids;
  std::set<std::string> managed;
  for (Node& node : nodes) {
    uids.insert(node.uid);
    internal::NodeParts parts{.node = std::move(node)};
    if (auto pods = pods_by_node.extract(parts.node.name)) parts.driver_pods = std::move(pods.mapped());
    if (maintenances) parts.maintenances = std::move((*maintenances)[parts.node.name]);
    const bool is_managed = views_->IsManaged(parts);
    KeepGrant(grants, parts.node, is_managed, snapshot.grants);
    if (!is_managed) continue;
    managed.insert(parts.node.name);
    snapshot.nodes.push_back(views_->Share(views_->Make(context, std::move(parts), driver, log, snapshot.findings)));
  }
  log.KeepOnly(uids);
  views_->KeepOnly(managed);
  for (const auto& [node, pods] : pods_by_node) {
    snapshot.findings.push_back(internal::NodeMissing(node, pods.front()));
  }
  return snapshot;
}

void SnapshotBuilder::ReadPods(const CallContext& context, const std::vector<std::string>& interest, AttemptLog& log,
                               ClusterSnapshot& snapshot) {
  const auto list = [&](const std::string& node) {
    return cluster_->ListPods(context, {.node_name = node, .on_unreadable = OnUnreadable::kMark});
  };
  ReadPodsBy(list, context, interest, log, snapshot);
}

void SnapshotBuilder::ReadAllPods(const CallContext& context, const std::vector<std::string>& interest, AttemptLog& log,
                                  ClusterSnapshot& snapshot) {
  absl::StatusOr<internal::PodsByNode> pods = internal::ListPodsByNode(context, *cluster_);
  const auto take = [&](const std::string& node) -> absl::StatusOr<std::vector<Pod>> {
    if (!pods.ok()) return pods.status();
    return std::move((*pods)[node]);
  };
  ReadPodsBy(take, context, interest, log, snapshot);
}

void SnapshotBuilder::ReadPodsBy(const PodLister& list, const CallContext& context,
                                 const std::vector<std::string>& interest, AttemptLog& log, ClusterSnapshot& snapshot) {
  const std::set<std::string> wanted(interest.begin(), interest.end());
  for (std::shared_ptr<const NodeView>& view : snapshot.nodes) {
    const bool read = wanted.contains(view->node.name);
    if (!read && view->attempts.pods.empty()) continue;
    NodeView changed = *view;
    if (read) {
      TakePods(context, list(view->node.name), log, changed, snapshot.findings);
    } else {
      views_->DropOldAttempts(changed, log);
    }
    view = views_->Share(std::move(changed));
  }
}

void SnapshotBuilder::TakePods(const CallContext& context, absl::StatusOr<std::vector<Pod>> pods, AttemptLog& log,
                               NodeView& view, std::vector<Finding>& findings) {
  if (!pods.ok()) {
    findings.push_back({.code = FindingCode::kReadFailed,
                        .node = view.node.name,
                        .message = std::string(internal::Message(pods.status()))});
    return;
  }
  if (internal::AnyUnreadable(*pods)) {
    return internal::NoteUnreadable("Pod", *pods, view.node.name, findings);
  }
  views_->AddPods(context, *std::move(pods), view, log, findings);
}

}  // namespace driverupgrade
