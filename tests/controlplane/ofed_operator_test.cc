// Tests ofed_operator, alone and alongside gpu_operator on the same nodes.
#include <algorithm>
#include <chrono>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "json.h"
#include "metrics_page.h"
#include "ofed_driver.h"
#include "operator_program.h"
#include "service_account.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "support/http_get.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::seconds kRolloutLimit{90};
constexpr char kSafeLoad[] = "nvidia.com/ofed-driver-upgrade.driver-wait-for-safe-load";
constexpr char kWait[] = "network.nvidia.com/operator.mofed.wait";

constexpr std::string_view kGpuPolicy = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec: {driver: {upgradePolicy: {autoUpgrade: true, maxParallelUpgrades: 2, maxUnavailable: 100%}}}
)";

TEST_CASE("ofed_operator upgrades and safely loads drivers, and keeps the wait label and the init container's config",
          "[operators]") {
  constexpr int kNodes = 3;
  World world(ControlPlane::Shared(), "ofed", kNodes);
  Workload workload;
  workload.replicas = kNodes;
  world.Deploy(workload);
  const OfedDriver ofed(world);
  OperatorProgram program = ofed.Start({"--metrics-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0"});
  const Kubectl& admin = world.control_plane().admin();

  const bool labelled = Eventually(kStepLimit, [&] { return ofed.Count(kWait, "false") == kNodes; });
  INFO(program.Log());
  REQUIRE(labelled);
  CHECK(Eventually(kStepLimit, [&] {
    const KubectlResult map = admin.Run({"get", "configmap", "ofed-init-container-config", "--namespace=" + ofed.ns(),
                                         R"(-ojsonpath={.data.config\.json})"});
    return map.out == R"({"safeDriverLoad":{"enable":true,"annotation":")" + std::string(kSafeLoad) + R"("}})";
  }));

  const auto state = [&] { return Text(admin.Get({"nicclusterpolicy", "nic-cluster-policy"}), {"status", "state"}); };
  const bool is_ready = Eventually(kStepLimit, [&] { return state() == "ready"; });
  CHECK(is_ready);
  ofed.ChangeAndHold("mofed:2");
  CHECK(Eventually(kStepLimit, [&] { return ofed.Count(kWait, "true") > 0; }));
  CHECK(Eventually(kStepLimit, [&] { return state() == "notReady"; }));
  const bool upgraded = Eventually(kRolloutLimit, [&] {
    ofed.ReleasePods();
    return ofed.Count(kOfedState, "upgrade-done") == kNodes && NobodyIsCordoned(world);
  });
  INFO(program.Log());
  REQUIRE(upgraded);
  CHECK(Eventually(kStepLimit, [&] { return ofed.Count(kWait, "false") == kNodes; }));

  // After a boot, the init container of the driver pod waits until the node is evacuated.
  const std::string& node = world.nodes().front();
  const std::set<std::string> before = world.WorkloadPodsOn(node, "work");
  REQUIRE_FALSE(before.empty());
  admin.Must({"annotate", "node", node, std::string(kSafeLoad) + "=true"});
  CHECK(Eventually(kRolloutLimit, [&] {
    const NodeVersion now = world.Nodes().at(node);
    return now.annotations.count(kSafeLoad) == 0 && now.labels.at(kOfedState) == "upgrade-done" && !now.unschedulable;
  }));
  for (const std::string& pod : world.WorkloadPods()) CHECK(before.count(pod) == 0);
  const std::string events = admin.Must({"get", "events", "--namespace=default"});
  CHECK(events.find("OFEDDriverUpgrade") != std::string::npos);
  CHECK(tests::HttpGet(program.Port(), "/healthz").find("200") != std::string::npos);
  CHECK(tests::HttpGet(program.Port(), "/readyz").find("200") != std::string::npos);
  const std::string page = CheckedMetrics(world.control_plane(), program.Port());
  CHECK(page.find("driverupgrade_nodes{driver=\"nvidia.com/ofed\"") != std::string::npos);
  INFO(program.Log());
  CHECK(program.IsRunning());
  const auto standing = [&] {
    return admin.Must({"get", "nicclusterpolicy", "nic-cluster-policy",
                       R"(-ojsonpath={.status.conditions[?(@.type=="DriversUpgraded")].reason})"});
  };
  CHECK(Eventually(kStepLimit, [&] { return standing() == "Done"; }));
  CHECK(state() == "ready");

  // A node does not wait for a driver that was removed from all policies.
  admin.Must({"label", "node", node, "feature.node.kubernetes.io/pci-15b3.present=true"});
  admin.Must(
      {"patch", "nicclusterpolicy", "nic-cluster-policy", "--type=merge", R"(--patch={"spec":{"ofedDriver":null}})"});
  admin.Must({"delete", "daemonsets", "--all", "--namespace=" + ofed.ns()});
  CHECK(Eventually(kStepLimit, [&] { return ofed.Count(kWait, "true") == 0 && ofed.Count(kWait, "false") == 1; }));
}

TEST_CASE("An invalid NicClusterPolicy gets a condition, and the last valid one stays in effect", "[operators]") {
  constexpr int kNodes = 2;
  World world(ControlPlane::Shared(), "ofed-bad", kNodes);
  const OfedDriver ofed(world);
  const Kubectl& admin = world.control_plane().admin();
  OperatorProgram program = ofed.Start();
  const auto condition = [&] {
    return admin.Must({"get", "nicclusterpolicy", "nic-cluster-policy",
                       "-ojsonpath={.status.conditions[0].status}: {.status.conditions[0].message}"});
  };
  CHECK(Eventually(kStepLimit, [&] { return condition() == "True: the upgrade policy is in effect"; }));
  admin.Must({"patch", "nicclusterpolicy", "nic-cluster-policy", "--type=merge",
              R"(--patch={"spec": {"ofedDriver": {"upgradePolicy": {"drain": {"podSelector": "a in ("}}}}})"});
  CHECK(Eventually(kStepLimit, [&] {
    return condition().starts_with("False: in spec.ofedDriver.upgradePolicy: drain.podSelector");
  }));
  CHECK(Eventually(kStepLimit, [&] {
    const std::string events =
        admin.Must({"get", "events", "--namespace=default",
                    "--field-selector=involvedObject.kind=NicClusterPolicy,reason=InvalidPolicy"});
    return events.find("drain.podSelector") != std::string::npos;
  }));
  ofed.Change("mofed:2");
  CHECK(Eventually(kRolloutLimit, [&] { return ofed.Count(kOfedState, "upgrade-done") == kNodes; }));
  INFO(program.Log());
  CHECK(program.IsRunning());
}

TEST_CASE("A NicClusterPolicy with another name gets a condition because it is not in effect", "[operators]") {
  World world(ControlPlane::Shared(), "ofed-name", 1);
  const OfedDriver ofed(world);
  const Kubectl& admin = world.control_plane().admin();
  admin.Create("apiVersion: mellanox.com/v1alpha1\nkind: NicClusterPolicy\nmetadata: {name: another}\nspec: {}\n");
  OperatorProgram program = ofed.Start();
  CHECK(Eventually(kStepLimit, [&] {
    const rapidjson::Document policy = admin.Get({"nicclusterpolicy", "another"});
    const auto conditions = Items(policy, {"status", "conditions"});
    return Text(policy, {"status", "state"}) == "ignore" && conditions.Size() > 0 &&
           Text(conditions[0], {"reason"}) == "NotInEffect";
  }));
  INFO(program.Log());
  CHECK(program.IsRunning());
}

TEST_CASE("The Deployments of both operators pass the validation of the API server", "[operators]") {
  World world(ControlPlane::Shared(), "deployments", 1);
  for (const char* example : {"gpu", "ofed"}) {
    INFO(example);
    const std::string manifest =
        std::regex_replace(ReadFile(RbacFolder().parent_path() / example / "operator/deployment.yaml"),
                           std::regex("\n  namespace: [a-z-]+"), "\n  namespace: " + world.driver_ns());
    const std::filesystem::path file = world.control_plane().folder() / (std::string(example) + ".yaml");
    WriteFile(file, manifest);
    world.control_plane().admin().Must({"create", "--dry-run=server", "--validate=strict", "-f", file.string()});
  }
}

TEST_CASE("Each NicNodePolicy has its own nodes, DaemonSet and policy", "[operators]") {
  constexpr int kNodes = 4;
  World world(ControlPlane::Shared(), "nnp", kNodes);
  const Kubectl& admin = world.control_plane().admin();
  for (int i = 0; i < kNodes; ++i) {
    admin.Must({"label", "node", world.nodes()[static_cast<std::size_t>(i)], i < 2 ? "rack=east" : "rack=west"});
  }
  const OfedDriver ofed(world, {"east", "west"});
  admin.Must({"patch", "nicnodepolicy", "rack-west", "--type=merge",
              R"(--patch={"spec": {"ofedDriver": {"upgradePolicy": {"autoUpgrade": false}}}})"});
  for (const char* daemon_set : {"mofed-east", "mofed-west"}) ofed.Change("mofed:2", daemon_set);
  OperatorProgram program = ofed.Start({"--ledger", "--metrics-address", "127.0.0.1:0"});
  const bool east = Eventually(kRolloutLimit, [&] { return ofed.Count(kOfedState, "upgrade-done") == 2; });
  INFO(program.Log());
  REQUIRE(east);
  for (const auto& [name, node] : world.Nodes()) {
    INFO(name);
    CHECK(node.labels.count(kOfedState) == (node.labels.at("rack") == "east" ? 1 : 0));
  }
  CHECK(Eventually(kStepLimit, [&] { return ofed.Count(kWait, "false") == kNodes; }));
  CHECK(program.Log().find("code=NothingIsEvicted") != std::string::npos);  // no drain, no pod deletion
  // A policy whose name is too long for a label gets an error message. Such a policy stops neither the program nor
  // other policies.
  const std::string name(60, 'n');
  admin.Create("apiVersion: mellanox.com/v1alpha1\nkind: NicNodePolicy\nmetadata: {name: " + name +
               "}\nspec: {nodeSelector: {rack: none}, ofedDriver: {upgradePolicy: {autoUpgrade: true}}}\n");
  CHECK(Eventually(kStepLimit, [&] {
    return admin.Must({"get", "nicnodepolicy", name, "-ojsonpath={.status.conditions[0].message}"})
               .find("metadata.name") != std::string::npos;
  }));
  admin.Must({"patch", "nicnodepolicy", "rack-west", "--type=merge",
              R"(--patch={"spec": {"ofedDriver": {"upgradePolicy": {"autoUpgrade": true}}}})"});
  CHECK(Eventually(kRolloutLimit, [&] { return ofed.Count(kOfedState, "upgrade-done") == kNodes; }));
  CHECK(NobodyIsCordoned(world));
  CheckedMetrics(world.control_plane(), program.Port());

  // A policy that would give a node a second driver gets a message, and has no effect.
  admin.Create(R"(
apiVersion: mellanox.com/v1alpha1
kind: NicNodePolicy
metadata: {name: everywhere}
spec: {ofedDriver: {upgradePolicy: {autoUpgrade: true}}}
)");
  CHECK(Eventually(kStepLimit, [&] {
    return admin.Must({"get", "nicnodepolicy", "everywhere", "-ojsonpath={.status.conditions[0].message}"})
               .find("could select the same nodes") != std::string::npos;
  }));
  CHECK(program.IsRunning());
}

// Applies deploy/rbac/requestor for ofed_operator and the namespace of the world's workloads.
void LetRequest(const OfedDriver& ofed) {
  std::string rights = ReadFile(RbacFolder() / "requestor/maintenance-namespace.yaml");
  rights = std::regex_replace(rights, std::regex("(metadata: .*namespace: )[a-z-]+"), "$1" + ofed.ns());
  rights = std::regex_replace(rights, std::regex("name: driver-upgrade, namespace: gpu-operator"),
                              "name: ofed-driver-upgrade, namespace: nvidia-network-operator");
  ofed.world().control_plane().admin().Create(rights);
}

TEST_CASE(
    "Deleting a NicNodePolicy releases nodes in progress and NodeMaintenances, even if another policy's name is too "
    "long",
    "[operators]") {
  ControlPlane::Shared().InstallNodeMaintenances();
  constexpr int kNodes = 2;
  World world(ControlPlane::Shared(), "nnp-gone", kNodes);
  const Kubectl& admin = world.control_plane().admin();
  for (const std::string& node : world.nodes()) admin.Must({"label", "node", node, "rack=east"});
  const OfedDriver ofed(world, {"east"});
  LetRequest(ofed);
  // The name is valid for an object. As part of a requestor ID, it is too long for a label.
  const std::string name(55, 'n');
  admin.Create("apiVersion: mellanox.com/v1alpha1\nkind: NicNodePolicy\nmetadata: {name: " + name +
               "}\nspec: {nodeSelector: {rack: none}, ofedDriver: {upgradePolicy: {autoUpgrade: true}}}\n");
  ofed.Change("mofed:2", "mofed-east");
  OperatorProgram program =
      ofed.Start({"--ledger", "--requestor-id", "nvidia.network-operator", "--requestor-namespace", ofed.ns()});
  const auto claims = [&] {
    return Items(admin.Get({kNodeMaintenances, "--namespace=" + ofed.ns()}), {"items"}).Size();
  };
  const bool claimed = Eventually(kStepLimit, [&] { return claims() > 0; });
  INFO(program.Log());
  REQUIRE(claimed);
  CHECK(program.IsRunning());

  admin.Must({"delete", "nicnodepolicy", "rack-east"});
  CHECK(Eventually(kStepLimit, [&] { return program.Log().find("nodes released") != std::string::npos; }));
  CHECK(claims() == 0);
  for (const auto& [node_name, node] : world.Nodes()) {
    INFO(node_name);
    CHECK(node.labels.count(kOfedState) == 0);
    CHECK_FALSE(node.unschedulable);
  }
  CHECK(program.IsRunning());
}

constexpr std::string_view kMadePolicy = R"(
apiVersion: mellanox.com/v1alpha1
kind: NicClusterPolicy
metadata: {name: nic-cluster-policy}
spec:
  ofedDriver:
    repository: registry.example.com
    image: doca-driver
    version: "1"
    upgradePolicy: {autoUpgrade: true, maxParallelUpgrades: 1, drain: {enable: true, timeoutSeconds: 60}}
)";

TEST_CASE("A new ofedDriver.version rolls out a DaemonSet that ofed_operator creates once permitted", "[operators]") {
  constexpr int kNodes = 2;
  World world(ControlPlane::Shared(), "ofed-made", kNodes);
  const Kubectl& admin = world.control_plane().admin();
  for (const std::string& node : world.nodes()) {
    admin.Must({"label", "--overwrite", "node", node, "feature.node.kubernetes.io/pci-15b3.present=true",
                "feature.node.kubernetes.io/system-os_release.ID=ubuntu",
                "feature.node.kubernetes.io/system-os_release.VERSION_ID=22.04", "kubernetes.io/arch=amd64"});
  }
  const OfedDriver ofed(world, std::vector<std::string>{});
  admin.Create("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: ofed-driver, namespace: " + ofed.ns() + "}\n");
  admin.Create(kMadePolicy);
  OperatorProgram program =
      ofed.Start({"--driver-daemonsets", "Make", "--init-container-image", "registry.example.com/driverupgrade:1"});
  const auto condition = [&] {
    return admin.Must({"get", "nicclusterpolicy", "nic-cluster-policy",
                       R"(-ojsonpath={.status.state} {.status.conditions[?(@.type=="UpgradePolicyValid")].reason})"});
  };
  const bool told = Eventually(kStepLimit, [&] { return condition() == "notReady DriverNotMade"; });
  INFO(program.Log());
  REQUIRE(told);
  const std::string rights = ReadFile(RbacFolder() / "ofed-driver-daemonsets/daemonsets.yaml");
  admin.Create(std::regex_replace(rights, std::regex("(metadata: .*namespace: )[a-z-]+"), "$1" + ofed.ns()));

  const auto images = [&] {
    std::multiset<std::string> found;
    const rapidjson::Document pods =
        admin.Get({"pods", "--namespace=" + ofed.ns(), "--selector=app=mofed-ubuntu22.04"});
    for (const rapidjson::Value& pod : Items(pods, {"items"})) {
      found.insert(Text(Items(pod, {"spec", "containers"})[0], {"image"}));
    }
    return found;
  };
  const auto all_have = [&](const std::string& version) {
    const std::string image = "registry.example.com/doca-driver:" + version + "-ubuntu22.04-amd64";
    return images() == std::multiset<std::string>{image, image} && ofed.Count(kOfedState, "upgrade-done") == kNodes;
  };
  const bool made = Eventually(kRolloutLimit, [&] { return all_have("1"); });
  INFO(program.Log());
  REQUIRE(made);
  CHECK(Eventually(kRolloutLimit, [&] { return condition() == "ready Accepted"; }));
  admin.Must({"patch", "nicclusterpolicy", "nic-cluster-policy", "--type=merge",
              R"(--patch={"spec": {"ofedDriver": {"version": "2"}}})"});
  CHECK(Eventually(kRolloutLimit, [&] { return all_have("2") && NobodyIsCordoned(world); }));
  CHECK(program.IsRunning());
}

TEST_CASE("Both drivers are upgraded on the same nodes at the same time by two processes", "[operators]") {
  constexpr int kNodes = 4;
  World world(ControlPlane::Shared(), "both", kNodes);
  world.DeployDriver();
  Workload workload;
  workload.replicas = kNodes;
  world.Deploy(workload);
  const OfedDriver ofed(world);
  world.control_plane().admin().Create(kGpuPolicy);
  OperatorProgram ofed_program = ofed.Start({"--metrics-address", "127.0.0.1:0"});
  OperatorProgram gpu_program(world.control_plane(), "gpu_operator", world.control_plane().operator_kubeconfig(),
                              {"--cluster-policy", "--namespace", world.driver_ns(), "--driver-labels", "app=driver",
                               "--validation-selector", "", "--metrics-address", "127.0.0.1:0"});
  world.ChangeDriver("driver:2", "500ms");
  ofed.Change("mofed:2");
  const bool done = Eventually(kRolloutLimit, [&] {
    const auto nodes = world.Nodes();
    const bool gpu =
        std::all_of(nodes.begin(), nodes.end(), [](const auto& entry) { return entry.second.state == "upgrade-done"; });
    return gpu && ofed.Count(kOfedState, "upgrade-done") == kNodes && NobodyIsCordoned(world);
  });
  INFO(gpu_program.Log() << ofed_program.Log());
  REQUIRE(done);
  for (const auto& [name, node] : world.Nodes()) {
    INFO(name);
    CHECK(node.annotations.count("driverupgrade/cordoned-by") == 0);
  }
  const std::string revision = world.NewestDriverRevision();
  for (const DriverPod& pod : world.DriverPods()) CHECK(pod.revision == revision);
  CheckedMetrics(world.control_plane(), gpu_program.Port());
  CheckedMetrics(world.control_plane(), ofed_program.Port());
}

}  // namespace
}  // namespace driverupgrade::e2e
