// Writes objects in the form in which the API server returns them.
#include <algorithm>

#include "absl/time/time.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "wire/device_json.h"
#include "wire/json_document.h"
#include "wire/json_writer.h"
#include "wire/lease_json.h"
#include "wire/node_maintenance_json.h"
#include "wire/object_kind.h"
#include "wire/taint_json.h"

namespace driverupgrade {
namespace {

using internal::JsonDocument;
using internal::JsonWriter;
using internal::WriteTime;
using Requirement = LabelSelector::Requirement;

void WriteStrings(JsonWriter& writer, std::string_view member, const StringMap& strings) {
  if (strings.empty()) return;
  writer.ObjectMember(member, [&] {
    for (const auto& [key, value] : strings) writer.Member(key, value);
  });
}

void WriteOwners(JsonWriter& writer, const std::vector<OwnerReference>& owners) {
  if (owners.empty()) return;
  writer.ArrayMember("ownerReferences", [&] {
    for (const OwnerReference& owner : owners) {
      writer.Object([&] {
        writer.Member("apiVersion", owner.api_version);
        writer.Member("kind", owner.kind);
        writer.Member("name", owner.name);
        writer.Member("uid", owner.uid);
        if (owner.controller) writer.Member("controller", true);
      });
    }
  });
}

std::string_view OperatorName(LabelSelector::Operator op) {
  switch (op) {
    case LabelSelector::Operator::kIn: return "In";
    case LabelSelector::Operator::kNotIn: return "NotIn";
    case LabelSelector::Operator::kExists: return "Exists";
    case LabelSelector::Operator::kDoesNotExist: return "DoesNotExist";
    case LabelSelector::Operator::kGreaterThan: return "Gt";
    case LabelSelector::Operator::kLessThan: return "Lt";
  }
  return "";
}

void WriteExpression(JsonWriter& writer, const Requirement& requirement) {
  writer.Object([&] {
    writer.Member("key", requirement.key);
    writer.Member("operator", OperatorName(requirement.op));
    if (requirement.values.empty()) return;
    writer.ArrayMember("values", [&] {
      for (const std::string& value : requirement.values) writer.String(value);
    });
  });
}

// Writes the usual form: the first `key=value` of each key as matchLabels, and the rest as matchExpressions.
void WriteSelector(JsonWriter& writer, const LabelSelector& selector) {
  writer.Key("selector");
  if (selector == LabelSelector::Nothing()) return writer.Null();
  StringMap match_labels;
  std::vector<Requirement> expressions;
  for (const Requirement& requirement : selector.requirements()) {
    const bool equals = requirement.op == LabelSelector::Operator::kIn && requirement.values.size() == 1;
    if (!equals || !match_labels.emplace(requirement.key, requirement.values[0]).second) {
      expressions.push_back(requirement);
    }
  }
  writer.Object([&] {
    WriteStrings(writer, "matchLabels", match_labels);
    if (expressions.empty()) return;
    writer.ArrayMember("matchExpressions", [&] {
      for (const Requirement& expression : expressions) WriteExpression(writer, expression);
    });
  });
}

// Writes the selectors as the terms of a required node affinity.
void WriteNodeSelectors(JsonWriter& writer, const std::vector<LabelSelector>& selectors) {
  const auto write_terms = [&] {
    for (const LabelSelector& selector : selectors) {
      writer.Object([&] {
        writer.ArrayMember("matchExpressions", [&] {
          for (const Requirement& requirement : selector.requirements()) WriteExpression(writer, requirement);
        });
      });
    }
  };
  writer.ObjectMember("affinity", [&] {
    writer.ObjectMember("nodeAffinity", [&] {
      writer.ObjectMember("requiredDuringSchedulingIgnoredDuringExecution",
                          [&] { writer.ArrayMember("nodeSelectorTerms", write_terms); });
    });
  });
}

void WriteMembers(JsonWriter& writer, const Node& node) {
  writer.ObjectMember("metadata", [&] {
    writer.Member("name", node.name);
    writer.Member("uid", node.uid);
    writer.Member("resourceVersion", node.resource_version);
    if (node.deletion_timestamp) WriteTime(writer, "deletionTimestamp", *node.deletion_timestamp);
    WriteStrings(writer, "labels", node.labels);
    WriteStrings(writer, "annotations", node.annotations);
  });
  writer.ObjectMember("spec", [&] {
    if (node.unschedulable) writer.Member("unschedulable", true);
    if (!node.taints.empty()) internal::WriteTaints(writer, node.taints);
  });
  writer.ObjectMember("status", [&] {
    if (!node.extended_resources.empty()) {
      writer.ObjectMember("allocatable", [&] {
        for (const std::string& name : node.extended_resources) writer.Member(name, "1");
      });
    }
    writer.ArrayMember("conditions", [&] {
      writer.Object([&] {
        writer.Member("type", "Ready");
        writer.Member("status", node.ready ? "True" : "False");
        if (node.ready_transition_time) WriteTime(writer, "lastTransitionTime", *node.ready_transition_time);
      });
      for (const auto& condition : node.conditions) {
        writer.Object([&] {
          writer.Member("type", condition.first);
          writer.Member("status", condition.second);
        });
      }
    });
  });
}

std::string_view PhaseName(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending: return "Pending";
    case PodPhase::kRunning: return "Running";
    case PodPhase::kSucceeded: return "Succeeded";
    case PodPhase::kFailed: return "Failed";
    case PodPhase::kUnknown: break;
  }
  return "Unknown";
}

void WriteContainerStatuses(JsonWriter& writer, std::string_view member, const std::vector<ContainerStatus>& statuses,
                            bool ended) {
  if (statuses.empty()) return;
  writer.ArrayMember(member, [&] {
    for (const ContainerStatus& status : statuses) {
      writer.Object([&] {
        writer.Member("name", status.name);
        writer.Member("ready", status.ready);
        writer.Member("restartCount", status.restart_count);
        writer.Member("started", status.started);
        writer.MemberIfAny("image", status.image);
        const std::string_view reason = status.start_error.empty() && status.image_pull_fails
                                            ? std::string_view("ImagePullBackOff")
                                            : std::string_view(status.start_error);
        if (ended) {
          writer.ObjectMember("state",
                              [&] { writer.ObjectMember("terminated", [&] { writer.Member("exitCode", 0); }); });
        } else if (!reason.empty()) {
          writer.ObjectMember("state",
                              [&] { writer.ObjectMember("waiting", [&] { writer.Member("reason", reason); }); });
        }
      });
    }
  });
}

void WriteVolumes(JsonWriter& writer, const Pod& pod) {
  std::vector<PodVolume> volumes = pod.volumes;
  if (volumes.empty() && pod.has_empty_dir) volumes = {{.name = "scratch", .kind = "emptyDir"}};
  if (volumes.empty()) return;
  writer.ArrayMember("volumes", [&] {
    for (const PodVolume& volume : volumes) {
      writer.Object([&] {
        writer.Member("name", volume.name);
        writer.ObjectMember(volume.kind, [&] { writer.MemberIfAny("path", volume.host_path); });
      });
    }
  });
}

void WriteAffinity(JsonWriter& writer, const std::string& node) {
  const auto write_field = [&] {
    writer.Member("key", "metadata.name");
    writer.Member("operator", "In");
    writer.ArrayMember("values", [&] { writer.String(node); });
  };
  const auto write_term = [&] { writer.ArrayMember("matchFields", [&] { writer.Object(write_field); }); };
  writer.ObjectMember("affinity", [&] {
    writer.ObjectMember("nodeAffinity", [&] {
      writer.ObjectMember("requiredDuringSchedulingIgnoredDuringExecution",
                          [&] { writer.ArrayMember("nodeSelectorTerms", [&] { writer.Object(write_term); }); });
    });
  });
}

void WritePodConditions(JsonWriter& writer, const Pod& pod) {
  if (!pod.ready_since && !pod.not_ready_since && pod.unscheduled_message.empty()) return;
  writer.ArrayMember("conditions", [&] {
    if (pod.ready_since || pod.not_ready_since) {
      writer.Object([&] {
        writer.Member("type", "Ready");
        writer.Member("status", pod.ready_since ? "True" : "False");
        WriteTime(writer, "lastTransitionTime", pod.ready_since ? *pod.ready_since : *pod.not_ready_since);
      });
    }
    if (pod.unscheduled_message.empty()) return;
    writer.Object([&] {
      writer.Member("type", "PodScheduled");
      writer.Member("status", "False");
      writer.Member("reason", "Unschedulable");
      writer.Member("message", pod.unscheduled_message);
    });
  });
}

void WritePodSpec(JsonWriter& writer, const Pod& pod) {
  writer.MemberIfAny("nodeName", pod.node_name);
  if (!pod.affinity_node_name.empty()) WriteAffinity(writer, pod.affinity_node_name);
  writer.MemberIfAny("schedulerName", pod.scheduler_name);
  writer.MemberIfAny("subdomain", pod.subdomain);
  if (!pod.pod_group.empty()) {
    writer.ObjectMember("schedulingGroup", [&] { writer.Member("podGroupName", pod.pod_group); });
  }
  WriteVolumes(writer, pod);
  if (pod.tolerates_cordon_since) {
    writer.ArrayMember("tolerations", [&] { writer.Object([&] { writer.Member("operator", "Exists"); }); });
  }
  writer.ArrayMember("containers", [&] {
    writer.Object([&] {
      writer.Member("name", "main");
      StringMap limits;
      for (const std::string& name : pod.resource_names) limits.emplace(name, "1");
      writer.ObjectMember("resources", [&] { WriteStrings(writer, "limits", limits); });
    });
  });
  if (pod.resource_claims.empty()) return;
  writer.ArrayMember("resourceClaims", [&] {
    for (const std::string& name : pod.resource_claims) {
      writer.Object([&] {
        writer.Member("name", name);
        writer.Member("resourceClaimName", name);
      });
    }
  });
}

void WriteMembers(JsonWriter& writer, const Pod& pod) {
  writer.ObjectMember("metadata", [&] {
    writer.Member("name", pod.ref.name);
    writer.Member("namespace", pod.ref.ns);
    writer.Member("uid", pod.ref.uid);
    writer.Member("resourceVersion", pod.resource_version);
    if (pod.tolerates_cordon_since) WriteTime(writer, "creationTimestamp", *pod.tolerates_cordon_since);
    if (pod.deletion_timestamp) WriteTime(writer, "deletionTimestamp", *pod.deletion_timestamp);
    if (pod.released) writer.Member("deletionGracePeriodSeconds", 0);
    WriteStrings(writer, "labels", pod.labels);
    if (!pod.finalizers.empty()) {
      writer.ArrayMember("finalizers", [&] {
        for (const std::string& finalizer : pod.finalizers) writer.String(finalizer);
      });
    }
    StringMap annotations = pod.annotations;
    if (pod.mirror) annotations.emplace("kubernetes.io/config.mirror", "mirror");
    WriteStrings(writer, "annotations", annotations);
    WriteOwners(writer, pod.owners);
  });
  writer.ObjectMember("spec", [&] { WritePodSpec(writer, pod); });
  writer.ObjectMember("status", [&] {
    writer.Member("phase", PhaseName(pod.phase));
    WritePodConditions(writer, pod);
    WriteContainerStatuses(writer, "initContainerStatuses", pod.init_container_statuses, pod.containers_ended);
    WriteContainerStatuses(writer, "containerStatuses", pod.container_statuses, pod.containers_ended);
  });
}

void WriteTolerations(JsonWriter& writer, const std::vector<Toleration>& tolerations) {
  writer.ArrayMember("tolerations", [&] {
    for (const Toleration& toleration : tolerations) {
      writer.Object([&] {
        if (!toleration.key.empty()) writer.Member("key", toleration.key);
        if (!toleration.op.empty()) writer.Member("operator", toleration.op);
        if (!toleration.value.empty()) writer.Member("value", toleration.value);
        if (!toleration.effect.empty()) writer.Member("effect", toleration.effect);
      });
    }
  });
}

void WriteMembers(JsonWriter& writer, const DaemonSet& daemon_set) {
  writer.ObjectMember("metadata", [&] {
    writer.Member("name", daemon_set.name);
    writer.Member("namespace", daemon_set.ns);
    writer.Member("uid", daemon_set.uid);
    writer.Member("generation", daemon_set.generation);
    WriteStrings(writer, "labels", daemon_set.labels);
    WriteStrings(writer, "annotations", daemon_set.annotations);
  });
  writer.ObjectMember("spec", [&] {
    WriteSelector(writer, daemon_set.selector);
    writer.ObjectMember("updateStrategy",
                        [&] { writer.Member("type", daemon_set.on_delete ? "OnDelete" : "RollingUpdate"); });
    if (daemon_set.node_selectors.empty() && !daemon_set.tolerations) return;
    writer.ObjectMember("template", [&] {
      writer.ObjectMember("spec", [&] {
        WriteNodeSelectors(writer, daemon_set.node_selectors);
        if (daemon_set.tolerations) WriteTolerations(writer, *daemon_set.tolerations);
      });
    });
  });
  writer.ObjectMember("status", [&] { writer.Member("observedGeneration", daemon_set.observed_generation); });
}

void WriteMembers(JsonWriter& writer, const ControllerRevision& revision) {
  writer.ObjectMember("metadata", [&] {
    writer.Member("name", revision.name);
    writer.Member("namespace", revision.ns);
    WriteStrings(writer, "labels", revision.labels);
    if (revision.owner_uid.empty()) return;
    WriteOwners(writer,
                {{.api_version = "apps/v1", .kind = "DaemonSet", .uid = revision.owner_uid, .controller = true}});
  });
  // Invalid JSON must not corrupt the document.
  JsonDocument data;
  if (!revision.data.empty() && data.Parse(revision.data).ok()) writer.RawMember("data", revision.data);
  writer.Member("revision", revision.revision);
}

void WriteMembers(JsonWriter& writer, const NodeMaintenance& maintenance) {
  internal::WriteNodeMaintenance(writer, maintenance);
}

void WriteMembers(JsonWriter& writer, const DeviceTaintRule& rule) { internal::WriteDeviceTaintRule(writer, rule); }

void WriteMembers(JsonWriter& writer, const ResourceClaim& claim) { internal::WriteResourceClaim(writer, claim); }

void WriteMembers(JsonWriter& writer, const ResourceSlice& slice) { internal::WriteResourceSlice(writer, slice); }

void WriteMembers(JsonWriter& writer, const Lease& lease) { internal::WriteLease(writer, lease); }

void WriteMembers(JsonWriter& writer, const ConfigMap& config_map) { internal::WriteConfigMap(writer, config_map); }

void WriteMembers(JsonWriter& writer, const PodDisruptionBudget& budget) {
  writer.ObjectMember("metadata", [&] {
    writer.Member("name", budget.name);
    writer.Member("namespace", budget.ns);
    writer.Member("uid", budget.uid);
  });
  writer.ObjectMember("spec", [&] { WriteSelector(writer, budget.selector); });
  writer.ObjectMember("status", [&] {
    writer.Member("disruptionsAllowed", budget.disruptions_allowed);
    writer.Member("currentHealthy", budget.current_healthy);
    writer.Member("desiredHealthy", budget.desired_healthy);
  });
}

}  // namespace

template <typename T>
std::string FormatObject(const T& object) {
  JsonWriter writer;
  writer.Object([&] {
    writer.Member("apiVersion", internal::ApiVersionOf<T>());
    writer.Member("kind", internal::KindOf<T>());
    WriteMembers(writer, object);
  });
  return writer.Take();
}

template <typename T>
std::string FormatList(const ListPage<T>& page) {
  JsonWriter writer;
  writer.Object([&] {
    writer.Member("apiVersion", internal::ApiVersionOf<T>());
    writer.Member("kind", fmt::format("{}List", internal::KindOf<T>()));
    writer.ObjectMember("metadata", [&] {
      writer.MemberIfAny("resourceVersion", page.resource_version);
      writer.MemberIfAny("continue", page.continue_token);
    });
    writer.ArrayMember("items", [&] {
      for (const T& item : page.items) writer.Object([&] { WriteMembers(writer, item); });
    });
  });
  return writer.Take();
}

#define DRIVERUPGRADE_INSTANTIATE_FORMAT(T)              \
  template std::string FormatObject<T>(const T& object); \
  template std::string FormatList<T>(const ListPage<T>& page);
DRIVERUPGRADE_INSTANTIATE_FORMAT(Node)
DRIVERUPGRADE_INSTANTIATE_FORMAT(Pod)
DRIVERUPGRADE_INSTANTIATE_FORMAT(DaemonSet)
DRIVERUPGRADE_INSTANTIATE_FORMAT(ControllerRevision)
DRIVERUPGRADE_INSTANTIATE_FORMAT(PodDisruptionBudget)
DRIVERUPGRADE_INSTANTIATE_FORMAT(NodeMaintenance)
DRIVERUPGRADE_INSTANTIATE_FORMAT(DeviceTaintRule)
DRIVERUPGRADE_INSTANTIATE_FORMAT(ResourceClaim)
DRIVERUPGRADE_INSTANTIATE_FORMAT(ResourceSlice)
DRIVERUPGRADE_INSTANTIATE_FORMAT(Lease)
DRIVERUPGRADE_INSTANTIATE_FORMAT(ConfigMap)
#undef DRIVERUPGRADE_INSTANTIATE_FORMAT

}  // namespace driverupgrade
