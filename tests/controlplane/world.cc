#include "world.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <regex>
#include <stdexcept>

#include "json.h"
#include "support.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::seconds kReadyLimit{90};

constexpr std::string_view kNamespaces = R"(
apiVersion: v1
kind: Namespace
metadata: {name: $DRIVER_NS}
---
apiVersion: v1
kind: Namespace
metadata: {name: $WORKLOAD_NS}
)";

constexpr std::string_view kNode = R"(
---
apiVersion: v1
kind: Node
metadata:
  name: $NODE
  labels: {kubernetes.io/hostname: $NODE, driverupgrade.test/world: $WORLD, nvidia.com/gpu.present: "true"}
status:
  allocatable: {cpu: "32", memory: 256Gi, pods: "110", nvidia.com/gpu: "$GPUS"}
  capacity: {cpu: "32", memory: 256Gi, pods: "110", nvidia.com/gpu: "$GPUS"}
)";

constexpr std::string_view kDriver = R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: driver, namespace: $DRIVER_NS, labels: {app: driver, app.kubernetes.io/component: nvidia-driver}}
spec:
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {app: driver}}
  template:
    metadata: {labels: {app: driver, app.kubernetes.io/component: nvidia-driver}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {driverupgrade.test/world: $WORLD}
      tolerations: [{operator: Exists}]
      containers: [{name: driver, image: "driver:1"}]
)";

constexpr std::string_view kDriverChange = R"({"spec": {"template": {
  "metadata": {"annotations": {$ANNOTATION}},
  "spec": {"containers": [{"name": "driver", "image": "$IMAGE"}]}}}})";

constexpr std::string_view kValidator = R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: validator, namespace: $WORKLOAD_NS}
spec:
  selector: {matchLabels: {app: validator}}
  template:
    metadata: {labels: {app: validator}, annotations: {$HOLD: "true"}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {driverupgrade.test/world: $WORLD}
      tolerations: [{operator: Exists}]
      containers: [{name: validator, image: "validator:1"}]
)";

constexpr std::string_view kBudget = R"(
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: $NAME, namespace: $WORKLOAD_NS}
spec:
  maxUnavailable: $UNAVAILABLE_MAX
  selector: {matchLabels: {app: $NAME}}
)";

constexpr std::string_view kWorkload = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: $NAME, namespace: $WORKLOAD_NS}
spec:
  replicas: $REPLICAS
  selector: {matchLabels: {app: $NAME}}
  template:
    metadata: {labels: {app: $NAME}, annotations: {sim/stop-delay: $STOP_DELAY}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {$NODE_SELECTOR}
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {matchLabels: {app: $NAME}}
      containers:
      - name: work
        image: work:1
        resources: {limits: {$LIMITS}}
)";

// Returns a unique name, because the namespaces of earlier worlds take a while to disappear.
std::string UniqueName(const std::string& name) {
  static int count = 0;
  return name + "-" + std::to_string(++count);
}

std::string NodeName(const std::string& world, int index) {
  char number[16];
  std::snprintf(number, sizeof(number), "%02d", index);
  return world + "-node-" + number;
}

bool IsReady(const rapidjson::Value& object) {
  for (const rapidjson::Value& condition : Items(object, {"status", "conditions"})) {
    if (Text(condition, {"type"}) == "Ready") return Text(condition, {"status"}) == "True";
  }
  return false;
}

}  // namespace

World::World(ControlPlane& control_plane, const std::string& name, int nodes, Gpus gpus)
    : control_plane_(control_plane),
      name_(UniqueName(name)),
      driver_ns_(name_ + "-driver"),
      workload_ns_(name_ + "-work"),
      selector_("driverupgrade.test/world=" + name_) {
  for (int i = 1; i <= nodes; ++i) nodes_.push_back(NodeName(name_, i));
  control_plane_.admin().Create(
      Substitute(std::string(kNamespaces), {{"$DRIVER_NS", driver_ns_}, {"$WORKLOAD_NS", workload_ns_}}));
  GiveRights();
  MakeNodes(gpus);
}

// Creates the namespaced roles of deploy/rbac in the driver's namespace.
void World::GiveRights() const {
  for (const char* file :
       {"base/driver-namespace.yaml", "base/operator-namespace.yaml", "requestor/maintenance-namespace.yaml"}) {
    const std::string manifest = ReadFile(RbacFolder() / file);
    control_plane_.admin().Create(
        std::regex_replace(manifest, std::regex("(metadata: .*namespace: )[a-z-]+"), "$1" + driver_ns_));
  }
}

World::~World() {
  // Deletes whole collections, because kubectl deletes objects one at a time and waits for each one. Owners are deleted
  // before the objects that they would otherwise create again. Pods are deleted before their nodes and without a grace
  // period, because no kubelet ends the pods of a deleted node.
  DeleteAll("/apis/apps/v1/namespaces/" + driver_ns_ + "/daemonsets?propagationPolicy=Orphan");
  DeleteAll("/apis/apps/v1/namespaces/" + workload_ns_ + "/daemonsets?propagationPolicy=Orphan");
  DeleteAll("/apis/apps/v1/namespaces/" + workload_ns_ + "/deployments?propagationPolicy=Orphan");
  DeleteAll("/apis/batch/v1/namespaces/" + workload_ns_ + "/jobs?propagationPolicy=Orphan");
  DeleteAll("/apis/apps/v1/namespaces/" + workload_ns_ + "/replicasets?propagationPolicy=Orphan");
  // The namespace takes a while to disappear. Until then, upgradectl would also find the driver that the namespace's
  // Lease reports.
  DeleteAll("/apis/coordination.k8s.io/v1/namespaces/" + driver_ns_ + "/leases");
  for (const std::string& ns : {driver_ns_, workload_ns_}) {
    DeleteAll("/api/v1/namespaces/" + ns + "/pods?gracePeriodSeconds=0");
    DeleteAll("/api/v1/namespaces/" + ns);
  }
  DeleteAll("/api/v1/nodes?labelSelector=" + selector_);
}

void World::DeleteAll(const std::string& path) const {
  const KubectlResult result = control_plane_.admin().Run({"delete", "--raw", path});
  if (result.exit_code != 0) std::cerr << "world " << name_ << " is not cleaned up: " << result.err;
}

void World::MakeNodes(Gpus gpus) const {
  std::string manifest;
  for (const std::string& node : nodes_) {
    manifest += Substitute(std::string(kNode),
                           {{"$NODE", node}, {"$WORLD", name_}, {"$GPUS", gpus == Gpus::kByPlugin ? "8" : "0"}});
  }
  control_plane_.admin().Create(manifest);
  const auto all_ready = [this] {
    const rapidjson::Document list = control_plane_.admin().Get({"nodes", "--selector=" + selector_});
    const auto items = Items(list, {"items"});
    return std::all_of(items.begin(), items.end(), [](const rapidjson::Value& node) {
      return IsReady(node) && Items(node, {"spec", "taints"}).Empty();
    });
  };
  if (!Eventually(kReadyLimit, all_ready)) {
    throw std::runtime_error("the nodes do not become Ready\n" + control_plane_.Troubles());
  }
}

std::string World::Fill(std::string_view manifest, const Workload& workload) const {
  const std::string node_selector =
      workload.node.empty() ? "driverupgrade.test/world: " + name_ : "kubernetes.io/hostname: " + workload.node;
  return Substitute(std::string(manifest), {{"$NODE_SELECTOR", node_selector},
                                            {"$LIMITS", workload.uses_gpu ? "nvidia.com/gpu: 1" : "cpu: 100m"},
                                            {"$NAME", workload.name},
                                            {"$STOP_DELAY", workload.stop_delay},
                                            {"$REPLICAS", std::to_string(workload.replicas)},
                                            {"$UNAVAILABLE_MAX", std::to_string(workload.unavailable_max.value_or(0))},
                                            {"$WORKLOAD_NS", workload_ns_}});
}

void World::WaitUntilReady(const std::string& what, const Kubectl::Arguments& get, const char* counter,
                           int wanted) const {
  const auto is_ready = [&] {
    const rapidjson::Document object = control_plane_.admin().Get(get);
    return Integer(object, {"status", "observedGeneration"}) == Integer(object, {"metadata", "generation"}) &&
           Integer(object, {"status", counter}) == wanted;
  };
  if (!Eventually(kReadyLimit, is_ready)) {
    throw std::runtime_error(what + " does not have " + std::to_string(wanted) + " Ready pods\n" +
                             control_plane_.Troubles());
  }
}

void World::DeployDriver() const {
  control_plane_.admin().Create(Substitute(std::string(kDriver), {{"$DRIVER_NS", driver_ns_}, {"$WORLD", name_}}));
  WaitUntilReady("the driver", {"daemonset", "driver", "--namespace=" + driver_ns_}, "numberReady",
                 static_cast<int>(nodes_.size()));
}

void World::ChangeDriver(const std::string& image, const std::string& start_delay) const {
  PatchDriver(image, R"("sim/start-delay": ")" + start_delay + R"(", ")" + std::string(kHold) + R"(": null)");
}

void World::ChangeDriverAndHold(const std::string& image) const {
  PatchDriver(image, R"(")" + std::string(kHold) + R"(": "true")");
}

void World::PatchDriver(const std::string& image, const std::string& annotation) const {
  const std::string patch = Substitute(std::string(kDriverChange), {{"$ANNOTATION", annotation}, {"$IMAGE", image}});
  control_plane_.admin().Must(
      {"patch", "daemonset", "driver", "--namespace=" + driver_ns_, "--type=strategic", "--patch=" + patch});
}

void World::DeployHeldValidator() const {
  control_plane_.admin().Create(
      Substitute(std::string(kValidator), {{"$WORKLOAD_NS", workload_ns_}, {"$WORLD", name_}, {"$HOLD", kHold}}));
  WaitUntilReady("the validator", {"daemonset", "validator", "--namespace=" + workload_ns_}, "currentNumberScheduled",
                 static_cast<int>(nodes_.size()));
}

void World::Release(const std::string& ns, const std::string& pod) const {
  control_plane_.admin().Must({"annotate", "pod", pod, "--namespace=" + ns, std::string(kHold) + "-"});
}

void World::Deploy(const Workload& workload) const {
  if (workload.unavailable_max.has_value()) control_plane_.admin().Create(Fill(kBudget, workload));
  control_plane_.admin().Create(Fill(kWorkload, workload));
  WaitUntilReady("deployment " + workload.name, {"deployment", workload.name, "--namespace=" + workload_ns_},
                 "readyReplicas", workload.replicas);
}

void World::Cordon(const std::string& node) const { control_plane_.admin().Must({"cordon", node}); }

void World::ReleaseValidator(const std::string& node) const {
  for (const std::string& pod : WorkloadPodsOn(node, "validator")) Release(workload_ns_, pod);
}

std::map<std::string, NodeVersion> World::Nodes() const {
  std::map<std::string, NodeVersion> nodes;
  const rapidjson::Document list = control_plane_.admin().Get({"nodes", "--selector=" + selector_});
  for (const rapidjson::Value& node : Items(list, {"items"})) {
    NodeVersion version = ToNodeVersion(node);
    nodes.emplace(version.name, version);
  }
  return nodes;
}

std::vector<DriverPod> World::DriverPods() const {
  std::vector<DriverPod> pods;
  const rapidjson::Document list = control_plane_.admin().Get({"pods", "--namespace=" + driver_ns_});
  for (const rapidjson::Value& pod : Items(list, {"items"})) {
    pods.push_back({Text(pod, {"metadata", "name"}), Text(pod, {"spec", "nodeName"}),
                    Text(pod, {"metadata", "labels", "controller-revision-hash"}), IsReady(pod),
                    TextMap(pod, {"metadata", "annotations"}).count(kHold) == 1});
  }
  return pods;
}

DriverPod World::DriverPodOn(const std::string& node) const {
  std::vector<DriverPod> pods = DriverPods();
  pods.erase(std::remove_if(pods.begin(), pods.end(), [&](const DriverPod& pod) { return pod.node != node; }),
             pods.end());
  if (pods.size() != 1) throw std::runtime_error(node + " has " + std::to_string(pods.size()) + " driver pods");
  return pods.front();
}

std::string World::NewestDriverRevision() const {
  std::int64_t newest = -1;
  std::string hash;
  const rapidjson::Document list = control_plane_.admin().Get({"controllerrevisions", "--namespace=" + driver_ns_});
  for (const rapidjson::Value& revision : Items(list, {"items"})) {
    if (Integer(revision, {"revision"}) <= newest) continue;
    newest = Integer(revision, {"revision"});
    hash = Text(revision, {"metadata", "labels", "controller-revision-hash"});
  }
  return hash;
}

std::set<std::string> World::WorkloadPods() const {
  std::set<std::string> names;
  const rapidjson::Document list = control_plane_.admin().Get({"pods", "--namespace=" + workload_ns_});
  for (const rapidjson::Value& pod : Items(list, {"items"})) names.insert(Text(pod, {"metadata", "name"}));
  return names;
}

std::set<std::string> World::WorkloadPodsOn(const std::string& node, const std::string& app) const {
  std::set<std::string> names;
  const rapidjson::Document list = control_plane_.admin().Get(
      {"pods", "--namespace=" + workload_ns_, "--selector=app=" + app, "--field-selector=spec.nodeName=" + node});
  for (const rapidjson::Value& pod : Items(list, {"items"})) names.insert(Text(pod, {"metadata", "name"}));
  return names;
}

std::vector<NodeEvent> World::UpgradeEvents() const {
  std::vector<NodeEvent> events;
  const rapidjson::Document list = control_plane_.admin().Get({"events", "--namespace=default"});
  for (const rapidjson::Value& item : Items(list, {"items"})) {
    NodeEvent event;
    event.node = Text(item, {"involvedObject", "name"});
    event.type = Text(item, {"type"});
    event.reason = Text(item, {"reason"});
    event.message = Text(item, {"message"});
    event.count = static_cast<int>(std::max<std::int64_t>(1, Integer(item, {"count"})));
    const bool is_ours = Text(item, {"involvedObject", "kind"}) == "Node" && event.reason == "GPUDriverUpgrade" &&
                         std::find(nodes_.begin(), nodes_.end(), event.node) != nodes_.end();
    if (is_ours) events.push_back(event);
  }
  return events;
}

}  // namespace driverupgrade::e2e
