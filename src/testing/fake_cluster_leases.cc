// Leases and ConfigMaps. Both are changed by compare-and-set: Leases as a whole, ConfigMaps key by key.

#include <fmt/format.h>

#include <string_view>

#include "testing/fake_cluster_model.h"

namespace driverupgrade::testing::internal {

/// Describes a kind: its resource name in the API, and the model's objects of this kind.
template <class T>
struct Model::RecordKind {
  std::string_view resource;
  std::map<Key, std::shared_ptr<const T>>& objects;
  Versions<T> Change::*change;
};

namespace {

absl::Status Conflict(std::string_view resource, const std::string& name, std::string_view why) {
  return absl::AbortedError(fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", resource, name, why));
}

// Drops the precision that the API cannot store.
Lease Rounded(Lease lease) {
  lease.duration = absl::Floor(lease.duration, absl::Seconds(1));
  for (absl::Time* time : {&lease.acquire_time, &lease.renew_time}) *time = absl::FromUnixMicros(ToUnixMicros(*time));
  return lease;
}

template <class T>
const T* Find(const std::map<Key, std::shared_ptr<const T>>& objects, const Key& key) {
  auto found = objects.find(key);
  return found == objects.end() ? nullptr : found->second.get();
}

}  // namespace

template <class T>
absl::StatusOr<T> Model::CreateRecord(const RecordKind<T>& kind, T object) {
  if (object.ns.empty() || object.name.empty()) {
    return absl::InvalidArgumentError(fmt::format("create {}: namespace and name are required", kind.resource));
  }
  if (IsTerminating(object.ns)) {
    return absl::PermissionDeniedError(fmt::format(
        "{} \"{}\" is forbidden: unable to create new content in namespace {} because it is being terminated",
        kind.resource, object.name, object.ns));
  }
  std::shared_ptr<const T>& stored = kind.objects[{object.ns, object.name}];
  if (stored != nullptr) {
    return absl::AlreadyExistsError(fmt::format("{} \"{}\" already exists", kind.resource, object.name));
  }
  object.uid = NewUid();
  object.resource_version = NextVersion();
  stored = Share(std::move(object));
  Commit(Actor::kClient, kind.change, nullptr, stored);
  return *stored;
}

template <class T>
absl::StatusOr<T> Model::UpdateRecord(const RecordKind<T>& kind, T object) {
  if (object.ns.empty() || object.name.empty() || object.resource_version.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("update {}: namespace, name and resourceVersion are required", kind.resource));
  }
  auto found = kind.objects.find({object.ns, object.name});
  if (found == kind.objects.end()) {
    return absl::NotFoundError(fmt::format("{} \"{}\" not found", kind.resource, object.name));
  }
  std::shared_ptr<const T>& stored = found->second;
  // api-A25: the version is a precondition.
  if (object.resource_version != stored->resource_version) {
    return Conflict(kind.resource, object.name,
                    "the object has been modified; please apply your changes to the latest version and try again");
  }
  if (!object.uid.empty() && object.uid != stored->uid) {
    return Conflict(
        kind.resource, object.name,
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", object.uid, stored->uid));
  }
  object.uid = stored->uid;
  if (object == *stored) return object;
  object.resource_version = NextVersion();
  const auto before = std::exchange(stored, Share(std::move(object)));
  Commit(Actor::kClient, kind.change, before, stored);
  return *stored;
}

template <class T>
bool Model::RemoveRecord(const RecordKind<T>& kind, const Key& key) {
  auto removed = kind.objects.extract(key);
  if (removed.empty()) return false;
  NextVersion();
  Commit(Actor::kAdministrator, kind.change, std::move(removed.mapped()), nullptr);
  return true;
}

const Lease* Model::FindLease(const Key& key) const { return Find(leases_, key); }

const ConfigMap* Model::FindConfigMap(const Key& key) const { return Find(config_maps_, key); }

absl::StatusOr<Lease> Model::CreateLease(Lease lease) {
  return CreateRecord<Lease>({"leases.coordination.k8s.io", leases_, &Change::lease}, Rounded(std::move(lease)));
}

absl::StatusOr<Lease> Model::UpdateLease(Lease lease) {
  return UpdateRecord<Lease>({"leases.coordination.k8s.io", leases_, &Change::lease}, Rounded(std::move(lease)));
}

absl::StatusOr<ConfigMap> Model::CreateConfigMap(ConfigMap config_map) {
  return CreateRecord<ConfigMap>({"configmaps", config_maps_, &Change::config_map}, std::move(config_map));
}

absl::StatusOr<ConfigMap> Model::PatchConfigMap(const PatchConfigMapParams& params) {
  if (params.uid.empty()) return absl::InvalidArgumentError("patch configmaps: the UID is required");
  const ConfigMap* stored = FindConfigMap({params.ns, params.name});
  ConfigMap patched = stored != nullptr ? *stored : ConfigMap{.ns = params.ns, .name = params.name};
  patched.uid = params.uid;
  patched.resource_version = params.resource_version;
  for (const auto& [key, value] : params.data) {
    if (value) {
      patched.data[key] = *value;
    } else {
      patched.data.erase(key);
    }
  }
  return UpdateRecord<ConfigMap>({"configmaps", config_maps_, &Change::config_map}, std::move(patched));
}

bool Model::RemoveLease(const Key& key) {
  return RemoveRecord<Lease>({"leases.coordination.k8s.io", leases_, &Change::lease}, key);
}

bool Model::RemoveConfigMap(const Key& key) {
  return RemoveRecord<ConfigMap>({"configmaps", config_maps_, &Change::config_map}, key);
}

}  // namespace driverupgrade::testing::internal
