// Tests our images and manifests on a real node: behavior that only a kubelet and a container runtime can show.
#include "real_node.h"

#include <chrono>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"
#include "service_account.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"

namespace driverupgrade::e2e {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr seconds kPodLimit{90};
constexpr char kNs[] = "--namespace=gpu-operator";

// Overlay for the daemonset.yaml of driver_manager. It mounts a directory that replaces the node's file system and
// contains the tools with which the init container unloads the module. It also sets the command that loads the module.
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
            startupProbe: null
            readinessProbe: {exec: {command: [test, -e, /node/sys/module/nvidia/version]}, periodSeconds: 1}
            volumeMounts: [{name: node, mountPath: /node}]
          volumes: [{name: node, hostPath: {path: $ROOT}}]
)";

constexpr std::string_view kOfedOverlay = R"(
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [daemonset.yaml]
patches:
- patch: |
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: mofed, namespace: nvidia-network-operator}
    spec:
      template:
        spec:
          terminationGracePeriodSeconds: 5
          containers:
          - name: mofed-container
            image: registry.example.com/nvidia-driver:1
            command: [/bin/mofed]
            startupProbe: null
            readinessProbe: null
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
      drain: {enable: true, timeoutSeconds: 60, deleteEmptyDir: true}
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

// Two pods: one with emptyDir data, which the drain, but not pod deletion, is allowed to evict; and one that does not
// use a GPU.
constexpr std::string_view kNotebook = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: notebook, namespace: default}
spec:
  selector: {matchLabels: {app: notebook}}
  template:
    metadata: {labels: {app: notebook}}
    spec:
      containers:
      - name: notebook
        image: localhost/played:1
        resources: {limits: {nvidia.com/gpu: 1}}
        volumeMounts: [{name: scratch, mountPath: /scratch}]
      volumes: [{name: scratch, emptyDir: {}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "localhost/played:1"}]
)";

// gpu_operator as deployed by deploy/gpu, the driver, its validator and a workload, all on the real node.
class GpuNode {
 public:
  explicit GpuNode(ControlPlane& control_plane) : control_plane_(control_plane), node_(control_plane) {
    control_plane.InstallPolicies();
    admin().Must({"create", "namespace", "gpu-operator"});
    admin().Must({"apply", "-k", (RbacFolder().parent_path() / "gpu/operator").string()});
    ApplyExample("driver_manager", kDriverOverlay);
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
  void PatchPolicy(const std::string& upgrade_policy) const {
    admin().Must({"patch", "clusterpolicy", "cluster-policy", "--type=merge",
                  R"(--patch={"spec": {"driver": {"upgradePolicy": )" + upgrade_policy + "}}}"});
  }
  // Returns whether the driver with this version reports in time that it is loaded.
  bool AwaitLoaded(const std::string& version) const {
    return Eventually(kPodLimit,
                      [&] { return ReadFile(node_.root() / "sys/module/nvidia/version") == version + "\n"; });
  }
  bool AwaitOfedDone() const {
    return Eventually(kPodLimit, [&] {
      return admin().Must({"get", "node", RealNode::kName,
                           R"(--output=jsonpath={.metadata.labels.nvidia\.com/ofed-driver-upgrade-state})"}) ==
             "upgrade-done";
    });
  }
  // Returns whether exactly `count` pods with this label become Ready in time.
  bool AwaitReady(const std::string& ns, const std::string& app, int count) const {
    return Eventually(kPodLimit, [&] { return CountReady(ns, app) == count; });
  }
  // Applies the permissions and the DaemonSet of an example.
  void ApplyExample(const std::string& name, std::string_view overlay) const {
    const fs::path example = ExampleFolder(name);
    const fs::path folder = control_plane_.folder() / (name + "-overlay");
    fs::create_directories(folder);
    fs::copy_file(example / "daemonset.yaml", folder / "daemonset.yaml");
    WriteFile(folder / "kustomization.yaml", Substitute(std::string(overlay), {{"$ROOT", node_.root().string()}}));
    admin().Must({"apply", "-f", (example / "rbac.yaml").string()});
    admin().Must({"apply", "-k", folder.string()});
  }
  bool AwaitState(const std::string& state) const {
    return Eventually(kPodLimit, [&] { return State() == state; });
  }
  // Returns whether, within the time limits, the node is upgraded, is schedulable, and runs its pods.
  bool AwaitDone() const { return AwaitState("upgrade-done") && !IsCordoned() && AwaitReady("default", "training", 1); }
  // Returns whether all pods are running in time, with any version of the driver.
  bool AwaitUp() const {
    return AwaitReady("gpu-operator", "driver-upgrade", 2) &&
           AwaitReady("gpu-operator", "nvidia-driver-daemonset", 1) &&
           AwaitReady("gpu-operator", "nvidia-operator-validator", 1) && AwaitReady("default", "training", 1);
  }
  // Returns whether the node gets a Warning that contains `text` in time. Events arrive after the label.
  bool AwaitWarning(const std::string& text) const {
    return Eventually(kPodLimit, [&] {
      return admin()
                 .Must({"get", "events", "--namespace=default", "--field-selector=type=Warning,reason=GPUDriverUpgrade",
                        "--output=jsonpath={.items[*].message}"})
                 .find(text) != std::string::npos;
    });
  }
  std::set<std::string> Pods(const std::string& ns, const std::string& app) const {
    std::set<std::string> uids;
    const rapidjson::Document pods = admin().Get({"pods", "--namespace=" + ns, "--selector=app=" + app});
    for (const rapidjson::Value& pod : Items(pods, {"items"})) uids.insert(Text(pod, {"metadata", "uid"}));
    return uids;
  }
  // Returns the successive states that the operator has reported for the node. One patch can pass through several
  // states.
  std::vector<std::string> StatesTold() const {
    const std::string log = node_.Output("driver-upgrade", "operator");
    const std::regex move("msg=\"node moved\" driver=nvidia.com/gpu node=" + std::string(RealNode::kName) +
                          R"re( from=\S* to="?([a-z,-]+))re");
    std::vector<std::string> states;
    for (std::sregex_iterator found(log.begin(), log.end(), move), end; found != end; ++found) {
      std::istringstream path((*found)[1]);
      for (std::string state; std::getline(path, state, ',');) states.push_back(state);
    }
    return states;
  }
  // Returns how often the operator's containers were restarted.
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
  // Returns all data that can help to explain why an expected event did not occur.
  std::string Story() const {
    return "log of the node:\n" + node_.Log() + "\npods:\n" +
           admin().Run({"get", "pods", "--all-namespaces", "--output=wide"}).out + "\nevents:\n" +
           admin().Run({"get", "events", "--all-namespaces"}).out + "\noperator:\n" +
           node_.Output("driver-upgrade", "operator") + "\ndriver manager:\n" +
           node_.Output("nvidia-driver", "k8s-driver-manager") + "\n" + node_.Troubles();
  }

 private:
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

// Returns the /proc directories of the processes that run `program`.
std::vector<fs::path> ProcessesOf(const std::string& program) {
  std::vector<fs::path> processes;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    if (ReadFile(entry.path() / "comm") == program + "\n") processes.push_back(entry.path());
  }
  return processes;
}

using States = std::vector<std::string>;

States Since(const States& before, const States& now) {
  return {now.begin() + static_cast<std::ptrdiff_t>(before.size()), now.end()};
}

GpuNode& SharedNode() {
  static GpuNode node(ControlPlane::Shared());
  return node;
}

TEST_CASE("The operator from our image and manifests upgrades a driver whose init container is driver_manager",
          "[.][real_node]") {
  GpuNode& gpu = SharedNode();
  const bool is_up = gpu.AwaitUp();
  INFO(gpu.Story());
  REQUIRE(is_up);
  const std::set<std::string> operators = gpu.Pods("gpu-operator", "driver-upgrade");
  const States before = gpu.StatesTold();

  gpu.node().ForgetLog();
  gpu.ChangeDriver("2");
  CHECK(Eventually(kPodLimit, [&] { return gpu.IsCordoned(); }));
  const bool is_done = gpu.AwaitDone();
  INFO(gpu.Story());
  REQUIRE(is_done);
  CHECK(gpu.node().Log() ==
        "workload is asked to go\nworkload has gone\n"
        "rmmod nvidia\ndriver 2 is loaded\n"
        "workload works\n");
  CHECK(Since(before, gpu.StatesTold()) == States{"upgrade-required", "cordon-required", "wait-for-jobs-required",
                                                  "pod-deletion-required", "pod-restart-required",
                                                  "validation-required", "uncordon-required", "upgrade-done"});
  // The operator still runs on the upgraded node.
  CHECK(gpu.Pods("gpu-operator", "driver-upgrade") == operators);
  CHECK(gpu.OperatorRestarts() == 0);
}

TEST_CASE("The operator's process has only the privileges that its manifest grants", "[.][real_node]") {
  GpuNode& gpu = SharedNode();
  const bool is_up = gpu.AwaitUp();
  INFO(gpu.Story());
  REQUIRE(is_up);
  const std::vector<fs::path> processes = ProcessesOf("gpu_operator");
  REQUIRE(processes.size() == 2);
  for (const fs::path& process : processes) {
    const std::string status = ReadFile(process / "status");
    INFO(status);
    for (const char* line : {"\nUid:\t65532\t65532\t65532\t65532\n", "\nNoNewPrivs:\t1\n", "\nSeccomp:\t2\n",
                             "\nCapEff:\t0000000000000000\n", "\nCapBnd:\t0000000000000000\n"}) {
      CAPTURE(line);
      CHECK(status.find(line) != std::string::npos);
    }
    // A line is `major:minor root mount-point options`. The root must be mounted read-only.
    const std::string mounts = ReadFile(process / "mountinfo");
    CHECK(std::regex_search(mounts, std::regex(R"( / ro,)")));
  }
}

TEST_CASE("A missing image fails the node in time, and the next image repairs it", "[.][real_node]") {
  GpuNode& gpu = SharedNode();
  REQUIRE(gpu.AwaitUp());
  gpu.PatchPolicy(R"({"deadlines": {"podRestartSeconds": 20}})");
  gpu.ChangeDriver("missing");
  const bool has_failed = gpu.AwaitState("upgrade-failed");
  INFO(gpu.Story());
  REQUIRE(has_failed);
  CHECK(gpu.IsCordoned());
  CHECK(gpu.AwaitWarning("not ready after 20 s"));
  CHECK(gpu.node().Output("driver-upgrade", "operator").find("gate=DriverPodNotReady") != std::string::npos);

  gpu.PatchPolicy(R"({"deadlines": null})");
  gpu.node().ForgetLog();
  gpu.ChangeDriver("3");
  const bool is_done = gpu.AwaitDone();
  INFO(gpu.Story());
  REQUIRE(is_done);
  CHECK(gpu.node().Log() == "driver 3 is loaded\nworkload works\n");
}

TEST_CASE("A driver that keeps crashing fails the node, and the previous driver repairs it", "[.][real_node]") {
  GpuNode& gpu = SharedNode();
  REQUIRE(gpu.AwaitUp());
  gpu.ChangeDriver("broken");
  const bool has_failed = gpu.AwaitState("upgrade-failed");
  INFO(gpu.Story());
  REQUIRE(has_failed);
  CHECK(gpu.AwaitWarning("keeps restarting"));
  CHECK(gpu.node().Log().ends_with("driver broken crashes\n"));
  CHECK(gpu.IsCordoned());

  gpu.node().ForgetLog();
  gpu.ChangeDriver("1");
  const bool is_done = gpu.AwaitDone();
  INFO(gpu.Story());
  REQUIRE(is_done);
  CHECK(gpu.node().Log().ends_with("driver 1 is loaded\nworkload works\n"));
}

TEST_CASE("An operator whose token is no longer valid uses the new token from the kubelet", "[.][real_node]") {
  GpuNode& gpu = SharedNode();
  REQUIRE(gpu.AwaitUp());
  const int restarts = gpu.OperatorRestarts();
  ControlPlane::Shared().ReplaceServiceAccountKey();
  gpu.node().RestartKubelet();
  gpu.ChangeDriver("2");
  const bool is_done = gpu.AwaitLoaded("2") && gpu.AwaitDone();
  INFO(gpu.Story());
  REQUIRE(is_done);
  CHECK(gpu.node().Output("driver-upgrade", "operator").find("401") != std::string::npos);
  CHECK(gpu.OperatorRestarts() == restarts);
}

TEST_CASE("If pod deletion cannot evict a pod, the node is drained, except for the operator's pods", "[.][real_node]") {
  GpuNode& gpu = SharedNode();
  gpu.admin().Create(kNotebook);
  const bool is_up = gpu.AwaitUp() && gpu.AwaitReady("default", "notebook", 1) && gpu.AwaitReady("default", "web", 1);
  INFO(gpu.Story());
  REQUIRE(is_up);
  const std::set<std::string> operators = gpu.Pods("gpu-operator", "driver-upgrade");
  const States states = gpu.StatesTold();
  const std::set<std::string> web = gpu.Pods("default", "web");

  gpu.node().ForgetLog();
  gpu.ChangeDriver("3");
  const bool is_done = gpu.AwaitLoaded("3") && gpu.AwaitDone() && gpu.AwaitReady("default", "web", 1);
  INFO(gpu.Story());
  REQUIRE(is_done);
  CHECK(gpu.node().Log() ==
        "workload is asked to go\nworkload has gone\n"
        "rmmod nvidia\ndriver 3 is loaded\n"
        "workload works\n");
  CHECK(Since(states, gpu.StatesTold()) == States{"upgrade-required", "cordon-required", "wait-for-jobs-required",
                                                  "pod-deletion-required", "drain-required", "pod-restart-required",
                                                  "validation-required", "uncordon-required", "upgrade-done"});
  CHECK(gpu.AwaitWarning("Pod deletion failed but drain is enabled in spec. Will attempt a node drain"));
  CHECK(gpu.Pods("gpu-operator", "driver-upgrade") == operators);
  CHECK(gpu.Pods("default", "web") != web);
  gpu.admin().Must({"delete", "deployments", "notebook", "web", "--namespace=default"});
}

TEST_CASE("A driver with safe_load_init is loaded on a drained node, where ofed_operator's own pods stay",
          "[.][real_node]") {
  GpuNode& gpu = SharedNode();
  REQUIRE(gpu.AwaitUp());
  const Kubectl& admin = gpu.admin();
  const std::string ns = "nvidia-network-operator";
  admin.Must({"create", "namespace", ns});
  admin.Must({"apply", "-k", (RbacFolder().parent_path() / "ofed/operator").string()});
  admin.Must({"apply", "-f", (ExampleFolder("ofed") / "nic-cluster-policy.yaml").string()});
  gpu.ApplyExample("safe_load_init", kOfedOverlay);
  const bool is_up = gpu.AwaitReady(ns, "ofed-driver-upgrade", 2) && gpu.AwaitReady(ns, "mofed", 1) &&
                     gpu.AwaitOfedDone() && gpu.AwaitUp();
  INFO(gpu.Story());
  REQUIRE(is_up);
  const std::set<std::string> operators = gpu.Pods(ns, "ofed-driver-upgrade");

  gpu.node().ForgetLog();
  admin.Must(
      {"set", "image", "daemonset/mofed", "--namespace=" + ns, "mofed-container=registry.example.com/nvidia-driver:2"});
  const bool is_loaded =
      Eventually(kPodLimit, [&] { return gpu.node().Log().find("mofed 2 is loaded\n") != std::string::npos; });
  const bool is_done = is_loaded && gpu.AwaitOfedDone() && gpu.AwaitUp();
  INFO(gpu.Story() << gpu.node().Output("ofed-driver-upgrade", "operator"));
  REQUIRE(is_done);
  CHECK(gpu.node().Log() ==
        "workload is asked to go\nworkload has gone\n"
        "mofed 2 is loaded\n"
        "workload works\n");
  CHECK(gpu.node().Output("mofed", "safe-load-init").find("waiting until the node is evacuated") != std::string::npos);
  CHECK(gpu.Pods(ns, "ofed-driver-upgrade") == operators);
  CHECK_FALSE(gpu.IsCordoned());
}

TEST_CASE("A new version in the policy changes the DaemonSet of gpu_operator, and is loaded on each node",
          "[.][real_node]") {
  GpuNode& gpu = SharedNode();
  const Kubectl& admin = gpu.admin();
  // Another client has created the DaemonSet.
  admin.Must({"delete", "daemonset", "nvidia-driver-daemonset", kNs});
  admin.Must({"apply", "-k", (RbacFolder() / "driver-daemonsets").string()});
  admin.Must({"patch", "deployment", "driver-upgrade", kNs, "--type=json",
              R"(--patch=[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", )"
              R"("value": "--driver-daemonsets=Make"}])"});
  admin.Must({"rollout", "status", "deployment/driver-upgrade", kNs, "--timeout=90s"});
  const auto patch = [&](const std::string& driver) {
    admin.Must({"patch", "clusterpolicy", "cluster-policy", "--type=merge",
                R"(--patch={"spec": {"driver": )" + driver + "}}"});
  };
  const auto is_up_with = [&](const std::string& version) {
    return Eventually(kPodLimit, [&] { return ReadFile("/sys/module/nvidia/version") == version + "\n"; }) &&
           gpu.AwaitDone() && gpu.AwaitUp();
  };
  patch(Substitute(R"({"repository": "registry.example.com", "image": "nvidia-driver", "version": "1-ubuntu22.04",
    "env": [{"name": "NODE", "value": "/host$ROOT"}, {"name": "MODULES", "value": "/sys/module"}],
    "startupProbe": {"initialDelaySeconds": 0, "periodSeconds": 1}})",
                   {{"$ROOT", gpu.node().root().string()}}));
  const bool is_made = is_up_with("1");
  INFO(gpu.Story());
  REQUIRE(is_made);
  const States before = gpu.StatesTold();

  gpu.node().ForgetLog();
  patch(R"({"version": "2-ubuntu22.04"})");
  const bool is_done = is_up_with("2");
  INFO(gpu.Story());
  REQUIRE(is_done);
  CHECK(admin.Must({"get", "daemonset", "nvidia-driver-daemonset", kNs,
                    "--output=jsonpath={.spec.template.spec.containers[0].image}"}) ==
        "registry.example.com/nvidia-driver:2-ubuntu22.04");
  CHECK(gpu.node().Log() ==
        "workload is asked to go\nworkload has gone\n"
        "driver 1 is unloaded\ndriver 2 is loaded\n"
        "workload works\n");
  CHECK(Since(before, gpu.StatesTold()) == States{"upgrade-required", "cordon-required", "wait-for-jobs-required",
                                                  "pod-deletion-required", "pod-restart-required",
                                                  "validation-required", "uncordon-required", "upgrade-done"});
}

}  // namespace
}  // namespace driverupgrade::e2e
