#include "ofed/migration.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"

namespace ofed_operator {
namespace {

using driverupgrade::CallContext;
using driverupgrade::DaemonSet;
using driverupgrade::DriverIdentity;
using driverupgrade::LabelSelector;
using driverupgrade::Node;
using driverupgrade::ObjectKind;
using driverupgrade::PatchNodeParams;
using driverupgrade::Pod;

const ObjectKind kDaemonSets{.group_version = "apps/v1", .resource = "daemonsets"};
const ObjectKind kPods{.group_version = "v1", .resource = "pods"};

absl::StatusOr<LabelSelector> OfDriver() { return LabelSelector::Parse(kOfedDriverLabel); }

PatchNodeParams PatchOf(const Node& node) {
  return {.name = node.name, .uid = node.uid, .resource_version = node.resource_version};
}

bool IsOf(const Pod& pod, const DaemonSet& daemon_set) {
  const driverupgrade::OwnerReference* owner = driverupgrade::ControllerOf(pod);
  return owner != nullptr && owner->uid == daemon_set.uid;
}

}  // namespace

std::vector<PatchNodeParams> LegacyAnnotationPatches(const std::vector<Node>& nodes) {
  std::vector<PatchNodeParams> patches;
  for (const Node& node : nodes) {
    if (!node.annotations.contains(kLegacyStateAnnotation)) continue;
    patches.push_back(PatchOf(node));
    patches.back().annotations[kLegacyStateAnnotation] = std::nullopt;
  }
  return patches;
}

std::vector<DaemonSet> OldDaemonSets(const std::vector<DaemonSet>& daemon_sets) {
  std::vector<DaemonSet> old;
  std::copy_if(daemon_sets.begin(), daemon_sets.end(), std::back_inserter(old),
               [](const DaemonSet& daemon_set) { return !daemon_set.labels.contains(kFormatLabel); });
  return old;
}

std::vector<PatchNodeParams> RequestPatches(const std::vector<Node>& nodes, const std::vector<Pod>& pods,
                                            const DaemonSet& daemon_set, const DriverIdentity& identity) {
  std::set<std::string> names;
  for (const Pod& pod : pods) {
    if (IsOf(pod, daemon_set)) names.insert(pod.node_name);
  }
  std::vector<PatchNodeParams> patches;
  for (const Node& node : nodes) {
    const auto asked = node.annotations.find(identity.UpgradeRequestedAnnotation());
    if (!names.contains(node.name) || (asked != node.annotations.end() && asked->second == "true")) continue;
    patches.push_back(PatchOf(node));
    patches.back().annotations[identity.UpgradeRequestedAnnotation()] = "true";
  }
  return patches;
}

Migration::Migration(std::shared_ptr<driverupgrade::ClusterFacade> cluster,
                     std::shared_ptr<const driverupgrade::ObjectClient> objects, std::string ns,
                     const DriverIdentity& identity, driverupgrade::LogSink log)
    : cluster_(std::move(cluster)),
      objects_(std::move(objects)),
      ns_(std::move(ns)),
      identity_(identity),
      log_(std::move(log)) {}

absl::Status Migration::Run(const CallContext& context, bool has_driver) {
  if (const absl::Status done = DropLegacyAnnotations(context); !done.ok()) return done;
  if (const absl::Status done = NameOwners(context); !done.ok()) return done;
  return has_driver ? OrphanOldPods(context) : absl::OkStatus();
}

absl::Status Migration::DropLegacyAnnotations(const CallContext& context) {
  const auto nodes = cluster_->ListNodes(context, {});
  if (!nodes.ok()) return nodes.status();
  return Patch(context, LegacyAnnotationPatches(*nodes));
}

// Sets the owner label on driver pods that lack it. Without the label, no engine's selector would match these pods, so
// no engine would ever see them.
absl::Status Migration::NameOwners(const CallContext& context) {
  const auto labels = OfDriver();
  if (!labels.ok()) return labels.status();
  const auto pods = cluster_->ListPods(context, {.ns = ns_, .label_selector = *labels});
  if (!pods.ok()) return pods.status();
  for (const Pod& pod : *pods) {
    if (pod.labels.contains(kOwnerLabel)) continue;
    const std::string patch =
        fmt::format(R"({{"metadata":{{"uid":"{}","labels":{{"{}":"{}"}}}}}})", pod.ref.uid, kOwnerLabel, kOwner);
    const absl::Status named = objects_->MergePatch(context, kPods, {pod.ref.ns, pod.ref.name}, patch).status();
    if (!named.ok() && !absl::IsNotFound(named)) return named;
    Log("owner set on a driver pod", "pod", pod.ref.ToString());
  }
  return absl::OkStatus();
}

absl::Status Migration::OrphanOldPods(const CallContext& context) {
  const auto labels = OfDriver();
  if (!labels.ok()) return labels.status();
  const auto daemon_sets = cluster_->ListDaemonSets(context, {.ns = ns_, .label_selector = *labels});
  if (!daemon_sets.ok()) return daemon_sets.status();
  for (const DaemonSet& old : OldDaemonSets(*daemon_sets)) {
    const auto nodes = cluster_->ListNodes(context, {});
    if (!nodes.ok()) return nodes.status();
    const auto pods = cluster_->ListPods(context, {.ns = ns_, .label_selector = *labels});
    if (!pods.ok()) return pods.status();
    const absl::Status asked = Patch(context, RequestPatches(*nodes, *pods, old, identity_));
    if (!asked.ok()) return asked;
    const absl::Status deleted =
        objects_->Delete(context, kDaemonSets, {old.ns, old.name},
                         fmt::format(R"({{"propagationPolicy":"Orphan","preconditions":{{"uid":"{}"}}}})", old.uid));
    if (!deleted.ok() && !absl::IsNotFound(deleted)) return deleted;
    Log("DaemonSet of an earlier format deleted; its pods stay until they are upgraded", "daemonset", old.name);
  }
  return absl::OkStatus();
}

absl::Status Migration::Patch(const CallContext& context, const std::vector<PatchNodeParams>& patches) {
  for (const PatchNodeParams& patch : patches) {
    const absl::Status patched = cluster_->PatchNode(context, patch).status();
    if (!patched.ok() && !absl::IsNotFound(patched)) return patched;
    Log("node prepared for its first upgrade", "node", patch.name);
  }
  return absl::OkStatus();
}

void Migration::Log(const char* message, std::string key, std::string value) const {
  log_({.message = message, .fields = {{std::move(key), std::move(value)}}});
}

}  // namespace ofed_operator
