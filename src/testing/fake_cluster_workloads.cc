// ReplicaSet and StatefulSet controllers, and the scheduler.

#include <algorithm>

#include "testing/fake_cluster_model.h"

namespace driverupgrade::testing::internal {

namespace {

const char* KindName(WorkloadSpec::Kind kind) {
  return kind == WorkloadSpec::Kind::kReplicaSet ? "ReplicaSet" : "StatefulSet";
}

}  // namespace

WorkloadRecord& Model::EnsureWorkload(WorkloadSpec spec, const std::string& uid) {
  auto [found, inserted] = workloads_.try_emplace(uid);
  WorkloadRecord& record = found->second;
  record.spec = std::move(spec);
  record.free_from.clear();
  any_node_selector_ |= !record.spec.node_selector.empty();
  if (!inserted) return record;
  record.uid = uid;
  for (const Key& key : pods_by_owner_[uid]) CountLoad(record, *pods_.at(key).pod, +1);
  return record;
}

void Model::AddWorkload(WorkloadSpec spec) {
  if (spec.labels.empty()) spec.labels = {{"app", spec.name}};
  const std::string uid = OwnerUid(spec.ns, {.kind = KindName(spec.kind), .name = spec.name});
  const bool started = spec.started;
  WorkloadRecord& record = EnsureWorkload(std::move(spec), uid);
  record.own_claims.clear();
  record.shared_claims.clear();
  if (record.spec.devices) record.own_claims.push_back(*record.spec.devices);
  if (record.spec.kind == WorkloadSpec::Kind::kStatefulSet) {
    for (int i = 0; i < record.spec.replicas; ++i) {
      record.identities.insert(record.spec.name + "-" + std::to_string(i));
    }
  }
  SyncWorkload(uid, Actor::kAdministrator, started);
}

void Model::Enrol(const Pod& pod, const PodBehavior& behavior) {
  const OwnerReference* owner = ControllerOf(pod);
  if (owner == nullptr || (owner->kind != "ReplicaSet" && owner->kind != "StatefulSet")) return;
  const Pod* replaced = FindPod(KeyOf(pod));
  const OwnerReference* owner_before = replaced != nullptr ? ControllerOf(*replaced) : nullptr;
  const bool is_new = owner_before == nullptr || owner_before->uid != owner->uid;
  auto found = workloads_.find(owner->uid);
  if (found == workloads_.end()) {
    WorkloadSpec spec{
        .kind = owner->kind == "ReplicaSet" ? WorkloadSpec::Kind::kReplicaSet : WorkloadSpec::Kind::kStatefulSet,
        .ns = pod.ref.ns,
        .name = owner->name,
        .labels = pod.labels,
        .replicas = IsActive(pod) ? 1 : 0,
        .behavior = behavior,
        .has_empty_dir = pod.has_empty_dir,
        .tolerates_cordon = pod.tolerates_cordon_since.has_value(),
        .resource_names = pod.resource_names};
    found = workloads_.find(EnsureWorkload(std::move(spec), owner->uid).uid);
    Devices::PodClaims claims = devices_.ClaimsOf(pod);
    found->second.own_claims = std::move(claims.own);
    found->second.shared_claims = std::move(claims.shared);
  } else if (is_new && IsActive(pod)) {
    ++found->second.spec.replicas;
  }
  if (owner->kind == "StatefulSet") found->second.identities.insert(pod.ref.name);
}

void Model::SyncWorkload(const std::string& uid, Actor actor, bool started) {
  auto found = workloads_.find(uid);
  if (found == workloads_.end() || IsTerminating(found->second.spec.ns)) return;
  const WorkloadRecord& record = found->second;
  if (record.spec.kind == WorkloadSpec::Kind::kStatefulSet) {
    for (const std::string& name : record.identities) {
      const Pod* pod = FindPod({record.spec.ns, name});
      if (pod != nullptr && IsFinished(*pod)) StartDeletion(actor, {record.spec.ns, name});
      if (pod == nullptr) CreateWorkloadPod(actor, record, name, started);
    }
    return;
  }
  while (record.active < record.spec.replicas) {
    CreateWorkloadPod(actor, record, NewPodName(record.spec.ns, record.spec.name), started);
  }
}

void Model::CreateWorkloadPod(Actor actor, const WorkloadRecord& record, const std::string& name, bool started) {
  const WorkloadSpec& spec = record.spec;
  Pod pod{.ref = {.ns = spec.ns, .name = name, .uid = NewUid()},
          .labels = spec.labels,
          .owners = {{.api_version = "apps/v1",
                      .kind = KindName(spec.kind),
                      .name = spec.name,
                      .uid = record.uid,
                      .controller = true}},
          .phase = PodPhase::kPending,
          .has_empty_dir = spec.has_empty_dir,
          .container_statuses = OneContainer(spec.name, false),
          .resource_names = spec.resource_names};
  if (spec.tolerates_cordon) pod.tolerates_cordon_since = absl::FromUnixSeconds(absl::ToUnixSeconds(now_));
  if (spec.has_empty_dir) pod.volumes = {{.name = "scratch", .kind = "emptyDir"}};
  pod.resource_claims = record.shared_claims;
  for (const DeviceRequest& request : record.own_claims) {
    const std::size_t number = pod.resource_claims.size() - record.shared_claims.size();
    const std::string suffix = number == 0 ? "" : "-" + std::to_string(number + 1);
    const ResourceClaim claim = devices_.AddClaim(
        *this, {.ns = spec.ns, .name = name + "-devices" + suffix, .request = request, .pod_uid = pod.ref.uid});
    pod.resource_claims.push_back(claim.name);
  }
  std::sort(pod.resource_claims.begin(), pod.resource_claims.end());
  if (started) pod.node_name = PickNode(pod);
  if (!pod.node_name.empty()) {
    devices_.Reserve(*this, pod, pod.node_name);
    pod.phase = PodPhase::kRunning;
    pod.container_statuses.front().ready = true;
  }
  PutPod(actor, std::move(pod), &spec.behavior);
}

void Model::CountLoad(WorkloadRecord& record, const Pod& pod, int sign) {
  if (IsActive(pod)) record.active += sign;
  const std::string& node_name = pod.node_name;
  if (node_name.empty()) return;
  int& count = record.pods_on_node[node_name];
  record.nodes_by_load.erase({count, node_name});
  count += sign;
  // A pod's node might no longer exist, or might not accept more pods.
  if (count > 0 && open_nodes_.count(node_name) > 0) record.nodes_by_load.emplace(count, node_name);
  if (count > 0) return;
  record.pods_on_node.erase(node_name);
  // A node that is not open now will be considered when it is opened.
  if (open_nodes_.contains(node_name)) record.free_from = std::min(record.free_from, node_name);
}

// Updates only the workloads with pods on the node, because a cluster may have as many workloads as nodes.
void Model::OpenNode(const std::string& name, bool open) {
  if (open) {
    open_nodes_.insert(name);
  } else {
    open_nodes_.erase(name);
  }
  for (const Key& key : pods_by_node_[name]) {
    const OwnerReference* owner = ControllerOf(*pods_.at(key).pod);
    const auto workload = owner != nullptr ? workloads_.find(owner->uid) : workloads_.end();
    if (workload == workloads_.end()) continue;
    WorkloadRecord& record = workload->second;
    const std::pair<int, std::string> load(record.pods_on_node.at(name), name);
    if (open) {
      record.nodes_by_load.insert(load);
    } else {
      record.nodes_by_load.erase(load);
    }
  }
}

// Returns the first open node without a pod of the workload; empty if there is no such node. Starts at `free_from`,
// because every earlier node is known to have a pod. Otherwise, each of N pods would check all N nodes.
std::string Model::FirstFreeNode(WorkloadRecord& record) {
  const std::string* opened = openings_.SmallestSince(record.openings_seen);
  if (opened != nullptr) record.free_from = std::min(record.free_from, *opened);
  record.openings_seen = openings_.count();
  if (record.nodes_by_load.size() == open_nodes_.size()) return "";
  for (auto node = open_nodes_.lower_bound(record.free_from); node != open_nodes_.end(); ++node) {
    if (record.pods_on_node.contains(*node) || !HasLabels(nodes_.at(*node)->labels, record.spec.node_selector))
      continue;
    return record.free_from = *node;
  }
  if (!open_nodes_.empty()) record.free_from = *open_nodes_.rbegin() + '\x01';
  return "";
}

std::string Model::PickNode(const Pod& pod) {
  // A pod with a message stays unbound until SetNodeFull, or a test that edits the pod, clears the message.
  if (!pod.unscheduled_message.empty()) return "";
  if (!pod.affinity_node_name.empty()) return nodes_.contains(pod.affinity_node_name) ? pod.affinity_node_name : "";
  if (!pod.resource_claims.empty()) return FirstNodeWithDevices(pod);
  if (pod.tolerates_cordon_since) {
    const auto cordoned =
        std::find_if(nodes_.begin(), nodes_.end(), [](const auto& node) { return node.second->unschedulable; });
    if (cordoned != nodes_.end()) return cordoned->first;
  }
  const OwnerReference* owner = ControllerOf(pod);
  auto workload = owner != nullptr ? workloads_.find(owner->uid) : workloads_.end();
  if (workload == workloads_.end()) return open_nodes_.empty() ? "" : *open_nodes_.begin();
  WorkloadRecord& record = workload->second;
  if (std::string free = FirstFreeNode(record); !free.empty()) return free;
  for (const auto& [count, name] : record.nodes_by_load) {
    if (HasLabels(nodes_.at(name)->labels, record.spec.node_selector)) return name;
  }
  return "";
}

std::string Model::FirstNodeWithDevices(const Pod& pod) {
  const OwnerReference* owner = ControllerOf(pod);
  const auto workload = owner != nullptr ? workloads_.find(owner->uid) : workloads_.end();
  const StringMap wanted = workload != workloads_.end() ? workload->second.spec.node_selector : StringMap();
  const std::set<std::string>& nodes = devices_.Candidates(pod, open_nodes_);
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const std::string& name) {
    return open_nodes_.contains(name) && HasLabels(nodes_.at(name)->labels, wanted) && devices_.Fits(*this, pod, name);
  });
  return found == nodes.end() ? "" : *found;
}

bool Model::SetNodeFull(const std::string& name, const std::string& message) {
  if (!nodes_.contains(name)) return false;
  if (message.empty()) {
    MakeRoom(name);
  } else {
    full_nodes_[name] = message;
  }
  return true;
}

void Model::MakeRoom(const std::string& name) {
  full_nodes_.erase(name);
  const std::set<Key> waiting = unbound_;
  for (const Key& key : waiting) {
    Pod pod = *pods_.at(key).pod;
    if (pod.affinity_node_name != name) continue;
    pod.unscheduled_message.clear();
    PutPod(Actor::kCluster, std::move(pod));
    QueueSchedule();
  }
}

std::string Model::RequestsOf(const Pod& pod) const {
  if (pod.resource_claims.empty() || !pod.affinity_node_name.empty() || !pod.unscheduled_message.empty()) return "";
  const OwnerReference* owner = ControllerOf(pod);
  const auto workload = owner != nullptr ? workloads_.find(owner->uid) : workloads_.end();
  // Pods of this workload may fit only on some nodes.
  if (workload != workloads_.end() && !workload->second.spec.node_selector.empty()) return "";
  return devices_.RequestsOf(pod);
}

void Model::QueueSchedule() {
  if (schedule_queued_) return;
  schedule_queued_ = true;
  Queue(options_.scheduler_delay, {.kind = EffectKind::kSchedule});
}

void Model::Schedule() {
  schedule_queued_ = false;
  const std::vector<Key> waiting(unbound_.begin(), unbound_.end());
  // Requests that no node can satisfy now. They cannot be satisfied later in this loop, because scheduled pods only
  // take devices away.
  std::set<std::string> unfulfilled;
  for (const Key& key : waiting) {
    const std::string requests = RequestsOf(*pods_.at(key).pod);
    if (unfulfilled.contains(requests)) continue;
    Pod pod = *pods_.at(key).pod;
    pod.node_name = PickNode(pod);
    if (pod.node_name.empty()) {
      if (!requests.empty()) unfulfilled.insert(requests);
      continue;
    }
    pod.affinity_node_name.clear();
    devices_.Reserve(*this, pod, pod.node_name);
    PutPod(Actor::kCluster, std::move(pod));
  }
}

}  // namespace driverupgrade::testing::internal
