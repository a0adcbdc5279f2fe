#include "wire/lease_json.h"

#include <string_view>

#include "absl/time/time.h"
#include "wire/node_maintenance_json.h"

namespace driverupgrade::internal {
namespace {

template <typename T>
void ReadMetadata(const JsonField& metadata, T& object) {
  object.ns = metadata.Member("namespace").String();
  object.name = metadata.Member("name").String();
  object.uid = metadata.Member("uid").String();
  object.resource_version = metadata.Member("resourceVersion").String();
}

// Omits an empty version or UID, because the server would compare it with the object's value, which is never empty.
template <typename T>
void WriteIdentity(JsonWriter& writer, const T& object) {
  writer.Member("name", object.name);
  writer.Member("namespace", object.ns);
  writer.MemberIfAny("uid", object.uid);
  writer.MemberIfAny("resourceVersion", object.resource_version);
}

void WriteStringMap(JsonWriter& writer, std::string_view key, const StringMap& strings) {
  writer.ObjectMember(key, [&] {
    for (const auto& [name, value] : strings) writer.Member(name, value);
  });
}

}  // namespace

void ReadLease(const JsonField& object, Lease& lease) {
  const JsonField metadata = object.Member("metadata");
  ReadMetadata(metadata, lease);
  lease.annotations = metadata.Member("annotations").Strings();
  const JsonField spec = object.Member("spec");
  lease.holder = spec.Member("holderIdentity").String();
  lease.duration = absl::Seconds(spec.Member("leaseDurationSeconds").Int());
  lease.acquire_time = ReadTime(spec.Member("acquireTime")).value_or(absl::UnixEpoch());
  lease.renew_time = ReadTime(spec.Member("renewTime")).value_or(absl::UnixEpoch());
  lease.transitions = spec.Member("leaseTransitions").Int();
}

void ReadConfigMap(const JsonField& object, ConfigMap& config_map) {
  const JsonField metadata = object.Member("metadata");
  ReadMetadata(metadata, config_map);
  config_map.labels = metadata.Member("labels").Strings();
  config_map.annotations = metadata.Member("annotations").Strings();
  config_map.data = object.Member("data").Strings();
}

void WriteLease(JsonWriter& writer, const Lease& lease) {
  writer.ObjectMember("metadata", [&] {
    WriteIdentity(writer, lease);
    if (!lease.annotations.empty()) WriteStringMap(writer, "annotations", lease.annotations);
  });
  writer.ObjectMember("spec", [&] {
    writer.Member("holderIdentity", lease.holder);
    WriteSeconds(writer, "leaseDurationSeconds", lease.duration);
    WriteMicroTime(writer, "acquireTime", lease.acquire_time);
    WriteMicroTime(writer, "renewTime", lease.renew_time);
    writer.Member("leaseTransitions", lease.transitions);
  });
}

void WriteConfigMap(JsonWriter& writer, const ConfigMap& config_map) {
  writer.ObjectMember("metadata", [&] {
    WriteIdentity(writer, config_map);
    if (!config_map.labels.empty()) WriteStringMap(writer, "labels", config_map.labels);
    if (!config_map.annotations.empty()) WriteStringMap(writer, "annotations", config_map.annotations);
  });
  WriteStringMap(writer, "data", config_map.data);
}

}  // namespace driverupgrade::internal
