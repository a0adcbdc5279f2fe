// Implements the members of ObjectStore that keep all pods of the nodes in which a driver is interested.
#include <algorithm>
#include <utility>

#include "decide/attempt_log.h"
#include "driverupgrade/cluster_snapshot.h"
#include "model/unreadable.h"
#include "read/object_store.h"

namespace driverupgrade::internal {

// ----- interest

std::vector<std::string> ObjectStore::SetInterest(std::size_t driver, std::set<std::string> nodes) {
  if (drivers_[driver].interest == nodes) return {};
  drivers_[driver].interest = std::move(nodes);
  for (const std::string& node : drivers_[driver].interest) Follow(node);
  std::vector<std::string> forgotten;
  std::erase_if(pods_, [&](const auto& entry) {
    const std::string& node = entry.first;
    const NodePods& pods = entry.second;
    const bool wanted = std::any_of(drivers_.begin(), drivers_.end(),
                                    [&](const Driver& driver) { return driver.interest.contains(node); });
    if (!wanted && (pods.known || !pods.failure.empty())) forgotten.push_back(node);
    return !wanted;
  });
  return forgotten;
}

// Sets `void_since` to the version of the stored node, because lists that are requested from now on are at least as new
// as this version.
ObjectStore::NodePods& ObjectStore::Follow(const std::string& node) {
  const auto [pods, is_new] = pods_.try_emplace(node);
  if (is_new) pods->second.void_since = VersionOf(node);
  return pods->second;
}

ObjectStore::NodePods* ObjectStore::FollowFor(std::size_t driver, const std::string& node) {
  if (!nodes_ || !nodes_->contains(node)) return nullptr;
  drivers_[driver].interest.insert(node);
  return &Follow(node);
}

void ObjectStore::ForgetPods(const std::string& node) {
  const auto found = pods_.find(node);
  if (found == pods_.end()) return;
  if (found->second.known) NoteChangeForAll(node);
  found->second = {.void_since = VersionOf(node)};
}

// ----- pods that a watch reports, and lists that are merged with it

void ObjectStore::PodsBegin() {
  pods_watched_ = true;
  for (const auto& [node, pods] : pods_) ForgetPods(node);
}

// If the pod's node name is unreadable, the pods of all nodes are forgotten. New lists will show the pod's node,
// because the server selects pods by their stored node name.
void ObjectStore::ForgetPodsAround(const Pod& unreadable) {
  for (const auto& [node, pods] : pods_) {
    if (unreadable.node_name.empty() || unreadable.node_name == node) ForgetPods(node);
  }
}

void ObjectStore::PodChanged(const Pod& pod) {
  if (IsUnreadable(pod)) return ForgetPodsAround(pod);
  const auto found = pods_.find(pod.node_name);
  if (found == pods_.end() || !found->second.IsFollowed()) return;
  if (found->second.pods.Put(pod) && found->second.known) NoteChangeForAll(pod.node_name);
}

void ObjectStore::PodDeleted(const Pod& pod) {
  if (IsUnreadable(pod)) return ForgetPodsAround(pod);
  const auto found = pods_.find(pod.node_name);
  if (found == pods_.end()) return;
  if (!found->second.lists.empty()) found->second.deleted.insert(pod.ref.uid);
  if (found->second.pods.Erase(pod.ref.uid) && found->second.known) NoteChangeForAll(pod.node_name);
}

std::optional<int> ObjectStore::BeginPodList(const std::string& node) {
  const auto found = pods_.find(node);
  if (found == pods_.end() || !pods_watched_) return std::nullopt;
  found->second.lists.insert(++last_ticket_);
  return last_ticket_;
}

bool ObjectStore::EndPodList(const std::string& node, int ticket, const std::vector<Pod>& pods) {
  const auto found = pods_.find(node);
  if (found == pods_.end() || found->second.lists.erase(ticket) == 0) return false;
  for (const Pod& pod : pods) {
    if (!found->second.deleted.contains(pod.ref.uid)) found->second.pods.Put(pod);
  }
  if (found->second.lists.empty()) found->second.deleted.clear();
  found->second.known = true;
  NoteChangeForAll(node);
  return true;
}

void ObjectStore::AbandonPodList(const std::string& node, int ticket) {
  const auto found = pods_.find(node);
  if (found == pods_.end() || found->second.lists.erase(ticket) == 0 || !found->second.lists.empty()) return;
  found->second.deleted.clear();
  if (!found->second.known) found->second.pods.clear();
}

// ----- lists that have a version

bool ObjectStore::PutPods(std::size_t driver, const std::string& node, std::string_view at,
                          const std::vector<Pod>& pods) {
  NodePods* const known = FollowFor(driver, node);
  if (known == nullptr || IsOlderVersion(at, known->void_since)) return false;
  *known = {.void_since = std::move(known->void_since)};
  NoteChangeForAll(node);
  for (const Pod& pod : pods) {
    if (!IsUnreadable(pod)) continue;
    known->failure = CannotBeRead("Pod", pod);
    return false;
  }
  for (const Pod& pod : pods) known->pods.Put(pod);
  known->known = true;
  return true;
}

void ObjectStore::PodsFailed(std::size_t driver, const std::string& node, std::string why) {
  NodePods* const known = FollowFor(driver, node);
  if (known == nullptr) return;
  known->failure = std::move(why);
  NoteChangeForAll(node);
}

std::string ObjectStore::WhyNoPods(const std::string& node) const {
  const auto found = pods_.find(node);
  return found == pods_.end() ? std::string() : found->second.failure;
}

// ----- readers

std::optional<std::vector<Pod>> ObjectStore::PodsOn(const std::string& node) const {
  const auto found = pods_.find(node);
  if (found == pods_.end() || !found->second.known) return std::nullopt;
  return found->second.pods.Unpack(node);
}

bool ObjectStore::KnowsPodsOn(const std::string& node) const {
  const auto found = pods_.find(node);
  return found != pods_.end() && found->second.known;
}

}  // namespace driverupgrade::internal
