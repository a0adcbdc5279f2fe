#include "support/driver_daemon_set.h"

#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>

#include "fmt/format.h"

namespace examples {
namespace {

using driverupgrade::StringMap;
using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

// NVIDIA's operator sets this variable to a digest of all settings that change the driver.
constexpr char kDigestVariable[] = "DRIVER_CONFIG_DIGEST";

void WriteMember(Writer& writer, const char* key, const std::string& value) {
  writer.Key(key);
  writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void WriteMember(Writer& writer, const char* key, const StringMap& map) {
  writer.Key(key);
  writer.StartObject();
  for (const auto& [name, value] : map) WriteMember(writer, name.c_str(), value);
  writer.EndObject();
}

void PutJson(Writer& writer, const std::string& json) {
  writer.RawValue(json.data(), json.size(), rapidjson::kObjectType);
}

void PutVariable(Writer& writer, const Variable& variable) {
  writer.StartObject();
  WriteMember(writer, "name", variable.name);
  if (variable.value_from.empty()) {
    WriteMember(writer, "value", variable.value);
  } else {
    writer.Key("valueFrom");
    PutJson(writer, variable.value_from);
  }
  writer.EndObject();
}

void PutFieldVariable(Writer& writer, const std::string& name, const std::string& field) {
  writer.StartObject();
  WriteMember(writer, "name", name);
  writer.Key("valueFrom");
  writer.StartObject();
  writer.Key("fieldRef");
  writer.StartObject();
  WriteMember(writer, "fieldPath", field);
  writer.EndObject();
  writer.EndObject();
  writer.EndObject();
}

std::string VolumeName(std::size_t place) { return fmt::format("host-{}", place); }

void PutMounts(Writer& writer, const std::vector<std::string>& host_paths) {
  writer.Key("volumeMounts");
  writer.StartArray();
  for (std::size_t i = 0; i < host_paths.size(); ++i) {
    writer.StartObject();
    WriteMember(writer, "name", VolumeName(i));
    WriteMember(writer, "mountPath", host_paths[i] == "/" ? "/host" : host_paths[i]);
    WriteMember(writer, "mountPropagation", host_paths[i].starts_with("/run") ? "Bidirectional" : "HostToContainer");
    writer.EndObject();
  }
  writer.EndArray();
}

void PutTexts(Writer& writer, const char* key, const std::vector<std::string>& texts) {
  writer.Key(key);
  writer.StartArray();
  for (const std::string& text : texts) writer.String(text.c_str());
  writer.EndArray();
}

void PutProbe(Writer& writer, const DriverProbe& probe, const DriverPods& pods, const std::string& ready_file) {
  ProbeTimes times = probe.times;
  if (const auto own = pods.probe_times.find(probe.kind); own != pods.probe_times.end()) {
    for (const auto& [name, seconds] : own->second) times[name] = seconds;
  }
  writer.Key(probe.kind.c_str());
  writer.StartObject();
  writer.Key("exec");
  writer.StartObject();
  std::string command = probe.command;
  if (!ready_file.empty() && probe.kind == "startupProbe") {
    const std::string directory = ready_file.substr(0, ready_file.rfind('/'));
    command += fmt::format(" && mkdir -p {} && : > {}", directory, ready_file);
  }
  PutTexts(writer, "command", {"sh", "-c", command});
  writer.EndObject();
  for (const auto& [name, seconds] : times) {
    writer.Key(name.c_str());
    writer.Int(seconds);
  }
  writer.EndObject();
}

// Writes the members that the driver container and the init container have in common. Does not close the JSON object.
void PutContainer(Writer& writer, const std::string& name, const DriverImage& image,
                  const std::vector<std::string>& command, const std::vector<std::string>& args,
                  const std::string& digest, const std::vector<std::string>& host_paths) {
  WriteMember(writer, "name", name);
  WriteMember(writer, "image", image.reference);
  if (!image.pull_policy.empty()) WriteMember(writer, "imagePullPolicy", image.pull_policy);
  if (!command.empty()) PutTexts(writer, "command", command);
  PutTexts(writer, "args", args);
  writer.Key("env");
  writer.StartArray();
  PutFieldVariable(writer, "NODE_NAME", "spec.nodeName");
  PutFieldVariable(writer, "OPERATOR_NAMESPACE", "metadata.namespace");
  for (const Variable& variable : image.env) PutVariable(writer, variable);
  if (!digest.empty()) PutVariable(writer, {.name = kDigestVariable, .value = digest});
  writer.EndArray();
  writer.Key("securityContext");
  writer.StartObject();
  writer.Key("privileged");
  writer.Bool(true);
  writer.EndObject();
  PutMounts(writer, host_paths);
}

void PutPreStop(Writer& writer, const std::string& ready_file) {
  writer.Key("lifecycle");
  writer.StartObject();
  writer.Key("preStop");
  writer.StartObject();
  writer.Key("exec");
  writer.StartObject();
  PutTexts(writer, "command", {"sh", "-c", "rm -f " + ready_file});
  writer.EndObject();
  writer.EndObject();
  writer.EndObject();
}

void PutContainers(Writer& writer, const DriverDaemonSet& wish, const std::string& digest) {
  const std::string ready_file = digest.empty() ? std::string() : wish.ready_file;
  writer.Key("initContainers");
  writer.StartArray();
  if (wish.init) {
    writer.StartObject();
    PutContainer(writer, wish.init->name, wish.init->image, wish.init->command, wish.init->args, "", wish.host_paths);
    writer.EndObject();
  }
  writer.EndArray();
  writer.Key("containers");
  writer.StartArray();
  writer.StartObject();
  PutContainer(writer, wish.container, wish.image, {}, wish.args, digest, wish.host_paths);
  for (const DriverProbe& probe : wish.probes) PutProbe(writer, probe, wish.pods, ready_file);
  if (!ready_file.empty()) PutPreStop(writer, ready_file);
  if (!wish.pods.resources.empty()) {
    writer.Key("resources");
    PutJson(writer, wish.pods.resources);
  }
  writer.EndObject();
  writer.EndArray();
}

void PutVolumes(Writer& writer, const std::vector<std::string>& host_paths) {
  writer.Key("volumes");
  writer.StartArray();
  for (std::size_t i = 0; i < host_paths.size(); ++i) {
    writer.StartObject();
    WriteMember(writer, "name", VolumeName(i));
    writer.Key("hostPath");
    writer.StartObject();
    WriteMember(writer, "path", host_paths[i]);
    if (host_paths[i].starts_with("/run")) WriteMember(writer, "type", "DirectoryOrCreate");
    writer.EndObject();
    writer.EndObject();
  }
  writer.EndArray();
}

// Keeps two drivers off one node. A new DaemonSet's pods wait until the pods of the old DaemonSet, which stay if that
// DaemonSet is deleted with --cascade=orphan, have been replaced node by node.
void PutAntiAffinity(Writer& writer, const DriverDaemonSet::PodLabel& label) {
  writer.Key("affinity");
  writer.StartObject();
  writer.Key("podAntiAffinity");
  writer.StartObject();
  writer.Key("requiredDuringSchedulingIgnoredDuringExecution");
  writer.StartArray();
  writer.StartObject();
  writer.Key("labelSelector");
  writer.StartObject();
  writer.Key("matchExpressions");
  writer.StartArray();
  writer.StartObject();
  WriteMember(writer, "key", label.key);
  WriteMember(writer, "operator", label.value.empty() ? "Exists" : "In");
  if (!label.value.empty()) PutTexts(writer, "values", {label.value});
  writer.EndObject();
  writer.EndArray();
  writer.EndObject();
  WriteMember(writer, "topologyKey", "kubernetes.io/hostname");
  writer.EndObject();
  writer.EndArray();
  writer.EndObject();
  writer.EndObject();
}

// With an empty digest, writes only the parts of the pod spec that the digest covers.
void PutPodSpec(Writer& writer, const DriverDaemonSet& wish, const std::string& digest) {
  writer.StartObject();
  WriteMember(writer, "serviceAccountName", wish.service_account);
  WriteMember(writer, "priorityClassName",
              wish.pods.priority_class.empty() ? "system-node-critical" : wish.pods.priority_class);
  writer.Key("terminationGracePeriodSeconds");
  writer.Int(wish.grace_period_seconds);
  writer.Key("hostPID");
  writer.Bool(true);
  WriteMember(writer, "nodeSelector", wish.node_selector);
  // Also writes an empty list, because a merge patch without it would keep the existing list.
  writer.Key("imagePullSecrets");
  writer.StartArray();
  for (const std::string& secret : wish.pods.pull_secrets) {
    writer.StartObject();
    WriteMember(writer, "name", secret);
    writer.EndObject();
  }
  writer.EndArray();
  writer.Key("tolerations");
  writer.StartArray();
  // A driver that restarts can make its node not ready for a moment. The DaemonSet controller adds tolerations only for
  // the NoExecute effect of these taints, so their other effects would keep a new driver pod from being scheduled.
  for (const char* key : {"nvidia.com/gpu", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    writer.StartObject();
    WriteMember(writer, "key", key);
    WriteMember(writer, "operator", "Exists");
    WriteMember(writer, "effect", "NoSchedule");
    writer.EndObject();
  }
  for (const std::string& toleration : wish.pods.tolerations) PutJson(writer, toleration);
  writer.EndArray();
  if (wish.apart_from && !digest.empty()) PutAntiAffinity(writer, *wish.apart_from);
  PutContainers(writer, wish, digest);
  PutVolumes(writer, wish.host_paths);
  writer.EndObject();
}

std::string PodSpecJson(const DriverDaemonSet& wish, const std::string& digest) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  PutPodSpec(writer, wish, digest);
  return {buffer.GetString(), buffer.GetSize()};
}

// FNV-1a, because the result must be the same in every process.
std::string Hash(const std::string& text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return fmt::format("{:016x}", hash);
}

}  // namespace

// A merge patch replaces entire lists, but keeps map keys that the patch does not name; such keys must be removed
// explicitly. The labels by which the DaemonSet selects its pods stay.
std::string ChangeJson(const rapidjson::Value& found, const DriverDaemonSet& wish) {
  rapidjson::Document change;
  change.Parse(DaemonSetJson(wish).c_str());
  rapidjson::Value& selector = *rapidjson::Pointer("/spec/template/spec/nodeSelector").Get(change);
  for (const auto& [key, _] : TextMap(found, {"spec", "template", "spec", "nodeSelector"})) {
    if (wish.node_selector.contains(key)) continue;
    selector.AddMember(rapidjson::Value(key.c_str(), change.GetAllocator()), rapidjson::Value(), change.GetAllocator());
  }
  return ToText(change);
}

std::string SpecDigest(const DriverDaemonSet& wish) { return Hash(PodSpecJson(wish, "")); }

std::string DaemonSetJson(const DriverDaemonSet& wish) {
  const std::string digest = SpecDigest(wish);
  StringMap labels = wish.labels;
  labels.insert(wish.own_labels.begin(), wish.own_labels.end());
  labels[kManagedByLabel] = kManagedBy;
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.StartObject();
  WriteMember(writer, "apiVersion", "apps/v1");
  WriteMember(writer, "kind", "DaemonSet");
  writer.Key("metadata");
  writer.StartObject();
  WriteMember(writer, "name", wish.name);
  WriteMember(writer, "namespace", wish.ns);
  WriteMember(writer, "labels", labels);
  WriteMember(writer, "annotations", StringMap{{kSpecDigestAnnotation, digest}});
  writer.EndObject();
  writer.Key("spec");
  writer.StartObject();
  writer.Key("updateStrategy");
  writer.StartObject();
  WriteMember(writer, "type", "OnDelete");
  writer.EndObject();
  writer.Key("selector");
  writer.StartObject();
  WriteMember(writer, "matchLabels", wish.labels);
  writer.EndObject();
  writer.Key("template");
  writer.StartObject();
  writer.Key("metadata");
  writer.StartObject();
  WriteMember(writer, "labels", wish.labels);
  writer.EndObject();
  writer.Key("spec");
  PutPodSpec(writer, wish, digest);
  writer.EndObject();
  writer.EndObject();
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace examples
