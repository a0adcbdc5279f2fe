#include "support/driver_maker.h"

#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_split.h"
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
constexpr absl::Duration kRecheckInterval = absl::Seconds(30);
// While the nodes are being read.
constexpr absl::Duration kNodesInterval = absl::Seconds(1);
// In which NVIDIA's operator has a digest of all that changes the driver.
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

void PutProbe(Writer& writer, const DriverProbe& probe, const DriverPods& pods) {
  ProbeTimes times = probe.times;
  if (const auto own = pods.probe_times.find(probe.kind); own != pods.probe_times.end()) {
    for (const auto& [name, seconds] : own->second) times[name] = seconds;
  }
  writer.Key(probe.kind.c_str());
  writer.StartObject();
  writer.Key("exec");
  writer.StartObject();
  PutTexts(writer, "command", {"sh", "-c", probe.command});
  writer.EndObject();
  for (const auto& [name, seconds] : times) {
    writer.Key(name.c_str());
    writer.Int(seconds);
  }
  writer.EndObject();
}

// What both containers have, in an object that stays open.
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

void PutContainers(Writer& writer, const DriverDaemonSet& wish, const std::string& digest) {
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
  for (const DriverProbe& probe : wish.probes) PutProbe(writer, probe, wish.pods);
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
  // An empty list, too: a merge patch without it would leave the one that is there.
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
  writer.StartObject();
  WriteMember(writer, "key", "nvidia.com/gpu");
  WriteMember(writer, "operator", "Exists");
  WriteMember(writer, "effect", "NoSchedule");
  writer.EndObject();
  for (const std::string& toleration : wish.pods.tolerations) PutJson(writer, toleration);
  writer.EndArray();
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

// A merge patch has lists whole, but keeps the keys of a map that it does not name. Pods keep the labels by which the
// DaemonSet selects them.
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

// FNV-1a: the same in every process.
std::string Hash(const std::string& text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return fmt::format("{:016x}", hash);
}

absl::StatusOr<Variables> ReadVariables(const rapidjson::Value& section, const std::string& path) {
  Variables variables;
  for (const rapidjson::Value& item : Items(section, {"env"})) {
    Variable variable{.name = Text(item, {"name"}), .value = Text(item, {"value"})};
    if (variable.name.empty()) return absl::InvalidArgumentError(fmt::format("{}.env: an item has no name", path));
    const rapidjson::Value* from = Find(item, {"valueFrom"});
    if (from != nullptr && from->IsObject()) variable.value_from = ToText(*from);
    variables.push_back(std::move(variable));
  }
  return variables;
}

// nullptr as well for no path.
const rapidjson::Value* FindPath(const rapidjson::Value& object, const std::string& path) {
  if (path.empty()) return nullptr;
  const rapidjson::Value* value = &object;
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(path, '.'))) {
    value = Find(*value, {name.c_str()});
    if (value == nullptr) return nullptr;
  }
  return value->IsNull() ? nullptr : value;
}

// Charts write out what is off.
bool IsSet(const rapidjson::Value& value) {
  if (value.IsArray()) return !value.Empty();
  if (value.IsObject()) {
    return std::any_of(value.MemberBegin(), value.MemberEnd(), [](const auto& member) { return IsSet(member.value); });
  }
  if (value.IsString()) return value.GetStringLength() > 0;
  return value.IsNumber() ? value.GetDouble() != 0 : value.IsTrue();
}

absl::Status WrongType(const std::string& path, const char* wanted, const rapidjson::Value& value) {
  return absl::InvalidArgumentError(fmt::format("{}: must be {}, got {}", path, wanted, ToText(value)));
}

absl::StatusOr<ProbeTimes> ReadProbeTimes(const rapidjson::Value& object, const std::string& path) {
  ProbeTimes times;
  for (const char* name :
       {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"}) {
    const std::string member = fmt::format("{}.{}", path, name);
    const rapidjson::Value* value = FindPath(object, member);
    if (value == nullptr) continue;
    if (!value->IsInt() || value->GetInt() < 0) return WrongType(member, "a whole number from 0", *value);
    times[name] = value->GetInt();
  }
  return times;
}

absl::StatusOr<std::vector<std::string>> ReadPullSecrets(const rapidjson::Value& object, const std::string& path) {
  std::vector<std::string> secrets;
  const rapidjson::Value* value = FindPath(object, path);
  if (value == nullptr) return secrets;
  if (!value->IsArray()) return WrongType(path, "a list of names", *value);
  for (const rapidjson::Value& item : value->GetArray()) {
    if (!item.IsString()) return WrongType(path, "a list of names", *value);
    secrets.emplace_back(item.GetString(), item.GetStringLength());
  }
  return secrets;
}

absl::StatusOr<std::vector<std::string>> ReadTolerations(const rapidjson::Value& object, const std::string& path) {
  std::vector<std::string> tolerations;
  const rapidjson::Value* value = FindPath(object, path);
  if (value == nullptr) return tolerations;
  if (!value->IsArray()) return WrongType(path, "a list of tolerations", *value);
  for (const rapidjson::Value& item : value->GetArray()) tolerations.push_back(ToText(item));
  return tolerations;
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
                     .pull_policy = Text(*section, {"imagePullPolicy"}),
                     .env = *std::move(env)};
}

absl::StatusOr<DriverPods> ReadDriverPods(const rapidjson::Value& object, const DriverPodsPaths& paths) {
  DriverPods pods;
  auto secrets = ReadPullSecrets(object, paths.section + ".imagePullSecrets");
  if (!secrets.ok()) return secrets.status();
  pods.pull_secrets = *std::move(secrets);
  auto tolerations = ReadTolerations(object, paths.tolerations);
  if (!tolerations.ok()) return tolerations.status();
  pods.tolerations = *std::move(tolerations);
  for (const char* kind : {"startupProbe", "readinessProbe", "livenessProbe"}) {
    absl::StatusOr<ProbeTimes> times = ReadProbeTimes(object, fmt::format("{}.{}", paths.section, kind));
    if (!times.ok()) return times.status();
    if (!times->empty()) pods.probe_times[kind] = *std::move(times);
  }
  if (const rapidjson::Value* found = FindPath(object, paths.section + ".resources"); found != nullptr) {
    if (!found->IsObject()) return WrongType(paths.section + ".resources", "an object", *found);
    pods.resources = ToText(*found);
  }
  const rapidjson::Value* priority_class = FindPath(object, paths.priority_class);
  if (priority_class != nullptr && priority_class->IsString()) pods.priority_class = priority_class->GetString();
  for (const std::string& path : paths.refused) {
    const rapidjson::Value* found = FindPath(object, path);
    if (found == nullptr || !IsSet(*found)) continue;
    pods.refusal = absl::UnimplementedError(fmt::format(
        "{} is set, which --driver-daemonsets=Make does not know: make the DaemonSet yourself, or leave it to the "
        "vendor's operator",
        path));
    break;
  }
  return pods;
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

DriverMaker::DriverMaker(std::shared_ptr<const driverupgrade::ObjectClient> objects,
                         std::shared_ptr<driverupgrade::Clock> clock, driverupgrade::LogSink log)
    : objects_(std::move(objects)), clock_(std::move(clock)), log_(std::move(log)) {}

void DriverMaker::Wish(std::vector<DriverDaemonSet> wishes) {
  if (wishes == wishes_) return;
  wishes_ = std::move(wishes);
  again_ = absl::InfinitePast();
}

absl::Time DriverMaker::Keep(const CallContext& context, const PlaceDriver& place) {
  if (wishes_.empty()) {
    failures_.clear();
    return absl::InfiniteFuture();
  }
  if (clock_->Now() < again_) return again_;
  const auto before = std::exchange(failures_, {});
  bool all_placed = true;
  for (const DriverDaemonSet& wish : wishes_) {
    const std::vector<DriverDaemonSet> sets = place ? place(wish) : std::vector{wish};
    all_placed = all_placed && !sets.empty();
    for (const DriverDaemonSet& set : sets) Note(set, KeepOne(context, set), before);
  }
  return again_ = clock_->Now() + (all_placed ? kRecheckInterval : kNodesInterval);
}

// Keeps why a DaemonSet is not as it should be, and logs it unless it was so before.
void DriverMaker::Note(const DriverDaemonSet& wish, const absl::Status& kept,
                       const std::map<std::string, absl::Status>& before) {
  if (kept.ok() || absl::IsAborted(kept)) return;
  const absl::Status failure = absl::UnavailableError(fmt::format(
      "the driver's DaemonSet {}/{} is not made of this policy: {}", wish.ns, wish.name, std::string(kept.message())));
  failures_[wish.made_of] = failure;
  const auto told = before.find(wish.made_of);
  if (told != before.end() && told->second == failure) return;
  log_({.severity = Severity::kWarning,
        .message = "cannot make the driver's DaemonSet",
        .fields = {{"error", std::string(failure.message())}}});
}

absl::Status DriverMaker::Failure(const std::string& made_of) const {
  const auto found = failures_.find(made_of);
  return found == failures_.end() ? absl::OkStatus() : found->second;
}

absl::Status DriverMaker::KeepOne(const CallContext& context, const DriverDaemonSet& wish) {
  if (!wish.pods.refusal.ok()) return wish.pods.refusal;
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
    return absl::AlreadyExistsError(fmt::format(
        "it is somebody else's, for it lacks the label {}={}, and stays as it is", kManagedByLabel, kManagedBy));
  }
  if (Text(*json, {"metadata", "annotations", kSpecDigestAnnotation}) == SpecDigest(wish)) return absl::OkStatus();
  const absl::Status patched =
      objects_->MergePatch(context, kDaemonSets, {wish.ns, wish.name}, ChangeJson(*json, wish)).status();
  if (patched.ok()) Log(Severity::kInfo, "driver DaemonSet changed", wish);
  return patched;
}

void DriverMaker::Log(Severity severity, const char* message, const DriverDaemonSet& wish) const {
  log_({.severity = severity,
        .message = message,
        .fields = {{"daemonset", wish.ns + "/" + wish.name}, {"image", wish.image.reference}}});
}

}  // namespace examples
