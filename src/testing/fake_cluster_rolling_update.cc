// The DaemonSet controller with strategy RollingUpdate, maxUnavailable 1 and maxSurge 0 (R15).
#include <set>
#include <string>
#include <vector>

#include "testing/fake_cluster_model.h"

namespace driverupgrade::testing::internal {

// Queues a check by the controller if pods of an earlier template may still exist. Called after each change to a node
// or pod.
void Model::QueueRoll(DaemonSetRecord& record) {
  if (!record.rolling || record.roll_queued) return;
  record.roll_queued = true;
  const DaemonSet& daemon_set = record.daemon_set;
  Queue(options_.controller_delay,
        {.kind = EffectKind::kRollDaemonSet, .key = {daemon_set.ns, daemon_set.name}, .uid = daemon_set.uid});
}

// Deletes all old pods that are not ready. If every node has a ready pod, also deletes one old pod that is ready.
void Model::RollDaemonSet(const Effect& effect) {
  const auto found = daemon_sets_.find(effect.key);
  if (found == daemon_sets_.end() || found->second.daemon_set.uid != effect.uid) return;
  DaemonSetRecord& record = found->second;
  record.roll_queued = false;
  std::set<std::string> unserved;
  for (const auto& [name, node] : nodes_) {
    if (HasLabels(node->labels, record.spec.node_selector)) unserved.insert(name);
  }
  std::vector<Key> idle;
  std::vector<Key> serving;
  bool rolling = false;
  for (const Key& key : pods_by_owner_[effect.uid]) {
    const Pod& pod = *pods_.at(key).pod;
    const bool old = RevisionHash(pod) != record.observed_hash;
    const bool serves = IsActive(pod) && IsReady(pod) && NodeReady(pod.node_name);
    rolling |= old;
    if (serves) unserved.erase(pod.node_name);
    if (old && IsActive(pod)) (serves ? serving : idle).push_back(key);
  }
  record.rolling = rolling;
  for (const Key& key : idle) StartDeletion(Actor::kCluster, key);
  if (unserved.empty() && !serving.empty()) StartDeletion(Actor::kCluster, serving.front());
}

}  // namespace driverupgrade::testing::internal
