#include "wire/kubernetes_json_read.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "wire/identity.h"
#include "wire/label_selector_json.h"
#include "wire/lease_json.h"
#include "wire/node_maintenance_json.h"

namespace driverupgrade::internal {
namespace {

std::vector<OwnerReference> ReadOwners(const JsonField& metadata) {
  std::vector<OwnerReference> owners;
  metadata.Member("ownerReferences").ForEachItem([&](const JsonField& owner) {
    owners.push_back({.api_version = owner.Member("apiVersion").String(),
                      .kind = owner.Member("kind").String(),
                      .name = owner.Member("name").String(),
                      .uid = owner.Member("uid").String(),
                      .controller = owner.Member("controller").Bool()});
  });
  return owners;
}

void ReadReadiness(const JsonField& status, Node& node) {
  status.Member("conditions").ForEachItem([&](const JsonField& condition) {
    if (condition.Member("type").String() != "Ready") return;
    node.ready = condition.Member("status").String() == "True";
    node.ready_transition_time = ReadTime(condition.Member("lastTransitionTime"));
  });
}

std::vector<Taint> ReadTaints(const JsonField& spec) {
  std::vector<Taint> taints;
  spec.Member("taints").ForEachItem([&](const JsonField& taint) {
    taints.push_back({.key = taint.Member("key").String(),
                      .value = taint.Member("value").String(),
                      .effect = taint.Member("effect").String(),
                      .time_added = taint.Member("timeAdded").String()});
  });
  return taints;
}

// Extended resources are recognized by the domain in their names. Kubernetes serves quantities as strings, but dumps
// may contain numbers.
std::vector<std::string> ReadExtendedResources(const JsonField& status) {
  std::set<std::string> names;
  status.Member("allocatable").ForEachMember([&](std::string_view name, const JsonField& quantity) {
    if (name.find('/') == std::string_view::npos) return;
    const std::string text = quantity.Json();
    if (text != "\"0\"" && text != "0") names.emplace(name);
  });
  return {names.begin(), names.end()};
}

StringMap ReadConditions(const JsonField& status) {
  StringMap conditions;
  status.Member("conditions").ForEachItem([&](const JsonField& condition) {
    std::string type = condition.Member("type").String();
    if (!type.empty() && !IsKubeletCondition(type)) conditions[type] = condition.Member("status").String();
  });
  return conditions;
}

// Returns true for failed pulls, and for pulls that are waiting for the next attempt.
bool IsImagePullFailure(std::string_view reason) {
  return reason == "ImagePullBackOff" || reason == "ErrImagePull" || reason == "InvalidImageName" ||
         reason == "ErrImageNeverPull" || reason == "ImageInspectError" || reason == "RegistryUnavailable";
}

// Returns true for reasons that prevent the container from starting at all.
bool IsStartFailure(std::string_view reason) {
  return IsImagePullFailure(reason) || reason == "CreateContainerConfigError" || reason == "CreateContainerError" ||
         reason == "RunContainerError";
}

PodPhase ReadPhase(const std::string& text) {
  if (text == "Pending") return PodPhase::kPending;
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

std::vector<ContainerStatus> ReadContainerStatuses(const JsonField& field) {
  std::vector<ContainerStatus> result;
  field.ForEachItem([&](const JsonField& status) {
    const JsonField state = status.Member("state");
    const JsonField waiting = state.Member("waiting");
    const JsonField started = status.Member("started");
    const std::string reason = waiting.Member("reason").String();
    ContainerStatus& read = result.emplace_back(ContainerStatus{.name = status.Member("name").String(),
                                                                .ready = status.Member("ready").Bool(),
                                                                .restart_count = status.Member("restartCount").Int(),
                                                                .started = !started.present() || started.Bool(),
                                                                .image_pull_fails = IsImagePullFailure(reason)});
    if (!IsStartFailure(reason)) return;
    read.start_error = reason;
    read.image = status.Member("image").String();
  });
  return result;
}

// Returns true if the status lists at least one container, and all listed containers have ended.
bool HaveContainersEnded(const JsonField& status) {
  bool any = false;
  bool all = true;
  for (const char* member : {"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"}) {
    const JsonField statuses = status.Member(member);
    statuses.ForEachItem([&](const JsonField& container) {
      const JsonField state = container.Member("state");
      const bool ended = state.Member("terminated").present();
      any |= ended;
      all &= ended;
    });
  }
  return any && all;
}

std::vector<Toleration> ReadTolerations(const JsonField& spec) {
  std::vector<Toleration> tolerations;
  spec.Member("tolerations").ForEachItem([&](const JsonField& toleration) {
    tolerations.push_back({.key = toleration.Member("key").String(),
                           .op = toleration.Member("operator").String(),
                           .value = toleration.Member("value").String(),
                           .effect = toleration.Member("effect").String()});
  });
  return tolerations;
}

// Returns true if the pod tolerates the taint that every cordoned node has.
bool ToleratesCordon(const JsonField& spec) {
  static const Taint& cordon = *new Taint{.key = "node.kubernetes.io/unschedulable", .effect = "NoSchedule"};
  const std::vector<Toleration> tolerations = ReadTolerations(spec);
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [](const Toleration& toleration) { return Tolerates(toleration, cordon); });
}

// Returns NODE from `matchFields: [{key: metadata.name, operator: In, values: [NODE]}]`.
std::string ReadAffinityNode(const JsonField& spec) {
  const JsonField affinity = spec.Member("affinity");
  const JsonField node_affinity = affinity.Member("nodeAffinity");
  const JsonField required = node_affinity.Member("requiredDuringSchedulingIgnoredDuringExecution");
  std::set<std::string> nodes;
  required.Member("nodeSelectorTerms").ForEachItem([&](const JsonField& term) {
    term.Member("matchFields").ForEachItem([&](const JsonField& field) {
      if (field.Member("key").String() != "metadata.name" || field.Member("operator").String() != "In") return;
      field.Member("values").ForEachItem([&](const JsonField& value) { nodes.insert(value.String()); });
    });
  });
  return nodes.size() == 1 ? *nodes.begin() : std::string();
}

void ReadPodConditions(const JsonField& status, Pod& pod) {
  status.Member("conditions").ForEachItem([&](const JsonField& condition) {
    const std::string type = condition.Member("type").String();
    const bool holds = condition.Member("status").String() == "True";
    if (type == "Ready") {
      (holds ? pod.ready_since : pod.not_ready_since) = ReadTime(condition.Member("lastTransitionTime"));
    }
    if (type == "PodScheduled" && !holds) pod.unscheduled_message = condition.Member("message").String();
  });
}

PodVolume ReadVolume(const JsonField& volume) {
  PodVolume read{.name = volume.Member("name").String()};
  volume.ForEachMember([&](std::string_view key, const JsonField& source) {
    if (key == "name" || !source.present()) return;
    read.kind = key;
    if (key == "hostPath") read.host_path = source.Member("path").String();
  });
  return read;
}

void ReadPodSpec(const JsonField& spec, Pod& pod) {
  pod.node_name = spec.Member("nodeName").String();
  if (pod.node_name.empty()) pod.affinity_node_name = ReadAffinityNode(spec);
  pod.scheduler_name = spec.Member("schedulerName").String();
  pod.subdomain = spec.Member("subdomain").String();
  const JsonField scheduling_group = spec.Member("schedulingGroup");
  pod.pod_group = scheduling_group.Member("podGroupName").String();
  spec.Member("volumes").ForEachItem([&](const JsonField& volume) {
    // `emptyDir: {}` also counts (drain-D17).
    if (volume.Member("emptyDir").present()) pod.has_empty_dir = true;
    pod.volumes.push_back(ReadVolume(volume));
  });
  std::set<std::string> names;
  const auto add_resources = [&](const JsonField& container) {
    const JsonField resources = container.Member("resources");
    const auto add = [&](std::string_view name, const JsonField&) { names.emplace(name); };
    resources.Member("requests").ForEachMember(add);
    resources.Member("limits").ForEachMember(add);
  };
  // The devices of an init container stay allocated to the pod until the pod ends, and a sidecar is also an init
  // container.
  spec.Member("initContainers").ForEachItem(add_resources);
  spec.Member("containers").ForEachItem(add_resources);
  spec.Member("ephemeralContainers").ForEachItem(add_resources);
  pod.resource_names.assign(names.begin(), names.end());
}

// Returns the claims that the spec names, and the claims that were created for the pod, which only the status names.
std::vector<std::string> ReadResourceClaims(const JsonField& spec, const JsonField& status) {
  std::vector<std::string> names;
  const auto add = [&](const JsonField& claim) {
    std::string name = claim.Member("resourceClaimName").String();
    if (!name.empty()) names.push_back(std::move(name));
  };
  spec.Member("resourceClaims").ForEachItem(add);
  status.Member("resourceClaimStatuses").ForEachItem(add);
  const JsonField extended = status.Member("extendedResourceClaimStatus");
  add(extended);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string ControllerUid(const JsonField& metadata) {
  const std::vector<OwnerReference> owners = ReadOwners(metadata);
  const auto controller = std::find_if(owners.begin(), owners.end(), [](const auto& o) { return o.controller; });
  return controller == owners.end() ? std::string() : controller->uid;
}

// Leaves out $patch, because only the template in a ControllerRevision has that member. A template without containers
// is incomplete and has no digest.
TemplateDigest DigestOf(const JsonField& pod_template) {
  const JsonField spec = pod_template.Member("spec");
  return {.value = spec.Member("containers").present() ? pod_template.Digest("$patch") : 0};
}

}  // namespace

void ReadObject(const JsonField& object, Node& node) {
  const JsonField metadata = object.Member("metadata");
  node.name = metadata.Member("name").String();
  node.uid = metadata.Member("uid").String();
  node.resource_version = metadata.Member("resourceVersion").String();
  node.labels = metadata.Member("labels").Strings();
  node.annotations = metadata.Member("annotations").Strings();
  const JsonField spec = object.Member("spec");
  node.unschedulable = spec.Member("unschedulable").Bool();
  node.deletion_timestamp = ReadTime(metadata.Member("deletionTimestamp"));
  node.taints = ReadTaints(spec);
  const JsonField status = object.Member("status");
  ReadReadiness(status, node);
  node.extended_resources = ReadExtendedResources(status);
  node.conditions = ReadConditions(status);
}

void ReadObject(const JsonField& object, Pod& pod) {
  const JsonField metadata = object.Member("metadata");
  pod.ref = {.ns = metadata.Member("namespace").String(),
             .name = metadata.Member("name").String(),
             .uid = metadata.Member("uid").String()};
  pod.resource_version = metadata.Member("resourceVersion").String();
  pod.labels = metadata.Member("labels").Strings();
  pod.owners = ReadOwners(metadata);
  pod.deletion_timestamp = ReadTime(metadata.Member("deletionTimestamp"));
  metadata.Member("finalizers").ForEachItem([&](const JsonField& finalizer) {
    pod.finalizers.push_back(finalizer.String());
  });
  pod.annotations = metadata.Member("annotations").Strings();
  pod.mirror = pod.annotations.contains("kubernetes.io/config.mirror");
  const JsonField spec = object.Member("spec");
  ReadPodSpec(spec, pod);
  if (ToleratesCordon(spec)) pod.tolerates_cordon_since = ReadTime(metadata.Member("creationTimestamp"));
  const JsonField status = object.Member("status");
  if (pod.deletion_timestamp) {
    const JsonField grace = metadata.Member("deletionGracePeriodSeconds");
    pod.released = grace.present() && grace.Int64() == 0;
    pod.containers_ended = HaveContainersEnded(status);
  }
  pod.resource_claims = ReadResourceClaims(spec, status);
  pod.phase = ReadPhase(status.Member("phase").String());
  ReadPodConditions(status, pod);
  pod.init_container_statuses = ReadContainerStatuses(status.Member("initContainerStatuses"));
  pod.container_statuses = ReadContainerStatuses(status.Member("containerStatuses"));
}

void ReadObject(const JsonField& object, DaemonSet& daemon_set) {
  const JsonField metadata = object.Member("metadata");
  daemon_set.ns = metadata.Member("namespace").String();
  daemon_set.name = metadata.Member("name").String();
  daemon_set.uid = metadata.Member("uid").String();
  daemon_set.generation = metadata.Member("generation").Int64();
  daemon_set.labels = metadata.Member("labels").Strings();
  daemon_set.annotations = metadata.Member("annotations").Strings();
  const JsonField spec = object.Member("spec");
  daemon_set.selector = ReadSelector(spec.Member("selector"));
  // The server always fills in the strategy. If the strategy is missing, Kubernetes' own default is RollingUpdate
  // (R15).
  const JsonField pod_template = spec.Member("template");
  const JsonField pod_spec = pod_template.Member("spec");
  daemon_set.node_selectors = ReadNodeSelectors(pod_spec);
  // A template without containers is incomplete, so missing tolerations then prove nothing.
  if (pod_spec.Member("tolerations").present() || pod_spec.Member("containers").present()) {
    daemon_set.tolerations = ReadTolerations(pod_spec);
  }
  daemon_set.template_digest = DigestOf(pod_template);
  const JsonField strategy = spec.Member("updateStrategy");
  daemon_set.on_delete = strategy.Member("type").String() == "OnDelete";
  const JsonField status = object.Member("status");
  daemon_set.observed_generation = status.Member("observedGeneration").Int64();
}

void ReadObject(const JsonField& object, ControllerRevision& revision) {
  const JsonField metadata = object.Member("metadata");
  revision.ns = metadata.Member("namespace").String();
  revision.name = metadata.Member("name").String();
  revision.labels = metadata.Member("labels").Strings();
  revision.revision = object.Member("revision").Int64();
  revision.owner_uid = ControllerUid(metadata);
  const JsonField data = object.Member("data");
  revision.data = data.Json();
  // The data may have any form, and has a digest only if it contains a template.
  std::string no_template;
  const JsonField patch = data.Detached(no_template);
  const JsonField spec = patch.Member("spec");
  revision.template_digest = DigestOf(spec.Member("template"));
}

void ReadObject(const JsonField& object, PodDisruptionBudget& budget) {
  const JsonField metadata = object.Member("metadata");
  budget.ns = metadata.Member("namespace").String();
  budget.name = metadata.Member("name").String();
  budget.uid = metadata.Member("uid").String();
  const JsonField spec = object.Member("spec");
  budget.selector = ReadSelector(spec.Member("selector"));
  const JsonField status = object.Member("status");
  budget.disruptions_allowed = status.Member("disruptionsAllowed").Int();
  budget.current_healthy = status.Member("currentHealthy").Int();
  budget.desired_healthy = status.Member("desiredHealthy").Int();
}

void ReadObject(const JsonField& root, ApiObject& object) {
  const JsonField metadata = root.Member("metadata");
  object.ns = metadata.Member("namespace").String();
  object.name = metadata.Member("name").String();
  object.uid = metadata.Member("uid").String();
  object.resource_version = metadata.Member("resourceVersion").String();
  object.json = root.Json();
}

void ReadObject(const JsonField& object, NodeMaintenance& maintenance) { ReadNodeMaintenance(object, maintenance); }

void ReadObject(const JsonField& object, Lease& lease) { ReadLease(object, lease); }

void ReadObject(const JsonField& object, ConfigMap& config_map) { ReadConfigMap(object, config_map); }

void ReadIdentity(const JsonField& object, Node& node) {
  const JsonField metadata = object.Member("metadata");
  node.name = ReadName(metadata);
  node.uid = TextIfReadable(object, "metadata", "uid");
  node.resource_version = TextIfReadable(object, "metadata", "resourceVersion");
  node.labels = LabelsIfReadable(object);
}

void ReadIdentity(const JsonField& object, Pod& pod) {
  const JsonField metadata = object.Member("metadata");
  pod.ref.ns = metadata.Member("namespace").String();
  pod.ref.name = ReadName(metadata);
  pod.ref.uid = TextIfReadable(object, "metadata", "uid");
  pod.resource_version = TextIfReadable(object, "metadata", "resourceVersion");
  pod.labels = LabelsIfReadable(object);
  pod.node_name = TextIfReadable(object, "spec", "nodeName");
}

void ReadIdentity(const JsonField& object, DaemonSet& daemon_set) {
  const JsonField metadata = object.Member("metadata");
  daemon_set.ns = metadata.Member("namespace").String();
  daemon_set.name = ReadName(metadata);
  daemon_set.uid = TextIfReadable(object, "metadata", "uid");
  daemon_set.labels = LabelsIfReadable(object);
}

void ReadIdentity(const JsonField& object, ControllerRevision& revision) {
  const JsonField metadata = object.Member("metadata");
  revision.ns = metadata.Member("namespace").String();
  revision.name = ReadName(metadata);
  revision.labels = LabelsIfReadable(object);
  revision.owner_uid = IfReadable(object, "metadata", ControllerUid);
}

void ReadIdentity(const JsonField& object, PodDisruptionBudget& budget) {
  const JsonField metadata = object.Member("metadata");
  budget.ns = metadata.Member("namespace").String();
  budget.name = ReadName(metadata);
  budget.uid = TextIfReadable(object, "metadata", "uid");
}

void ReadIdentity(const JsonField& object, NodeMaintenance& maintenance) {
  const JsonField metadata = object.Member("metadata");
  maintenance.ns = metadata.Member("namespace").String();
  maintenance.name = ReadName(metadata);
  maintenance.uid = TextIfReadable(object, "metadata", "uid");
  maintenance.resource_version = TextIfReadable(object, "metadata", "resourceVersion");
  maintenance.node_name = TextIfReadable(object, "spec", "nodeName");
}

}  // namespace driverupgrade::internal
