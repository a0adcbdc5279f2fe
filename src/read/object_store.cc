#include "read/object_store.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "decide/attempt_log.h"
#include "driverupgrade/cluster_snapshot.h"
#include "model/driver_pod.h"
#include "model/unreadable.h"

namespace driverupgrade::internal {
namespace {

// Maximum number of changed nodes that are recorded for a driver. If more nodes change before the changes are taken,
// everything counts as changed.
constexpr std::size_t kChangesMax = 20'000;

using driverupgrade::NodeOf;
const std::string& NodeOf(const NodeMaintenance& object) { return object.node_name; }
template <typename T>
std::string NodeOf(const T&) {
  return {};
}

}  // namespace

// ----- changes

void ObjectStore::NoteChange(std::size_t driver, const std::string& node) {
  CacheChanges& changes = drivers_[driver].changes;
  // An object without a node concerns the driver as a whole.
  if (node.empty()) {
    changes.driver = true;
    return;
  }
  if (!changes.everything) changes.nodes.insert(node);
  // If no engine takes the driver's changes for a long time, for example on a replica that is not the leader,
  // everything is reported as changed instead.
  if (changes.nodes.size() <= kChangesMax) return;
  changes.nodes.clear();
  changes.everything = true;
}

void ObjectStore::NoteChangeForAll(const std::string& node) {
  for (std::size_t driver = 0; driver < drivers_.size(); ++driver) NoteChange(driver, node);
}

void ObjectStore::NoteAllNodes(std::size_t driver) {
  if (!nodes_) return;
  for (const auto& [name, node] : *nodes_) NoteChange(driver, name);
}

void ObjectStore::NoteDevices(const ChangedNodes& nodes) {
  for (std::size_t driver = 0; driver < drivers_.size(); ++driver) {
    if (drivers_[driver].dra_drivers.empty()) continue;
    for (const std::string& node : nodes) {
      if (node == kAllNodes) {
        NoteAllNodes(driver);
      } else {
        NoteChange(driver, node);
      }
    }
  }
}

void ObjectStore::FollowDevices(std::size_t driver, std::vector<std::string> dra_drivers) {
  devices_.Keep(dra_drivers);
  drivers_[driver].dra_drivers = std::move(dra_drivers);
}

std::vector<Finding> ObjectStore::DeviceFindings(std::size_t driver) const {
  return drivers_[driver].dra_drivers.empty() ? std::vector<Finding>() : devices_.Findings();
}

CacheChanges ObjectStore::Take(std::size_t driver) {
  CacheChanges changes = std::exchange(drivers_[driver].changes, {});
  if (!changes.everything) return changes;
  if (nodes_) {
    for (const auto& [name, node] : *nodes_) changes.nodes.insert(name);
  }
  for (const auto& [name, pods] : Of<Pod>(driver).keys_by_node) {
    if (!name.empty()) changes.nodes.insert(name);
  }
  return changes;
}

void ObjectStore::Attach(std::size_t driver) {
  drivers_[driver].changes = {.everything = true, .driver = true};
  SetInterest(driver, {});
}

// ----- nodes

void ObjectStore::PutNode(const Node& node, bool listed) {
  const auto found = nodes_->find(node.name);
  const PackedNode* stored = found != nodes_->end() && found->second.uid() == node.uid ? &found->second : nullptr;
  if (stored != nullptr && !IsNewerVersion(node.resource_version, stored->resource_version())) return;
  // Pods that were read before the node was cordoned or uncordoned may be outdated. A list shows only the current state
  // of the node. Before the list, the node may have been uncordoned and cordoned again.
  const bool voids_pods = listed || stored == nullptr || stored->unschedulable() != node.unschedulable;
  nodes_->insert_or_assign(found, node.name, PackedNode(node));
  if (voids_pods) ForgetPods(node.name);
  NoteChangeForAll(node.name);
}

void ObjectStore::DropNode(const std::string& name) {
  if (nodes_->erase(name) == 0) return;
  ForgetPods(name);
  NoteChangeForAll(name);
}

// A list contains everything up to its version. The cluster was restored from a backup if the list is older than an
// earlier list, or if the list lacks a change that it should contain. A stored version that is newer than the list
// proves nothing, because that version may come from the response to a write.
bool ObjectStore::IsSetBack(const std::vector<Node>& nodes, std::string_view at) const {
  if (IsOlderVersion(at, nodes_at_)) return true;
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    const auto stored = nodes_->find(node.name);
    if (stored == nodes_->end() || stored->second.uid() != node.uid) return false;
    const std::string_view known = stored->second.resource_version();
    return IsOlderVersion(node.resource_version, known) && !IsOlderVersion(at, known);
  });
}

bool ObjectStore::NodesListed(const std::vector<Node>& nodes, std::string_view at) {
  if (!nodes_) nodes_.emplace();
  const bool set_back = IsSetBack(nodes, at);
  if (set_back) {
    for (const std::string& name : Missing(nodes_, std::vector<Node>())) DropNode(name);
    for (Driver& driver : drivers_) {
      driver.changes.set_back = true;
      std::apply([](auto&... kind) { ((kind.is_current = false), ...); }, driver.objects);
    }
    devices_.Distrust();
  }
  nodes_at_ = std::string(at);
  for (const std::string& name : Missing(nodes_, nodes)) DropNode(name);
  for (const Node& node : nodes) PutNode(node, /*listed=*/true);
  return set_back;
}

void ObjectStore::NodeChanged(const Node& node) {
  if (!nodes_) return;
  if (IsNewerVersion(node.resource_version, nodes_at_)) nodes_at_ = node.resource_version;
  PutNode(node, /*listed=*/false);
}

void ObjectStore::NodeDeleted(const Node& node) {
  if (!nodes_) return;
  const auto stored = nodes_->find(node.name);
  if (stored == nodes_->end()) return;
  const std::string_view uid = stored->second.uid();
  const bool uid_unknown = uid.empty() || node.uid.empty();  // at least one UID could not be read
  if (uid_unknown || uid == node.uid) DropNode(node.name);
}

void ObjectStore::NodeWritten(const Node& node) {
  if (!nodes_) return;
  const auto stored = nodes_->find(node.name);
  if (stored != nodes_->end() && stored->second.uid() == node.uid) PutNode(node, /*listed=*/false);
}

std::optional<Node> ObjectStore::FindNode(const std::string& name) const {
  if (!nodes_) return std::nullopt;
  const auto found = nodes_->find(name);
  if (found == nodes_->end()) return std::nullopt;
  return found->second.Unpack(name);
}

std::string ObjectStore::VersionOf(const std::string& node) const {
  if (!nodes_) return {};
  const auto found = nodes_->find(node);
  return found == nodes_->end() ? std::string() : std::string(found->second.resource_version());
}

// ----- objects of a driver

template <typename T>
void ObjectStore::Drop(std::size_t driver, const std::string& key) {
  Collection<T>& from = Of<T>(driver);
  const auto found = from.objects->find(key);
  if (found == from.objects->end()) return;
  const std::string node = NodeOf(found->second);
  from.objects->erase(found);
  const auto keys = from.keys_by_node.find(node);
  keys->second.erase(key);
  if (keys->second.empty()) from.keys_by_node.erase(keys);
  NoteChange(driver, node);
  // A NodeMaintenance without a node name is unreadable, and may belong to any node.
  if (std::is_same_v<T, NodeMaintenance> && node.empty()) NoteAllNodes(driver);
}

template <typename T>
void ObjectStore::Put(std::size_t driver, T& object) {
  if constexpr (std::is_same_v<T, Pod>) DropFilterFields(object);
  Collection<T>& into = Of<T>(driver);
  const std::string key = KeyOf(object);
  const std::string node = NodeOf(object);
  if (const auto stored = into.objects->find(key); stored != into.objects->end()) {
    if (stored->second == object) return;
    // The node differs if another object now has this name, or if the object can no longer be read.
    if (NodeOf(stored->second) != node) Drop<T>(driver, key);
  }
  into.objects->insert_or_assign(key, std::move(object));
  into.keys_by_node[node].insert(key);
  NoteChange(driver, node);
  if (std::is_same_v<T, NodeMaintenance> && node.empty()) NoteAllNodes(driver);
}

template <typename T>
void ObjectStore::Listed(std::size_t driver, std::vector<T> objects) {
  Collection<T>& known = Of<T>(driver);
  for (const std::string& key : Missing(known.objects, objects)) Drop<T>(driver, key);
  // Before this list, the NodeMaintenances of all nodes were unknown.
  if (std::is_same_v<T, NodeMaintenance> && !known.is_current) NoteAllNodes(driver);
  if (!known.objects) known.objects.emplace();
  known.is_current = true;
  for (T& object : objects) Put(driver, object);
}

template <typename T>
void ObjectStore::Changed(std::size_t driver, T object) {
  if (Of<T>(driver).objects) Put(driver, object);
}

template <typename T>
void ObjectStore::Deleted(std::size_t driver, const T& object) {
  if (Of<T>(driver).objects) Drop<T>(driver, KeyOf(object));
}

template <typename T>
bool ObjectStore::IsListed(std::size_t driver) const {
  if constexpr (std::is_same_v<T, Node>) {
    return nodes_.has_value();
  } else {
    return Of<T>(driver).is_current;
  }
}

#define DRIVERUPGRADE_INSTANTIATE(T)                              \
  template void ObjectStore::Listed(std::size_t, std::vector<T>); \
  template void ObjectStore::Changed(std::size_t, T);             \
  template void ObjectStore::Deleted(std::size_t, const T&);      \
  template bool ObjectStore::IsListed<T>(std::size_t) const
DRIVERUPGRADE_INSTANTIATE(DaemonSet);
DRIVERUPGRADE_INSTANTIATE(ControllerRevision);
DRIVERUPGRADE_INSTANTIATE(Pod);
DRIVERUPGRADE_INSTANTIATE(NodeMaintenance);
#undef DRIVERUPGRADE_INSTANTIATE
template bool ObjectStore::IsListed<Node>(std::size_t) const;

std::optional<std::vector<NodeMaintenance>> ObjectStore::Maintenances(std::size_t driver,
                                                                      const std::string& node) const {
  const Collection<NodeMaintenance>& from = Of<NodeMaintenance>(driver);
  if (!from.is_current) return std::nullopt;
  const bool any_unbound = AnyUnreadable(from.On(""));
  if (any_unbound && !node.empty()) return std::nullopt;
  return from.On(node);
}

}  // namespace driverupgrade::internal
