// Tests docs/manual-procedures.md: each marked command runs exactly as printed, and must have the described effect. The
// test does the work that gpu_operator leaves to another operator: it reads the version and the policy from a resource.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "audit_log.h"
#include "gpu_operator.h"
#include "json.h"
#include "manual.h"
#include "rollout_expectations.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr char kPage[] = "manual-procedures.md";
constexpr char kClusterPolicy[] = "clusterpolicies.nvidia.com";
constexpr char kNicClusterPolicy[] = "nicclusterpolicies.mellanox.com";
constexpr char kSriovPolicy[] = "sriovnetworknodepolicies.sriovnetwork.openshift.io";
constexpr char kSafeLoad[] = "nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load";
constexpr char kRequested[] = "nvidia.com/gpu-driver-upgrade-requested";

constexpr char kPolicy[] =
    "{autoUpgrade: true, maxParallelUpgrades: 1, maxUnavailable: 100%, podDeletion: {timeoutSeconds: 60}, drain: "
    "{enable: "
    "true, timeoutSeconds: 60}}";

constexpr std::string_view kPolicies = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec: {driver: {version: "1", upgradePolicy: $POLICY}}
---
apiVersion: mellanox.com/v1alpha1
kind: NicClusterPolicy
metadata: {name: nic-cluster-policy}
spec: {ofedDriver: {version: "1"}}
)";

constexpr std::string_view kBarePod = R"(
apiVersion: v1
kind: Pod
metadata: {name: bare, namespace: $WORKLOAD_NS}
spec:
  nodeName: $NODE
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: "bare:1", resources: {limits: {nvidia.com/gpu: 1}}}]
)";

constexpr std::string_view kSriov = R"(
apiVersion: v1
kind: Namespace
metadata: {name: nvidia-network-operator}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: network-operator-sriov-network-operator, namespace: nvidia-network-operator}
spec:
  replicas: 1
  selector: {matchLabels: {app: sriov}}
  template:
    metadata: {labels: {app: sriov}}
    spec: {containers: [{name: operator, image: "sriov:1"}]}
---
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: default, namespace: nvidia-network-operator}
spec: {numVfs: 0}
)";

// Installs the operators' resources in the API server, once.
void InstallResources(ControlPlane& control_plane) {
  control_plane.InstallPolicies();
  const Kubectl& admin = control_plane.admin();
  if (admin.Run({"get", kSriovPolicy, "-A"}).exit_code == 0) return;
  admin.Must({"create", "--validate=false", "-f", DRIVERUPGRADE_SRIOV_CRD});
  INFO(control_plane.Troubles());
  REQUIRE(Eventually(kStepLimit, [&] { return admin.Run({"get", kSriovPolicy, "-A"}).exit_code == 0; }));
}

// The two resources, and the objects that an operator would create from them.
class Policies {
 public:
  explicit Policies(const World& world) : manual(world, kPage), world_(world) {
    InstallResources(world.control_plane());
    admin().Create(Substitute(std::string(kPolicies), {{"$POLICY", kPolicy}}));
  }
  ~Policies() {
    admin().Run({"delete", kClusterPolicy, "cluster-policy"});
    admin().Run({"delete", kNicClusterPolicy, "nic-cluster-policy"});
  }
  Policies(const Policies&) = delete;
  Policies& operator=(const Policies&) = delete;

  const Manual manual;

  const Kubectl& admin() const { return world_.control_plane().admin(); }
  rapidjson::Document Gpu() const { return admin().Get({kClusterPolicy, "cluster-policy"}); }
  rapidjson::Document Ofed() const { return admin().Get({kNicClusterPolicy, "nic-cluster-policy"}); }

  // Returns an operator with the resource's current policy.
  GpuOperator MakeOperator() const {
    const rapidjson::Document resource = Gpu();
    const rapidjson::Value* policy = Find(resource, {"spec", "driver", "upgradePolicy"});
    REQUIRE(policy != nullptr);
    return {world_, examples::ToText(*policy)};
  }

  // Sets the driver image of the DaemonSet to the version in the ClusterPolicy.
  void ApplyVersion() const { world_.ChangeDriver("driver:" + Text(Gpu(), {"spec", "driver", "version"})); }

 private:
  const World& world_;
};

void ExpectRun(const GpuOperator& gpu_operator, int exit_code) {
  const OperatorResult result = gpu_operator.Run();
  INFO(result.output());
  REQUIRE(result.exit_code == exit_code);
  CHECK(result.err.find("controllers.Upgrade") != std::string::npos);  // the string that the manuals search for
}

void ExpectUpgraded(const World& world, const std::string& node) {
  INFO(node);
  const DriverPod pod = world.DriverPodOn(node);
  CHECK(pod.is_ready);
  CHECK(pod.revision == world.NewestDriverRevision());
  CHECK_FALSE(world.Nodes().at(node).unschedulable);
}

std::string StateOf(const World& world, const std::string& node) { return world.Nodes().at(node).state; }

void Label(const World& world, const std::string& node, const std::string& label) {
  world.control_plane().admin().Must({"label", "node", node, "--overwrite", label});
}

void DeployWork(const World& world) {
  Workload workload;
  workload.replicas = 2 * static_cast<int>(world.nodes().size());
  world.Deploy(workload);
}

int CountDeletions(AuditLog& audit) {
  const std::vector<AuditedRequest>& requests = audit.Read();
  return static_cast<int>(std::count_if(requests.begin(), requests.end(), [](const AuditedRequest& request) {
    return request.resource == "pods/eviction" || (request.verb == "delete" && request.resource == "pods");
  }));
}

// Starts an operator that runs until it is stopped. Returns when the operator is active.
std::unique_ptr<Process> StartService(const World& world, const GpuOperator& gpu_operator) {
  std::unique_ptr<Process> process = gpu_operator.Start("--leader-elect");
  REQUIRE(Eventually(kStepLimit, [&] {
    const Kubectl& admin = world.control_plane().admin();
    return admin.Run({"get", "lease", "nvidia-gpu-driver-upgrade", "--namespace=" + world.driver_ns()}).exit_code == 0;
  }));
  return process;
}

// Returns whether the only driver pod on `node` is held.
bool HasHeldPod(const World& world, const std::string& node) {
  std::vector<DriverPod> pods = world.DriverPods();
  pods.erase(std::remove_if(pods.begin(), pods.end(), [&](const DriverPod& pod) { return pod.node != node; }),
             pods.end());
  return pods.size() == 1 && pods.front().is_held;
}

void ReleaseHeldPods(const World& world) {
  for (const DriverPod& pod : world.DriverPods()) {
    if (pod.is_held && !pod.node.empty()) world.Release(world.driver_ns(), pod.name);
  }
}

TEST_CASE("A mark without a block is an error, and so are two marks with the same name", "[procedures]") {
  CHECK(MarkedBlocks("<!-- run: one -->\n```sh\na\nb\n```\ntext\n```sh\nc\n```\n") ==
        std::map<std::string, std::string>{{"one", "a\nb\n"}});
  CHECK_THROWS(MarkedBlocks("<!-- run: one -->\ntext\n```sh\na\n```\n"));
  CHECK_THROWS(MarkedBlocks("<!-- run: one -->\n```sh\na\n"));
  CHECK_THROWS(MarkedBlocks("<!-- run: one -->\n```sh\na\n```\n<!-- run: one -->\n```sh\nb\n```\n"));
}

void UpgradeByHand(const World& world, const Manual& manual, const std::string& node) {
  INFO(node);
  CHECK_FALSE(world.WorkloadPodsOn(node, "work").empty());
  const std::string old_pod = world.DriverPodOn(node).name;
  manual.Run("drain-node", {{"NODE", node}, {"SELECTOR", "app=work"}});
  CHECK(world.WorkloadPodsOn(node, "work").empty());
  CHECK(world.Nodes().at(node).unschedulable);

  const std::string pod = manual.Run("find-driver-pod", {{"NODE", node}});
  CHECK(pod == old_pod + "\n");
  manual.Run("delete-driver-pod", {{"POD", pod}});
  manual.Run("await-driver-pod", {{"NODE", node}});
  CHECK(world.DriverPodOn(node).name != old_pod);
  manual.Run("uncordon-node", {{"NODE", node}});
  ExpectUpgraded(world, node);
}

TEST_CASE("Nodes that were upgraded by hand one at a time are not touched again", "[procedures]") {
  World world(ControlPlane::Shared(), "hand", 2);
  const Policies policies(world);
  const Manual& manual = policies.manual;
  world.DeployDriver();
  DeployWork(world);
  Label(world, world.nodes()[0], std::string(kStateLabel) + "=upgrade-done");
  Label(world, world.nodes()[1], std::string(kStateLabel) + "=upgrade-required");

  manual.Run("on-delete");
  CHECK(Text(policies.Gpu(), {"spec", "daemonsets", "updateStrategy"}) == "OnDelete");
  manual.Run("gpu-version", {{"VERSION", "2"}});
  policies.ApplyVersion();
  UpgradeByHand(world, manual, world.nodes()[0]);
  CHECK(world.DriverPodOn(world.nodes()[1]).revision != world.NewestDriverRevision());
  // The pods that were evicted from the first node run on the second node, and none of them moves back.
  REQUIRE(Eventually(kStepLimit, [&] { return world.WorkloadPodsOn(world.nodes()[1], "work").size() == 4; }));
  UpgradeByHand(world, manual, world.nodes()[1]);
  manual.Run("forget-waiting-nodes");
  CHECK(StateOf(world, world.nodes()[0]) == "upgrade-done");
  CHECK(StateOf(world, world.nodes()[1]).empty());

  AuditLog audit(world.control_plane().audit_log());
  ExpectRun(policies.MakeOperator(), 0);
  CHECK(CountDeletions(audit) == 0);
  for (const std::string& node : world.nodes()) CHECK(StateOf(world, node) == "upgrade-done");
}

// The test treats this driver as the OFED driver, and sets the node label that the network operator would set.
TEST_CASE("All nodes are upgraded by hand at the same time, and each is uncordoned when its driver is ready",
          "[procedures]") {
  constexpr char kWait[] = "network.nvidia.com/operator.mofed.wait=";
  World world(ControlPlane::Shared(), "ofed", 3);
  const Manual manual(world, kPage);
  world.DeployDriver();
  DeployWork(world);
  const std::string broken = world.nodes()[2];
  for (const std::string& node : world.nodes())
    Label(world, node, kWait + std::string(node == broken ? "true" : "false"));
  world.ChangeDriver("driver:2");

  manual.Run("drain-all", {{"SELECTOR", "app=work"}});
  for (const auto& [name, node] : world.Nodes()) {
    INFO(name);
    CHECK(node.unschedulable == (name != broken));
    CHECK(world.WorkloadPodsOn(name, "work").empty() == (name != broken));
  }
  manual.Run("delete-all-driver-pods");
  for (const std::string& node : world.nodes()) manual.Run("await-driver-pod", {{"NODE", node}});
  Label(world, world.nodes()[1], kWait + std::string("true"));  // not ready yet
  manual.Run("uncordon-ready");
  ExpectUpgraded(world, world.nodes()[0]);
  CHECK(world.Nodes().at(world.nodes()[1]).unschedulable);
  Label(world, world.nodes()[1], kWait + std::string("false"));
  manual.Run("uncordon-ready");
  ExpectUpgraded(world, world.nodes()[1]);
}

// Starts a pod that has no controller. Under this policy, a drain must not delete it. Returns when the pod is running.
void StartBarePod(const World& world, const std::string& node) {
  const Kubectl& admin = world.control_plane().admin();
  admin.Create(Substitute(std::string(kBarePod), {{"$WORKLOAD_NS", world.workload_ns()}, {"$NODE", node}}));
  REQUIRE(Eventually(kStepLimit, [&] {
    return Text(admin.Get({"pod", "bare", "--namespace=" + world.workload_ns()}), {"status", "phase"}) == "Running";
  }));
}

// Deploys a driver, and lets the upgrade of the first node fail because of a pod without a controller. Then deletes this
// pod.
void FailNode(const World& world, const Policies& policies) {
  world.DeployDriver();
  StartBarePod(world, world.nodes()[0]);
  world.ChangeDriver("driver:2");
  ExpectRun(policies.MakeOperator(), 1);
  REQUIRE(StateOf(world, world.nodes()[0]) == "upgrade-failed");
  world.control_plane().admin().Must({"delete", "pod", "bare", "--namespace=" + world.workload_ns()});
}

TEST_CASE("A failed node that is relabeled starts again", "[procedures]") {
  World world(ControlPlane::Shared(), "retry", 1);
  const Policies policies(world);
  FailNode(world, policies);
  const std::string node = world.nodes()[0];
  policies.manual.Run("retry-node", {{"NODE", node}});
  CHECK(StateOf(world, node) == "upgrade-required");
  ExpectRun(policies.MakeOperator(), 0);
  CHECK(StateOf(world, node) == "upgrade-done");
  ExpectUpgraded(world, node);
}

TEST_CASE("A failed node that is drained by hand, and whose driver pod is deleted, recovers on its own",
          "[procedures]") {
  World world(ControlPlane::Shared(), "cure", 1);
  const Policies policies(world);
  FailNode(world, policies);
  const std::string node = world.nodes()[0];
  policies.manual.Run("drain-failed-node", {{"NODE", node}});
  policies.manual.Run("delete-driver-pod-of-node", {{"NODE", node}});
  policies.manual.Run("await-driver-pod", {{"NODE", node}});
  AuditLog audit(world.control_plane().audit_log());
  ExpectRun(policies.MakeOperator(), 0);
  CHECK(CountDeletions(audit) == 0);
  CHECK(StateOf(world, node) == "upgrade-done");
  ExpectUpgraded(world, node);
}

TEST_CASE("dep-F17: the crashing driver pod of a relabeled node restarts once, and the previous version repairs it",
          "[procedures]") {
  World world(ControlPlane::Shared(), "crash", 1);
  const Policies policies(world);
  world.DeployDriver();
  const std::string node = world.nodes()[0];
  const std::string patch =
      R"({"spec": {"template": {"metadata": {"annotations": {"sim/crash": "true"}}, "spec": {"containers": [)"
      R"({"name": "driver", "image": "driver:2"}]}}}})";
  policies.admin().Must(
      {"patch", "daemonset", "driver", "--namespace=" + world.driver_ns(), "--type=strategic", "--patch=" + patch});
  ExpectRun(policies.MakeOperator(), 1);
  CHECK(StateOf(world, node) == "upgrade-failed");
  const std::string crashing = world.DriverPodOn(node).name;

  policies.manual.Run("retry-node", {{"NODE", node}});
  AuditLog audit(world.control_plane().audit_log());
  ExpectRun(policies.MakeOperator(), 1);
  CHECK(StateOf(world, node) == "upgrade-failed");
  CHECK(world.DriverPodOn(node).name != crashing);
  CHECK(CountDeletions(audit) == 1);

  policies.manual.Run("undo-daemonset", {{"DAEMONSET", "driver"}});
  ExpectRun(policies.MakeOperator(), 0);
  CHECK(StateOf(world, node) == "upgrade-done");
  ExpectUpgraded(world, node);
}

// Returns the table that the manual's command must print if the nodes have these states.
std::string StateTable(const World& world, const std::vector<std::string>& states) {
  std::string table;
  for (std::size_t i = 0; i < states.size(); ++i) table += world.nodes()[i] + "\t" + states[i] + "\n";
  return table;
}

void ExpectEventsOf(const World& world, const std::string& events) {
  for (const std::string& node : world.nodes()) {
    for (const char* state : {"upgrade-required", "cordon-required", "pod-restart-required", "upgrade-done"}) {
      INFO(node << " " << state << "\n" << events);
      const std::size_t at = events.find("node/" + node);
      REQUIRE(at != std::string::npos);
      CHECK(events.find(StateMessage(state), at) != std::string::npos);
    }
  }
}

TEST_CASE("A version is set and reverted, a node is skipped and triggered, and the commands show it", "[procedures]") {
  World world(ControlPlane::Shared(), "watch", 3);
  const Policies policies(world);
  const Manual& manual = policies.manual;
  for (const std::string& node : world.nodes()) Label(world, node, "nvidia.com/gpu.present=true");
  world.DeployDriver();
  const std::string first = world.nodes()[0];
  const std::string last = world.nodes()[2];

  manual.Run("gpu-version", {{"VERSION", "2"}});
  policies.ApplyVersion();
  manual.Run("skip-node", {{"NODE", last}});
  ExpectRun(policies.MakeOperator(), 0);  // the operator has no further node to upgrade
  CHECK(manual.Run("monitor-states") == StateTable(world, {"upgrade-done", "upgrade-done", "upgrade-required"}));
  CHECK_FALSE(world.Nodes().at(last).unschedulable);

  manual.Run("join-again", {{"NODE", last}});
  ExpectRun(policies.MakeOperator(), 0);
  CHECK(manual.Run("monitor-states") == StateTable(world, {"upgrade-done", "upgrade-done", "upgrade-done"}));
  CHECK(manual.Run("monitor-node", {{"NODE", last}}).find("=upgrade-done") != std::string::npos);
  ExpectEventsOf(world, manual.Run("monitor-events"));
  for (const DriverPod& pod : world.DriverPods()) {
    CHECK(manual.Run("monitor-pods").find(pod.name) != std::string::npos);
    CHECK(pod.revision == world.NewestDriverRevision());
  }

  const std::string old_pod = world.DriverPodOn(first).name;
  manual.Run("trigger-node", {{"NODE", first}});
  AuditLog audit(world.control_plane().audit_log());
  ExpectRun(policies.MakeOperator(), 0);
  CHECK(CountDeletions(audit) == 1);
  CHECK(world.DriverPodOn(first).name != old_pod);
  CHECK(world.Nodes().at(first).annotations.count(kRequested) == 0);

  const std::string newer = world.NewestDriverRevision();
  manual.Run("gpu-version", {{"VERSION", "1"}});
  policies.ApplyVersion();
  ExpectRun(policies.MakeOperator(), 0);
  CHECK(world.NewestDriverRevision() != newer);
  for (const std::string& node : world.nodes()) ExpectUpgraded(world, node);
}

TEST_CASE(
    "dep-F9: a paused upgrade later resumes where it stopped, and while admission is paused, started nodes finish",
    "[procedures]") {
  World world(ControlPlane::Shared(), "pause", 2);
  const Policies policies(world);
  const Manual& manual = policies.manual;
  world.DeployDriver();
  const std::string first = world.nodes()[0];
  const std::string second = world.nodes()[1];
  world.ChangeDriverAndHold("driver:2");
  std::unique_ptr<Process> process = policies.MakeOperator().Start();
  REQUIRE(Eventually(kStepLimit, [&] { return HasHeldPod(world, first); }));
  process->Kill();

  manual.Run("pause");
  process = StartService(world, policies.MakeOperator());
  ReleaseHeldPods(world);
  REQUIRE(Eventually(kStepLimit, [&] { return world.DriverPodOn(first).is_ready; }));
  GiveTimeToAct(world);
  CHECK(process->IsRunning());
  CHECK(StateOf(world, first) == "pod-restart-required");
  CHECK(world.Nodes().at(first).unschedulable);
  CHECK(StateOf(world, second) == "upgrade-required");
  process->Kill();

  manual.Run("resume");
  manual.Run("pause-admission");
  process = policies.MakeOperator().Start();
  REQUIRE(AwaitState(world, first, "upgrade-done"));
  GiveTimeToAct(world);
  CHECK(process->IsRunning());
  CHECK(StateOf(world, second) == "upgrade-required");
  process->Kill();

  manual.Run("resume-admission");
  const GpuOperator gpu_operator = policies.MakeOperator();
  process = gpu_operator.Start();
  const OperatorResult result = gpu_operator.Finish(*process, [&] { ReleaseHeldPods(world); });
  INFO(result.output());
  CHECK(result.exit_code == 0);
  for (const std::string& node : world.nodes()) ExpectUpgraded(world, node);
}

TEST_CASE("H25: while upgrades are off, a driver that waits to be loaded must be released by hand", "[procedures]") {
  World world(ControlPlane::Shared(), "load", 2);
  const Policies policies(world);
  const Manual& manual = policies.manual;
  world.DeployDriver();
  DeployWork(world);
  const std::string node = world.nodes()[0];
  manual.Run("pause");
  world.ChangeDriverAndHold("driver:2");
  const std::unique_ptr<Process> process = StartService(world, policies.MakeOperator());
  manual.Run("delete-driver-pod-of-node", {{"NODE", node}});
  REQUIRE(Eventually(kStepLimit, [&] { return HasHeldPod(world, node); }));
  policies.admin().Must({"annotate", "node", node, std::string(kSafeLoad) + "=true"});  // imitates the init container
  GiveTimeToAct(world);
  CHECK(process->IsRunning());
  CHECK(manual.Run("find-waiting-nodes") == node + "\n");
  CHECK_FALSE(world.Nodes().at(node).unschedulable);

  manual.Run("drain-node", {{"NODE", node}, {"SELECTOR", "app=work"}});
  CHECK(world.WorkloadPodsOn(node, "work").empty());
  manual.Run("release-safe-load", {{"NODE", node}});
  CHECK(manual.Run("find-waiting-nodes").empty());
  ReleaseHeldPods(world);  // the init container exits
  manual.Run("await-driver-pod", {{"NODE", node}});
  manual.Run("uncordon-node", {{"NODE", node}});
  ExpectUpgraded(world, node);
}

TEST_CASE("The documented commands change the resources", "[procedures]") {
  World world(ControlPlane::Shared(), "resources", 1);
  const Policies policies(world);
  const Manual& manual = policies.manual;
  manual.Run("ofed-version", {{"VERSION", "24.01"}});
  manual.Run("ofed-policy", {{"SELECTOR", "app=work"}});
  CHECK(Text(policies.Ofed(), {"spec", "ofedDriver", "version"}) == "24.01");
  CHECK(Text(policies.Ofed(), {"spec", "ofedDriver", "upgradePolicy", "drain", "podSelector"}) == "app=work");
  manual.Run("ofed-pause");
  CHECK_FALSE(Flag(policies.Ofed(), {"spec", "ofedDriver", "upgradePolicy", "autoUpgrade"}));
  manual.Run("ofed-resume");
  CHECK(Flag(policies.Ofed(), {"spec", "ofedDriver", "upgradePolicy", "autoUpgrade"}));
  manual.Run("no-driver-toolkit");
  const rapidjson::Document gpu = policies.Gpu();
  const rapidjson::Value* toolkit = Find(gpu, {"spec", "operator", "use_ocp_driver_toolkit"});
  REQUIRE(toolkit != nullptr);
  CHECK(toolkit->IsFalse());
}

TEST_CASE("The SR-IOV operator is stopped, and a DaemonSet's pods are restarted", "[procedures]") {
  World world(ControlPlane::Shared(), "sriov", 1);
  const Policies policies(world);
  const Kubectl& admin = policies.admin();
  world.DeployDriver();
  admin.Create(kSriov);
  policies.manual.Run("sriov-scale-down");
  const std::string ns = "--namespace=nvidia-network-operator";
  CHECK(Integer(admin.Get({"deployment", "network-operator-sriov-network-operator", ns}), {"spec", "replicas"}) == 0);
  const rapidjson::Document left = admin.Get({kSriovPolicy, ns});
  CHECK(Items(left, {"items"}).Empty());
  admin.Must({"delete", "namespace", "nvidia-network-operator", "--wait=false"});

  const std::string before = world.NewestDriverRevision();
  policies.manual.Run("restart-daemonset", {{"DAEMONSET", "driver"}});
  CHECK(Eventually(kStepLimit, [&] { return world.NewestDriverRevision() != before; }));
}

}  // namespace
}  // namespace driverupgrade::e2e
