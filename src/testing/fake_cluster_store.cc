// Stores the objects, revisions and indexes, and notifies observers of changes.

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "testing/fake_cluster_model.h"

namespace driverupgrade::testing::internal {

namespace {

// Same alphabet as Kubernetes: without vowels, so that names do not form words.
constexpr std::string_view kNameAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::int64_t kNameCount = std::int64_t{27} * 27 * 27 * 27 * 27;
// Step between consecutive names: coprime to kNameCount, so that no name repeats, and large, so that the names look
// different.
constexpr std::int64_t kNameStride = 9973111;

}  // namespace

bool HasLabels(const StringMap& labels, const StringMap& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& pair) {
    auto found = labels.find(pair.first);
    return found != labels.end() && found->second == pair.second;
  });
}

std::vector<ContainerStatus> OneContainer(const std::string& name, bool ready) {
  return {ContainerStatus{.name = name, .ready = ready}};
}

absl::Time Model::NextEffectTime() const {
  return effects_.empty() ? absl::InfiniteFuture() : effects_.begin()->first.first;
}

void Model::RunNextEffect() {
  assert(!effects_.empty());
  now_ = effects_.begin()->first.first;
  Effect effect = std::move(effects_.extract(effects_.begin()).mapped());
  switch (effect.kind) {
    case EffectKind::kPodStarted:
    case EffectKind::kPodCrashed:
    case EffectKind::kPodFinished:
    case EffectKind::kPodStopped: RunKubelet(effect); return;
    case EffectKind::kSchedule: Schedule(); return;
    case EffectKind::kCollectPods: CollectPods(effect.node_name); return;
    case EffectKind::kSyncDaemonSet: SyncDaemonSet(effect); return;
    case EffectKind::kRollDaemonSet: RollDaemonSet(effect); return;
    case EffectKind::kObserveTemplate:
      if (auto found = daemon_sets_.find(effect.key);
          found != daemon_sets_.end() && found->second.daemon_set.uid == effect.uid) {
        ObserveTemplate(found->second);
      }
      return;
    case EffectKind::kSyncWorkload: SyncWorkload(effect.uid, Actor::kCluster, /*started=*/false); return;
    case EffectKind::kStepMaintenance: StepMaintenance(effect); return;
    case EffectKind::kStepDeviceTaintRule: devices_.StepRule(*this, effect); return;
  }
}

void Model::Queue(absl::Duration delay, Effect effect) {
  if (delay == absl::InfiniteDuration()) return;
  effects_.emplace(std::pair(now_ + std::max(delay, absl::ZeroDuration()), ++effect_count_), std::move(effect));
}

void Model::QueueForPod(absl::Duration delay, EffectKind kind, const Pod& pod) {
  Queue(delay, {.kind = kind, .key = KeyOf(pod), .uid = pod.ref.uid});
}

std::string Model::NextVersion() { return std::to_string(++revision_); }

std::string Model::NewUid() { return fmt::format("00000000-0000-4000-8000-{:012d}", ++uid_count_); }

std::string Model::NewPodName(const std::string& ns, const std::string& prefix) {
  for (;;) {
    std::int64_t number = ++name_count_ % kNameCount * kNameStride % kNameCount;
    std::string name = prefix + "-";
    for (int i = 0; i < 5; ++i, number /= 27) name += kNameAlphabet[static_cast<std::size_t>(number % 27)];
    if (pods_.count({ns, name}) == 0) return name;
  }
}

std::string Model::OwnerUid(const std::string& ns, const OwnerReference& owner) {
  std::string& uid = owner_uids_[{ns, owner.kind, owner.name}];
  if (uid.empty()) uid = NewUid();
  return uid;
}

void Model::SetBackTo(const Model& backup) {
  const std::int64_t uids = uid_count_;
  const std::int64_t names = name_count_;
  ChangeObserver observer = std::move(observer_);
  *this = backup;
  uid_count_ = uids;
  name_count_ = names;
  observer_ = std::move(observer);
}

void Model::CompactLog() {
  std::apply([&](auto&... log) { (log.Compact(revision_), ...); }, logs_);
}

void Model::PutNode(Actor actor, Node node) {
  std::shared_ptr<const Node>& stored = nodes_[node.name];
  const bool was_ready = stored == nullptr || stored->ready;
  if (node.ready != was_ready && (stored != nullptr || !node.ready_transition_time)) {
    node.ready_transition_time = absl::FromUnixSeconds(absl::ToUnixSeconds(now_));  // as the API server stores it
  }
  if (stored != nullptr) {
    node.resource_version = stored->resource_version;
    if (node == *stored) return;
  }
  node.resource_version = NextVersion();
  const auto after = std::make_shared<const Node>(std::move(node));
  const auto before = std::exchange(stored, after);
  Commit(actor, &Change::node, before, after);
  OnNodeChanged(before.get(), after.get());
}

void Model::EraseNode(Actor actor, const std::string& name) {
  const auto before = std::move(nodes_.extract(name).mapped());
  NextVersion();
  Commit(actor, &Change::node, before, nullptr);
  OnNodeChanged(before.get(), nullptr);
}

void Model::OnNodeChanged(const Node* before, const Node* after) {
  const std::string& name = after != nullptr ? after->name : before->name;
  const bool was_ready = before != nullptr && before->ready;
  const bool is_ready = after != nullptr && after->ready;
  if (was_ready != is_ready) {
    for (const Key& key : pods_by_node_[name]) {
      const Pod& pod = *pods_.at(key).pod;
      CountPod(pod, was_ready, -1);
      CountPod(pod, is_ready, +1);
    }
  }
  if (is_ready && !was_ready) {
    for (Effect& effect : std::exchange(held_effects_[name], {})) Queue(absl::ZeroDuration(), std::move(effect));
  }
  const bool could = before != nullptr && CanTakePods(*before);
  const bool can = after != nullptr && CanTakePods(*after);
  if (could != can) OpenNode(name, can);
  if (can && (!could || (any_node_selector_ && before->labels != after->labels))) openings_.Note(name);
  if (can && !unbound_.empty() && (!could || before->labels != after->labels)) {
    QueueSchedule();
  }
  for (auto& [key, record] : daemon_sets_) {
    QueueRoll(record);
    const StringMap& wanted = record.spec.node_selector;
    const bool did_match = before != nullptr && HasLabels(before->labels, wanted);
    const bool does_match = after != nullptr && HasLabels(after->labels, wanted);
    if (did_match == does_match) continue;
    Queue(options_.controller_delay,
          {.kind = EffectKind::kSyncDaemonSet, .key = key, .uid = record.daemon_set.uid, .node_name = name});
  }
  if (after != nullptr) return;
  if (full_nodes_.contains(name)) MakeRoom(std::string(name));
  CollectMaintenances(before->uid);
  devices_.NodeIsGone(*this, *before);
  if (options_.pod_gc_delay > absl::ZeroDuration()) {
    Queue(options_.pod_gc_delay, {.kind = EffectKind::kCollectPods, .node_name = name});
  } else {
    CollectPods(std::string(name));
  }
}

void Model::IndexPod(const Pod& pod) {
  const Key key = KeyOf(pod);
  CountPod(pod, NodeReady(pod.node_name), +1);
  if (!pod.node_name.empty()) pods_by_node_[pod.node_name].insert(key);
  const OwnerReference* owner = ControllerOf(pod);
  if (owner == nullptr) return;
  pods_by_owner_[owner->uid].insert(key);
  auto workload = workloads_.find(owner->uid);
  if (workload != workloads_.end()) CountLoad(workload->second, pod, +1);
}

void Model::UnindexPod(const Pod& pod) {
  const Key key = KeyOf(pod);
  CountPod(pod, NodeReady(pod.node_name), -1);
  if (!pod.node_name.empty()) pods_by_node_[pod.node_name].erase(key);
  const OwnerReference* owner = ControllerOf(pod);
  if (owner == nullptr) return;
  pods_by_owner_[owner->uid].erase(key);
  auto workload = workloads_.find(owner->uid);
  if (workload != workloads_.end()) CountLoad(workload->second, pod, -1);
}

void Model::PutPod(Actor actor, Pod pod, const PodBehavior* behavior) {
  auto [found, inserted] = pods_.try_emplace(KeyOf(pod));
  PodRecord& record = found->second;
  const bool was_ready = !inserted && IsReady(*record.pod);
  if (IsReady(pod)) {
    pod.not_ready_since.reset();
  } else {
    pod.ready_since.reset();
    if (was_ready || (inserted && !pod.not_ready_since)) {
      pod.not_ready_since = absl::FromUnixSeconds(absl::ToUnixSeconds(now_));
    }
  }
  if (!inserted) {
    pod.resource_version = record.pod->resource_version;
    if (pod == *record.pod) return;
    UnindexPod(*record.pod);
  } else if (behavior != nullptr) {
    record.behavior = *behavior;
  }
  pod.resource_version = NextVersion();
  const auto after = std::make_shared<const Pod>(std::move(pod));
  const auto before = std::exchange(record.pod, after);
  IndexPod(*after);
  Commit(actor, &Change::pod, before, after);
  OnPodChanged(before.get(), after.get());
}

void Model::ErasePod(Actor actor, const Key& key) {
  auto found = pods_.find(key);
  const auto before = found->second.pod;
  UnindexPod(*before);
  pods_.erase(found);
  NextVersion();
  Commit(actor, &Change::pod, before, nullptr);
  OnPodChanged(before.get(), nullptr);
}

void Model::OnPodChanged(const Pod* before, const Pod* after) {
  const Pod& pod = after != nullptr ? *after : *before;
  if (after != nullptr) {
    const PodBehavior& behavior = pods_.at(KeyOf(*after)).behavior;
    const bool was_bound = before != nullptr && !before->node_name.empty();
    const bool was_running = before != nullptr && before->phase == PodPhase::kRunning;
    const bool was_terminating = before != nullptr && before->deletion_timestamp.has_value();
    if (after->phase == PodPhase::kPending && !was_bound && !after->node_name.empty()) {
      QueueForPod(behavior.start_delay, EffectKind::kPodStarted, *after);
    }
    if (after->phase == PodPhase::kRunning && !was_running) {
      QueueForPod(std::max(behavior.run_time, absl::Seconds(1)), EffectKind::kPodFinished, *after);
    }
    if (after->deletion_timestamp.has_value() && !was_terminating) {
      QueueForPod(behavior.stop_delay, EffectKind::kPodStopped, *after);
    }
  }
  if (after != nullptr && after->node_name.empty() && IsActive(*after)) {
    if (unbound_.insert(KeyOf(pod)).second) QueueSchedule();
  } else {
    unbound_.erase(KeyOf(pod));
  }
  const bool is_over = after == nullptr || IsFinished(*after);
  if (is_over && !pod.resource_claims.empty()) devices_.PodIsOver(*this, pod);
  if (before == nullptr) return;
  const OwnerReference* owner = ControllerOf(*before);
  if (owner == nullptr) return;
  if (workloads_.count(owner->uid) > 0 && (after == nullptr || (IsActive(*before) && !IsActive(*after)))) {
    Queue(options_.controller_delay, {.kind = EffectKind::kSyncWorkload, .uid = owner->uid});
  }
  auto daemon_set = daemon_set_by_uid_.find(owner->uid);
  if (daemon_set != daemon_set_by_uid_.end()) QueueRoll(daemon_sets_.at(daemon_set->second));
  if (daemon_set != daemon_set_by_uid_.end() && (after == nullptr || IsFinished(*after))) {
    Queue(options_.controller_delay, {.kind = EffectKind::kSyncDaemonSet,
                                      .key = daemon_set->second,
                                      .uid = owner->uid,
                                      .node_name = NodeOf(*before)});
  }
}

void Model::PutDaemonSet(Actor actor, DaemonSetRecord& record, DaemonSet daemon_set) {
  NextVersion();
  const auto before = Share(std::exchange(record.daemon_set, std::move(daemon_set)));
  Commit(actor, &Change::daemon_set, before, Share(record.daemon_set));
}

void Model::PutRevision(ControllerRevision revision) {
  NextVersion();
  auto [found, inserted] = revisions_.try_emplace({revision.ns, revision.name});
  const auto before = Share(std::exchange(found->second, std::move(revision)));
  Commit(Actor::kCluster, &Change::controller_revision, inserted ? nullptr : before, Share(found->second));
}

void Model::EraseRevision(Actor actor, const Key& key) {
  const auto before = Share(std::move(revisions_.extract(key).mapped()));
  NextVersion();
  Commit(actor, &Change::controller_revision, before, nullptr);
}

Node Model::AddNode(Node node) {
  if (nodes_.count(node.name) > 0) EraseNode(Actor::kAdministrator, node.name);
  if (node.uid.empty()) node.uid = NewUid();
  const std::string name = node.name;
  PutNode(Actor::kAdministrator, std::move(node));
  return *nodes_.at(name);
}

bool Model::EditNode(Actor actor, const std::string& name, const std::function<void(Node&)>& edit) {
  auto found = nodes_.find(name);
  if (found == nodes_.end()) return false;
  Node node = *found->second;
  edit(node);
  node.name = name;
  node.uid = found->second->uid;
  PutNode(actor, std::move(node));
  return true;
}

bool Model::RemoveNode(const std::string& name) {
  if (nodes_.count(name) == 0) return false;
  EraseNode(Actor::kAdministrator, name);
  return true;
}

Pod Model::AddPod(Pod pod, const PodBehavior& behavior) {
  const Key key = KeyOf(pod);
  if (pod.ref.uid.empty()) pod.ref.uid = NewUid();
  for (OwnerReference& owner : pod.owners) {
    if (owner.uid.empty()) owner.uid = OwnerUid(pod.ref.ns, owner);
  }
  Enrol(pod, behavior);
  if (pods_.count(key) > 0) ErasePod(Actor::kAdministrator, key);
  if (!pod.node_name.empty()) devices_.Reserve(*this, pod, pod.node_name);
  PutPod(Actor::kAdministrator, std::move(pod), &behavior);
  return *pods_.at(key).pod;
}

bool Model::EditPod(const Key& key, const std::function<void(Pod&)>& edit) {
  auto found = pods_.find(key);
  if (found == pods_.end()) return false;
  Pod pod = *found->second.pod;
  edit(pod);
  pod.ref = found->second.pod->ref;
  PutPod(Actor::kAdministrator, std::move(pod));
  return true;
}

bool Model::RemovePod(const Key& key) {
  if (pods_.count(key) == 0) return false;
  ErasePod(Actor::kAdministrator, key);
  return true;
}

const Node* Model::FindNode(const std::string& name) const {
  auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : found->second.get();
}

const Pod* Model::FindPod(const Key& key) const {
  auto found = pods_.find(key);
  return found == pods_.end() ? nullptr : found->second.pod.get();
}

std::vector<Node> Model::ListNodes(const LabelSelector& selector) const {
  std::vector<Node> result;
  for (const auto& [name, node] : nodes_) {
    if (selector.Matches(node->labels)) result.push_back(*node);
  }
  return result;
}

std::vector<Pod> Model::ListPods(const ListPodsParams& params) const {
  std::vector<Pod> result;
  auto add = [&](const Pod& pod) {
    if (params.label_selector.Matches(pod.labels)) result.push_back(pod);
  };
  if (!params.node_name.empty()) {
    auto found = pods_by_node_.find(params.node_name);
    if (found == pods_by_node_.end()) return result;
    for (const Key& key : found->second) {
      if (params.ns.empty() || key.first == params.ns) add(*pods_.at(key).pod);
    }
    return result;
  }
  for (auto it = pods_.lower_bound({params.ns, ""}); it != pods_.end(); ++it) {
    if (!params.ns.empty() && it->first.first != params.ns) break;
    add(*it->second.pod);
  }
  return result;
}

std::vector<Pod> Model::ListPodsOf(const std::string& owner_uid) const {
  std::vector<Pod> result;
  auto found = pods_by_owner_.find(owner_uid);
  if (found == pods_by_owner_.end()) return result;
  for (const Key& key : found->second) result.push_back(*pods_.at(key).pod);
  return result;
}

}  // namespace driverupgrade::testing::internal
