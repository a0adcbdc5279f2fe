#include "wire/device_json.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/quote.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "wire/identity.h"
#include "wire/json_document.h"
#include "wire/kubernetes_json_read.h"
#include "wire/node_maintenance_json.h"
#include "wire/object_kind.h"

namespace driverupgrade {
namespace internal {
namespace {

constexpr std::string_view kDriverVersion = "driverVersion";

DeviceTaintEffect ReadEffect(const JsonField& field) {
  const std::string text = field.String();
  for (const DeviceTaintEffect effect :
       {DeviceTaintEffect::kNone, DeviceTaintEffect::kNoSchedule, DeviceTaintEffect::kNoExecute}) {
    if (text == ToString(effect)) return effect;
  }
  field.Fail(fmt::format("expected the effect of a device taint, got {}", Quote(text)));
  return DeviceTaintEffect::kNone;
}

struct NodeOwner {
  std::string name = {};
  std::string uid = {};
};

NodeOwner ReadNodeOwner(const JsonField& metadata) {
  NodeOwner node;
  metadata.Member("ownerReferences").ForEachItem([&](const JsonField& owner) {
    if (owner.Member("kind").String() != KindOf<Node>()) return;
    if (owner.Member("apiVersion").String() != ApiVersionOf<Node>()) return;
    node = {.name = owner.Member("name").String(), .uid = owner.Member("uid").String()};
  });
  return node;
}

std::string ReadControllingPod(const JsonField& metadata) {
  std::string uid;
  metadata.Member("ownerReferences").ForEachItem([&](const JsonField& owner) {
    if (!owner.Member("controller").Bool() || owner.Member("kind").String() != KindOf<Pod>()) return;
    if (owner.Member("apiVersion").String() == ApiVersionOf<Pod>()) uid = owner.Member("uid").String();
  });
  return uid;
}

// Returns one entry for each driver and pool, regardless of how many devices of the pool are allocated.
std::vector<AllocatedPool> ReadAllocated(const JsonField& status) {
  const JsonField allocation = status.Member("allocation");
  const JsonField devices = allocation.Member("devices");
  std::vector<AllocatedPool> pools;
  devices.Member("results").ForEachItem([&](const JsonField& result) {
    pools.push_back({.driver = result.Member("driver").String(),
                     .pool = result.Member("pool").String(),
                     .admin_access = result.Member("adminAccess").Bool()});
  });
  // The entry with admin access comes first, so that it is kept when duplicates are removed.
  std::sort(pools.begin(), pools.end(), [](const AllocatedPool& a, const AllocatedPool& b) {
    return std::tie(a.driver, a.pool, b.admin_access) < std::tie(b.driver, b.pool, a.admin_access);
  });
  const auto is_same = [](const AllocatedPool& a, const AllocatedPool& b) {
    return a.driver == b.driver && a.pool == b.pool;
  };
  pools.erase(std::unique(pools.begin(), pools.end(), is_same), pools.end());
  return pools;
}

std::vector<ClaimConsumer> ReadConsumers(const JsonField& field) {
  std::vector<ClaimConsumer> consumers;
  field.ForEachItem([&](const JsonField& consumer) {
    consumers.push_back({.resource = consumer.Member("resource").String(),
                         .name = consumer.Member("name").String(),
                         .uid = consumer.Member("uid").String()});
  });
  std::sort(consumers.begin(), consumers.end(),
            [](const ClaimConsumer& a, const ClaimConsumer& b) { return a.uid < b.uid; });
  return consumers;
}

PublishedDevice ReadDevice(const JsonField& field) {
  const JsonField attributes = field.Member("attributes");
  const JsonField version = attributes.Member(kDriverVersion);
  PublishedDevice device{.name = field.Member("name").String(), .driver_version = version.Member("version").String()};
  if (device.driver_version.empty()) device.driver_version = version.Member("string").String();
  return device;
}

void WriteLabels(JsonWriter& writer, const StringMap& labels) {
  if (labels.empty()) return;
  writer.ObjectMember("labels", [&] {
    for (const auto& [key, value] : labels) writer.Member(key, value);
  });
}

template <typename T>
void WriteOwner(JsonWriter& writer, std::string_view name, const std::string& uid, bool controller) {
  if (uid.empty()) return;
  writer.ArrayMember("ownerReferences", [&] {
    writer.Object([&] {
      writer.Member("apiVersion", ApiVersionOf<T>());
      writer.Member("kind", KindOf<T>());
      writer.Member("name", name);
      writer.Member("uid", uid);
      if (controller) writer.Member("controller", true);
    });
  });
}

template <typename T>
void WriteIdentity(JsonWriter& writer, const T& object) {
  writer.Member("name", object.name);
  writer.Member("uid", object.uid);
  writer.Member("resourceVersion", object.resource_version);
}

void WriteTimeIfAny(JsonWriter& writer, std::string_view member, const std::optional<absl::Time>& time) {
  if (time) WriteTime(writer, member, *time);
}

void WriteRuleSpec(JsonWriter& writer, const DeviceTaintRule& rule) {
  writer.ObjectMember("spec", [&] {
    writer.ObjectMember("deviceSelector", [&] {
      writer.MemberIfAny("driver", rule.driver);
      writer.MemberIfAny("pool", rule.pool);
    });
    writer.ObjectMember("taint", [&] {
      writer.Member("key", rule.key);
      writer.MemberIfAny("value", rule.value);
      writer.Member("effect", ToString(rule.effect));
      WriteTimeIfAny(writer, "timeAdded", rule.time_added);
    });
  });
}

void WriteAllocation(JsonWriter& writer, const ResourceClaim& claim) {
  if (claim.allocated.empty()) return;
  writer.ObjectMember("allocation", [&] {
    writer.ObjectMember("devices", [&] {
      writer.ArrayMember("results", [&] {
        for (const AllocatedPool& pool : claim.allocated) {
          writer.Object([&] {
            writer.Member("driver", pool.driver);
            writer.Member("pool", pool.pool);
            if (pool.admin_access) writer.Member("adminAccess", true);
          });
        }
      });
    });
    WriteTimeIfAny(writer, "allocationTimestamp", claim.allocation_time);
  });
}

void WriteConsumers(JsonWriter& writer, const std::vector<ClaimConsumer>& consumers) {
  if (consumers.empty()) return;
  writer.ArrayMember("reservedFor", [&] {
    for (const ClaimConsumer& consumer : consumers) {
      writer.Object([&] {
        writer.Member("resource", consumer.resource);
        writer.Member("name", consumer.name);
        writer.Member("uid", consumer.uid);
      });
    }
  });
}

void WriteDevice(JsonWriter& writer, const PublishedDevice& device) {
  writer.Object([&] {
    writer.Member("name", device.name);
    if (device.driver_version.empty()) return;
    writer.ObjectMember("attributes", [&] {
      writer.ObjectMember(kDriverVersion, [&] { writer.Member("version", device.driver_version); });
    });
  });
}

}  // namespace

void ReadObject(const JsonField& object, DeviceTaintRule& rule) {
  const JsonField metadata = object.Member("metadata");
  rule.name = metadata.Member("name").String();
  rule.uid = metadata.Member("uid").String();
  rule.resource_version = metadata.Member("resourceVersion").String();
  rule.generation = metadata.Member("generation").Int64();
  rule.labels = metadata.Member("labels").Strings();
  NodeOwner node = ReadNodeOwner(metadata);
  rule.node_name = std::move(node.name);
  rule.node_uid = std::move(node.uid);
  rule.deletion_timestamp = ReadTime(metadata.Member("deletionTimestamp"));
  const JsonField spec = object.Member("spec");
  const JsonField selector = spec.Member("deviceSelector");
  rule.driver = selector.Member("driver").String();
  rule.pool = selector.Member("pool").String();
  const JsonField taint = spec.Member("taint");
  rule.key = taint.Member("key").String();
  rule.value = taint.Member("value").String();
  rule.effect = ReadEffect(taint.Member("effect"));
  rule.time_added = ReadTime(taint.Member("timeAdded"));
  const JsonField status = object.Member("status");
  rule.conditions = ReadConditionList(status.Member("conditions"));
}

void ReadObject(const JsonField& object, ResourceClaim& claim) {
  const JsonField metadata = object.Member("metadata");
  claim.ns = metadata.Member("namespace").String();
  claim.name = metadata.Member("name").String();
  claim.uid = metadata.Member("uid").String();
  claim.resource_version = metadata.Member("resourceVersion").String();
  claim.pod_uid = ReadControllingPod(metadata);
  claim.deletion_timestamp = ReadTime(metadata.Member("deletionTimestamp"));
  const JsonField status = object.Member("status");
  claim.allocated = ReadAllocated(status);
  const JsonField allocation = status.Member("allocation");
  claim.allocation_time = ReadTime(allocation.Member("allocationTimestamp"));
  claim.reserved_for = ReadConsumers(status.Member("reservedFor"));
}

void ReadObject(const JsonField& object, ResourceSlice& slice) {
  const JsonField metadata = object.Member("metadata");
  slice.name = metadata.Member("name").String();
  slice.uid = metadata.Member("uid").String();
  slice.resource_version = metadata.Member("resourceVersion").String();
  const JsonField spec = object.Member("spec");
  slice.node_name = spec.Member("nodeName").String();
  slice.driver = spec.Member("driver").String();
  const JsonField pool = spec.Member("pool");
  slice.pool = pool.Member("name").String();
  slice.pool_generation = pool.Member("generation").Int64();
  slice.pool_slices = pool.Member("resourceSliceCount").Int64();
  const JsonField devices = spec.Member("devices");
  slice.devices.reserve(devices.ItemCount());
  devices.ForEachItem([&](const JsonField& device) { slice.devices.push_back(ReadDevice(device)); });
}

void ReadIdentity(const JsonField& object, DeviceTaintRule& rule) {
  const JsonField metadata = object.Member("metadata");
  rule.name = ReadName(metadata);
  rule.uid = TextIfReadable(object, "metadata", "uid");
  rule.resource_version = TextIfReadable(object, "metadata", "resourceVersion");
  rule.labels = LabelsIfReadable(object);
  NodeOwner node = IfReadable(object, "metadata", ReadNodeOwner);
  rule.node_name = std::move(node.name);
  rule.node_uid = std::move(node.uid);
  const auto selected = [&](std::string_view by) {
    return IfReadable(object, "spec", [&](const JsonField& spec) {
      const JsonField selector = spec.Member("deviceSelector");
      return selector.Member(by).String();
    });
  };
  rule.driver = selected("driver");
  rule.pool = selected("pool");
}

void ReadIdentity(const JsonField& object, ResourceClaim& claim) {
  const JsonField metadata = object.Member("metadata");
  claim.ns = metadata.Member("namespace").String();
  claim.name = ReadName(metadata);
  claim.uid = TextIfReadable(object, "metadata", "uid");
  claim.resource_version = TextIfReadable(object, "metadata", "resourceVersion");
  claim.allocated = IfReadable(object, "status", ReadAllocated);
}

void ReadIdentity(const JsonField& object, ResourceSlice& slice) {
  const JsonField metadata = object.Member("metadata");
  slice.name = ReadName(metadata);
  slice.uid = TextIfReadable(object, "metadata", "uid");
  slice.resource_version = TextIfReadable(object, "metadata", "resourceVersion");
  slice.node_name = TextIfReadable(object, "spec", "nodeName");
  slice.driver = TextIfReadable(object, "spec", "driver");
}

void WriteDeviceTaintRule(JsonWriter& writer, const DeviceTaintRule& rule) {
  writer.ObjectMember("metadata", [&] {
    WriteIdentity(writer, rule);
    writer.Member("generation", rule.generation);
    WriteTimeIfAny(writer, "deletionTimestamp", rule.deletion_timestamp);
    WriteLabels(writer, rule.labels);
    WriteOwner<Node>(writer, rule.node_name, rule.node_uid, /*controller=*/false);
  });
  WriteRuleSpec(writer, rule);
  if (rule.conditions.empty()) return;
  writer.ObjectMember("status", [&] { WriteConditions(writer, rule.conditions); });
}

// Writes the claim's name as the owner's name, because the pod's name is not stored.
void WriteResourceClaim(JsonWriter& writer, const ResourceClaim& claim) {
  writer.ObjectMember("metadata", [&] {
    WriteIdentity(writer, claim);
    writer.Member("namespace", claim.ns);
    WriteTimeIfAny(writer, "deletionTimestamp", claim.deletion_timestamp);
    WriteOwner<Pod>(writer, claim.name, claim.pod_uid, /*controller=*/true);
  });
  writer.ObjectMember("status", [&] {
    WriteAllocation(writer, claim);
    WriteConsumers(writer, claim.reserved_for);
  });
}

void WriteResourceSlice(JsonWriter& writer, const ResourceSlice& slice) {
  writer.ObjectMember("metadata", [&] { WriteIdentity(writer, slice); });
  writer.ObjectMember("spec", [&] {
    writer.Member("driver", slice.driver);
    writer.ObjectMember("pool", [&] {
      writer.Member("name", slice.pool);
      writer.Member("generation", slice.pool_generation);
      writer.Member("resourceSliceCount", slice.pool_slices);
    });
    writer.MemberIfAny("nodeName", slice.node_name);
    writer.ArrayMember("devices", [&] {
      for (const PublishedDevice& device : slice.devices) WriteDevice(writer, device);
    });
  });
}

}  // namespace internal

std::string FormatDeviceTaintRule(const CreateDeviceTaintRuleParams& params) {
  DeviceTaintRule rule = params.object;
  rule.time_added.reset();  // set by the server
  internal::JsonWriter writer;
  writer.Object([&] {
    writer.Member("apiVersion", internal::ApiVersionOf<DeviceTaintRule>());
    writer.Member("kind", internal::KindOf<DeviceTaintRule>());
    writer.ObjectMember("metadata", [&] {
      writer.Member("name", rule.name);
      internal::WriteLabels(writer, rule.labels);
      internal::WriteOwner<Node>(writer, rule.node_name, rule.node_uid, /*controller=*/false);
    });
    internal::WriteRuleSpec(writer, rule);
  });
  return writer.Take();
}

std::string FormatDeviceTaintRulePatch(const PatchDeviceTaintRuleParams& params) {
  internal::JsonWriter writer;
  writer.Object([&] {
    writer.ObjectMember("metadata", [&] {
      writer.Member("uid", params.uid);
      writer.Member("resourceVersion", params.resource_version);
    });
    writer.ObjectMember(
        "spec", [&] { writer.ObjectMember("taint", [&] { writer.Member("effect", ToString(params.effect)); }); });
  });
  return writer.Take();
}

}  // namespace driverupgrade
