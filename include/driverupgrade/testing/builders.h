/// Builds nodes, pods and whole fleets, each in one statement.
///
/// Defines NodeBuilder, PodBuilder, and AddFleet, which builds the cluster of the demo.
///
///     cluster.AddNode(NodeBuilder("n1").WithLabel("gpu", "true").Cordoned().Build());
///     cluster.AddPod(PodBuilder("team-a", "web-1").OnNode("n1").OwnedByReplicaSet("web").WithEmptyDir().Build());
///     Fleet fleet = AddFleet(cluster, {.node_count = 6});
///     cluster.SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
///
/// Builders are values; not thread-safe.
#ifndef DRIVERUPGRADE_TESTING_BUILDERS_H_
#define DRIVERUPGRADE_TESTING_BUILDERS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/testing/fake_cluster.h"

namespace driverupgrade::testing {

/// Builds a node; by default a ready, schedulable node without labels.
class NodeBuilder {
 public:
  explicit NodeBuilder(std::string name);
  NodeBuilder& WithUid(std::string uid);
  NodeBuilder& WithResourceVersion(std::string resource_version);
  NodeBuilder& WithLabel(const std::string& key, std::string value);
  NodeBuilder& WithAnnotation(const std::string& key, std::string value);
  NodeBuilder& Cordoned();
  NodeBuilder& NotReady();
  Node Build() const { return node_; }

 private:
  Node node_;
};

/// Builds a pod; by default a pod without an owner that is Running with one ready container.
class PodBuilder {
 public:
  PodBuilder(std::string ns, std::string name);
  PodBuilder& WithUid(std::string uid);
  PodBuilder& WithResourceVersion(std::string resource_version);
  PodBuilder& OnNode(std::string node_name);
  PodBuilder& WithLabel(const std::string& key, std::string value);
  /// Sets the controlling owner. An empty `uid` is filled in by FakeCluster::AddPod.
  PodBuilder& OwnedByReplicaSet(std::string name, std::string uid = {});
  PodBuilder& OwnedByStatefulSet(std::string name, std::string uid = {});
  /// Sets the controlling owner and the label controller-revision-hash.
  PodBuilder& OwnedByDaemonSet(std::string name, std::string hash, std::string uid = {});
  PodBuilder& OwnedByJob(std::string name, std::string uid = {});
  PodBuilder& OwnedBy(OwnerReference owner);
  PodBuilder& Pending();
  PodBuilder& Succeeded();
  PodBuilder& Failed();
  PodBuilder& NotReady();
  /// Makes the pod not ready, with a container that has been restarted `restart_count` times.
  PodBuilder& Crashing(int restart_count);
  /// Marks the pod as being deleted, with a grace period that ends at `deletion_timestamp`.
  PodBuilder& Terminating(absl::Time deletion_timestamp);
  PodBuilder& Mirror();
  PodBuilder& WithEmptyDir();
  /// Makes the pod tolerate the taint of cordoned nodes. `created`: metadata.creationTimestamp.
  PodBuilder& ToleratingCordon(absl::Time created);
  /// Marks all containers of a terminating pod as terminated.
  PodBuilder& WithEndedContainers();
  PodBuilder& WithHostPath(std::string path);
  PodBuilder& WithAnnotation(const std::string& key, std::string value);
  PodBuilder& WithFinalizer(std::string finalizer);
  /// Sets the time at which the condition Ready became True.
  PodBuilder& ReadySince(absl::Time time);
  /// Makes the pod not ready because the kubelet cannot start the container: `ErrImagePull`,
  /// `CreateContainerConfigError`, ...
  PodBuilder& FailingToStart(std::string reason, std::string image);
  /// Adds a resource that a container requests, such as `nvidia.com/gpu`.
  PodBuilder& WithResource(std::string resource_name);
  Pod Build() const { return pod_; }

 private:
  Pod pod_;
};

struct FleetOptions {
  int node_count = 6;
  /// Nodes are named `<prefix>1`, `<prefix>2`, ..., padded with zeros so that they sort by number.
  std::string node_prefix = "node-";
  /// Labels of every node. The driver runs on all nodes with these labels.
  StringMap node_labels = {};
  /// Namespace and name of the driver's DaemonSet; its pods have the label `app=<name>`.
  std::string ns = "driver-system";
  std::string daemon_set = "driver";
  std::string hash = "rev-1";
  PodBehavior driver_behavior = {.start_delay = absl::Seconds(20)};
  /// Namespace and name of the workload: a Deployment's ReplicaSet with one pod per node and the pod label
  /// `app=<workload>`. Its disruption budget has the same name. If the name is empty, there is no workload.
  std::string workload_ns = "team-a";
  std::string workload = "web";
  /// maxUnavailable of the budget.
  int workload_max_unavailable = 1;
  PodBehavior workload_behavior = {};
  /// Resources that each pod of the workload requests, such as `nvidia.com/gpu`: input for a PodFilter.
  std::vector<std::string> workload_resources = {};
};

/// The names of the objects that AddFleet created.
struct Fleet {
  std::vector<std::string> node_names = {};
  std::string ns = {};
  std::string daemon_set = {};
};

/// Adds nodes, a driver DaemonSet, and one workload pod per node with a disruption budget. All pods are Running and
/// ready.
Fleet AddFleet(FakeCluster& cluster, const FleetOptions& options = {});

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTING_BUILDERS_H_
