// What the store has been told, for those who ask.
#include <utility>

#include "model/unreadable.h"
#include "read/watch_store.h"

namespace driverupgrade::internal {

std::shared_ptr<const Node> WatchStore::FindNode(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (!nodes_) return nullptr;
  const auto found = nodes_->find(name);
  return found == nodes_->end() ? nullptr : std::make_shared<const Node>(found->second.Unpack(name));
}

std::vector<Pod> WatchStore::DriverPods(std::size_t driver, const std::string& node) const {
  const std::lock_guard lock(mutex_);
  return ValuesOf(drivers_[driver].pods, drivers_[driver].pods_by_node, node);
}

std::vector<DaemonSet> WatchStore::DaemonSets(std::size_t driver) const {
  const std::lock_guard lock(mutex_);
  return Values(drivers_[driver].daemon_sets);
}

std::vector<ControllerRevision> WatchStore::Revisions(std::size_t driver) const {
  const std::lock_guard lock(mutex_);
  return Values(drivers_[driver].revisions);
}

std::optional<std::vector<NodeMaintenance>> WatchStore::Maintenances(std::size_t driver,
                                                                     const std::string& node) const {
  const std::lock_guard lock(mutex_);
  const Driver& from = drivers_[driver];
  if (!from.maintenances) return std::nullopt;
  const bool any_unbound = AnyUnreadable(ValuesOf(from.maintenances, from.maintenances_by_node, ""));
  if (any_unbound && !node.empty()) return std::nullopt;
  return ValuesOf(from.maintenances, from.maintenances_by_node, node);
}

std::optional<std::vector<Pod>> WatchStore::PodsOn(const std::string& node) const {
  const std::lock_guard lock(mutex_);
  const auto found = pods_.find(node);
  if (found == pods_.end() || !found->second.known) return std::nullopt;
  return found->second.pods.Unpack(node);
}

bool WatchStore::KnowsPodsOn(const std::string& node) const {
  const std::lock_guard lock(mutex_);
  const auto found = pods_.find(node);
  return found != pods_.end() && found->second.known;
}

}  // namespace driverupgrade::internal
