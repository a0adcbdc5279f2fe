#include "simulation/wire/api_request.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "wire/json_document.h"
#include "wire/node_maintenance_json.h"

namespace driverupgrade::tests {
namespace {

using internal::JsonDocument;
using internal::JsonField;
using Changes = std::map<std::string, std::optional<std::string>>;

constexpr std::string_view kMergePatch = "application/merge-patch+json";

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string Decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0) {
      result += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

// Parses the body as JSON and passes it to `read`. Returns the first error.
template <class F>
absl::Status ReadBody(const ApiRequest& request, F read) {
  JsonDocument document;
  DRIVERUPGRADE_RETURN_IF_ERROR(document.Parse(request.body));
  std::string error;
  const JsonField root(document.root(), error);
  read(root);
  return error.empty() ? absl::OkStatus() : absl::InvalidArgumentError(error);
}

// Reports an error for each member of `object` that is not in `members`, because this server would otherwise silently
// ignore the member.
void AllowOnly(const JsonField& object, const std::vector<std::string_view>& members) {
  object.ForEachMember([&](std::string_view key, const JsonField& member) {
    for (const std::string_view allowed : members) {
      if (key == allowed) return;
    }
    member.Fail("this member is not expected here");
  });
}

std::vector<Taint> ReadTaints(const JsonField& field) {
  std::vector<Taint> taints;
  field.ForEachItem([&](const JsonField& taint) {
    AllowOnly(taint, {"key", "value", "effect", "timeAdded"});
    taints.push_back({.key = taint.Member("key").String(),
                      .value = taint.Member("value").String(),
                      .effect = taint.Member("effect").String(),
                      .time_added = taint.Member("timeAdded").String()});
  });
  return taints;
}

Changes ReadChanges(const JsonField& field) {
  Changes changes;
  field.ForEachMember([&](std::string_view key, const JsonField& value) {
    changes[std::string(key)] = value.present() ? std::optional(value.String()) : std::nullopt;
  });
  return changes;
}

absl::Status CheckPatch(const ApiRequest& request) {
  if (request.content_type == kMergePatch) return absl::OkStatus();
  return absl::UnimplementedError(fmt::format("415 the body of the patch was {}", request.content_type));
}

}  // namespace

std::string ApiRequest::Query(const std::string& parameter) const {
  const auto found = query.find(parameter);
  return found == query.end() ? "" : found->second;
}

absl::StatusOr<ApiRequest> ParseRequest(HttpVerb verb, std::string_view target) {
  ApiRequest request{.verb = verb};
  const std::size_t question = target.find('?');
  if (question != std::string_view::npos) {
    for (const std::string_view pair : Split(target.substr(question + 1), '&')) {
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos) return absl::InvalidArgumentError("a parameter without a value");
      request.query[Decoded(pair.substr(0, equals))] = Decoded(pair.substr(equals + 1));
    }
  }
  std::vector<std::string> segments;
  for (const std::string_view segment : Split(target.substr(1, question == 0 ? 0 : question - 1), '/')) {
    segments.push_back(Decoded(segment));
  }
  std::size_t at = !segments.empty() && segments[0] == "api" ? 2 : 3;
  if (segments.size() <= at) return absl::NotFoundError("404 page not found");
  for (std::size_t i = 0; i < at; ++i) request.group += "/" + segments[i];
  if (segments[at] == "namespaces" && segments.size() > at + 2) {
    request.ns = segments[at + 1];
    at += 2;
  }
  request.resource = segments[at];
  if (segments.size() > at + 1) request.name = segments[at + 1];
  if (segments.size() > at + 2) request.subresource = segments[at + 2];
  if (segments.size() > at + 3) return absl::NotFoundError("404 page not found");
  return request;
}

absl::StatusOr<WatchParams> SelectionOf(const ApiRequest& request) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(LabelSelector labels, LabelSelector::Parse(request.Query("labelSelector")));
  return WatchParams{.ns = request.ns,
                     .label_selector = std::move(labels),
                     .resource_version = request.Query("resourceVersion"),
                     .list = false};
}

absl::StatusOr<std::string> NodeNameOf(const ApiRequest& request) {
  constexpr std::string_view kField = "spec.nodeName=";
  const std::string selector = request.Query("fieldSelector");
  if (selector.empty()) return std::string();
  if (!selector.starts_with(kField)) return absl::InvalidArgumentError("the field selector is not supported");
  return selector.substr(kField.size());
}

absl::StatusOr<PatchNodeParams> NodePatchOf(const ApiRequest& request) {
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckPatch(request));
  PatchNodeParams params{.name = request.name};
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadBody(request, [&](const JsonField& root) {
    AllowOnly(root, {"metadata", "spec"});
    const JsonField metadata = root.Member("metadata");
    AllowOnly(metadata, {"uid", "resourceVersion", "labels", "annotations"});
    params.uid = metadata.Member("uid").String();
    params.resource_version = metadata.Member("resourceVersion").String();
    params.labels = ReadChanges(metadata.Member("labels"));
    params.annotations = ReadChanges(metadata.Member("annotations"));
    const JsonField spec = root.Member("spec");
    AllowOnly(spec, {"unschedulable", "taints"});
    spec.ForEachMember([&](std::string_view key, const JsonField& value) {
      if (key == "taints") {
        params.taints = ReadTaints(value);
      } else {
        params.unschedulable = value.Bool();
      }
    });
  }));
  return params;
}

absl::StatusOr<PatchConfigMapParams> ConfigMapPatchOf(const ApiRequest& request) {
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckPatch(request));
  PatchConfigMapParams params{.ns = request.ns, .name = request.name};
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadBody(request, [&](const JsonField& root) {
    AllowOnly(root, {"metadata", "data"});
    const JsonField metadata = root.Member("metadata");
    AllowOnly(metadata, {"uid", "resourceVersion"});
    params.uid = metadata.Member("uid").String();
    params.resource_version = metadata.Member("resourceVersion").String();
    params.data = ReadChanges(root.Member("data"));
  }));
  return params;
}

absl::StatusOr<PatchNodeMaintenanceParams> MaintenancePatchOf(const ApiRequest& request) {
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckPatch(request));
  PatchNodeMaintenanceParams params{.ns = request.ns, .name = request.name};
  const bool of_status = request.subresource == "status";
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadBody(request, [&](const JsonField& root) {
    AllowOnly(root, {"metadata", of_status ? "status" : "spec"});
    const JsonField metadata = root.Member("metadata");
    AllowOnly(metadata, {"uid", "resourceVersion"});
    params.uid = metadata.Member("uid").String();
    params.resource_version = metadata.Member("resourceVersion").String();
    const JsonField spec = root.Member("spec");
    if (const JsonField requestors = spec.Member("additionalRequestors"); requestors.present()) {
      params.additional_requestors.emplace();
      requestors.ForEachItem([&](const JsonField& one) { params.additional_requestors->push_back(one.String()); });
    }
    const JsonField status = root.Member("status");
    if (const JsonField conditions = status.Member("conditions"); conditions.present()) {
      params.conditions.emplace();
      conditions.ForEachItem([&](const JsonField& one) {
        params.conditions->push_back(
            {.type = one.Member("type").String(),
             .status = one.Member("status").String(),
             .reason = one.Member("reason").String(),
             .message = one.Member("message").String(),
             .last_transition_time = internal::ReadTime(one.Member("lastTransitionTime")).value_or(absl::UnixEpoch()),
             .observed_generation = one.Member("observedGeneration").Int64()});
      });
    }
  }));
  return params;
}

absl::StatusOr<PatchDeviceTaintRuleParams> DeviceTaintRulePatchOf(const ApiRequest& request) {
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckPatch(request));
  PatchDeviceTaintRuleParams params{.name = request.name};
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadBody(request, [&](const JsonField& root) {
    AllowOnly(root, {"metadata", "spec"});
    const JsonField metadata = root.Member("metadata");
    AllowOnly(metadata, {"uid", "resourceVersion"});
    params.uid = metadata.Member("uid").String();
    params.resource_version = metadata.Member("resourceVersion").String();
    const JsonField spec = root.Member("spec");
    AllowOnly(spec, {"taint"});
    const JsonField taint = spec.Member("taint");
    AllowOnly(taint, {"effect"});
    const std::string effect = taint.Member("effect").String();
    if (effect == ToString(DeviceTaintEffect::kNoSchedule)) params.effect = DeviceTaintEffect::kNoSchedule;
    if (effect != ToString(params.effect)) taint.Fail("another effect was expected");
  }));
  return params;
}

absl::StatusOr<std::string> PreconditionOf(const ApiRequest& request) {
  const bool eviction = request.subresource == "eviction";
  std::string uid;
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadBody(request, [&](const JsonField& root) {
    const JsonField kind = root.Member("kind");
    if (kind.String() != (eviction ? "Eviction" : "DeleteOptions")) kind.Fail("another kind was expected");
    const JsonField metadata = root.Member("metadata");
    const JsonField name = metadata.Member("name");
    if (eviction && name.String() != request.name) name.Fail("the name of the URL was expected");
    const JsonField wrapped = root.Member("deleteOptions");
    const JsonField preconditions = (eviction ? wrapped : root).Member("preconditions");
    uid = preconditions.Member("uid").String();
  }));
  return uid;
}

bool IsForced(const ApiRequest& request) {
  bool forced = false;
  const absl::Status read = ReadBody(request, [&](const JsonField& root) {
    const JsonField seconds = root.Member("gracePeriodSeconds");
    forced = seconds.present() && seconds.Int() == 0;
  });
  return read.ok() && forced;
}

absl::StatusOr<RecordEventParams> EventOf(const ApiRequest& request) {
  RecordEventParams params;
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadBody(request, [&](const JsonField& root) {
    const JsonField object = root.Member("involvedObject");
    const std::string name = object.Member("name").String();
    const std::string uid = object.Member("uid").String();
    if (object.Member("kind").String() == "Pod") {
      params.pod = PodRef{.ns = object.Member("namespace").String(), .name = name, .uid = uid};
    } else {
      params.node_name = name;
      params.node_uid = uid;
    }
    params.type = root.Member("type").String() == "Warning" ? EventType::kWarning : EventType::kNormal;
    params.reason = root.Member("reason").String();
    params.message = root.Member("message").String();
    params.time = internal::ReadTime(root.Member("firstTimestamp")).value_or(absl::UnixEpoch());
  }));
  return params;
}

}  // namespace driverupgrade::tests
