#include "host/object_store.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/status_macros.h"
#include "driverupgrade/attempt_log.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "model/driver_pod.h"
#include "model/unreadable.h"

namespace driverupgrade::internal {
namespace {

absl::Status Named(std::string_view what, const absl::Status& status) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", what, Message(status)));
}

using driverupgrade::NodeOf;
const std::string& NodeOf(const NodeMaintenance& object) { return object.node_name; }

template <typename T>
absl::StatusOr<ListPage<T>> Page(std::string_view list) {
  absl::StatusOr<ListPage<T>> page = ParseList<T>(list, OnUnreadable::kMark);
  if (!page.ok()) return Named("list", page.status());
  if (!page->continue_token.empty()) {
    return absl::InvalidArgumentError("list.metadata.continue: more pages follow; all of them are one list here");
  }
  return page;
}

}  // namespace

// ----- nodes: WatchStore has the reasons

template <typename T>
void HostStore::Changed(const std::string& node) {
  if (!node.empty()) {
    changes_.nodes.insert(node);
    return;
  }
  changes_.driver = true;
  // A NodeMaintenance that names no node cannot be read, and may be any node's. A pod is bound to none yet.
  changes_.everything |= std::is_same_v<T, NodeMaintenance>;
}

void HostStore::ForgetPods(const Node& node) {
  pods_[node.name] = {.void_since = node.resource_version};
  Changed<Node>(node.name);
}

void HostStore::PutNode(Node node) {
  if (!nodes_) nodes_.emplace();
  std::shared_ptr<const Node>& stored = (*nodes_)[node.name];
  if (stored && stored->uid == node.uid && !IsNewerVersion(node.resource_version, stored->resource_version)) return;
  if (!stored || stored->uid != node.uid || stored->unschedulable != node.unschedulable) ForgetPods(node);
  Changed<Node>(node.name);
  stored = std::make_shared<const Node>(std::move(node));
}

void HostStore::DropNode(const std::string& name) {
  if (!nodes_ || nodes_->erase(name) == 0) return;
  pods_.erase(name);
  Changed<Node>(name);
}

bool HostStore::IsSetBack(const std::vector<Node>& nodes, const std::string& at) const {
  if (IsOlderVersion(at, nodes_at_)) return true;
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    const auto stored = nodes_->find(node.name);
    if (stored == nodes_->end() || stored->second->uid != node.uid) return false;
    const std::string& known = stored->second->resource_version;
    return IsOlderVersion(node.resource_version, known) && !IsOlderVersion(at, known);
  });
}

void HostStore::NodesListed(std::vector<Node> nodes, const std::string& at) {
  if (nodes_ && IsSetBack(nodes, at)) {
    for (const std::string& name : NodeNames()) DropNode(name);
    changes_.set_back = true;
  }
  nodes_at_ = at;
  for (const std::string& name : Missing(nodes_, nodes)) DropNode(name);
  for (Node& node : nodes) {
    const auto stored = nodes_->find(node.name);
    if (stored != nodes_->end() && IsNewerVersion(node.resource_version, stored->second->resource_version)) {
      ForgetPods(node);
    }
    PutNode(std::move(node));
  }
}

void HostStore::NodeWritten(Node node) {
  const std::shared_ptr<const Node> stored = FindNode(node.name);
  if (stored && stored->uid == node.uid) PutNode(std::move(node));
}

// ----- what belongs to nodes

template <typename T>
void HostStore::Drop(Collection<T>& collection, KeysByNode& by_node, const std::string& key) {
  if (!collection) return;
  const auto found = collection->find(key);
  if (found == collection->end()) return;
  const std::string node = NodeOf(*found->second);
  collection->erase(found);
  Erase(by_node, node, key);
  Changed<T>(node);
}

template <typename T>
void HostStore::Put(Collection<T>& collection, KeysByNode& by_node, T object) {
  const std::string key = KeyOf(object);
  const std::string node = NodeOf(object);
  if (collection) {
    const auto before = collection->find(key);
    if (before != collection->end() && NodeOf(*before->second) != node) Drop(collection, by_node, key);
  }
  if (!internal::Put(collection, std::move(object))) return;
  by_node[node].insert(key);
  Changed<T>(node);
}

template <typename T>
void HostStore::Listed(Collection<T>& collection, KeysByNode& by_node, std::vector<T> objects) {
  for (const std::string& key : Missing(collection, objects)) Drop(collection, by_node, key);
  for (T& object : objects) Put(collection, by_node, std::move(object));
}

// ----- documents

absl::Status HostStore::Put(ObjectKind kind, std::string_view list) {
  switch (kind) {
    case ObjectKind::kNode: {
      DRIVERUPGRADE_ASSIGN_OR_RETURN(ListPage<Node> page, Page<Node>(list));
      NodesListed(std::move(page.items), page.resource_version);
      return absl::OkStatus();
    }
    case ObjectKind::kDriverPod: {
      DRIVERUPGRADE_ASSIGN_OR_RETURN(ListPage<Pod> page, Page<Pod>(list));
      for (Pod& pod : page.items) pod = WithoutFilterFields(std::move(pod));
      Listed(driver_pods_, pods_by_node_, std::move(page.items));
      return absl::OkStatus();
    }
    case ObjectKind::kDaemonSet: {
      DRIVERUPGRADE_ASSIGN_OR_RETURN(ListPage<DaemonSet> page, Page<DaemonSet>(list));
      changes_.driver |= Replace(daemon_sets_, std::move(page.items));
      return absl::OkStatus();
    }
    case ObjectKind::kControllerRevision: {
      DRIVERUPGRADE_ASSIGN_OR_RETURN(ListPage<ControllerRevision> page, Page<ControllerRevision>(list));
      changes_.driver |= Replace(revisions_, std::move(page.items));
      return absl::OkStatus();
    }
    case ObjectKind::kNodeMaintenance: {
      DRIVERUPGRADE_ASSIGN_OR_RETURN(ListPage<NodeMaintenance> page, Page<NodeMaintenance>(list));
      const bool first = !maintenances_;
      Listed(maintenances_, maintenances_by_node_, std::move(page.items));
      // "Not read" has become "none".
      changes_.everything |= first;
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(fmt::format("kind: {} is none", static_cast<int>(kind)));
}

template <typename T, typename OnChange, typename OnDelete>
absl::Status HostStore::Line(std::string_view line, OnChange on_change, OnDelete on_delete) {
  using Type = typename WatchEvent<T>::Type;
  absl::StatusOr<WatchEvent<T>> event = ParseWatchEvent<T>(line, OnUnreadable::kMark);
  if (!event.ok()) return Named("line", event.status());
  switch (event->type) {
    case Type::kAdded:
    case Type::kModified: on_change(std::move(event->object)); return absl::OkStatus();
    case Type::kDeleted: on_delete(event->object); return absl::OkStatus();
    case Type::kError: return absl::InvalidArgumentError("line: the watch is at its end; a list is needed");
    case Type::kBookmark:
    case Type::kUnknown: return absl::OkStatus();
  }
  return absl::OkStatus();
}

bool HostStore::IsListed(ObjectKind kind) const {
  switch (kind) {
    case ObjectKind::kNode: return nodes_.has_value();
    case ObjectKind::kDriverPod: return driver_pods_.has_value();
    case ObjectKind::kDaemonSet: return daemon_sets_.has_value();
    case ObjectKind::kControllerRevision: return revisions_.has_value();
    case ObjectKind::kNodeMaintenance: return maintenances_.has_value();
  }
  return true;  // it is none, as is said where it is looked at
}

absl::Status HostStore::WatchLine(ObjectKind kind, std::string_view line) {
  // One object would be taken for all there are.
  if (!IsListed(kind)) return absl::InvalidArgumentError("line: a list of its kind is needed first");
  switch (kind) {
    case ObjectKind::kNode:
      return Line<Node>(
          line,
          [this](Node node) {
            if (IsNewerVersion(node.resource_version, nodes_at_)) nodes_at_ = node.resource_version;
            PutNode(std::move(node));
          },
          [this](const Node& node) {
            const std::shared_ptr<const Node> stored = FindNode(node.name);
            const bool unknown = stored && (stored->uid.empty() || node.uid.empty());  // one of them could not be read
            if (stored && (unknown || stored->uid == node.uid)) DropNode(node.name);
          });
    case ObjectKind::kDriverPod:
      return Line<Pod>(
          line, [this](Pod pod) { Put(driver_pods_, pods_by_node_, WithoutFilterFields(std::move(pod))); },
          [this](const Pod& pod) { Drop(driver_pods_, pods_by_node_, KeyOf(pod)); });
    case ObjectKind::kDaemonSet:
      return Line<DaemonSet>(
          line, [this](DaemonSet object) { changes_.driver |= internal::Put(daemon_sets_, std::move(object)); },
          [this](const DaemonSet& object) { changes_.driver |= internal::Drop(daemon_sets_, KeyOf(object)); });
    case ObjectKind::kControllerRevision:
      return Line<ControllerRevision>(
          line, [this](ControllerRevision object) { changes_.driver |= internal::Put(revisions_, std::move(object)); },
          [this](const ControllerRevision& object) { changes_.driver |= internal::Drop(revisions_, KeyOf(object)); });
    case ObjectKind::kNodeMaintenance:
      return Line<NodeMaintenance>(
          line, [this](NodeMaintenance object) { Put(maintenances_, maintenances_by_node_, std::move(object)); },
          [this](const NodeMaintenance& object) { Drop(maintenances_, maintenances_by_node_, KeyOf(object)); });
  }
  return absl::InvalidArgumentError(fmt::format("kind: {} is none", static_cast<int>(kind)));
}

absl::StatusOr<bool> HostStore::PutPods(const std::string& node, std::string_view list) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(ListPage<Pod> page, Page<Pod>(list));
  if (page.resource_version.empty()) {
    return absl::InvalidArgumentError(
        "list.metadata.resourceVersion: is missing: it tells whether the list is newer "
        "than the node's cordon");
  }
  const auto known = pods_.find(node);
  if (known == pods_.end() || IsOlderVersion(page.resource_version, known->second.void_since)) return false;
  known->second.pods.reset();
  known->second.failure.clear();
  Changed<Node>(node);
  for (const Pod& pod : page.items) {
    if (!IsUnreadable(pod)) continue;
    known->second.failure = CannotBeRead("Pod", pod);
    return false;
  }
  known->second.pods = std::move(page.items);
  return true;
}

void HostStore::PodsFailed(const std::string& node, std::string why) {
  const auto known = pods_.find(node);
  if (known == pods_.end()) return;
  known->second.failure = std::move(why);
  Changed<Node>(node);
}

void HostStore::KeepPodsOf(const std::set<std::string>& nodes) {
  for (auto& [name, known] : pods_) {
    if (!known.pods || nodes.contains(name)) continue;
    known.pods.reset();
    Changed<Node>(name);
  }
}

StoreChanges HostStore::Take() { return std::exchange(changes_, {.driver = false}); }

std::shared_ptr<const Node> HostStore::FindNode(const std::string& name) const {
  if (!nodes_) return nullptr;
  const auto found = nodes_->find(name);
  return found == nodes_->end() ? nullptr : found->second;
}

std::vector<std::string> HostStore::NodeNames() const {
  std::vector<std::string> names;
  if (!nodes_) return names;
  for (const auto& [name, node] : *nodes_) names.push_back(name);
  return names;
}

std::optional<std::vector<NodeMaintenance>> HostStore::Maintenances(const std::string& node) const {
  if (!maintenances_) return std::nullopt;
  // One that names no node, for it cannot be read, may be any node's.
  if (!node.empty() && AnyUnreadable(ValuesOf(maintenances_, maintenances_by_node_, ""))) return std::nullopt;
  return ValuesOf(maintenances_, maintenances_by_node_, node);
}

const std::vector<Pod>* HostStore::PodsOn(const std::string& node) const {
  const auto found = pods_.find(node);
  return found == pods_.end() || !found->second.pods ? nullptr : &*found->second.pods;
}

std::string HostStore::WhyNoPods(const std::string& node) const {
  const auto found = pods_.find(node);
  return found == pods_.end() ? std::string() : found->second.failure;
}

}  // namespace driverupgrade::internal
