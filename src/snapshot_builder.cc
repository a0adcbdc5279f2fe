#include "driverupgrade/snapshot_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "driverupgrade/pod_manager.h"
#include "fmt/format.h"
#include "internal/hook_runner.h"
#include "internal/node_state.h"
#include "internal/status_macros.h"

namespace driverupgrade::inline v1 {
namespace {

bool ByName(const Pod& a, const Pod& b) { return a.ref < b.ref; }

std::shared_ptr<const DriverFacts> MakeFacts(const std::vector<DaemonSet>& daemon_sets,
                                             const std::vector<ControllerRevision>& revisions, int unscheduled_pods,
                                             std::vector<Finding>& findings) {
  DriverFacts facts{.unscheduled_pods = unscheduled_pods};
  for (const DaemonSet& daemon_set : daemon_sets) {
    DriverDaemonSet driver = WantedRevision(daemon_set, revisions);
    if (!driver.wanted_revision) {
      findings.push_back({.code = FindingCode::kRevisionUnknown, .message = driver.why_unknown});
    }
    if (!daemon_set.on_delete) {
      findings.push_back({.code = FindingCode::kUpdateStrategy,
                          .message = fmt::format("DaemonSet {}/{} is not OnDelete: Kubernetes restarts driver pods by "
                                                 "itself, without evacuating their nodes",
                                                 daemon_set.ns, daemon_set.name)});
    }
    facts.daemon_sets.emplace(daemon_set.uid, std::move(driver));
  }
  return std::make_shared<const DriverFacts>(std::move(facts));
}

std::set<std::string> PodUids(const NodeView& view) {
  std::set<std::string> uids;
  for (const Pod& pod : view.driver_pods) uids.insert(pod.ref.uid);
  if (view.pods) {
    for (const Pod& pod : *view.pods) uids.insert(pod.ref.uid);
  }
  return uids;
}

// A node in progress keeps the pace of its evictions through passes that do not look at its pods.
bool IsBusy(const Node& node, const DriverIdentity& identity) {
  const std::optional<UpgradeState> state = internal::StateOf(node, identity);
  return !state || IsInProgress(*state);
}

}  // namespace

SnapshotBuilder::SnapshotBuilder(DriverIdentity identity, std::shared_ptr<ClusterReader> cluster,
                                 SnapshotOptions options)
    : hooks_(std::make_unique<internal::HookRunner>(options.hook_timeout)),
      identity_(std::move(identity)),
      cluster_(std::move(cluster)),
      options_(std::move(options)) {}

SnapshotBuilder::~SnapshotBuilder() = default;

absl::StatusOr<ClusterSnapshot> SnapshotBuilder::Build(const CallContext& context, AttemptLog& log) {
  // Nodes come first: whatever is read later is at least as new as the cordons seen here.
  DRIVERUPGRADE_ASSIGN_OR_RETURN(std::vector<Node> nodes, cluster_->ListNodes(context, {}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      std::vector<Pod> driver_pods,
      cluster_->ListPods(context, {.ns = options_.ns, .label_selector = options_.driver_labels}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      const std::vector<DaemonSet> daemon_sets,
      cluster_->ListDaemonSets(context, {.ns = options_.ns, .label_selector = options_.driver_labels}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<ControllerRevision> revisions,
                                 cluster_->ListControllerRevisions(context, {.ns = options_.ns}));

  ClusterSnapshot snapshot;
  auto maintenances = ListMaintenances(context, snapshot.findings);
  std::map<std::string, std::vector<Pod>> pods_by_node;
  for (Pod& pod : driver_pods) pods_by_node[pod.node_name].push_back(std::move(pod));
  const auto unscheduled = pods_by_node.extract("");
  const int unscheduled_pods = unscheduled.empty() ? 0 : static_cast<int>(unscheduled.mapped().size());
  snapshot.driver = MakeFacts(daemon_sets, revisions, unscheduled_pods, snapshot.findings);
  std::sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.name < b.name; });
  std::set<std::string> uids;
  std::map<std::string, Compared> compared;
  for (Node& node : nodes) {
    log.NodeRead(node, nullptr);
    uids.insert(node.uid);
    auto pods = pods_by_node.extract(node.name);
    const auto label = node.labels.find(identity_.StateLabel());
    const bool labelled = label != node.labels.end() && !label->second.empty();
    NodeView view{.node = std::move(node)};
    if (maintenances) view.maintenances = std::move((*maintenances)[view.node.name]);
    if (pods.empty() && !labelled && !HasClaim(view)) continue;
    if (!pods.empty()) view.driver_pods = std::move(pods.mapped());
    std::sort(view.driver_pods.begin(), view.driver_pods.end(), ByName);
    CompareRevisions(context, *snapshot.driver, revisions, view, snapshot.findings, compared);
    if (!IsBusy(view.node, identity_)) log.MaintenancesOver(view.node.uid);
    view.attempts = log.ForNode(view.node.uid);
    snapshot.nodes.push_back(std::make_shared<const NodeView>(std::move(view)));
  }
  log.KeepOnly(uids);
  compared_ = std::move(compared);
  for (const auto& [node, pods] : pods_by_node) {
    snapshot.findings.push_back(
        {.code = FindingCode::kNodeMissing,
         .node = node,
         .message = fmt::format("driver pod {} is on a node that does not exist", pods.front().ref.ToString())});
  }
  return snapshot;
}

// By node. nullopt: not in requestor mode, or the list failed; nodes of the requestor wait then, and the others go on.
std::optional<std::map<std::string, std::vector<NodeMaintenance>>> SnapshotBuilder::ListMaintenances(
    const CallContext& context, std::vector<Finding>& findings) const {
  if (!options_.requestor) return std::nullopt;
  absl::StatusOr<std::vector<NodeMaintenance>> objects =
      cluster_->ListNodeMaintenances(context, {.ns = options_.requestor->ns});
  if (!objects.ok()) {
    findings.push_back({.code = FindingCode::kReadFailed, .message = std::string(internal::Message(objects.status()))});
    return std::nullopt;
  }
  std::sort(objects->begin(), objects->end(),
            [](const NodeMaintenance& a, const NodeMaintenance& b) { return a.name < b.name; });
  std::map<std::string, std::vector<NodeMaintenance>> by_node;
  for (NodeMaintenance& object : *objects) by_node[object.node_name].push_back(std::move(object));
  return by_node;
}

// A claim that an upgrade left behind is given back although nothing else of the driver is on the node (defect-D18).
bool SnapshotBuilder::HasClaim(const NodeView& view) const {
  return options_.requestor && !MaintenanceRequestor(*options_.requestor).ClaimsOn(view).empty();
}

void SnapshotBuilder::ReadPods(const CallContext& context, const std::vector<std::string>& interest, AttemptLog& log,
                               ClusterSnapshot& snapshot) {
  const std::set<std::string> wanted(interest.begin(), interest.end());
  std::map<std::string, Remembered> seen;
  for (std::shared_ptr<const NodeView>& view : snapshot.nodes) {
    if (wanted.contains(view->node.name)) {
      NodeView changed = *view;
      ReadPodsOf(context, log, changed, snapshot.findings, seen);
      view = std::make_shared<const NodeView>(std::move(changed));
    } else if (!view->attempts.pods.empty() && !IsBusy(view->node, identity_)) {
      const std::set<std::string> live = PodUids(*view);
      log.NodeRead(view->node, &live);
      NodeView changed = *view;
      changed.attempts = log.ForNode(view->node.uid);
      view = std::make_shared<const NodeView>(std::move(changed));
    }
  }
  remembered_ = std::move(seen);
}

void SnapshotBuilder::ReadPodsOf(const CallContext& context, AttemptLog& log, NodeView& view,
                                 std::vector<Finding>& findings, std::map<std::string, Remembered>& seen) {
  absl::StatusOr<std::vector<Pod>> pods = cluster_->ListPods(context, {.node_name = view.node.name});
  if (!pods.ok()) {
    findings.push_back({.code = FindingCode::kReadFailed,
                        .node = view.node.name,
                        .message = std::string(internal::Message(pods.status()))});
    return;
  }
  std::erase_if(
      *pods, [&](const Pod& pod) { return pod.ref.ns == options_.ns && options_.driver_labels.Matches(pod.labels); });
  std::sort(pods->begin(), pods->end(), ByName);
  view.pods = *std::move(pods);
  RunFilter(context, view, findings, seen);
  const std::set<std::string> live = PodUids(view);
  log.NodeRead(view.node, &live);
  view.attempts = log.ForNode(view.node.uid);
}

}  // namespace driverupgrade::inline v1
