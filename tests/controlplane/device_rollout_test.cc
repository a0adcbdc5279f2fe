// Tests upgrades that isolate devices instead of nodes (A-1 to A-18), with the real scheduler and controllers of
// Kubernetes 1.37 or newer.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit_log.h"
#include "control_plane.h"
#include "devices.h"
#include "json.h"
#include "operator_program.h"
#include "policies.h"
#include "support.h"
#include "support/catch.h"
#include "watch_witness.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kNodes = 20;
constexpr int kDevicesOnNode = 8;
constexpr std::chrono::seconds kDevicesLimit{240};

constexpr std::string_view kPolicy = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec:
  driver:
    upgradePolicy:
      autoUpgrade: true
      maxParallelUpgrades: 4
      maxUnavailable: 4
      isolation: {scope: Devices, settleSeconds: 3}
      drain: {enable: true, timeoutSeconds: 60}
)";

constexpr std::string_view kClassAndTemplate = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: $WORLD}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: $NS}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: $WORLD}}]}}}
)";

constexpr std::string_view kSlice = R"(
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: $NODE-gpu}
spec:
  driver: gpu.nvidia.com
  nodeName: $NODE
  pool: {name: $NODE, generation: 1, resourceSliceCount: 1}
  devices: [$DEVICES]
)";

// Each pod has its own claim, which is created from the ResourceClaimTemplate one-gpu.
constexpr std::string_view kHolders = R"(
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $NAME, namespace: $NS}
spec:
  replicas: $REPLICAS
  selector: {matchLabels: {app: $NAME}}
  template:
    metadata: {labels: {app: $NAME}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {$SELECTOR}
      resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
      containers: [{name: work, image: "work:1", resources: {claims: [{name: gpu}]}}]
)";

// The devices of a world, the permissions to isolate them, and pods that hold them.
class DeviceFleet {
 public:
  explicit DeviceFleet(const World& world) : world_(world), admin_(world.control_plane().admin()) {
    admin_.Create(ReadFile(RbacFolder() / "devices/cluster.yaml"));
    std::string devices;
    for (int i = 0; i < kDevicesOnNode; ++i) {
      devices += "{name: gpu-" + std::to_string(i) + ", attributes: {driverVersion: {version: 580.1.0}}}, ";
    }
    std::string manifest =
        Substitute(std::string(kClassAndTemplate), {{"$WORLD", ClassName()}, {"$NS", world.workload_ns()}});
    for (const std::string& node : world.nodes()) {
      manifest += Substitute(std::string(kSlice), {{"$NODE", node}, {"$DEVICES", devices}});
    }
    admin_.Create(manifest);
  }
  ~DeviceFleet() {
    for (const std::string& node : world_.nodes()) admin_.Run({"delete", "resourceslice", node + "-gpu"});
    admin_.Run({"delete", "deviceclass", ClassName()});
    admin_.Run({"delete", "-f", (RbacFolder() / "devices/cluster.yaml").string()});
  }
  DeviceFleet(const DeviceFleet&) = delete;
  DeviceFleet& operator=(const DeviceFleet&) = delete;

  // Does not wait for the pods, because there can be more pods than devices.
  void Deploy(const std::string& name, int replicas) const {
    std::string selector = world_.selector();
    selector.replace(selector.find('='), 1, ": ");
    admin_.Create(Substitute(std::string(kHolders), {{"$NAME", name},
                                                     {"$NS", world_.workload_ns()},
                                                     {"$REPLICAS", std::to_string(replicas)},
                                                     {"$SELECTOR", selector}}));
  }
  int Running(const std::string& name) const {
    const rapidjson::Document list = admin_.Get({"pods", "--namespace=" + world_.workload_ns(),
                                                 "--selector=app=" + name, "--field-selector=status.phase=Running"});
    return static_cast<int>(Items(list, {"items"}).Size());
  }
  int Rules() const {
    const rapidjson::Document list = admin_.Get({"devicetaintrules"});
    return static_cast<int>(Items(list, {"items"}).Size());
  }

 private:
  std::string ClassName() const { return world_.nodes().front(); }
  const World& world_;
  const Kubectl& admin_;
};

// A raw watch on the objects of one kind. Records every object version that it receives, one per line.
class RawWatch {
 public:
  RawWatch(const ControlPlane& control_plane, const std::string& what, const std::string& ns,
           const std::string& columns)
      : file_(control_plane.folder() / ("watch-" + what + ".txt")) {
    watch_ = control_plane.admin().Start(
        {"get", what, "--namespace=" + ns, "--watch", "--output-watch-events", "-o",
         "jsonpath={.type}|{.object.metadata.name}|{.object.metadata.resourceVersion}|" + columns + "{\"\\n\"}"},
        file_);
  }
  std::vector<std::vector<std::string>> Read() const {
    REQUIRE(watch_->IsRunning());
    std::vector<std::vector<std::string>> rows;
    std::istringstream text(ReadFile(file_));
    for (std::string line; std::getline(text, line);) {
      std::vector<std::string>& row = rows.emplace_back();
      std::istringstream cells(line + "|");
      for (std::string cell; std::getline(cells, cell, '|');) row.push_back(cell);
    }
    return rows;
  }

 private:
  std::filesystem::path file_;
  std::unique_ptr<Process> watch_;
};

// A time span, expressed as a range of resource versions. Versions of different objects can be compared, because all
// objects of the cluster share one version counter.
struct Held {
  std::int64_t from = 0;
  std::int64_t until = INT64_MAX;
};

// Returns, for each node, the time spans in which pods held devices of the node, according to the claims.
std::map<std::string, std::vector<Held>> HeldOn(const RawWatch& claims) {
  std::map<std::string, std::vector<Held>> held;
  std::map<std::string, std::pair<std::string, std::int64_t>> open;  // by claim: node, first version with the holder
  for (const std::vector<std::string>& row : claims.Read()) {
    REQUIRE(row.size() >= 5);
    const std::int64_t version = std::stoll(row[2]);
    const bool is_held = row[0] != "DELETED" && !row[3].empty() && !row[4].empty();
    const auto found = open.find(row[1]);
    if (is_held && found == open.end()) open[row[1]] = {row[3], version};
    if (is_held || found == open.end()) continue;
    held[found->second.first].push_back({.from = found->second.second, .until = version});
    open.erase(found);
  }
  for (const auto& [claim, since] : open) held[since.first].push_back({.from = since.second});
  return held;
}

TEST_CASE("A-1 to A-16: drivers are replaced on 20 schedulable nodes while GPU pods start at full speed", "[devices]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  if (!control_plane.Serves(kDeviceTaintRules)) return;  // devices_test.cc prints a warning in this case
  World world(control_plane, "devices", kNodes, World::Gpus::kByClaims);
  world.DeployDriver();
  const DeviceFleet devices(world);
  Workload cpu;
  cpu.name = "cpu";
  cpu.replicas = 2 * kNodes;
  cpu.uses_gpu = false;
  world.Deploy(cpu);
  const std::set<std::string> cpu_pods = world.WorkloadPods();
  // There are more pods than devices, so a pod takes each free device immediately.
  devices.Deploy("gpu", kNodes * kDevicesOnNode + 40);
  REQUIRE(Eventually(std::chrono::seconds(90), [&] { return devices.Running("gpu") == kNodes * kDevicesOnNode; }));
  const RawWatch claims(control_plane, "resourceclaims", world.workload_ns(),
                        "{.object.status.allocation.devices.results[0].pool}|{.object.status.reservedFor[*].name}");
  const RawWatch drivers(control_plane, "pods", world.driver_ns(),
                         "{.object.spec.nodeName}|{.object.metadata.deletionTimestamp}");
  WatchWitness nodes(control_plane, world.selector(), kNodes);
  AuditLog audit(control_plane.audit_log());
  const Policies policy(control_plane, kPolicy);
  world.ChangeDriver("driver:2");
  {
    OperatorProgram gpu_operator(control_plane, "gpu_operator", control_plane.operator_kubeconfig(),
                                 {"--cluster-policy", "--namespace", world.driver_ns(), "--driver-labels", "app=driver",
                                  "--validation-selector", "", "--device-drivers", "gpu.nvidia.com"});
    const bool done = Eventually(kDevicesLimit, [&] { return CountInState(world, "upgrade-done") == kNodes; });
    INFO(gpu_operator.Log());
    REQUIRE(done);
  }
  CHECK(devices.Rules() == 0);
  CHECK(Eventually(std::chrono::seconds(30), [&] { return devices.Running("gpu") == kNodes * kDevicesOnNode; }));

  // The rollout has not moved any CPU pod, and has not cordoned any node.
  std::set<std::string> left;
  for (const std::string& pod : world.WorkloadPods()) {
    if (pod.starts_with("cpu-")) left.insert(pod);
  }
  CHECK(left == cpu_pods);
  CHECK(nodes.Read().ComputePeaks({}).unschedulable == 0);
  int evictions = 0;
  for (const AuditedRequest& request : audit.Read()) {
    if (request.resource == "pods/eviction") CHECK(request.name.starts_with("gpu-"));
    if (request.resource == "pods" && request.verb == "delete") CHECK(request.ns == world.driver_ns());
    evictions += request.resource == "pods/eviction" && request.code == 201;
  }
  std::cout << "devices: " << evictions << " evictions\n";

  // No driver pod was deleted while a pod held a device of the same node.
  const std::map<std::string, std::vector<Held>> held = HeldOn(claims);
  std::set<std::string> deleted;
  for (const std::vector<std::string>& row : drivers.Read()) {
    REQUIRE(row.size() >= 5);
    if (row[4].empty() || !deleted.insert(row[1]).second) continue;
    const std::int64_t at = std::stoll(row[2]);
    const auto on_node = held.find(row[3]);
    REQUIRE(on_node != held.end());
    for (const Held& period : on_node->second) {
      INFO(row[1] << " on " << row[3] << " at " << at << ", held from " << period.from << " until " << period.until);
      CHECK((at < period.from || period.until <= at));
    }
  }
  CHECK(deleted.size() == kNodes);
}

TEST_CASE("A-2: a node with a device plugin is cordoned by Auto, and the reason is reported", "[devices]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  World world(control_plane, "plugin", 2);
  world.DeployDriver();
  std::string policy_text(kPolicy);
  policy_text.replace(policy_text.find("scope: Devices"), 14, "scope: Auto");
  const Policies policy(control_plane, policy_text);
  control_plane.admin().Create(ReadFile(RbacFolder() / "devices/cluster.yaml"));
  WatchWitness nodes(control_plane, world.selector(), 2);
  world.ChangeDriver("driver:2");
  bool done = false;
  {
    OperatorProgram gpu_operator(control_plane, "gpu_operator", control_plane.operator_kubeconfig(),
                                 {"--cluster-policy", "--namespace", world.driver_ns(), "--driver-labels", "app=driver",
                                  "--validation-selector", "", "--device-drivers", "gpu.nvidia.com"});
    done = Eventually(kRolloutLimit, [&] { return CountInState(world, "upgrade-done") == 2; });
    INFO(gpu_operator.Log());
    CHECK(done);
    CHECK(gpu_operator.Log().find("DevicesNotIsolated") != std::string::npos);
  }
  control_plane.admin().Run({"delete", "-f", (RbacFolder() / "devices/cluster.yaml").string()});
  for (const std::string& node : world.nodes()) {
    const std::vector<NodeVersion> versions = nodes.Read().VersionsOf(node);
    CHECK(std::any_of(versions.begin(), versions.end(), [](const auto& version) { return version.unschedulable; }));
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
