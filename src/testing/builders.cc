#include "driverupgrade/testing/builders.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace driverupgrade::testing {

namespace {

OwnerReference Controller(std::string api_version, std::string kind, std::string name, std::string uid) {
  return {.api_version = std::move(api_version),
          .kind = std::move(kind),
          .name = std::move(name),
          .uid = std::move(uid),
          .controller = true};
}

}  // namespace

NodeBuilder::NodeBuilder(std::string name) { node_.name = std::move(name); }

NodeBuilder& NodeBuilder::WithUid(std::string uid) {
  node_.uid = std::move(uid);
  return *this;
}

NodeBuilder& NodeBuilder::WithResourceVersion(std::string resource_version) {
  node_.resource_version = std::move(resource_version);
  return *this;
}

NodeBuilder& NodeBuilder::WithLabel(const std::string& key, std::string value) {
  node_.labels[key] = std::move(value);
  return *this;
}

NodeBuilder& NodeBuilder::WithAnnotation(const std::string& key, std::string value) {
  node_.annotations[key] = std::move(value);
  return *this;
}

NodeBuilder& NodeBuilder::Cordoned() {
  node_.unschedulable = true;
  return *this;
}

NodeBuilder& NodeBuilder::NotReady() {
  node_.ready = false;
  return *this;
}

PodBuilder::PodBuilder(std::string ns, std::string name) {
  pod_.ref.ns = std::move(ns);
  pod_.ref.name = std::move(name);
  pod_.phase = PodPhase::kRunning;
  pod_.container_statuses = {ContainerStatus{.name = "main", .ready = true}};
}

PodBuilder& PodBuilder::WithUid(std::string uid) {
  pod_.ref.uid = std::move(uid);
  return *this;
}

PodBuilder& PodBuilder::WithResourceVersion(std::string resource_version) {
  pod_.resource_version = std::move(resource_version);
  return *this;
}

PodBuilder& PodBuilder::OnNode(std::string node_name) {
  pod_.node_name = std::move(node_name);
  return *this;
}

PodBuilder& PodBuilder::WithLabel(const std::string& key, std::string value) {
  pod_.labels[key] = std::move(value);
  return *this;
}

PodBuilder& PodBuilder::OwnedByReplicaSet(std::string name, std::string uid) {
  return OwnedBy(Controller("apps/v1", "ReplicaSet", std::move(name), std::move(uid)));
}

PodBuilder& PodBuilder::OwnedByStatefulSet(std::string name, std::string uid) {
  return OwnedBy(Controller("apps/v1", "StatefulSet", std::move(name), std::move(uid)));
}

PodBuilder& PodBuilder::OwnedByDaemonSet(std::string name, std::string hash, std::string uid) {
  pod_.labels["controller-revision-hash"] = std::move(hash);
  return OwnedBy(Controller("apps/v1", "DaemonSet", std::move(name), std::move(uid)));
}

PodBuilder& PodBuilder::OwnedByJob(std::string name, std::string uid) {
  return OwnedBy(Controller("batch/v1", "Job", std::move(name), std::move(uid)));
}

PodBuilder& PodBuilder::OwnedBy(OwnerReference owner) {
  pod_.owners.push_back(std::move(owner));
  return *this;
}

PodBuilder& PodBuilder::Pending() {
  pod_.phase = PodPhase::kPending;
  return NotReady();
}

PodBuilder& PodBuilder::Succeeded() {
  pod_.phase = PodPhase::kSucceeded;
  return NotReady();
}

PodBuilder& PodBuilder::Failed() {
  pod_.phase = PodPhase::kFailed;
  return NotReady();
}

PodBuilder& PodBuilder::NotReady() {
  pod_.container_statuses.front().ready = false;
  return *this;
}

PodBuilder& PodBuilder::Crashing(int restart_count) {
  pod_.container_statuses.front().restart_count = restart_count;
  return NotReady();
}

PodBuilder& PodBuilder::Terminating(absl::Time deletion_timestamp) {
  pod_.deletion_timestamp = deletion_timestamp;
  return *this;
}

PodBuilder& PodBuilder::Mirror() {
  pod_.mirror = true;
  pod_.annotations["kubernetes.io/config.mirror"] = "mirror";
  return *this;
}

PodBuilder& PodBuilder::WithEmptyDir() {
  pod_.has_empty_dir = true;
  pod_.volumes.push_back({.name = "scratch", .kind = "emptyDir"});
  return *this;
}

PodBuilder& PodBuilder::ToleratingCordon(absl::Time created) {
  pod_.tolerates_cordon_since = created;
  return *this;
}

PodBuilder& PodBuilder::WithEndedContainers() {
  pod_.containers_ended = true;
  return NotReady();
}

PodBuilder& PodBuilder::WithHostPath(std::string path) {
  pod_.volumes.push_back({.name = "host", .kind = "hostPath", .host_path = std::move(path)});
  return *this;
}

PodBuilder& PodBuilder::WithAnnotation(const std::string& key, std::string value) {
  pod_.annotations[key] = std::move(value);
  return *this;
}

PodBuilder& PodBuilder::WithFinalizer(std::string finalizer) {
  pod_.finalizers.push_back(std::move(finalizer));
  return *this;
}

PodBuilder& PodBuilder::ReadySince(absl::Time time) {
  pod_.ready_since = time;
  return *this;
}

PodBuilder& PodBuilder::FailingToStart(std::string reason, std::string image) {
  ContainerStatus& container = pod_.container_statuses.front();
  container.image_pull_fails = reason == "ErrImagePull" || reason == "ImagePullBackOff";
  container.start_error = std::move(reason);
  container.image = std::move(image);
  return NotReady();
}

PodBuilder& PodBuilder::WithResource(std::string resource_name) {
  std::vector<std::string>& names = pod_.resource_names;
  auto place = std::lower_bound(names.begin(), names.end(), resource_name);
  if (place == names.end() || *place != resource_name) names.insert(place, std::move(resource_name));
  return *this;
}

Fleet AddFleet(FakeCluster& cluster, const FleetOptions& options) {
  Fleet fleet{.ns = options.ns, .daemon_set = options.daemon_set};
  const std::size_t digits = std::to_string(options.node_count).size();
  for (int i = 1; i <= options.node_count; ++i) {
    fleet.node_names.push_back(fmt::format("{}{:0{}}", options.node_prefix, i, digits));
    cluster.AddNode({.name = fleet.node_names.back(), .labels = options.node_labels});
  }
  cluster.AddDaemonSet({.ns = options.ns,
                        .name = options.daemon_set,
                        .labels = {{"app", options.daemon_set}},
                        .node_selector = options.node_labels,
                        .hash = options.hash,
                        .behavior = options.driver_behavior});
  if (options.workload.empty()) return fleet;
  cluster.AddWorkload({.ns = options.workload_ns,
                       .name = options.workload,
                       .node_selector = options.node_labels,
                       .replicas = options.node_count,
                       .behavior = options.workload_behavior,
                       .resource_names = options.workload_resources});
  cluster.AddDisruptionBudget({.ns = options.workload_ns,
                               .name = options.workload,
                               .selector = LabelSelector::FromMatchLabels({{"app", options.workload}}),
                               .max_unavailable = options.workload_max_unavailable});
  return fleet;
}

}  // namespace driverupgrade::testing
