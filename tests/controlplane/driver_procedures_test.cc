// Tests the procedures in docs/manual-procedures.md that change versions, images and limits in ClusterPolicies and
// NVIDIADrivers. gpu_operator creates the driver's DaemonSets from these objects.
#include <algorithm>
#include <chrono>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "json.h"
#include "manual.h"
#include "operator_program.h"
#include "rollout_expectations.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr char kPage[] = "manual-procedures.md";
constexpr std::chrono::seconds kRolloutLimit{90};

constexpr std::string_view kNvidiaDrivers = R"(
apiVersion: nvidia.com/v1alpha1
kind: NVIDIADriver
metadata: {name: a}
spec: {nodeSelector: {pool: a}, repository: registry.example.com, image: driver, version: "1"}
---
apiVersion: nvidia.com/v1alpha1
kind: NVIDIADriver
metadata: {name: b}
spec: {nodeSelector: {pool: b}, repository: registry.example.com, image: driver, version: "1"}
)";

constexpr std::string_view kOpenShiftPolicy = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: gpu-cluster-policy}
spec: {driver: {upgradePolicy: {maxParallelUpgrades: 1, maxUnavailable: 100%, drain: {enable: true}}}}
)";

constexpr std::string_view kMovingPolicy = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec:
  driver:
    repository: registry.example.com
    image: driver
    version: "1"
    upgradePolicy: {maxParallelUpgrades: 1, maxUnavailable: 100%}
---
apiVersion: nvidia.com/v1alpha1
kind: NVIDIADriver
metadata: {name: all}
spec:
  default: true
  repository: registry.example.com
  image: driver
  version: "2"
  upgradePolicy: {maxParallelUpgrades: 1, maxUnavailable: 1}
)";

// Nodes with GPUs, and the objects that gpu_operator needs to create drivers for them.
class MadeDrivers {
 public:
  MadeDrivers(const World& world, std::string_view policies) : world_(world) {
    world.control_plane().InstallPolicies();
    for (const std::string& node : world.nodes()) {
      admin().Must({"label", "node", node, "nvidia.com/gpu.present=true", "nvidia.com/gpu.deploy.driver=true",
                    "feature.node.kubernetes.io/system-os_release.ID=ubuntu",
                    "feature.node.kubernetes.io/system-os_release.VERSION_ID=22.04"});
    }
    admin().Create("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: nvidia-driver, namespace: " +
                   world.driver_ns() + "}\n");
    const std::string rights = ReadFile(RbacFolder() / "driver-daemonsets/daemonsets.yaml");
    admin().Create(
        std::regex_replace(rights, std::regex("(metadata: .*namespace: )[a-z-]+"), "$1" + world.driver_ns()));
    admin().Create(policies);
  }
  ~MadeDrivers() { admin().Run({"delete", "clusterpolicies,nvidiadrivers", "--all"}); }
  MadeDrivers(const MadeDrivers&) = delete;
  MadeDrivers& operator=(const MadeDrivers&) = delete;

  const Kubectl& admin() const { return world_.control_plane().admin(); }
  OperatorProgram Start() const {
    return {world_.control_plane(),
            "gpu_operator",
            world_.control_plane().operator_kubeconfig(),
            {"--cluster-policy", "--namespace", world_.driver_ns(), "--driver-daemonsets", "Make",
             "--validation-selector", ""}};
  }
  // Returns the images of one DaemonSet's driver pods.
  std::multiset<std::string> Images(const std::string& app) const {
    std::multiset<std::string> images;
    const rapidjson::Document pods =
        admin().Get({"pods", "--namespace=" + world_.driver_ns(), "--selector=app=" + app});
    for (const rapidjson::Value& pod : Items(pods, {"items"})) {
      images.insert(Text(Items(pod, {"spec", "containers"})[0], {"image"}));
    }
    return images;
  }
  // Returns the largest number of driver pods, of any DaemonSet, that are bound to one node.
  int MostOnOneNode() const {
    std::map<std::string, int> counts;
    int most = 0;
    const rapidjson::Document pods = admin().Get(
        {"pods", "--namespace=" + world_.driver_ns(), "--selector=app.kubernetes.io/component=nvidia-driver"});
    for (const rapidjson::Value& pod : Items(pods, {"items"})) {
      const std::string node = Text(pod, {"spec", "nodeName"});
      if (!node.empty()) most = std::max(most, ++counts[node]);
    }
    return most;
  }
  bool AllDone() const {
    for (const auto& [_, node] : world_.Nodes()) {
      if (node.state != "upgrade-done" || node.unschedulable) return false;
    }
    return true;
  }

 private:
  const World& world_;
};

std::multiset<std::string> Times(int count, const std::string& image) {
  std::multiset<std::string> images;
  for (int i = 0; i < count; ++i) images.insert(image);
  return images;
}

TEST_CASE("An NVIDIADriver's version and limits are patched, and its own nodes are upgraded within these limits",
          "[procedures]") {
  World world(ControlPlane::Shared(), "pools", 5);
  const MadeDrivers drivers(world, kNvidiaDrivers);
  const Manual manual(world, kPage);
  for (std::size_t i = 0; i < 5; ++i) {
    drivers.admin().Must({"label", "node", world.nodes()[i], i < 4 ? "pool=a" : "pool=b"});
  }
  const std::string image = "registry.example.com/driver:";
  const OperatorProgram program = drivers.Start();
  const bool made = Eventually(kRolloutLimit, [&] {
    return drivers.Images("nvidia-driver-a") == Times(4, image + "1-ubuntu22.04") &&
           drivers.Images("nvidia-driver-b") == Times(1, image + "1-ubuntu22.04") && drivers.AllDone();
  });
  INFO(program.Log());
  REQUIRE(made);

  manual.Run("driver-limits", {{"NAME", "a"}});
  Rollout rollout(world);
  manual.Run("driver-version", {{"NAME", "a"}, {"VERSION", "2"}});
  const bool upgraded = Eventually(kRolloutLimit, [&] {
    return drivers.Images("nvidia-driver-a") == Times(4, image + "2-ubuntu22.04") && drivers.AllDone();
  });
  CHECK(upgraded);
  const Peaks peaks = MeasurePeaks(rollout);
  CHECK(peaks.in_progress == 2);  // without the patch only one node is in progress
  CHECK(peaks.unschedulable <= 2);
  CHECK(drivers.Images("nvidia-driver-b") == Times(1, image + "1-ubuntu22.04"));
}

TEST_CASE("From a ClusterPolicy to an NVIDIADriver: the remaining driver pods are replaced one at a time",
          "[procedures]") {
  constexpr int kNodes = 3;
  World world(ControlPlane::Shared(), "move", kNodes);
  const MadeDrivers drivers(world, kMovingPolicy);
  const Manual manual(world, kPage);
  const OperatorProgram program = drivers.Start();
  const std::string image = "registry.example.com/driver:";
  const bool made = Eventually(kRolloutLimit, [&] {
    return drivers.Images("nvidia-driver-daemonset") == Times(kNodes, image + "1-ubuntu22.04") && drivers.AllDone();
  });
  INFO(program.Log());
  REQUIRE(made);

  Rollout rollout(world);
  manual.Run("move-to-drivers");
  int most_on_one_node = 0;
  const bool moved = Eventually(kRolloutLimit, [&] {
    most_on_one_node = std::max(most_on_one_node, drivers.MostOnOneNode());
    return drivers.Images("nvidia-driver-daemonset").empty() &&
           drivers.Images("nvidia-driver-all") == Times(kNodes, image + "2-ubuntu22.04") && drivers.AllDone();
  });
  CHECK(moved);
  CHECK(MeasurePeaks(rollout).in_progress == 1);
  CHECK(most_on_one_node == 1);  // the scheduler keeps the new pods waiting
}

TEST_CASE("On OpenShift a ClusterPolicy without an image gets repository, image and version in one patch",
          "[procedures]") {
  World world(ControlPlane::Shared(), "console", 1);
  const MadeDrivers drivers(world, kOpenShiftPolicy);
  const Manual manual(world, kPage);
  const OperatorProgram program = drivers.Start();
  for (const char* version : {"550.54.15-rhcos4.15", "570.86.10-rhcos4.15"}) {
    manual.Run("gpu-image",
               {{"NAME", "gpu-cluster-policy"}, {"REPOSITORY", "registry.example.com/nvidia"}, {"VERSION", version}});
    const std::string image = std::string("registry.example.com/nvidia/driver:") + version;
    const bool done = Eventually(kRolloutLimit, [&] {
      return drivers.Images("nvidia-driver-daemonset") == Times(1, image) && drivers.AllDone();
    });
    INFO(version << "\n" << program.Log());
    CHECK(done);
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
