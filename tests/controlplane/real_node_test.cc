// Our images and our manifests on a real node: what only a kubelet and a container runtime can show.
#include "real_node.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"

namespace driverupgrade::e2e {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr seconds kPodLimit{90};
constexpr char kNs[] = "--namespace=gpu-operator";

// A daemonset.yaml of the examples on the played node: whose tools they are, and what unloads and loads.
constexpr std::string_view kDriverOverlay = R"(
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [daemonset.yaml]
patches:
- patch: |
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: nvidia-driver-daemonset, namespace: gpu-operator}
    spec:
      template:
        spec:
          terminationGracePeriodSeconds: 5
          initContainers:
          - name: k8s-driver-manager
            args: [--host-root=/node, uninstall_driver]
            env: [{name: PATH, value: "/node/bin:/usr/bin"}]
            volumeMounts: [{name: node, mountPath: /node}]
          containers:
          - name: nvidia-driver-ctr
            image: registry.example.com/nvidia-driver:1
            command: [/bin/driver]
            readinessProbe: {exec: {command: [test, -e, /node/sys/module/nvidia/version]}, periodSeconds: 1}
            volumeMounts: [{name: node, mountPath: /node}]
          volumes: [{name: node, hostPath: {path: $ROOT}}]
)";

constexpr std::string_view kOthers = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec:
  driver:
    upgradePolicy:
      autoUpgrade: true
      maxParallelUpgrades: 1
      maxUnavailable: 100%
      podDeletion: {timeoutSeconds: 60}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nvidia-operator-validator, namespace: gpu-operator}
spec:
  selector: {matchLabels: {app: nvidia-operator-validator}}
  template:
    metadata: {labels: {app: nvidia-operator-validator}}
    spec:
      nodeSelector: {nvidia.com/gpu.deploy.operator-validator: "true"}
      containers:
      - name: validator
        image: localhost/played:1
        readinessProbe: {exec: {command: [test, -e, /node/sys/module/nvidia/version]}, periodSeconds: 1}
        volumeMounts: [{name: node, mountPath: /node}]
      volumes: [{name: node, hostPath: {path: $ROOT}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: training, namespace: default}
spec:
  selector: {matchLabels: {app: training}}
  template:
    metadata: {labels: {app: training}}
    spec:
      terminationGracePeriodSeconds: 20
      containers:
      - name: training
        image: localhost/played:1
        command: [/bin/workload]
        resources: {limits: {nvidia.com/gpu: 1}}
        volumeMounts: [{name: node, mountPath: /node}]
      volumes: [{name: node, hostPath: {path: $ROOT}}]
)";

// gpu_operator as deploy/gpu has it, the driver, its validator and a workload, all on the real node.
class GpuNode {
 public:
  explicit GpuNode(ControlPlane& control_plane) : control_plane_(control_plane), node_(control_plane) {
    control_plane.InstallPolicies();
    admin().Must({"create", "namespace", "gpu-operator"});
    admin().Must({"apply", "-k", (RbacFolder().parent_path() / "gpu/operator").string()});
    DeployDriver();
    admin().Create(Substitute(std::string(kOthers), {{"$ROOT", node_.root().string()}}));
  }

  const Kubectl& admin() const { return control_plane_.admin(); }
  RealNode& node() { return node_; }

  void ChangeDriver(const std::string& version) const {
    admin().Must({"set", "image", "daemonset/nvidia-driver-daemonset", kNs,
                  "nvidia-driver-ctr=registry.example.com/nvidia-driver:" + version});
  }
  std::string State() const {
    return admin().Must({"get", "node", RealNode::kName,
                         R"(--output=jsonpath={.metadata.labels.nvidia\.com/gpu-driver-upgrade-state})"});
  }
  bool IsCordoned() const {
    return admin().Must({"get", "node", RealNode::kName, "--output=jsonpath={.spec.unschedulable}"}) == "true";
  }
  // Whether so many pods with that label are Ready in time.
  bool AwaitReady(const std::string& ns, const std::string& app, int count) const {
    return Eventually(kPodLimit, [&] { return CountReady(ns, app) == count; });
  }
  // How often the containers of the operator have been started anew.
  int OperatorRestarts() const {
    int restarts = 0;
    const rapidjson::Document pods = admin().Get({"pods", kNs, "--selector=app=driver-upgrade"});
    for (const rapidjson::Value& pod : Items(pods, {"items"})) {
      for (const rapidjson::Value& container : Items(pod, {"status", "containerStatuses"})) {
        restarts += static_cast<int>(Integer(container, {"restartCount"}));
      }
    }
    return restarts;
  }
  // All that may tell why something does not come.
  std::string Story() const {
    return "log of the node:\n" + node_.Log() + "\npods:\n" +
           admin().Run({"get", "pods", "--all-namespaces", "--output=wide"}).out + "\nevents:\n" +
           admin().Run({"get", "events", "--all-namespaces"}).out + "\noperator:\n" +
           node_.Output("driver-upgrade", "operator") + "\ndriver manager:\n" +
           node_.Output("nvidia-driver", "k8s-driver-manager") + "\n" + node_.Troubles();
  }

 private:
  void DeployDriver() const {
    const fs::path example = RbacFolder().parent_path().parent_path() / "examples/operators/driver_manager";
    const fs::path overlay = control_plane_.folder() / "driver-overlay";
    fs::create_directories(overlay);
    fs::copy_file(example / "daemonset.yaml", overlay / "daemonset.yaml");
    WriteFile(overlay / "kustomization.yaml",
              Substitute(std::string(kDriverOverlay), {{"$ROOT", node_.root().string()}}));
    admin().Must({"apply", "-f", (example / "rbac.yaml").string()});
    admin().Must({"apply", "-k", overlay.string()});
  }
  int CountReady(const std::string& ns, const std::string& app) const {
    int ready = 0;
    const rapidjson::Document pods = admin().Get({"pods", "--namespace=" + ns, "--selector=app=" + app});
    for (const rapidjson::Value& pod : Items(pods, {"items"})) {
      for (const rapidjson::Value& condition : Items(pod, {"status", "conditions"})) {
        ready += Text(condition, {"type"}) == "Ready" && Text(condition, {"status"}) == "True" &&
                 Text(pod, {"metadata", "deletionTimestamp"}).empty();
      }
    }
    return ready;
  }

  ControlPlane& control_plane_;
  RealNode node_;
};

GpuNode& SharedNode() {
  static GpuNode node(ControlPlane::Shared());
  return node;
}

TEST_CASE("The operator of our image and our manifests upgrades a driver whose init container is driver_manager",
          "[.][real_node]") {
  GpuNode& gpu = SharedNode();
  const bool is_up = gpu.AwaitReady("gpu-operator", "driver-upgrade", 2) &&
                     gpu.AwaitReady("gpu-operator", "nvidia-driver-daemonset", 1) &&
                     gpu.AwaitReady("gpu-operator", "nvidia-operator-validator", 1) &&
                     gpu.AwaitReady("default", "training", 1);
  INFO(gpu.Story());
  REQUIRE(is_up);

  gpu.node().ForgetLog();
  gpu.ChangeDriver("2");
  CHECK(Eventually(kPodLimit, [&] { return gpu.IsCordoned(); }));
  const bool is_done =
      Eventually(kPodLimit, [&] { return gpu.State() == "upgrade-done"; }) && gpu.AwaitReady("default", "training", 1);
  INFO(gpu.Story());
  REQUIRE(is_done);
  CHECK_FALSE(gpu.IsCordoned());
  CHECK(gpu.node().Log() ==
        "workload is asked to go\nworkload has gone\n"
        "rmmod nvidia\ndriver 2 is loaded\n"
        "workload works\n");
  CHECK(gpu.OperatorRestarts() == 0);
}

}  // namespace
}  // namespace driverupgrade::e2e
