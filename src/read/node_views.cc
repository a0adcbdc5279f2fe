#include "read/node_views.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status_macros.h"
#include "decide/attempt_log.h"
#include "decide/devices/claims.h"
#include "decide/devices/rules.h"
#include "decide/maintenance_requestor.h"
#include "driverupgrade/pod_manager.h"
#include "fmt/format.h"
#include "model/node_marks.h"

namespace driverupgrade::internal {
namespace {

bool ByName(const Pod& a, const Pod& b) { return a.ref < b.ref; }

// Returns the UIDs of the node's pods, including pods that hold a device of the node but are not bound to it yet.
std::set<std::string> PodUids(const NodeView& view, const std::vector<std::string>& dra_drivers) {
  std::set<std::string> uids = HolderUids(view, dra_drivers);
  for (const Pod& pod : view.driver_pods) uids.insert(pod.ref.uid);
  if (view.pods) {
    for (const Pod& pod : *view.pods) uids.insert(pod.ref.uid);
  }
  return uids;
}

// Adds the node's devices. An unreadable object becomes a finding, and the node's devices then stay unknown.
void TakeDevices(absl::StatusOr<NodeDevices> devices, NodeView& view, std::vector<Finding>& findings) {
  view.devices_status = devices.status();
  if (!devices.ok()) return;
  std::vector<Finding> unreadable;
  NoteUnreadable("DeviceTaintRule", devices->rules, view.node.name, unreadable);
  NoteUnreadable("ResourceClaim", devices->claims, view.node.name, unreadable);
  NoteUnreadable("ResourceSlice", devices->slices, view.node.name, unreadable);
  if (unreadable.empty()) {
    view.devices = *std::move(devices);
  } else {
    view.devices_status = absl::DataLossError(unreadable.front().message);
    findings.insert(findings.end(), unreadable.begin(), unreadable.end());
  }
}

// Returns true if Kubernetes still tries to schedule the pod.
bool WaitsForNode(const Pod& pod) { return pod.node_name.empty() && !IsFinished(pod) && !pod.deletion_timestamp; }

}  // namespace

Finding NodeMissing(const std::string& node, const Pod& pod) {
  return {.code = FindingCode::kNodeMissing,
          .node = node,
          .message = fmt::format("driver pod {} {} a node that does not exist", pod.ref.ToString(),
                                 pod.node_name.empty() ? "waits for" : "is on")};
}

Finding PodsNotRead(const std::string& node, const absl::Status& status) {
  const FindingCode code = absl::IsDataLoss(status) ? FindingCode::kUnreadable : FindingCode::kReadFailed;
  return {.code = code, .node = node, .message = std::string(Message(status))};
}

DriverParts MakeDriverParts(const std::vector<DaemonSet>& daemon_sets, std::vector<ControllerRevision> revisions,
                            const std::vector<Pod>& unbound_pods,
                            const std::vector<NodeMaintenance>& unbound_maintenances) {
  DriverFacts facts;
  std::vector<Finding> findings;
  NoteUnreadable("DaemonSet", daemon_sets, "", findings);
  NoteUnreadable("ControllerRevision", revisions, "", findings);
  NoteUnreadable("driver pod", unbound_pods, "", findings);
  NoteUnreadable("NodeMaintenance", unbound_maintenances, "", findings);
  for (const Pod& pod : unbound_pods) {
    if (!WaitsForNode(pod) || pod.unscheduled_message.empty()) continue;
    findings.push_back({.code = FindingCode::kDriverPodUnscheduled,
                        .message = fmt::format("driver pod {} names no node and cannot be scheduled: {}",
                                               pod.ref.ToString(), pod.unscheduled_message)});
  }
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
  return {.facts = std::make_shared<const DriverFacts>(std::move(facts)),
          .revisions = std::move(revisions),
          .findings = std::move(findings)};
}

NodeViews::NodeViews(DriverIdentity identity, ViewScope scope)
    : identity_(std::move(identity)), scope_(std::move(scope)) {}

// If the label that selects a node in progress is removed, the node must still count against the limits of its engine
// (k8s-device-plugin#796). If the label has another value, another engine continues the upgrade.
bool NodeViews::IsSelected(const Node& node) const {
  if (scope_.node_selector.empty()) return true;
  if (!IsMarked(node, identity_)) return scope_.node_selector.Matches(node.labels);
  return scope_.node_selector.Matches(KnownLabels(node, DecodeMarks(node, identity_), /*recorded_first=*/false));
}

// A node with leftover marks of an upgrade is managed even without driver pods, so that the marks are removed
// (defect-D18). An unreadable node without labels counts as managed, because the labels may be the part that could not
// be read.
bool NodeViews::IsManaged(const NodeParts& parts) const {
  if (IsUnreadable(parts.node) && parts.node.labels.empty()) return true;
  if (!IsSelected(parts.node)) return false;
  if (!parts.driver_pods.empty()) return true;
  if (IsMarked(parts.node, identity_)) return true;
  if (parts.devices && parts.devices->ok()) {
    const std::vector<DeviceTaintRule>& rules = (*parts.devices)->rules;
    if (std::any_of(rules.begin(), rules.end(), [&](const auto& rule) { return IsOurs(rule); })) return true;
  }
  if (!scope_.requestor || !parts.maintenances) return false;
  const MaintenanceRequestor requestor(*scope_.requestor);
  return std::any_of(parts.maintenances->begin(), parts.maintenances->end(),
                     [&](const NodeMaintenance& object) { return IsUnreadable(object) || requestor.Claims(object); });
}

NodeView NodeViews::Make(NodeHooks& hooks, NodeParts parts, const DriverParts& driver, AttemptLog& log,
                         std::vector<Finding>& findings) {
  NodeView view{.node = std::move(parts.node),
                .driver_pods = std::move(parts.driver_pods),
                .maintenances = std::move(parts.maintenances)};
  if (view.maintenances && AnyUnreadable(*view.maintenances)) {
    NoteUnreadable("NodeMaintenance", *view.maintenances, view.node.name, findings);
    view.maintenances.reset();
  }
  if (parts.devices) TakeDevices(*std::move(parts.devices), view, findings);
  std::sort(view.driver_pods.begin(), view.driver_pods.end(), ByName);
  const auto bound = std::stable_partition(view.driver_pods.begin(), view.driver_pods.end(),
                                           [](const Pod& pod) { return !pod.node_name.empty(); });
  std::copy_if(bound, view.driver_pods.end(), std::back_inserter(view.unscheduled_driver_pods), WaitsForNode);
  view.driver_pods.erase(bound, view.driver_pods.end());
  CompareRevisions(hooks, driver, view, findings);
  if (!IsUnreadable(view.node)) log.StateLabelRead(view.node, identity_.StateLabel(), IsBusy(view.node, identity_));
  log.NodeRead(view.node, nullptr);
  view.attempts = log.ForNode(view.node.uid);
  if (MayBeBusy(view)) return view;
  if (!MayHaveClaims(view)) log.MaintenancesOver(view.node.uid);
  if (!MayHaveRules(view)) log.DevicesOver(view.node.uid);
  view.attempts = log.ForNode(view.node.uid);
  return view;
}

void NodeViews::AddPods(NodeHooks& hooks, const ObjectSource& objects, std::vector<Pod> pods, NodeView& view,
                        AttemptLog& log, std::vector<Finding>& findings) {
  std::erase_if(pods,
                [&](const Pod& pod) { return pod.ref.ns == scope_.ns && scope_.driver_labels.Matches(pod.labels); });
  std::sort(pods.begin(), pods.end(), ByName);
  view.pods = std::move(pods);
  RunFilter(hooks, view, findings);
  AddHolders(objects, view);
  const std::set<std::string> live = PodUids(view, scope_.devices);
  log.NodeRead(view.node, &live);
  view.attempts = log.ForNode(view.node.uid);
}

// Returns true if the node is or may be in progress. This is uncertain if the data in the view is older than the
// engine's writes or than earlier reads.
bool NodeViews::MayBeBusy(const NodeView& view) const {
  const std::optional<PatchAttempt>& patch = view.attempts.patch;
  return IsBusy(view.node, identity_) || (patch && !IsSettled(*patch, view.node)) ||
         IsOlderVersion(view.node.resource_version, view.attempts.read_version);
}

// Keeps the attempts of a node in progress, so that the node's evictions stay paced across passes that do not read the
// pods.
void NodeViews::DropOldAttempts(NodeView& view, AttemptLog& log) const {
  if (view.attempts.pods.empty() || MayBeBusy(view)) return;
  const std::set<std::string> live = PodUids(view, scope_.devices);
  log.NodeRead(view.node, &live);
  view.attempts = log.ForNode(view.node.uid);
}

void NodeViews::KeepOnly(const std::set<std::string>& nodes) {
  std::erase_if(memory_, [&](const auto& memory) { return !nodes.contains(memory.first); });
}

bool NodeViews::MayHaveClaims(const NodeView& view) const {
  if (!scope_.requestor) return false;
  return !view.maintenances || !MaintenanceRequestor(*scope_.requestor).ClaimsOn(view).empty();
}

// The key of the taint shows the owner. An unreadable rule counts as ours, because it may be ours.
bool NodeViews::IsOurs(const DeviceTaintRule& rule) const {
  return IsUnreadable(rule) || internal::IsOurs(rule, identity_);
}

bool NodeViews::MayHaveRules(const NodeView& view) const {
  if (!view.devices) return !view.devices_status.ok() && !absl::IsNotFound(view.devices_status);
  return std::any_of(view.devices->rules.begin(), view.devices->rules.end(),
                     [&](const DeviceTaintRule& rule) { return IsOurs(rule); });
}

// A pod that holds a device uses the driver, even if the operator's callback does not report this. Also records pods
// whose claims are not known yet, because the pods may be newer than the claims.
void NodeViews::AddHolders(const ObjectSource& objects, NodeView& view) const {
  if (scope_.devices.empty()) return;
  const std::set<std::string> holders = HolderUids(view, scope_.devices);
  for (const Pod& pod : *view.pods) {
    if (holders.contains(pod.ref.uid)) {
      view.pods_using_driver.insert(pod.ref.uid);
      continue;
    }
    if (IsFinished(pod) || absl::IsNotFound(view.devices_status)) continue;
    for (const std::string& claim : pod.resource_claims) {
      if (!view.devices || !objects.KnowsClaim(pod.ref.ns, claim)) view.unread_claims[pod.ref] = claim;
    }
  }
}

void NodeViews::RunFilter(NodeHooks& hooks, NodeView& view, std::vector<Finding>& findings) {
  if (!scope_.asks_uses_driver) return;
  const std::map<std::string, UsesDriver> known = std::exchange(memory_[view.node.name].uses_driver, {});
  std::map<std::string, UsesDriver>& seen = memory_[view.node.name].uses_driver;
  for (const Pod& pod : *view.pods) {
    const auto remembered = known.find(pod.ref.uid);
    bool uses_driver = false;
    if (remembered != known.end() && remembered->second.resource_version == pod.resource_version) {
      uses_driver = remembered->second.answer;
    } else if (const absl::StatusOr<bool> answer = hooks.UsesDriver(pod); answer.ok()) {
      uses_driver = *answer;
    } else {
      const std::string error(Message(answer.status()));
      findings.push_back({.code = FindingCode::kHookFailed,
                          .node = view.node.name,
                          .message = fmt::format("pod filter for {}: {}", pod.ref.ToString(), error)});
      view.hook_errors[pod.ref.ToString()] = error;
      continue;
    }
    seen[pod.ref.uid] = {.resource_version = pod.resource_version, .answer = uses_driver};
    if (uses_driver) view.pods_using_driver.insert(pod.ref.uid);
  }
}

// T7, T8: for nodes whose upgrade has not started, calls RestartOnlyPredicate with each driver pod that is out of date.
void NodeViews::CompareRevisions(NodeHooks& hooks, const DriverParts& driver, NodeView& view,
                                 std::vector<Finding>& findings) {
  if (!scope_.asks_restart_only) return;
  const std::optional<UpgradeState> state = StateOf(view.node, identity_);
  if (!state || IsInProgress(*state)) return;
  Memory& memory = memory_[view.node.name];
  const std::map<std::string, RestartOnly> known = std::exchange(memory.restart_only, {});
  view.restart_only = !view.driver_pods.empty();
  for (const Pod& pod : view.driver_pods) {
    const absl::StatusOr<bool> answer = NeedsRestartOnly(hooks, pod, driver, known, memory.restart_only);
    if (!answer.ok()) {
      std::string error =
          fmt::format("restart-only predicate for {}: {}", pod.ref.ToString(), Message(answer.status()));
      const bool unknown = absl::IsNotFound(answer.status());
      findings.push_back({.code = FindingCode::kHookFailed,
                          .node = view.node.name,
                          .message = unknown ? error + "; the node is upgraded in full" : error});
      if (!unknown) view.restart_only_error = std::move(error);
    }
    view.restart_only = view.restart_only && answer.ok() && *answer;
  }
}

// Calls the predicate only if necessary. Without a call, returns true if the pod's revision is current, and false if a
// revision is unknown.
absl::StatusOr<bool> NodeViews::NeedsRestartOnly(NodeHooks& hooks, const Pod& pod, const DriverParts& driver,
                                                 const std::map<std::string, RestartOnly>& known,
                                                 std::map<std::string, RestartOnly>& seen) {
  const std::map<std::string, DriverDaemonSet>& daemon_sets = driver.facts->daemon_sets;
  const OwnerReference* owner = ControllerOf(pod);
  const auto found = owner == nullptr ? daemon_sets.end() : daemon_sets.find(owner->uid);
  if (found == daemon_sets.end() || !found->second.wanted_revision) return false;
  const std::string& hash = *found->second.wanted_revision;
  if (RevisionHash(pod) == hash) return true;
  const ControllerRevision* running = FindRevision(found->second.daemon_set, driver.revisions, RevisionHash(pod));
  const ControllerRevision* wanted = FindRevision(found->second.daemon_set, driver.revisions, hash);
  if (running == nullptr || wanted == nullptr) return false;
  const auto remembered = known.find(pod.ref.uid);
  if (remembered != known.end() && remembered->second.resource_version == pod.resource_version &&
      remembered->second.wanted == hash) {
    seen[pod.ref.uid] = remembered->second;
    return remembered->second.answer;
  }
  absl::StatusOr<bool> answer = hooks.RestartOnly(pod, *running, *wanted);
  if (answer.ok()) {
    seen[pod.ref.uid] = {.resource_version = pod.resource_version, .wanted = hash, .answer = *answer};
  }
  return answer;
}

}  // namespace driverupgrade::internal
