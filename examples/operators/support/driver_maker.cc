#include "support/driver_maker.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace examples {
namespace {

using driverupgrade::CallContext;
using driverupgrade::ObjectKind;
using driverupgrade::Severity;
using driverupgrade::StringMap;
using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

const ObjectKind kDaemonSets{.group_version = "apps/v1", .resource = "daemonsets"};
constexpr absl::Duration kLookAgain = absl::Seconds(30);
// In which NVIDIA's operator has a digest of all that changes the driver.
constexpr char kDigestVariable[] = "DRIVER_CONFIG_DIGEST";

void Put(Writer& writer, const char* key, const std::string& value) {
  writer.Key(key);
  writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void Put(Writer& writer, const char* key, const StringMap& map) {
  writer.Key(key);
  writer.StartObject();
  for (const auto& [name, value] : map) Put(writer, name.c_str(), value);
  writer.EndObject();
}

void PutVariable(Writer& writer, const std::string& name, const std::string& value) {
  writer.StartObject();
  Put(writer, "name", name);
  Put(writer, "value", value);
  writer.EndObject();
}

void PutFieldVariable(Writer& writer, const std::string& name, const std::string& field) {
  writer.StartObject();
  Put(writer, "name", name);
  writer.Key("valueFrom");
  writer.StartObject();
  writer.Key("fieldRef");
  writer.StartObject();
  Put(writer, "fieldPath", field);
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
    Put(writer, "name", VolumeName(i));
    Put(writer, "mountPath", host_paths[i] == "/" ? "/host" : host_paths[i]);
    Put(writer, "mountPropagation", host_paths[i].starts_with("/run") ? "Bidirectional" : "HostToContainer");
    writer.EndObject();
  }
  writer.EndArray();
}

void PutContainer(Writer& writer, const std::string& name, const DriverImage& image,
                  const std::vector<std::string>& args, const std::string& digest,
                  const std::vector<std::string>& host_paths) {
  writer.StartObject();
  Put(writer, "name", name);
  Put(writer, "image", image.reference);
  writer.Key("args");
  writer.StartArray();
  for (const std::string& arg : args) writer.String(arg.c_str());
  writer.EndArray();
  writer.Key("env");
  writer.StartArray();
  PutFieldVariable(writer, "NODE_NAME", "spec.nodeName");
  PutFieldVariable(writer, "OPERATOR_NAMESPACE", "metadata.namespace");
  for (const auto& [variable, value] : image.env) PutVariable(writer, variable, value);
  if (!digest.empty()) PutVariable(writer, kDigestVariable, digest);
  writer.EndArray();
  writer.Key("securityContext");
  writer.StartObject();
  writer.Key("privileged");
  writer.Bool(true);
  writer.EndObject();
  PutMounts(writer, host_paths);
  writer.EndObject();
}

void PutVolumes(Writer& writer, const std::vector<std::string>& host_paths) {
  writer.Key("volumes");
  writer.StartArray();
  for (std::size_t i = 0; i < host_paths.size(); ++i) {
    writer.StartObject();
    Put(writer, "name", VolumeName(i));
    writer.Key("hostPath");
    writer.StartObject();
    Put(writer, "path", host_paths[i]);
    if (host_paths[i].starts_with("/run")) Put(writer, "type", "DirectoryOrCreate");
    writer.EndObject();
    writer.EndObject();
  }
  writer.EndArray();
}

void PutPodSpec(Writer& writer, const DriverDaemonSet& wish, const std::string& digest) {
  writer.StartObject();
  Put(writer, "serviceAccountName", wish.service_account);
  Put(writer, "priorityClassName", "system-node-critical");
  writer.Key("terminationGracePeriodSeconds");
  writer.Int(wish.grace_period_seconds);
  writer.Key("hostPID");
  writer.Bool(true);
  Put(writer, "nodeSelector", wish.node_selector);
  writer.Key("tolerations");
  writer.StartArray();
  writer.StartObject();
  Put(writer, "key", "nvidia.com/gpu");
  Put(writer, "operator", "Exists");
  Put(writer, "effect", "NoSchedule");
  writer.EndObject();
  writer.EndArray();
  writer.Key("initContainers");
  writer.StartArray();
  if (wish.init) PutContainer(writer, wish.init->name, wish.init->image, wish.init->args, "", wish.host_paths);
  writer.EndArray();
  writer.Key("containers");
  writer.StartArray();
  PutContainer(writer, wish.container, wish.image, wish.args, digest, wish.host_paths);
  writer.EndArray();
  PutVolumes(writer, wish.host_paths);
  writer.EndObject();
}

std::string PodSpecJson(const DriverDaemonSet& wish, const std::string& digest) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  PutPodSpec(writer, wish, digest);
  return {buffer.GetString(), buffer.GetSize()};
}

// FNV-1a: the same in every process.
std::string Hash(const std::string& text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return fmt::format("{:016x}", hash);
}

absl::StatusOr<Variables> ReadVariables(const rapidjson::Value& section, const std::string& path) {
  Variables variables;
  for (const rapidjson::Value& variable : Items(section, {"env"})) {
    const std::string name = Text(variable, {"name"});
    if (name.empty()) return absl::InvalidArgumentError(fmt::format("{}.env: an item has no name", path));
    variables.emplace_back(name, Text(variable, {"value"}));
  }
  return variables;
}

}  // namespace

absl::StatusOr<std::optional<DriverImage>> ReadDriverImage(const rapidjson::Value& object, JsonPath path) {
  const rapidjson::Value* section = Find(object, path);
  if (section == nullptr || !section->IsObject()) return std::nullopt;
  const std::string shown = fmt::format("{}", fmt::join(path, "."));
  for (const char* key : {"repository", "image", "version"}) {
    const rapidjson::Value* value = Find(*section, {key});
    if (value != nullptr && !value->IsNull() && !value->IsString()) {
      return absl::InvalidArgumentError(fmt::format("{}.{}: must be a text, got {}", shown, key, ToText(*value)));
    }
  }
  const std::string version = Text(*section, {"version"});
  if (version.empty()) return std::nullopt;
  const std::string repository = Text(*section, {"repository"});
  const std::string image = Text(*section, {"image"});
  if (image.empty()) return absl::InvalidArgumentError(fmt::format("{}.image: is needed beside version", shown));
  absl::StatusOr<Variables> env = ReadVariables(*section, shown);
  if (!env.ok()) return env.status();
  return DriverImage{.reference = fmt::format("{}{}{}{}{}", repository, repository.empty() ? "" : "/", image,
                                              version.starts_with("sha256:") ? "@" : ":", version),
                     .env = *std::move(env)};
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
  Put(writer, "apiVersion", "apps/v1");
  Put(writer, "kind", "DaemonSet");
  writer.Key("metadata");
  writer.StartObject();
  Put(writer, "name", wish.name);
  Put(writer, "namespace", wish.ns);
  Put(writer, "labels", labels);
  Put(writer, "annotations", StringMap{{kSpecDigestAnnotation, digest}});
  writer.EndObject();
  writer.Key("spec");
  writer.StartObject();
  writer.Key("updateStrategy");
  writer.StartObject();
  Put(writer, "type", "OnDelete");
  writer.EndObject();
  writer.Key("selector");
  writer.StartObject();
  Put(writer, "matchLabels", StringMap{{"app", wish.labels.at("app")}});
  writer.EndObject();
  writer.Key("template");
  writer.StartObject();
  writer.Key("metadata");
  writer.StartObject();
  Put(writer, "labels", wish.labels);
  writer.EndObject();
  writer.Key("spec");
  PutPodSpec(writer, wish, digest);
  writer.EndObject();
  writer.EndObject();
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

DriverMaker::DriverMaker(std::shared_ptr<const driverupgrade::ObjectClient> objects,
                         std::shared_ptr<driverupgrade::Clock> clock, driverupgrade::LogSink log)
    : objects_(std::move(objects)), clock_(std::move(clock)), log_(std::move(log)) {}

void DriverMaker::Wish(std::vector<DriverDaemonSet> wishes) {
  if (wishes == wishes_) return;
  wishes_ = std::move(wishes);
  again_ = absl::InfinitePast();
}

absl::Time DriverMaker::Keep(const CallContext& context) {
  if (wishes_.empty()) return absl::InfiniteFuture();
  if (clock_->Now() < again_) return again_;
  const absl::Status before = std::exchange(status_, absl::OkStatus());
  for (const DriverDaemonSet& wish : wishes_) {
    const absl::Status kept = KeepOne(context, wish);
    if (!kept.ok() && !absl::IsAborted(kept)) status_ = kept;
  }
  if (!status_.ok() && status_ != before) {
    log_({.severity = Severity::kWarning,
          .message = "cannot make the driver's DaemonSet",
          .fields = {{"error", std::string(status_.message())}}});
  }
  return again_ = clock_->Now() + kLookAgain;
}

absl::Status DriverMaker::KeepOne(const CallContext& context, const DriverDaemonSet& wish) {
  const auto found = objects_->Get(context, kDaemonSets, {wish.ns, wish.name});
  if (absl::IsNotFound(found.status())) {
    const absl::Status made =
        objects_->Create(context, kDaemonSets, {wish.ns, wish.name}, DaemonSetJson(wish)).status();
    if (made.ok()) Log(Severity::kInfo, "driver DaemonSet made", wish);
    return made;
  }
  if (!found.ok()) return found.status();
  const absl::StatusOr<rapidjson::Document> json = ParseJson(found->json);
  if (!json.ok()) return json.status();
  if (Text(*json, {"metadata", "labels", kManagedByLabel}) != kManagedBy) {
    if (!std::exchange(foreign_[wish.name], true)) {
      Log(Severity::kWarning, "the driver's DaemonSet is somebody else's, and stays as it is", wish);
    }
    return absl::OkStatus();
  }
  if (Text(*json, {"metadata", "annotations", kSpecDigestAnnotation}) == SpecDigest(wish)) return absl::OkStatus();
  // A merge patch has lists whole. Pods keep the labels by which the DaemonSet selects them.
  const absl::Status patched =
      objects_->MergePatch(context, kDaemonSets, {wish.ns, wish.name}, DaemonSetJson(wish)).status();
  if (patched.ok()) Log(Severity::kInfo, "driver DaemonSet changed", wish);
  return patched;
}

void DriverMaker::Log(Severity severity, const char* message, const DriverDaemonSet& wish) const {
  log_({.severity = severity,
        .message = message,
        .fields = {{"daemonset", wish.ns + "/" + wish.name}, {"image", wish.image.reference}}});
}

}  // namespace examples
