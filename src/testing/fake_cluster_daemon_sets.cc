// The DaemonSet controller. The RollingUpdate strategy is implemented in fake_cluster_rolling_update.cc.

#include <fmt/format.h>

#include <algorithm>

#include "testing/fake_cluster_model.h"

namespace driverupgrade::testing::internal {

namespace {

// Returns the data that the controller stores in a revision: the patch that produces the template (R3).
std::string DataOf(const DaemonSetRecord& record, const std::string& hash) {
  auto given = record.templates.find(hash);
  const std::string& name = record.spec.name;
  const std::string text =
      given != record.templates.end()
          ? given->second
          : fmt::format(R"({{"$patch":"replace","spec":{{"containers":[{{"image":"{}:{}","name":"{}"}}]}}}})", name,
                        hash, name);
  return fmt::format(R"({{"spec":{{"template":{}}}}})", text);
}

}  // namespace

DaemonSet Model::AddDaemonSet(DaemonSetSpec spec) {
  const Key key(spec.ns, spec.name);
  RemoveDaemonSet(key, /*orphan=*/false);
  if (spec.match_labels.empty()) spec.match_labels = {{"app", spec.name}};
  const bool started = spec.started;
  DaemonSetRecord record;
  record.daemon_set = {.ns = spec.ns,
                       .name = spec.name,
                       .uid = OwnerUid(spec.ns, {.kind = "DaemonSet", .name = spec.name}),
                       .generation = 1,
                       .labels = spec.labels,
                       .selector = LabelSelector::FromMatchLabels(spec.match_labels),
                       .tolerations = spec.tolerations,
                       .on_delete = spec.on_delete};
  if (!spec.node_selector.empty()) {
    record.daemon_set.node_selectors = {LabelSelector::FromMatchLabels(spec.node_selector)};
  }
  if (!spec.template_json.empty()) record.templates[spec.hash] = spec.template_json;
  record.spec = std::move(spec);
  DaemonSetRecord& stored = daemon_sets_.insert_or_assign(key, std::move(record)).first->second;
  daemon_set_by_uid_[stored.daemon_set.uid] = key;
  NextVersion();
  Commit(Actor::kAdministrator, &Change::daemon_set, nullptr, Share(stored.daemon_set));
  ObserveTemplate(stored);
  for (const auto& [name, node] : nodes_) {
    if (!started) {
      Queue(options_.controller_delay,
            {.kind = EffectKind::kSyncDaemonSet, .key = key, .uid = stored.daemon_set.uid, .node_name = name});
    } else if (HasLabels(node->labels, stored.spec.node_selector)) {
      CreateDaemonSetPod(Actor::kAdministrator, stored, name, /*started=*/true);
    }
  }
  return stored.daemon_set;
}

bool Model::SetDaemonSetBehavior(const Key& key, const PodBehavior& behavior) {
  auto found = daemon_sets_.find(key);
  if (found == daemon_sets_.end()) return false;
  found->second.spec.behavior = behavior;
  return true;
}

bool Model::SetTemplate(const Key& key, const std::string& hash, const std::string& template_json) {
  auto found = daemon_sets_.find(key);
  if (found == daemon_sets_.end()) return false;
  DaemonSetRecord& record = found->second;
  if (record.spec.hash == hash) return true;
  if (!template_json.empty()) record.templates[hash] = template_json;
  record.spec.hash = hash;
  DaemonSet changed = record.daemon_set;
  ++changed.generation;
  PutDaemonSet(Actor::kAdministrator, record, std::move(changed));
  Queue(options_.template_delay, {.kind = EffectKind::kObserveTemplate, .key = key, .uid = record.daemon_set.uid});
  return true;
}

bool Model::EditDaemonSet(const Key& key, const std::function<void(DaemonSet&)>& edit) {
  const auto found = daemon_sets_.find(key);
  if (found == daemon_sets_.end()) return false;
  DaemonSet edited = found->second.daemon_set;
  edit(edited);
  DaemonSet changed = found->second.daemon_set;
  changed.labels = std::move(edited.labels);
  changed.annotations = std::move(edited.annotations);
  PutDaemonSet(Actor::kAdministrator, found->second, std::move(changed));
  return true;
}

void Model::ObserveTemplate(DaemonSetRecord& record) {
  const DaemonSetSpec& spec = record.spec;
  record.observed_hash = spec.hash;
  const std::string name = spec.name + "-" + spec.hash;
  std::int64_t newest = 0;
  for (auto it = revisions_.lower_bound({spec.ns, ""}); it != revisions_.end() && it->first.first == spec.ns; ++it) {
    if (it->second.owner_uid == record.daemon_set.uid) newest = std::max(newest, it->second.revision);
  }
  auto existing = revisions_.find({spec.ns, name});
  // R6: if the template changes back to an earlier one, the controller reuses the revision object of that template and
  // gives it the highest number.
  if (existing == revisions_.end() || existing->second.owner_uid != record.daemon_set.uid ||
      existing->second.revision < newest) {
    StringMap labels = spec.match_labels;
    labels.insert(spec.template_labels.begin(), spec.template_labels.end());
    labels[kRevisionHashLabel] = spec.hash;
    PutRevision({.ns = spec.ns,
                 .name = name,
                 .owner_uid = record.daemon_set.uid,
                 .revision = newest + 1,
                 .labels = std::move(labels),
                 .data = DataOf(record, spec.hash)});
  }
  record.rolling = !spec.on_delete;
  QueueRoll(record);
  if (record.daemon_set.observed_generation == record.daemon_set.generation) return;
  DaemonSet observed = record.daemon_set;
  observed.observed_generation = observed.generation;
  PutDaemonSet(Actor::kCluster, record, std::move(observed));
}

bool Model::RemoveDaemonSet(const Key& key, bool orphan) {
  auto found = daemon_sets_.find(key);
  if (found == daemon_sets_.end()) return false;
  const auto before = Share(std::move(found->second.daemon_set));
  const DaemonSet& removed = *before;
  daemon_sets_.erase(found);
  daemon_set_by_uid_.erase(removed.uid);
  owner_uids_.erase({key.first, "DaemonSet", key.second});
  NextVersion();
  Commit(Actor::kAdministrator, &Change::daemon_set, before, nullptr);

  std::vector<ControllerRevision> revisions = ListControllerRevisions(key.first, {});
  for (ControllerRevision& revision : revisions) {
    if (revision.owner_uid != removed.uid) continue;
    if (orphan) {
      revision.owner_uid.clear();
      PutRevision(std::move(revision));
    } else {
      EraseRevision(Actor::kCluster, {revision.ns, revision.name});
    }
  }
  for (Pod& pod : ListPodsOf(removed.uid)) {
    if (orphan) {
      std::erase_if(pod.owners, [&](const OwnerReference& owner) { return owner.uid == removed.uid; });
      PutPod(Actor::kCluster, std::move(pod));
    } else {
      StartDeletion(Actor::kCluster, KeyOf(pod));
    }
  }
  return true;
}

bool Model::AddCrashRule(const Key& key, CrashRule rule) {
  auto found = daemon_sets_.find(key);
  if (found == daemon_sets_.end()) return false;
  found->second.crash_rules.push_back(std::move(rule));
  return true;
}

bool Model::ClearCrashRules(const Key& key) {
  auto found = daemon_sets_.find(key);
  if (found == daemon_sets_.end()) return false;
  found->second.crash_rules.clear();
  return true;
}

DaemonSetRecord* Model::DaemonSetOf(const Pod& pod) {
  const OwnerReference* owner = ControllerOf(pod);
  if (owner == nullptr) return nullptr;
  auto found = daemon_set_by_uid_.find(owner->uid);
  return found == daemon_set_by_uid_.end() ? nullptr : &daemon_sets_.at(found->second);
}

void Model::SyncDaemonSet(const Effect& effect) {
  auto found = daemon_sets_.find(effect.key);
  if (found == daemon_sets_.end() || found->second.daemon_set.uid != effect.uid) return;
  const DaemonSetRecord& record = found->second;
  const Node* node = FindNode(effect.node_name);
  // R17: DaemonSet pods run on cordoned nodes and on nodes that are not ready.
  const bool should_run = node != nullptr && HasLabels(node->labels, record.spec.node_selector);
  bool has_pod = false;
  std::vector<Key> unwanted;
  for (const Key& key : pods_by_node_[effect.node_name]) {
    const Pod& pod = *pods_.at(key).pod;
    const OwnerReference* owner = ControllerOf(pod);
    if (owner == nullptr || owner->uid != effect.uid) continue;
    has_pod = true;
    if (!should_run || pod.phase == PodPhase::kFailed) unwanted.push_back(key);
  }
  for (const Key& key : unbound_) {
    const Pod& pod = *pods_.at(key).pod;
    const OwnerReference* owner = ControllerOf(pod);
    if (pod.affinity_node_name != effect.node_name || owner == nullptr || owner->uid != effect.uid) continue;
    has_pod = true;
    if (!should_run) unwanted.push_back(key);
  }
  // R16: no successor is created while a pod object of the DaemonSet exists on the node.
  if (should_run && !has_pod && !IsTerminating(effect.key.first)) {
    CreateDaemonSetPod(Actor::kCluster, record, effect.node_name, /*started=*/false);
  }
  for (const Key& key : unwanted) StartDeletion(Actor::kCluster, key);
}

void Model::CreateDaemonSetPod(Actor actor, const DaemonSetRecord& record, const std::string& node_name, bool started) {
  const DaemonSetSpec& spec = record.spec;
  Pod pod{.ref = {.ns = spec.ns, .name = NewPodName(spec.ns, spec.name), .uid = NewUid()},
          .node_name = node_name,
          .labels = spec.match_labels,
          .owners = {{.api_version = "apps/v1",
                      .kind = "DaemonSet",
                      .name = spec.name,
                      .uid = record.daemon_set.uid,
                      .controller = true}},
          .phase = started ? PodPhase::kRunning : PodPhase::kPending,
          .container_statuses = OneContainer(spec.name, started),
          .resource_names = spec.resource_names};
  pod.labels.insert(spec.template_labels.begin(), spec.template_labels.end());
  pod.labels[kRevisionHashLabel] = record.observed_hash;
  if (const auto full = full_nodes_.find(node_name); full != full_nodes_.end()) {
    pod.affinity_node_name = std::exchange(pod.node_name, "");
    pod.unscheduled_message = full->second;
  }
  PutPod(actor, std::move(pod), &spec.behavior);
}

const DaemonSet* Model::FindDaemonSet(const Key& key) const {
  auto found = daemon_sets_.find(key);
  return found == daemon_sets_.end() ? nullptr : &found->second.daemon_set;
}

std::vector<DaemonSet> Model::ListDaemonSets(const std::string& ns, const LabelSelector& selector) const {
  std::vector<DaemonSet> result;
  for (auto it = daemon_sets_.lower_bound({ns, ""}); it != daemon_sets_.end(); ++it) {
    if (!ns.empty() && it->first.first != ns) break;
    if (selector.Matches(it->second.daemon_set.labels)) result.push_back(it->second.daemon_set);
  }
  return result;
}

std::vector<ControllerRevision> Model::ListControllerRevisions(const std::string& ns,
                                                               const LabelSelector& selector) const {
  std::vector<ControllerRevision> result;
  for (auto it = revisions_.lower_bound({ns, ""}); it != revisions_.end(); ++it) {
    if (!ns.empty() && it->first.first != ns) break;
    if (selector.Matches(it->second.labels)) result.push_back(it->second);
  }
  return result;
}

}  // namespace driverupgrade::testing::internal
