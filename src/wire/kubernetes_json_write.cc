// Writes the bodies of requests.
#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "base/utf8.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "wire/json_writer.h"
#include "wire/node_maintenance_json.h"
#include "wire/taint_json.h"

namespace driverupgrade {
namespace {

using internal::JsonWriter;
using internal::WriteTime;

constexpr std::size_t kNameBytesMax = 253;
constexpr std::size_t kMessageBytesMax = 1024;

// Writes the labels or annotations of a merge patch, in which null removes a key.
void WriteChanges(JsonWriter& writer, std::string_view member,
                  const std::map<std::string, std::optional<std::string>>& changes) {
  if (changes.empty()) return;
  writer.ObjectMember(member, [&] {
    for (const auto& [key, value] : changes) {
      if (value.has_value()) {
        writer.Member(key, *value);
      } else {
        writer.Key(key);
        writer.Null();
      }
    }
  });
}

// Writes the members of a node's spec that change. A member that returns to its default is removed.
void WriteSpec(JsonWriter& writer, const PatchNodeParams& params) {
  const auto remove = [&](std::string_view member) {
    writer.Key(member);
    writer.Null();
  };
  writer.ObjectMember("spec", [&] {
    if (params.unschedulable == true) writer.Member("unschedulable", true);
    if (params.unschedulable == false) remove("unschedulable");
    if (params.taints && params.taints->empty()) remove("taints");
    if (params.taints && !params.taints->empty()) internal::WriteTaints(writer, *params.taints);
  });
}

void WriteUidPrecondition(JsonWriter& writer, const std::string& uid) {
  writer.ObjectMember("preconditions", [&] { writer.Member("uid", uid); });
}

std::string DeleteOptions(const std::string& uid, std::optional<int> grace_period_seconds = std::nullopt) {
  JsonWriter writer;
  writer.Object([&] {
    writer.Member("apiVersion", "v1");
    writer.Member("kind", "DeleteOptions");
    if (grace_period_seconds) writer.Member("gracePeriodSeconds", *grace_period_seconds);
    WriteUidPrecondition(writer, uid);
  });
  return writer.Take();
}

// Returns the FNV-1a hash of the content that distinguishes Events with the same timestamp.
std::uint64_t ContentHash(const RecordEventParams& params) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
    hash *= 0x100000001b3;  // separates the texts: "a", "b" differs from "ab"
  };
  add(params.pod.has_value() ? params.pod->uid : params.node_uid);
  add(params.type == EventType::kWarning ? "Warning" : "Normal");
  add(params.reason);
  add(params.series.has_value() ? params.series->first_message : params.message);
  return hash;
}

absl::Time FirstTime(const RecordEventParams& params) {
  return params.series.has_value() ? params.series->first_time : params.time;
}

int CountOf(const RecordEventParams& params) { return params.series.has_value() ? params.series->count : 1; }

std::string MessageOf(const RecordEventParams& params) {
  const std::string valid = internal::ReplaceInvalidUtf8(params.message);
  return std::string(internal::CutUtf8(valid, kMessageBytesMax));
}

}  // namespace

std::string EventName(const RecordEventParams& params) {
  const std::uint64_t hash = ContentHash(params);
  // The time comes first and is not mixed with the hash, so that names sort by time. Timestamps in lists have a
  // resolution of only one second.
  const std::string suffix =
      fmt::format(".{:016x}{:08x}", static_cast<std::uint64_t>(absl::ToUnixNanos(FirstTime(params))),
                  static_cast<std::uint32_t>(hash ^ (hash >> 32)));
  std::string name = params.pod.has_value() ? params.pod->name : params.node_name;
  name.resize(std::min(name.size(), kNameBytesMax - suffix.size()));
  // A name ending in a dot or a dash cannot be followed by a dot (S11).
  while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
  return name + suffix;
}

namespace {

void WriteInvolvedObject(JsonWriter& writer, const RecordEventParams& params) {
  const bool on_pod = params.pod.has_value();
  writer.ObjectMember("involvedObject", [&] {
    writer.Member("kind", on_pod ? "Pod" : "Node");
    writer.Member("apiVersion", "v1");
    if (on_pod) writer.Member("namespace", params.pod->ns);
    writer.Member("name", on_pod ? params.pod->name : params.node_name);
    writer.MemberIfAny("uid", on_pod ? params.pod->uid : params.node_uid);
  });
}

}  // namespace

std::string FormatNodePatch(const PatchNodeParams& params) {
  JsonWriter writer;
  writer.Object([&] {
    writer.ObjectMember("metadata", [&] {
      writer.Member("uid", params.uid);
      writer.Member("resourceVersion", params.resource_version);
      WriteChanges(writer, "labels", params.labels);
      WriteChanges(writer, "annotations", params.annotations);
    });
    if (params.unschedulable || params.taints) WriteSpec(writer, params);
  });
  return writer.Take();
}

std::string FormatConfigMapPatch(const PatchConfigMapParams& params) {
  JsonWriter writer;
  writer.Object([&] {
    writer.ObjectMember("metadata", [&] {
      writer.Member("uid", params.uid);
      writer.Member("resourceVersion", params.resource_version);
    });
    WriteChanges(writer, "data", params.data);
  });
  return writer.Take();
}

std::string FormatEviction(const EvictPodParams& params) {
  JsonWriter writer;
  writer.Object([&] {
    writer.Member("apiVersion", "policy/v1");
    writer.Member("kind", "Eviction");
    writer.ObjectMember("metadata", [&] {
      writer.Member("name", params.pod.name);
      writer.Member("namespace", params.pod.ns);
    });
    writer.ObjectMember("deleteOptions", [&] { WriteUidPrecondition(writer, params.pod.uid); });
  });
  return writer.Take();
}

std::string FormatDeleteOptions(const DeletePodParams& params) {
  return DeleteOptions(params.pod.uid, params.force ? std::optional(0) : std::nullopt);
}

std::string FormatDeleteOptions(const DeleteNodeMaintenanceParams& params) { return DeleteOptions(params.uid); }

std::string FormatDeleteOptions(const DeleteDeviceTaintRuleParams& params) { return DeleteOptions(params.uid); }

std::string EventNamespace(const RecordEventParams& params) {
  return params.pod.has_value() ? params.pod->ns : "default";
}

std::string FormatEvent(const RecordEventParams& params, std::string_view component) {
  JsonWriter writer;
  writer.Object([&] {
    writer.Member("apiVersion", "v1");
    writer.Member("kind", "Event");
    writer.ObjectMember("metadata", [&] {
      writer.Member("name", EventName(params));
      writer.Member("namespace", EventNamespace(params));
    });
    WriteInvolvedObject(writer, params);
    writer.Member("reason", params.reason);
    writer.Member("message", MessageOf(params));
    writer.Member("type", params.type == EventType::kWarning ? "Warning" : "Normal");
    writer.ObjectMember("source", [&] { writer.Member("component", component); });
    writer.Member("reportingComponent", component);
    writer.Member("reportingInstance", "");
    WriteTime(writer, "firstTimestamp", FirstTime(params));
    WriteTime(writer, "lastTimestamp", params.time);
    writer.Member("count", CountOf(params));
  });
  return writer.Take();
}

std::string FormatEventPatch(const RecordEventParams& params) {
  JsonWriter writer;
  writer.Object([&] {
    writer.Member("message", MessageOf(params));
    WriteTime(writer, "lastTimestamp", params.time);
    writer.Member("count", CountOf(params));
  });
  return writer.Take();
}

}  // namespace driverupgrade
