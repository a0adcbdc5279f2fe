// A node with a loaded driver, operands, a job on its GPU, and a web server. A driver manager runs for this node.
#ifndef DRIVERUPGRADE_TESTS_EXAMPLES_OPERATORS_DRIVER_MANAGER_NODE_WORLD_H_
#define DRIVERUPGRADE_TESTS_EXAMPLES_OPERATORS_DRIVER_MANAGER_NODE_WORLD_H_

#include <algorithm>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "driver_manager/evacuation.h"
#include "driver_manager/uninstall.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "examples/operators/driver_manager/fake_host.h"
#include "support/gpu_resources.h"

namespace driver_manager {

inline constexpr char kNode[] = "gpu-7";
inline constexpr char kOperators[] = "gpu-operator";
inline constexpr char kPlugin[] = "nvidia.com/gpu.deploy.device-plugin";
inline constexpr char kValidator[] = "nvidia.com/gpu.deploy.operator-validator";
inline constexpr char kToolkit[] = "nvidia.com/gpu.deploy.container-toolkit";
inline constexpr char kPaused[] = "paused-for-driver-upgrade";

struct NodeWorld {
  std::shared_ptr<driverupgrade::testing::FakeClock> clock = std::make_shared<driverupgrade::testing::FakeClock>();
  std::shared_ptr<driverupgrade::testing::FakeCluster> cluster =
      std::make_shared<driverupgrade::testing::FakeCluster>(clock);
  std::shared_ptr<FakeHost> host = std::make_shared<FakeHost>();
  Settings settings{.node_name = kNode, .drain_timeout = absl::Minutes(10)};
  Lookups lookups = {};
  std::stop_source stop = {};
  std::vector<driverupgrade::LogRecord> log = {};

  NodeWorld() {
    cluster->AddNode(
        driverupgrade::testing::NodeBuilder(kNode).WithLabel(kPlugin, "true").WithLabel(kValidator, "true").Build());
    AddOperand("nvidia-device-plugin-daemonset", kPlugin);
    AddOperand("nvidia-operator-validator", kValidator);
    cluster->AddDaemonSet({.ns = kOperators, .name = "nvidia-driver-daemonset"});
    cluster->AddWorkload({.ns = "team-a", .name = "training", .resource_names = {"nvidia.com/gpu"}});
    cluster->AddWorkload({.ns = "team-a", .name = "web"});
    host->modules = {{"nvidia", 3}, {"nvidia_uvm", 1}, {"nvidia_modeset", 0}};
    // Refuses to unload a driver in use, as the kernel does.
    host->before_unload = [this](const std::string& module) {
      return module == "nvidia" && !PodsThatHoldTheDriver().empty()
                 ? absl::FailedPreconditionError("rmmod: ERROR: Module nvidia is in use")
                 : absl::OkStatus();
    };
  }

  void AddOperand(const std::string& app, const std::string& label) {
    cluster->AddDaemonSet({.ns = kOperators, .name = app, .node_selector = {{label, "true"}}});
  }

  absl::Status Uninstall() {
    const Parts parts{.cluster = cluster,
                      .host = host,
                      .clock = clock,
                      .log = [this](const driverupgrade::LogRecord& record) { log.push_back(record); },
                      .lookups = lookups};
    return UninstallDriver(settings, parts, stop.get_token());
  }

  driverupgrade::Node node() const { return *cluster->node(kNode); }
  std::string Label(const std::string& key) const {
    const auto labels = node().labels;
    const auto found = labels.find(key);
    return found == labels.end() ? "(absent)" : found->second;
  }

  // Returns the label `app` of each pod on the node, or the pod's name if the label is missing, e.g. "training" or
  // "nvidia-device-plugin-daemonset".
  std::set<std::string> AppsOnNode() const {
    std::set<std::string> apps;
    for (const driverupgrade::Pod& pod : cluster->pods_on(kNode)) apps.insert(AppOf(pod));
    return apps;
  }
  static std::string AppOf(const driverupgrade::Pod& pod) {
    const auto app = pod.labels.find("app");
    return app == pod.labels.end() ? pod.ref.name : app->second;
  }

  // Returns the same names as AppsOnNode, but only for pods that request the GPU, are operands, or have the label
  // opens-devices.
  std::set<std::string> PodsThatHoldTheDriver() const {
    std::set<std::string> holders;
    for (const driverupgrade::Pod& pod : cluster->pods_on(kNode)) {
      const bool operand = pod.ref.ns == kOperators && AppOf(pod) != "nvidia-driver-daemonset";
      if (examples::AsksForGpu(pod) || operand || pod.labels.contains("opens-devices")) holders.insert(AppOf(pod));
    }
    return holders;
  }

  bool HasDone(const std::string& what) const {
    return std::find(host->done.begin(), host->done.end(), what) != host->done.end();
  }
  bool Logged(const std::string& text) const {
    return std::any_of(log.begin(), log.end(), [&](const driverupgrade::LogRecord& record) {
      return driverupgrade::FormatLogfmt(record).find(text) != std::string::npos;
    });
  }
  std::int64_t Evictions() const { return cluster->CallCount(driverupgrade::Operation::kEvictPod); }
  std::int64_t Patches() const { return cluster->CallCount(driverupgrade::Operation::kPatchNode); }
};

// Returns true if the nodes are equal except for their versions.
inline bool IsAsBefore(driverupgrade::Node node, const driverupgrade::Node& before) {
  node.resource_version = before.resource_version;
  return node == before;
}

inline bool Says(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_TESTS_EXAMPLES_OPERATORS_DRIVER_MANAGER_NODE_WORLD_H_
