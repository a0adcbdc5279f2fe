#include "read/watch_store.h"

#include <algorithm>
#include <utility>

#include "driverupgrade/attempt_log.h"
#include "model/driver_pod.h"
#include "model/unreadable.h"

namespace driverupgrade::internal {
namespace {

// Of nodes in what one driver has not taken yet.
constexpr std::size_t kChangesMax = 20'000;

}  // namespace

// Holds the store's lock, notes who has to hear of a change, and tells them once the lock is released.
class WatchStore::Notice {
 public:
  explicit Notice(WatchStore& store) : store_(store), lock_(store.mutex_) {}
  ~Notice() {
    lock_.unlock();
    if (woken_.empty()) return;
    const std::lock_guard calling(store_.calling_);
    for (const std::size_t driver : woken_) {
      std::unique_lock lock(store_.mutex_);
      const std::function<void()> on_change = store_.drivers_[driver].on_change;
      lock.unlock();
      if (on_change) on_change();
    }
  }
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;

  void Everybody() {
    for (std::size_t driver = 0; driver < store_.drivers_.size(); ++driver) woken_.insert(driver);
  }
  void Facts(std::size_t driver) {
    Wake(driver);
    store_.drivers_[driver].changes.driver = true;
  }
  void Changed(std::size_t driver, const std::string& node) {
    // A pod that is bound to no node counts for the driver as a whole.
    if (node.empty()) return Facts(driver);
    Wake(driver);
    CacheChanges& changes = store_.drivers_[driver].changes;
    if (!changes.everything) changes.nodes.insert(node);
    // Nobody has looked for so long that it is simpler to look at everything: a replica that does not lead.
    if (changes.nodes.size() <= kChangesMax) return;
    changes.nodes.clear();
    changes.everything = true;
  }
  void Changed(const std::string& node) {
    for (std::size_t driver = 0; driver < store_.drivers_.size(); ++driver) Changed(driver, node);
  }

 private:
  void Wake(std::size_t driver) {
    if (store_.drivers_[driver].changes.empty()) woken_.insert(driver);
  }
  WatchStore& store_;
  std::unique_lock<std::mutex> lock_;
  std::set<std::size_t> woken_;
};

// ----- nodes

void WatchStore::PutNode(const Node& node, Notice& notice) {
  if (!nodes_) nodes_.emplace();
  const auto found = nodes_->find(node.name);
  const PackedNode* stored = found != nodes_->end() && found->second.uid() == node.uid ? &found->second : nullptr;
  if (stored != nullptr && !IsNewerVersion(node.resource_version, stored->resource_version())) return;
  // Pods that were read before a cordon was made, or lifted, say nothing about what came after (arch-A11).
  if (stored == nullptr || stored->unschedulable() != node.unschedulable) ForgetPods(node.name, notice);
  notice.Changed(node.name);
  nodes_->insert_or_assign(found, node.name, PackedNode(node));
}

void WatchStore::NodeWritten(const Node& node) {
  Notice notice(*this);
  if (!nodes_) return;
  const auto stored = nodes_->find(node.name);
  if (stored != nodes_->end() && stored->second.uid() == node.uid) PutNode(node, notice);
}

void WatchStore::DropNode(const std::string& name, Notice& notice) {
  if (!Drop(nodes_, name)) return;
  ForgetPods(name, notice);
  notice.Changed(name);
}

// A list has everything up to its version (api-A8). So where it is older than one before, or has an object as it was
// before a change that it should have, the cluster was set back to an earlier state, as by a restored backup. What is
// newer than the list may be the answer to a write of ours.
bool WatchStore::IsSetBack(const std::vector<Node>& nodes, std::string_view at) const {
  if (IsOlderVersion(at, nodes_at_)) return true;
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    const auto stored = nodes_->find(node.name);
    if (stored == nodes_->end() || stored->second.uid() != node.uid) return false;
    const std::string_view known = stored->second.resource_version();
    return IsOlderVersion(node.resource_version, known) && !IsOlderVersion(at, known);
  });
}

void WatchStore::ForgetNodes(Notice& notice) {
  std::vector<std::string> names;
  for (const auto& [name, node] : *nodes_) names.push_back(name);
  for (const std::string& name : names) DropNode(name, notice);
}

bool WatchStore::NodesListed(const std::vector<Node>& nodes, std::string_view at,
                             const std::function<void()>& on_set_back) {
  Notice notice(*this);
  const bool set_back = nodes_ && IsSetBack(nodes, at);
  if (set_back) {
    if (on_set_back) on_set_back();
    ForgetNodes(notice);
    for (Driver& driver : drivers_) driver.changes.set_back = true;
  }
  nodes_at_ = std::string(at);
  for (const std::string& name : Missing(nodes_, nodes)) DropNode(name, notice);
  for (const Node& node : nodes) {
    // A list shows what is, and not what has been in between: a cordon may have been lifted and made again (arch-A11).
    const auto stored = nodes_->find(node.name);
    const bool moved_on =
        stored != nodes_->end() && IsNewerVersion(node.resource_version, stored->second.resource_version());
    if (moved_on) ForgetPods(node.name, notice);
    PutNode(node, notice);
  }
  return set_back;
}

void WatchStore::NodeChanged(const Node& node) {
  Notice notice(*this);
  if (IsNewerVersion(node.resource_version, nodes_at_)) nodes_at_ = node.resource_version;
  PutNode(node, notice);
}

void WatchStore::NodeDeleted(const Node& node) {
  Notice notice(*this);
  if (!nodes_) return;
  const auto stored = nodes_->find(node.name);
  if (stored == nodes_->end()) return;
  const std::string_view uid = stored->second.uid();
  const bool uid_unknown = uid.empty() || node.uid.empty();  // one of them could not be read
  if (uid_unknown || uid == node.uid) DropNode(node.name, notice);
}

// ----- DaemonSets and revisions

void WatchStore::DaemonSetsListed(std::size_t driver, std::vector<DaemonSet> objects) {
  Notice notice(*this);
  if (Replace(drivers_[driver].daemon_sets, std::move(objects))) notice.Facts(driver);
}
void WatchStore::DaemonSetChanged(std::size_t driver, DaemonSet object) {
  Notice notice(*this);
  if (Put(drivers_[driver].daemon_sets, std::move(object))) notice.Facts(driver);
}
void WatchStore::DaemonSetDeleted(std::size_t driver, const DaemonSet& object) {
  Notice notice(*this);
  if (Drop(drivers_[driver].daemon_sets, KeyOf(object))) notice.Facts(driver);
}

void WatchStore::RevisionsListed(std::size_t driver, std::vector<ControllerRevision> objects) {
  Notice notice(*this);
  if (Replace(drivers_[driver].revisions, std::move(objects))) notice.Facts(driver);
}
void WatchStore::RevisionChanged(std::size_t driver, ControllerRevision object) {
  Notice notice(*this);
  if (Put(drivers_[driver].revisions, std::move(object))) notice.Facts(driver);
}
void WatchStore::RevisionDeleted(std::size_t driver, const ControllerRevision& object) {
  Notice notice(*this);
  if (Drop(drivers_[driver].revisions, KeyOf(object))) notice.Facts(driver);
}

// ----- pods of the driver

void WatchStore::PutDriverPod(std::size_t driver, Pod pod, Notice& notice) {
  Driver& into = drivers_[driver];
  const std::string key = KeyOf(pod);
  const std::string node = NodeOf(pod);
  if (into.pods) {
    if (const auto before = into.pods->find(key); before != into.pods->end() && NodeOf(*before->second) != node) {
      DropDriverPod(driver, key, notice);
    }
  }
  if (!Put(into.pods, WithoutFilterFields(std::move(pod)))) return;
  into.pods_by_node[node].insert(key);
  notice.Changed(driver, node);
}

void WatchStore::DropDriverPod(std::size_t driver, const std::string& key, Notice& notice) {
  Driver& from = drivers_[driver];
  const auto found = from.pods->find(key);
  if (found == from.pods->end()) return;
  const std::string node = NodeOf(*found->second);
  from.pods->erase(found);
  Erase(from.pods_by_node, node, key);
  notice.Changed(driver, node);
}

void WatchStore::DriverPodsListed(std::size_t driver, std::vector<Pod> pods) {
  Notice notice(*this);
  for (const std::string& key : Missing(drivers_[driver].pods, pods)) DropDriverPod(driver, key, notice);
  for (Pod& pod : pods) PutDriverPod(driver, std::move(pod), notice);
}
void WatchStore::DriverPodChanged(std::size_t driver, Pod pod) {
  Notice notice(*this);
  PutDriverPod(driver, std::move(pod), notice);
}
void WatchStore::DriverPodDeleted(std::size_t driver, const Pod& pod) {
  Notice notice(*this);
  if (drivers_[driver].pods) DropDriverPod(driver, KeyOf(pod), notice);
}

// ----- NodeMaintenances

void WatchStore::PutMaintenance(std::size_t driver, NodeMaintenance object, Notice& notice) {
  Driver& into = drivers_[driver];
  const std::string key = KeyOf(object);
  const std::string node = object.node_name;
  // Immutable, but it may not be readable any more, or another object have taken the name.
  if (into.maintenances && into.maintenances->contains(key) && into.maintenances->at(key)->node_name != node) {
    DropMaintenance(driver, key, notice);
  }
  if (!Put(into.maintenances, std::move(object))) return;
  into.maintenances_by_node[node].insert(key);
  MaintenanceDiffers(driver, node, notice);
}

void WatchStore::DropMaintenance(std::size_t driver, const std::string& key, Notice& notice) {
  Driver& from = drivers_[driver];
  const auto found = from.maintenances->find(key);
  if (found == from.maintenances->end()) return;
  const std::string node = found->second->node_name;
  from.maintenances->erase(found);
  Erase(from.maintenances_by_node, node, key);
  MaintenanceDiffers(driver, node, notice);
}

// One that names no node, for it cannot be read, may be any node's.
void WatchStore::MaintenanceDiffers(std::size_t driver, const std::string& node, Notice& notice) {
  notice.Changed(driver, node);
  if (node.empty()) AllNodesChanged(driver, notice);
}

void WatchStore::AllNodesChanged(std::size_t driver, Notice& notice) {
  if (!nodes_) return;
  for (const auto& [name, node] : *nodes_) notice.Changed(driver, name);
}

void WatchStore::MaintenancesListed(std::size_t driver, std::vector<NodeMaintenance> objects) {
  Notice notice(*this);
  const bool first = !drivers_[driver].maintenances;
  for (const std::string& key : Missing(drivers_[driver].maintenances, objects)) DropMaintenance(driver, key, notice);
  for (NodeMaintenance& object : objects) PutMaintenance(driver, std::move(object), notice);
  if (first) AllNodesChanged(driver, notice);  // "not read" has become "none"
}
void WatchStore::MaintenanceChanged(std::size_t driver, NodeMaintenance object) {
  Notice notice(*this);
  PutMaintenance(driver, std::move(object), notice);
}
void WatchStore::MaintenanceDeleted(std::size_t driver, const NodeMaintenance& object) {
  Notice notice(*this);
  if (drivers_[driver].maintenances) DropMaintenance(driver, KeyOf(object), notice);
}

// ----- all pods of nodes of interest

void WatchStore::ForgetPods(const std::string& node, Notice& notice) {
  const auto found = pods_.find(node);
  if (found == pods_.end()) return;
  if (found->second.known) notice.Changed(node);
  found->second = {};
}

void WatchStore::PodsBegin() {
  Notice notice(*this);
  pods_watched_ = true;
  for (auto& [node, pods] : pods_) ForgetPods(node, notice);
}

// Where it does not say on which node it is, the lists of the nodes do: the server selects by what it has stored.
void WatchStore::ForgetPodsAround(const Pod& unreadable, Notice& notice) {
  for (auto& [node, pods] : pods_) {
    if (unreadable.node_name.empty() || unreadable.node_name == node) ForgetPods(node, notice);
  }
}

void WatchStore::PodChanged(const Pod& pod) {
  Notice notice(*this);
  if (IsUnreadable(pod)) return ForgetPodsAround(pod, notice);
  const auto found = pods_.find(pod.node_name);
  if (found == pods_.end() || !found->second.IsFollowed()) return;
  if (found->second.pods.Put(pod) && found->second.known) notice.Changed(pod.node_name);
}

void WatchStore::PodDeleted(const Pod& pod) {
  Notice notice(*this);
  if (IsUnreadable(pod)) return ForgetPodsAround(pod, notice);
  const auto found = pods_.find(pod.node_name);
  if (found == pods_.end()) return;
  if (!found->second.lists.empty()) found->second.deleted.insert(pod.ref.uid);
  if (found->second.pods.Erase(pod.ref.uid) && found->second.known) notice.Changed(pod.node_name);
}

bool WatchStore::IsWanted(const std::string& node) const {
  return std::any_of(drivers_.begin(), drivers_.end(),
                     [&](const Driver& driver) { return driver.interest.contains(node); });
}

void WatchStore::SetInterest(std::size_t driver, std::set<std::string> nodes) {
  const std::lock_guard lock(mutex_);
  if (drivers_[driver].interest == nodes) return;
  drivers_[driver].interest = std::move(nodes);
  std::erase_if(pods_, [&](const auto& pods) { return !IsWanted(pods.first); });
  for (const std::string& node : drivers_[driver].interest) pods_.try_emplace(node);
}

std::optional<int> WatchStore::BeginPodList(const std::string& node) {
  const std::lock_guard lock(mutex_);
  const auto found = pods_.find(node);
  if (found == pods_.end() || !pods_watched_) return std::nullopt;
  found->second.lists.insert(++last_ticket_);
  return last_ticket_;
}

bool WatchStore::EndPodList(const std::string& node, int ticket, const std::vector<Pod>& pods) {
  Notice notice(*this);
  const auto found = pods_.find(node);
  if (found == pods_.end() || found->second.lists.erase(ticket) == 0) return false;
  for (const Pod& pod : pods) {
    if (!found->second.deleted.contains(pod.ref.uid)) found->second.pods.Put(pod);
  }
  if (found->second.lists.empty()) found->second.deleted.clear();
  found->second.known = true;
  notice.Changed(node);
  return true;
}

void WatchStore::AbandonPodList(const std::string& node, int ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = pods_.find(node);
  if (found == pods_.end() || found->second.lists.erase(ticket) == 0 || !found->second.lists.empty()) return;
  found->second.deleted.clear();
  if (!found->second.known) found->second.pods.clear();
}

// ----- readers

void WatchStore::Subscribe(std::size_t driver, std::function<void()> on_change) {
  const std::lock_guard calling(calling_);
  const std::lock_guard lock(mutex_);
  drivers_[driver].on_change = std::move(on_change);
}

void WatchStore::WakeEverybody() {
  Notice notice(*this);
  notice.Everybody();
}

CacheChanges WatchStore::Take(std::size_t driver) {
  const std::lock_guard lock(mutex_);
  CacheChanges changes = std::exchange(drivers_[driver].changes, {});
  if (!changes.everything) return changes;
  if (nodes_) {
    for (const auto& [name, node] : *nodes_) changes.nodes.insert(name);
  }
  for (const auto& [name, pods] : drivers_[driver].pods_by_node) {
    if (!name.empty()) changes.nodes.insert(name);
  }
  return changes;
}

void WatchStore::Attach(std::size_t driver) {
  const std::lock_guard lock(mutex_);
  drivers_[driver].changes = {.everything = true, .driver = true};
  drivers_[driver].interest.clear();
  std::erase_if(pods_, [&](const auto& pods) { return !IsWanted(pods.first); });
}

}  // namespace driverupgrade::internal
