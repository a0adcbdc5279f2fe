// Reads the fields of policy resources about a driver's image and its pods.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "support/driver_daemon_set.h"

namespace examples {
namespace {

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

// Returns the value at the path; nullptr if the value is missing or the path is empty.
const rapidjson::Value* FindPath(const rapidjson::Value& object, const std::string& path) {
  if (path.empty()) return nullptr;
  const rapidjson::Value* value = &object;
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(path, '.'))) {
    value = Find(*value, {name.c_str()});
    if (value == nullptr) return nullptr;
  }
  return value->IsNull() ? nullptr : value;
}

// Returns false for values that are false, 0 or empty, because charts also write the fields of features that are
// switched off.
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
    if (!value->IsInt() || value->GetInt() < 0) return WrongType(member, "a whole number >= 0", *value);
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

absl::Status ReadPods(const rapidjson::Value& object, const DriverPodsPaths& paths, DriverPods& pods) {
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
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<DriverImage>> ReadDriverImage(const rapidjson::Value& object, JsonPath path) {
  const rapidjson::Value* section = Find(object, path);
  if (section == nullptr || !section->IsObject()) return std::nullopt;
  const std::string shown = fmt::format("{}", fmt::join(path, "."));
  for (const char* key : {"repository", "image", "version"}) {
    const rapidjson::Value* value = Find(*section, {key});
    if (value != nullptr && !value->IsNull() && !value->IsString()) {
      return absl::InvalidArgumentError(fmt::format("{}.{}: must be a string, got {}", shown, key, ToText(*value)));
    }
  }
  const std::string version = Text(*section, {"version"});
  if (version.empty()) return std::nullopt;
  const std::string repository = Text(*section, {"repository"});
  const std::string image = Text(*section, {"image"});
  if (image.empty()) return absl::InvalidArgumentError(fmt::format("{}.image: required if version is set", shown));
  absl::StatusOr<Variables> env = ReadVariables(*section, shown);
  if (!env.ok()) return env.status();
  return DriverImage{.reference = fmt::format("{}{}{}{}{}", repository, repository.empty() ? "" : "/", image,
                                              version.starts_with("sha256:") ? "@" : ":", version),
                     .pull_policy = Text(*section, {"imagePullPolicy"}),
                     .env = *std::move(env)};
}

std::optional<DriverImage> ReadDriverImage(const rapidjson::Value& object, JsonPath path, DriverPods& pods) {
  absl::StatusOr<std::optional<DriverImage>> image = ReadDriverImage(object, path);
  if (image.ok()) return *std::move(image);
  if (pods.refusal.ok()) pods.refusal = image.status();
  return DriverImage{};
}

DriverPods ReadDriverPods(const rapidjson::Value& object, const DriverPodsPaths& paths) {
  DriverPods pods;
  pods.refusal = ReadPods(object, paths, pods);
  if (!pods.refusal.ok()) return pods;
  for (const std::string& path : paths.refused) {
    const rapidjson::Value* found = FindPath(object, path);
    if (found == nullptr || !IsSet(*found)) continue;
    pods.refusal = absl::UnimplementedError(fmt::format(
        "{} is set, which --driver-daemonsets=Make does not support: create the DaemonSet yourself, or leave it to the "
        "vendor's operator",
        path));
    break;
  }
  return pods;
}

}  // namespace examples
