// ofed_operator, alone and beside gpu_operator on the same nodes.
#include <algorithm>
#include <chrono>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "json.h"
#include "operator_program.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::seconds kRolloutLimit{90};
constexpr char kState[] = "nvidia.com/ofed-driver-upgrade-state";
constexpr char kSafeLoad[] = "nvidia.com/ofed-driver-upgrade.driver-wait-for-safe-load";
constexpr char kWait[] = "network.nvidia.com/operator.mofed.wait";

constexpr std::string_view kPolicy = R"(
apiVersion: mellanox.com/v1alpha1
kind: NicClusterPolicy
metadata: {name: nic-cluster-policy}
spec:
  ofedDriver:
    image: doca-driver
    upgradePolicy: {autoUpgrade: true, maxParallelUpgrades: 2, safeLoad: true, drain: {enable: true, timeoutSeconds: 60}}
)";

constexpr std::string_view kDriver = R"(
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: mofed
  namespace: $NS
  labels: {nvidia.com/ofed-driver: "", ds-owner: NicClusterPolicy, mofed-ds-format-version: "1"}
spec:
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {app: mofed}}
  template:
    metadata: {labels: {app: mofed, nvidia.com/ofed-driver: "", ds-owner: NicClusterPolicy}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {driverupgrade.test/world: $WORLD}
      tolerations: [{operator: Exists}]
      containers: [{name: mofed-container, image: "mofed:1"}]
)";

constexpr std::string_view kGpuPolicy = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec: {driver: {upgradePolicy: {autoUpgrade: true, maxParallelUpgrades: 2, maxUnavailable: 100%}}}
)";

// The OFED driver of one world, in the namespace of its workloads, which its operator gets the rights for.
class Ofed {
 public:
  explicit Ofed(const World& world) : world_(world), admin_(world.control_plane().admin()) {
    world.control_plane().InstallPolicies();
    for (const char* file : {"ofed/driver-namespace.yaml", "ofed/operator-namespace.yaml"}) {
      admin_.Create(std::regex_replace(ReadFile(RbacFolder() / file), std::regex("(metadata: .*namespace: )[a-z-]+"),
                                       "$1" + ns()));
    }
    admin_.Create(kPolicy);
    const std::string world_label = world.selector().substr(world.selector().find('=') + 1);
    admin_.Create(Substitute(std::string(kDriver), {{"$NS", ns()}, {"$WORLD", world_label}}));
    const auto is_ready = [&] {
      return Integer(admin_.Get({"daemonset", "mofed", "--namespace=" + ns()}), {"status", "numberReady"}) ==
             static_cast<int>(world.nodes().size());
    };
    if (!Eventually(kRolloutLimit, is_ready)) throw std::runtime_error("the OFED driver does not get ready");
  }
  ~Ofed() { admin_.Run({"delete", "nicclusterpolicies,clusterpolicies", "--all"}); }
  Ofed(const Ofed&) = delete;
  Ofed& operator=(const Ofed&) = delete;

  const std::string& ns() const { return world_.workload_ns(); }
  OperatorProgram Start() const {
    return {world_.control_plane(), "ofed_operator", world_.control_plane().ofed_kubeconfig(), {"--namespace", ns()}};
  }
  void Change(const std::string& image) const {
    admin_.Must({"patch", "daemonset", "mofed", "--namespace=" + ns(), "--type=strategic",
                 R"(--patch={"spec": {"template": {"spec": {"containers": [{"name": "mofed-container", "image": ")" +
                     image + R"("}]}}}})"});
  }
  // How many nodes have the label with that value.
  int Count(const std::string& label, const std::string& value) const {
    const auto nodes = world_.Nodes();
    return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [&](const auto& entry) {
      const auto found = entry.second.labels.find(label);
      return found != entry.second.labels.end() && found->second == value;
    }));
  }

 private:
  const World& world_;
  const Kubectl& admin_;
};

bool NobodyIsCordoned(const World& world) {
  const auto nodes = world.Nodes();
  return std::none_of(nodes.begin(), nodes.end(), [](const auto& entry) { return entry.second.unschedulable; });
}

TEST_CASE("ofed_operator upgrades, loads safely, and keeps the wait label and the init container's configuration",
          "[operators]") {
  constexpr int kNodes = 3;
  World world(ControlPlane::Shared(), "ofed", kNodes);
  Workload workload;
  workload.replicas = kNodes;
  world.Deploy(workload);
  const Ofed ofed(world);
  OperatorProgram program = ofed.Start();
  const Kubectl& admin = world.control_plane().admin();

  const bool labelled = Eventually(kStepLimit, [&] { return ofed.Count(kWait, "false") == kNodes; });
  INFO(program.Log());
  REQUIRE(labelled);
  CHECK(Eventually(kStepLimit, [&] {
    const KubectlResult map = admin.Run({"get", "configmap", "ofed-init-container-config", "--namespace=" + ofed.ns(),
                                         R"(-ojsonpath={.data.config\.json})"});
    return map.out == R"({"safeDriverLoad":{"enable":true,"annotation":")" + std::string(kSafeLoad) + R"("}})";
  }));

  ofed.Change("mofed:2");
  CHECK(Eventually(kStepLimit, [&] { return ofed.Count(kWait, "true") > 0; }));
  const bool upgraded = Eventually(
      kRolloutLimit, [&] { return ofed.Count(kState, "upgrade-done") == kNodes && NobodyIsCordoned(world); });
  INFO(program.Log());
  REQUIRE(upgraded);
  CHECK(Eventually(kStepLimit, [&] { return ofed.Count(kWait, "false") == kNodes; }));

  // The init container of a node that has booted waits until its node is evacuated.
  const std::string& node = world.nodes().front();
  const std::set<std::string> before = world.WorkloadPodsOn(node, "work");
  REQUIRE_FALSE(before.empty());
  admin.Must({"annotate", "node", node, std::string(kSafeLoad) + "=true"});
  CHECK(Eventually(kRolloutLimit, [&] {
    const NodeVersion now = world.Nodes().at(node);
    return now.annotations.count(kSafeLoad) == 0 && now.labels.at(kState) == "upgrade-done" && !now.unschedulable;
  }));
  for (const std::string& pod : world.WorkloadPods()) CHECK(before.count(pod) == 0);
  const std::string events = admin.Must({"get", "events", "--namespace=default"});
  CHECK(events.find("OFEDDriverUpgrade") != std::string::npos);
  INFO(program.Log());
  CHECK(program.IsRunning());
}

TEST_CASE("Both drivers are upgraded on the same nodes at the same time by two processes", "[operators]") {
  constexpr int kNodes = 4;
  World world(ControlPlane::Shared(), "both", kNodes);
  world.DeployDriver();
  Workload workload;
  workload.replicas = kNodes;
  world.Deploy(workload);
  const Ofed ofed(world);
  world.control_plane().admin().Create(kGpuPolicy);
  OperatorProgram ofed_program = ofed.Start();
  OperatorProgram gpu_program(world.control_plane(), "gpu_operator", world.control_plane().operator_kubeconfig(),
                              {"--cluster-policy", "--namespace", world.driver_ns(), "--driver-labels", "app=driver"});
  world.ChangeDriver("driver:2", "500ms");
  ofed.Change("mofed:2");
  const bool done = Eventually(kRolloutLimit, [&] {
    const auto nodes = world.Nodes();
    const bool gpu =
        std::all_of(nodes.begin(), nodes.end(), [](const auto& entry) { return entry.second.state == "upgrade-done"; });
    return gpu && ofed.Count(kState, "upgrade-done") == kNodes && NobodyIsCordoned(world);
  });
  INFO(gpu_program.Log() << ofed_program.Log());
  REQUIRE(done);
  for (const auto& [name, node] : world.Nodes()) {
    INFO(name);
    CHECK(node.annotations.count("driverupgrade/cordoned-by") == 0);
  }
  const std::string revision = world.NewestDriverRevision();
  for (const DriverPod& pod : world.DriverPods()) CHECK(pod.revision == revision);
}

}  // namespace
}  // namespace driverupgrade::e2e
