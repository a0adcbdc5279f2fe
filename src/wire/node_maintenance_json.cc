#include "wire/node_maintenance_json.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/quote.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "wire/object_kind.h"

namespace driverupgrade {
namespace internal {
namespace {

constexpr std::string_view kSkipsGarbageCollection = "maintenance.nvidia.com/garbage-collector.ignore";

// Returns `default_value`, the server's default, if the field is missing.
absl::Duration ReadSeconds(const JsonField& field, absl::Duration default_value) {
  if (!field.present()) return default_value;
  const int seconds = field.Int();
  if (seconds < 0) field.Fail("expected a number of seconds, got a negative one");
  return absl::Seconds(std::max(seconds, 0));
}

std::vector<std::string> ReadStrings(const JsonField& field) {
  std::vector<std::string> strings;
  field.ForEachItem([&](const JsonField& item) { strings.push_back(item.String()); });
  return strings;
}

void WriteStringArray(JsonWriter& writer, std::string_view member, const std::vector<std::string>& strings) {
  writer.ArrayMember(member, [&] {
    for (const std::string& string : strings) writer.String(string);
  });
}

MaintenanceDrain ReadDrain(const JsonField& field) {
  MaintenanceDrain drain{.force = field.Member("force").Bool(),
                         .delete_empty_dir = field.Member("deleteEmptyDir").Bool(),
                         .pod_selector = field.Member("podSelector").String()};
  drain.timeout = ReadSeconds(field.Member("timeoutSeconds"), drain.timeout);
  field.Member("podEvictionFilters").ForEachItem([&](const JsonField& filter) {
    drain.resource_name_filters.push_back(filter.Member("byResourceNameRegex").String());
  });
  return drain;
}

void ReadSpec(const JsonField& spec, NodeMaintenance& maintenance) {
  maintenance.requestor_id = spec.Member("requestorID").String();
  maintenance.additional_requestors = ReadStrings(spec.Member("additionalRequestors"));
  maintenance.node_name = spec.Member("nodeName").String();
  const JsonField cordon = spec.Member("cordon");
  if (cordon.present()) maintenance.cordon = cordon.Bool();
  if (const JsonField wait = spec.Member("waitForPodCompletion"); wait.present()) {
    maintenance.wait_for_pod_completion =
        MaintenanceWait{.pod_selector = wait.Member("podSelector").String(),
                        .timeout = ReadSeconds(wait.Member("timeoutSeconds"), absl::ZeroDuration())};
  }
  if (const JsonField drain = spec.Member("drainSpec"); drain.present()) maintenance.drain = ReadDrain(drain);
}

// Writes zero and false values explicitly, because the server's defaults for missing members differ (dep-F13).
void WriteSpec(JsonWriter& writer, const NodeMaintenance& maintenance) {
  writer.ObjectMember("spec", [&] {
    writer.Member("requestorID", maintenance.requestor_id);
    if (!maintenance.additional_requestors.empty()) {
      WriteStringArray(writer, "additionalRequestors", maintenance.additional_requestors);
    }
    writer.Member("nodeName", maintenance.node_name);
    writer.Member("cordon", maintenance.cordon);
    if (const auto& wait = maintenance.wait_for_pod_completion; wait.has_value()) {
      writer.ObjectMember("waitForPodCompletion", [&] {
        writer.Member("podSelector", wait->pod_selector);
        WriteSeconds(writer, "timeoutSeconds", wait->timeout);
      });
    }
    if (const auto& drain = maintenance.drain; drain.has_value()) {
      writer.ObjectMember("drainSpec", [&] {
        writer.Member("force", drain->force);
        writer.Member("podSelector", drain->pod_selector);
        WriteSeconds(writer, "timeoutSeconds", drain->timeout);
        writer.Member("deleteEmptyDir", drain->delete_empty_dir);
        if (drain->resource_name_filters.empty()) return;
        writer.ArrayMember("podEvictionFilters", [&] {
          for (const std::string& regex : drain->resource_name_filters) {
            writer.Object([&] { writer.Member("byResourceNameRegex", regex); });
          }
        });
      });
    }
  });
}

void WriteAnnotations(JsonWriter& writer, const NodeMaintenance& maintenance) {
  if (!maintenance.skips_garbage_collection) return;
  writer.ObjectMember("annotations", [&] { writer.Member(kSkipsGarbageCollection, "true"); });
}

void WriteFormatted(JsonWriter& writer, std::string_view member, absl::Time time, const char* format) {
  if (time == absl::InfiniteFuture() || time == absl::InfinitePast()) {
    writer.Key(member);
    writer.Null();
  } else {
    writer.Member(member, absl::FormatTime(format, time, absl::UTCTimeZone()));
  }
}

void WriteType(JsonWriter& writer) {
  writer.Member("apiVersion", ApiVersionOf<NodeMaintenance>());
  writer.Member("kind", KindOf<NodeMaintenance>());
}

}  // namespace

std::optional<absl::Time> ReadTime(const JsonField& field) {
  const std::string text = field.String();
  if (text.empty()) return std::nullopt;
  absl::Time time;
  std::string error;
  // Checks the first character because ParseTime also accepts infinite times and leading spaces, which RFC 3339 does
  // not allow.
  if (text[0] < '0' || text[0] > '9' || !absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    field.Fail(fmt::format("expected an RFC 3339 time, got {}", Quote(text)));
    return std::nullopt;
  }
  return time;
}

void WriteTime(JsonWriter& writer, std::string_view member, absl::Time time) {
  WriteFormatted(writer, member, time, "%Y-%m-%d%ET%H:%M:%SZ");
}

void WriteMicroTime(JsonWriter& writer, std::string_view member, absl::Time time) {
  WriteFormatted(writer, member, time, "%Y-%m-%d%ET%H:%M:%E6SZ");
}

void WriteSeconds(JsonWriter& writer, std::string_view member, absl::Duration duration) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  writer.Member(member, std::clamp<std::int64_t>(absl::ToInt64Seconds(duration), 0, kMax));
}

std::vector<Condition> ReadConditionList(const JsonField& field) {
  std::vector<Condition> conditions;
  field.ForEachItem([&](const JsonField& item) {
    conditions.push_back(
        {.type = item.Member("type").String(),
         .status = item.Member("status").String(),
         .reason = item.Member("reason").String(),
         .message = item.Member("message").String(),
         .last_transition_time = ReadTime(item.Member("lastTransitionTime")).value_or(absl::UnixEpoch()),
         .observed_generation = item.Member("observedGeneration").Int64()});
  });
  return conditions;
}

void WriteConditions(JsonWriter& writer, const std::vector<Condition>& conditions) {
  writer.ArrayMember("conditions", [&] {
    for (const Condition& condition : conditions) {
      writer.Object([&] {
        writer.Member("type", condition.type);
        writer.Member("status", condition.status);
        if (condition.observed_generation != 0) writer.Member("observedGeneration", condition.observed_generation);
        WriteTime(writer, "lastTransitionTime", condition.last_transition_time);
        writer.Member("reason", condition.reason);
        writer.Member("message", condition.message);
      });
    }
  });
}

void ReadNodeMaintenance(const JsonField& object, NodeMaintenance& maintenance) {
  const JsonField metadata = object.Member("metadata");
  maintenance.ns = metadata.Member("namespace").String();
  maintenance.name = metadata.Member("name").String();
  maintenance.uid = metadata.Member("uid").String();
  maintenance.resource_version = metadata.Member("resourceVersion").String();
  maintenance.deletion_timestamp = ReadTime(metadata.Member("deletionTimestamp"));
  const JsonField annotations = metadata.Member("annotations");
  maintenance.skips_garbage_collection = annotations.Member(kSkipsGarbageCollection).String() == "true";
  metadata.Member("ownerReferences").ForEachItem([&](const JsonField& owner) {
    if (owner.Member("kind").String() == KindOf<Node>() &&
        owner.Member("apiVersion").String() == ApiVersionOf<Node>()) {
      maintenance.node_uid = owner.Member("uid").String();
    }
  });
  const JsonField spec = object.Member("spec");
  ReadSpec(spec, maintenance);
  const JsonField status = object.Member("status");
  maintenance.conditions = ReadConditionList(status.Member("conditions"));
}

void WriteNodeMaintenance(JsonWriter& writer, const NodeMaintenance& maintenance) {
  writer.ObjectMember("metadata", [&] {
    writer.Member("name", maintenance.name);
    writer.Member("namespace", maintenance.ns);
    writer.Member("uid", maintenance.uid);
    writer.Member("resourceVersion", maintenance.resource_version);
    if (maintenance.deletion_timestamp.has_value()) {
      WriteTime(writer, "deletionTimestamp", *maintenance.deletion_timestamp);
    }
    WriteAnnotations(writer, maintenance);
    if (maintenance.node_uid.empty()) return;
    writer.ArrayMember("ownerReferences", [&] {
      writer.Object([&] {
        writer.Member("apiVersion", ApiVersionOf<Node>());
        writer.Member("kind", KindOf<Node>());
        writer.Member("name", maintenance.node_name);
        writer.Member("uid", maintenance.node_uid);
      });
    });
  });
  WriteSpec(writer, maintenance);
  if (maintenance.conditions.empty()) return;
  writer.ObjectMember("status", [&] { WriteConditions(writer, maintenance.conditions); });
}

}  // namespace internal

std::string FormatNodeMaintenance(const CreateNodeMaintenanceParams& params) {
  internal::JsonWriter writer;
  writer.Object([&] {
    internal::WriteType(writer);
    writer.ObjectMember("metadata", [&] {
      writer.Member("name", params.object.name);
      writer.Member("namespace", params.object.ns);
      internal::WriteAnnotations(writer, params.object);
    });
    internal::WriteSpec(writer, params.object);
  });
  return writer.Take();
}

std::string FormatNodeMaintenancePatch(const PatchNodeMaintenanceParams& params) {
  internal::JsonWriter writer;
  writer.Object([&] {
    writer.ObjectMember("metadata", [&] {
      writer.Member("uid", params.uid);
      writer.Member("resourceVersion", params.resource_version);
    });
    if (const auto& requestors = params.additional_requestors; requestors.has_value()) {
      writer.ObjectMember("spec", [&] { internal::WriteStringArray(writer, "additionalRequestors", *requestors); });
    }
    if (const auto& conditions = params.conditions; conditions.has_value()) {
      writer.ObjectMember("status", [&] { internal::WriteConditions(writer, *conditions); });
    }
  });
  return writer.Take();
}

}  // namespace driverupgrade
