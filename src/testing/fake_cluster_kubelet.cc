// The kubelets, and the garbage collection of pods on deleted nodes.

#include <algorithm>

#include "testing/fake_cluster_model.h"

namespace driverupgrade::testing::internal {

bool Model::NodeReady(const std::string& name) const {
  const Node* node = FindNode(name);
  return node != nullptr && node->ready;
}

bool Model::SetPodBehavior(const Key& key, const PodBehavior& behavior) {
  auto found = pods_.find(key);
  if (found == pods_.end()) return false;
  PodRecord& record = found->second;
  const bool was_stuck = record.behavior.stop_delay == absl::InfiniteDuration();
  record.behavior = behavior;
  // The pod, which would have stayed indefinitely, now stops, as if its finalizer had been removed.
  if (was_stuck && record.pod->deletion_timestamp.has_value()) {
    QueueForPod(behavior.stop_delay, EffectKind::kPodStopped, *record.pod);
  }
  return true;
}

bool Model::MustCrash(const Pod& pod) {
  const DaemonSetRecord* record = DaemonSetOf(pod);
  if (record == nullptr) return false;
  return std::any_of(record->crash_rules.begin(), record->crash_rules.end(), [&](const CrashRule& rule) {
    return (rule.hash.empty() || rule.hash == RevisionHash(pod)) &&
           (rule.node_name.empty() || rule.node_name == pod.node_name);
  });
}

void Model::StopPod(const Key& key) {
  const PodRecord& record = pods_.at(key);
  if (record.behavior.unmount_delay == absl::ZeroDuration() || record.pod->containers_ended) {
    return ErasePod(Actor::kCluster, key);
  }
  Pod pod = *record.pod;
  pod.phase = PodPhase::kFailed;
  pod.containers_ended = true;
  for (ContainerStatus& container : pod.container_statuses) container.ready = false;
  pod.ready_since.reset();
  const absl::Duration unmount = record.behavior.unmount_delay;
  PutPod(Actor::kCluster, pod);
  QueueForPod(unmount, EffectKind::kPodStopped, pod);
}

void Model::RunKubelet(const Effect& effect) {
  const Pod* found = FindPod(effect.key);
  if (found == nullptr || found->ref.uid != effect.uid) return;
  // A node that is not ready does not start or stop containers.
  if (!NodeReady(found->node_name)) {
    held_effects_[found->node_name].push_back(effect);
    return;
  }
  if (effect.kind == EffectKind::kPodStopped) return StopPod(effect.key);
  if (!IsActive(*found)) return;
  Pod pod = *found;
  const bool crashes = effect.kind != EffectKind::kPodFinished && MustCrash(pod);
  if (effect.kind == EffectKind::kPodFinished) {
    pod.phase = PodPhase::kSucceeded;
    for (ContainerStatus& container : pod.container_statuses) container.ready = false;
    pod.ready_since.reset();
  } else {
    pod.phase = PodPhase::kRunning;
    for (ContainerStatus& container : pod.container_statuses) {
      container.ready = !crashes;
      if (effect.kind == EffectKind::kPodCrashed) ++container.restart_count;
    }
    // Kubernetes stores times in whole seconds.
    pod.ready_since = crashes ? std::nullopt : std::optional(absl::FromUnixSeconds(absl::ToUnixSeconds(now_)));
  }
  const int restart_count = pod.container_statuses.empty() ? 0 : pod.container_statuses.front().restart_count;
  PutPod(Actor::kCluster, std::move(pod));
  if (!crashes) return;
  absl::Duration backoff = std::max(options_.crash_backoff_initial, absl::Seconds(1));
  for (int i = 0; i < restart_count && backoff < options_.crash_backoff_max; ++i) backoff *= 2;
  Queue(std::min(backoff, std::max(options_.crash_backoff_max, absl::Seconds(1))),
        {.kind = EffectKind::kPodCrashed, .key = effect.key, .uid = effect.uid});
}

void Model::CollectPods(const std::string& node_name) {
  // If a node with the same name has been created again, the pods belong to the new node.
  if (nodes_.count(node_name) > 0) return;
  held_effects_.erase(node_name);
  const std::set<Key> keys = pods_by_node_[node_name];
  for (const Key& key : keys) ErasePod(Actor::kCluster, key);
}

}  // namespace driverupgrade::testing::internal
