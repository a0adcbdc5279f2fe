#include "read/device_objects.h"

#include <algorithm>

#include "base/backoff.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "model/unreadable.h"

namespace driverupgrade::internal {
namespace {

template <typename T>
constexpr std::string_view kName;
template <>
constexpr std::string_view kName<DeviceTaintRule> = "DeviceTaintRule";
template <>
constexpr std::string_view kName<ResourceClaim> = "ResourceClaim";
template <>
constexpr std::string_view kName<ResourceSlice> = "ResourceSlice";

bool Contains(const std::vector<std::string>& drivers, const std::string& driver) {
  return std::find(drivers.begin(), drivers.end(), driver) != drivers.end();
}

// Returns true if the object belongs, or may belong, to one of the DRA drivers.
bool IsOf(const std::vector<std::string>& drivers, const std::string&, const DeviceTaintRule& rule) {
  return rule.driver.empty() || Contains(drivers, rule.driver);
}
bool IsOf(const std::vector<std::string>& drivers, const std::string& node, const ResourceClaim& claim) {
  return std::any_of(claim.allocated.begin(), claim.allocated.end(),
                     [&](const AllocatedPool& pool) { return pool.pool == node && Contains(drivers, pool.driver); });
}
bool IsOf(const std::vector<std::string>& drivers, const std::string&, const ResourceSlice& slice) {
  return slice.driver.empty() || Contains(drivers, slice.driver);
}

std::uint64_t HashOf(const std::string& ns, const std::string& name) { return Hash(ns + "/" + name, 0); }

template <typename T>
void NoteUnbound(const PackedObjects<T>& objects, std::vector<Finding>& findings) {
  for (const T& object : objects.On(std::string(kAllNodes))) {
    findings.push_back({.code = FindingCode::kUnreadable, .message = CannotBeRead(kName<T>, object)});
  }
}

// Sets `objects` to the node's objects that belong to `drivers`.
template <typename T>
absl::Status Take(const absl::Status& status, const PackedObjects<T>& from, const std::string& node,
                  const std::vector<std::string>& drivers, std::vector<T>& objects) {
  if (!status.ok()) return absl::Status(status.code(), fmt::format("{}s: {}", kName<T>, Message(status)));
  const std::vector<T> unbound = from.On(std::string(kAllNodes));
  if (!unbound.empty()) return absl::DataLossError(CannotBeRead(kName<T>, unbound.front()));
  objects = from.On(node);
  std::erase_if(objects, [&](const T& object) { return !IsOf(drivers, node, object); });
  return absl::OkStatus();
}

// Returns the node, or kAllNodes for an object that cannot be read and names no node.
std::set<std::string> OneNode(const std::string& node, bool unreadable) {
  if (node.empty() && !unreadable) return {};
  return {node};
}

}  // namespace

std::set<std::string> DeviceObjects::NodesOf(const DeviceTaintRule& rule) const {
  if (!rule.driver.empty() && !drivers_.contains(rule.driver)) return {};
  return OneNode(rule.node_name.empty() ? rule.pool : rule.node_name, IsUnreadable(rule));
}

std::set<std::string> DeviceObjects::NodesOf(const ResourceClaim& claim) const {
  std::set<std::string> nodes;
  for (const AllocatedPool& pool : claim.allocated) {
    if (drivers_.contains(pool.driver)) nodes.insert(pool.pool);
  }
  if (claim.allocated.empty() && IsUnreadable(claim)) nodes.emplace(kAllNodes);
  return nodes;
}

std::set<std::string> DeviceObjects::NodesOf(const ResourceSlice& slice) const {
  if (!slice.driver.empty() && !drivers_.contains(slice.driver)) return {};
  return OneNode(slice.node_name, IsUnreadable(slice));
}

void DeviceObjects::NoteOther(const ResourceClaim& claim) {
  const std::uint64_t name = HashOf(claim.ns, claim.name);
  if (!claim.allocated.empty() && NodesOf(claim).empty()) {
    other_claims_.insert(name);
  } else {
    other_claims_.erase(name);
  }
}

template <typename T>
void DeviceObjects::Drop(const T& named, ChangedNodes& changed) {
  PackedObjects<T>& objects = std::get<Kind<T>>(kinds_).objects;
  const std::optional<T> stored = objects.Find(named);
  if (!stored) return;
  std::set<std::string> nodes = NodesOf(*stored);
  objects.Erase(*stored, nodes);
  changed.merge(nodes);
}

template <typename T>
void DeviceObjects::Put(const T& object, ChangedNodes& changed) {
  if constexpr (std::is_same_v<T, ResourceClaim>) NoteOther(object);
  PackedObjects<T>& objects = std::get<Kind<T>>(kinds_).objects;
  if (const std::optional<T> stored = objects.Find(object); stored && *stored == object) return;
  Drop(object, changed);
  std::set<std::string> nodes = NodesOf(object);
  if (nodes.empty()) return;
  objects.Put(object, nodes);
  changed.merge(nodes);
}

template <typename T>
ChangedNodes DeviceObjects::Listed(const std::vector<T>& objects) {
  Kind<T>& kind = std::get<Kind<T>>(kinds_);
  ChangedNodes changed;
  // Before this list, the objects of all nodes were unknown.
  if (!kind.status.ok()) changed.emplace(kAllNodes);
  kind.status = absl::OkStatus();
  if constexpr (std::is_same_v<T, ResourceClaim>) other_claims_.clear();
  for (const T& object : kind.objects.Missing(objects)) Drop(object, changed);
  for (const T& object : objects) Put(object, changed);
  return changed;
}

template <typename T>
ChangedNodes DeviceObjects::Changed(const T& object) {
  ChangedNodes changed;
  if (IsListed<T>()) Put(object, changed);
  return changed;
}

template <typename T>
ChangedNodes DeviceObjects::Deleted(const T& object) {
  ChangedNodes changed;
  if (!IsListed<T>()) return changed;
  if constexpr (std::is_same_v<T, ResourceClaim>) other_claims_.erase(HashOf(object.ns, object.name));
  Drop(object, changed);
  return changed;
}

template <typename T>
ChangedNodes DeviceObjects::Failed(const absl::Status& why) {
  absl::Status& status = std::get<Kind<T>>(kinds_).status;
  if (status == why) return {};
  status = why;
  return {std::string(kAllNodes)};
}

void DeviceObjects::Distrust() {
  const auto distrust = [](absl::Status& status) {
    if (status.ok()) status = absl::UnavailableError("has not been read again since the cluster was restored");
  };
  std::apply([&](auto&... kind) { (distrust(kind.status), ...); }, kinds_);
}

#define DRIVERUPGRADE_INSTANTIATE(T)                                  \
  template ChangedNodes DeviceObjects::Listed(const std::vector<T>&); \
  template ChangedNodes DeviceObjects::Changed(const T&);             \
  template ChangedNodes DeviceObjects::Deleted(const T&);             \
  template ChangedNodes DeviceObjects::Failed<T>(const absl::Status&)
DRIVERUPGRADE_INSTANTIATE(DeviceTaintRule);
DRIVERUPGRADE_INSTANTIATE(ResourceClaim);
DRIVERUPGRADE_INSTANTIATE(ResourceSlice);
#undef DRIVERUPGRADE_INSTANTIATE

absl::StatusOr<NodeDevices> DeviceObjects::On(const std::string& node, const std::vector<std::string>& drivers) const {
  NodeDevices devices;
  absl::Status status = absl::OkStatus();
  const auto take = [&]<typename T>(const Kind<T>& kind, std::vector<T>& objects) {
    if (status.ok()) status = Take(kind.status, kind.objects, node, drivers, objects);
  };
  const auto& [rules, claims, slices] = kinds_;
  devices.has_rules = !absl::IsNotFound(rules.status);
  if (devices.has_rules) take(rules, devices.rules);
  take(claims, devices.claims);
  if (devices.has_rules) take(slices, devices.slices);
  if (!status.ok()) return status;
  return devices;
}

bool DeviceObjects::KnowsClaim(const std::string& ns, const std::string& name) const {
  const Kind<ResourceClaim>& claims = std::get<Kind<ResourceClaim>>(kinds_);
  if (!claims.status.ok()) return absl::IsNotFound(claims.status);
  return other_claims_.contains(HashOf(ns, name)) || claims.objects.Contains({.ns = ns, .name = name});
}

std::vector<Finding> DeviceObjects::Findings() const {
  std::vector<Finding> findings;
  std::apply([&](const auto&... kind) { (NoteUnbound(kind.objects, findings), ...); }, kinds_);
  return findings;
}

}  // namespace driverupgrade::internal
