#include <string>
#include <utility>

#include "crash/crash_world.h"
#include "driverupgrade/testing/builders.h"
#include "fmt/format.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeCluster;
using testing::NodeBuilder;
using testing::PodBehavior;

constexpr char kDeviceDriver[] = "gpu.nvidia.com";
constexpr PodBehavior kQuick{.start_delay = absl::Seconds(2), .stop_delay = absl::Seconds(1)};

// Adds nodes n1, n2, ... with a driver on each node, and one web pod per node. At most one web pod may be unavailable.
void AddFleet(FakeCluster& cluster, int nodes, bool workload = true) {
  testing::AddFleet(cluster, {.node_count = nodes,
                              .node_prefix = "n",
                              .ns = "gpu",
                              .daemon_set = "driver",
                              .hash = "old",
                              .driver_behavior = kQuick,
                              .workload = workload ? "web" : "",
                              .workload_behavior = kQuick});
}

void SetNewTemplate(FakeCluster& cluster) { cluster.SetTemplate("gpu", "driver", "new"); }

UpgradePolicy Policy() {
  return {.auto_upgrade = true, .max_parallel = 1, .drain = DrainPolicy{.timeout = absl::Minutes(5)}};
}

Scenario InPlace() {
  return {.name = "in place, with a drain",
          .set_up =
              [](FakeCluster& cluster) {
                AddFleet(cluster, 3);
                cluster.Cordon("n3");
                SetNewTemplate(cluster);
              },
          .policy = Policy()};
}

Scenario EveryState() {
  Scenario scenario = InPlace();
  scenario.name = "a write for each state";
  scenario.policy.pacing = Pacing::kEveryState;
  return scenario;
}

Scenario Jobs() {
  UpgradePolicy policy = Policy();
  policy.wait_for_completion =
      WaitForCompletionPolicy{.pod_selector = Selector("app=job"), .timeout = absl::Minutes(10)};
  return {.name = "a job is waited for",
          .set_up =
              [](FakeCluster& cluster) {
                AddFleet(cluster, 2);
                cluster.AddPod(
                    testing::PodBuilder("team-b", "job").OnNode("n1").WithLabel("app", "job").OwnedByJob("job").Build(),
                    {.run_time = absl::Seconds(12)});
                SetNewTemplate(cluster);
              },
          .policy = std::move(policy)};
}

Scenario Validation() {
  return {.name = "validation",
          .set_up =
              [](FakeCluster& cluster) {
                AddFleet(cluster, 2);
                cluster.AddDaemonSet({.ns = "gpu-tests", .name = "validator", .behavior = kQuick});
                SetNewTemplate(cluster);
              },
          .tick =
              [](FakeCluster& cluster, absl::Duration since_begin) {
                // The validation pods are ready only in the last two of every eight seconds.
                for (const Pod& pod : cluster.daemon_set_pods("gpu-tests", "validator")) {
                  cluster.SetPodReady(pod.ref.ns, pod.ref.name, absl::ToInt64Seconds(since_begin) % 8 >= 6);
                }
              },
          .policy = Policy(),
          .options = {.validation_selector = Selector("app=validator")}};
}

// Each driver pod requests permission to load the driver, and becomes ready only after it has this permission.
void LoadSafely(FakeCluster& cluster, absl::Duration) {
  for (const Node& node : cluster.nodes()) {
    for (const Pod& pod : cluster.daemon_set_pods("gpu", "driver")) {
      if (pod.node_name != node.name || pod.phase != PodPhase::kRunning) continue;
      cluster.SetPodReady(pod.ref.ns, pod.ref.name, !node.annotations.contains(Gpu().SafeLoadAnnotation()));
    }
  }
}

Scenario SafeLoad() {
  return {.name = "safe load",
          .set_up =
              [](FakeCluster& cluster) {
                AddFleet(cluster, 2);
                for (const char* node : {"n1", "n2"}) {
                  cluster.EditNode(node, [](Node& n) { n.annotations[Gpu().SafeLoadAnnotation()] = "true"; });
                }
                LoadSafely(cluster, absl::ZeroDuration());
              },
          .tick = LoadSafely,
          .policy = Policy()};
}

Scenario Requestor() {
  UpgradePolicy policy = Policy();
  policy.max_parallel = std::nullopt;  // the maintenance operator has its own budget
  return {.name = "requestor mode",
          .set_up =
              [](FakeCluster& cluster) {
                AddFleet(cluster, 2);
                cluster.RunMaintenanceOperator({.parallel = 1});
                SetNewTemplate(cluster);
              },
          .policy = std::move(policy),
          .options = {.requestor = RequestorOptions{.id = "nvidia.gpu-operator", .ns = "maintenance"}}};
}

// The new driver crashes on n1 for two minutes, during which the node fails. The node's upgrade is then retried.
Scenario Retry() {
  UpgradePolicy policy = Policy();
  policy.retry = {.max_attempts = 5, .backoff = absl::Minutes(2)};
  policy.deadlines.pod_restart = absl::Minutes(1);
  return {.name = "a node fails and is retried",
          .set_up =
              [](FakeCluster& cluster) {
                AddFleet(cluster, 2);
                cluster.AddCrashRule("gpu", "driver", "new", "n1");
                SetNewTemplate(cluster);
              },
          .tick =
              [](FakeCluster& cluster, absl::Duration since_begin) {
                if (since_begin == absl::Minutes(2)) cluster.ClearCrashRules("gpu", "driver");
              },
          .policy = std::move(policy)};
}

// Nodes as the Go library leaves them if it is switched off during an upgrade: they have labels and cordons, but none
// of our marks.
Scenario HandOver() {
  UpgradePolicy policy = Policy();
  policy.max_parallel = 2;
  return {.name = "hand-over from the Go library",
          .set_up =
              [](FakeCluster& cluster) {
                AddFleet(cluster, 6);
                SetNewTemplate(cluster);
                const auto put = [&](const char* name, UpgradeState state, bool cordoned) {
                  cluster.EditNode(name, [&](Node& node) {
                    node.labels[Gpu().StateLabel()] = std::string(ToLabelValue(state));
                    node.unschedulable = cordoned;
                  });
                };
                put("n1", UpgradeState::kDrainRequired, true);
                put("n2", UpgradeState::kPodRestartRequired, true);
                put("n3", UpgradeState::kCordonRequired, false);
                put("n4", UpgradeState::kWaitForJobsRequired, true);
                put("n5", UpgradeState::kUpgradeRequired, false);
              },
          .policy = std::move(policy)};
}

Scenario WithLedger() {
  Scenario scenario = InPlace();
  scenario.name = "with the ledger";
  scenario.ledger = true;
  return scenario;
}

// The first stage consists of the node that is second in name order. An administrator approves the stage half a minute
// after the start.
Scenario InStages() {
  UpgradePolicy policy = Policy();
  policy.rollout = RolloutPolicy{.stages = {{.name = "canary",
                                             .nodes = Selector("pool=canary"),
                                             .soak = absl::Seconds(5),
                                             .approval = Approval::kManual}}};
  return {.name = "a rollout in stages",
          .set_up =
              [](FakeCluster& cluster) {
                AddFleet(cluster, 3);
                cluster.EditNode("n2", [](Node& node) { node.labels["pool"] = "canary"; });
                SetNewTemplate(cluster);
              },
          .tick =
              [](FakeCluster& cluster, absl::Duration since_begin) {
                if (since_begin != absl::Seconds(30)) return;
                cluster.EditDaemonSet("gpu", "driver", [](DaemonSet& driver) {
                  driver.annotations[Gpu().ApprovedAnnotation()] = "canary@new";
                });
              },
          .policy = std::move(policy),
          .ledger = true,
          .canary = "n2",
          .soak = absl::Seconds(5)};
}

Scenario WithElection() {
  Scenario scenario = InPlace();
  scenario.name = "with an election";
  scenario.election = true;
  return scenario;
}

// Kubernetes also restarts the driver pods itself, one at a time, regardless of running workloads.
Scenario RollingUpdate() {
  return {.name = "RollingUpdate",
          .set_up =
              [](FakeCluster& cluster) {
                for (const char* node : {"n1", "n2", "n3"}) cluster.AddNode(NodeBuilder(node).Build());
                cluster.AddDaemonSet({.ns = "gpu",
                                      .name = "driver",
                                      .labels = {{"app", "driver"}},
                                      .hash = "old",
                                      .on_delete = false,
                                      .behavior = kQuick});
                cluster.AddWorkload({.ns = "team-a", .name = "web", .replicas = 3, .behavior = kQuick});
                SetNewTemplate(cluster);
              },
          .policy = Policy()};
}

Scenario RemovedInTheMidst() {
  Scenario scenario = InPlace();
  scenario.name = "Release in the midst";
  scenario.cordoned = "n3";
  scenario.release_after = absl::Seconds(8);
  return scenario;
}

// Each node's plugin publishes the node's devices while the driver is ready.
void PublishDevices(FakeCluster& cluster, absl::Duration) {
  for (const Pod& pod : cluster.daemon_set_pods("gpu", "driver")) {
    if (IsReady(pod)) {
      const std::string version(RevisionHash(pod));
      cluster.PublishDevices(
          {.node_name = pod.node_name,
           .driver = kDeviceDriver,
           .devices = {{.name = "gpu-0", .driver_version = version}, {.name = "gpu-1", .driver_version = version}}});
    } else {
      cluster.WithdrawDevices(kDeviceDriver, pod.node_name);
    }
  }
}

// A pod with a device moves to the other node; the web pods stay.
Scenario Devices() {
  UpgradePolicy policy = Policy();
  policy.isolation = {.scope = IsolationScope::kDevices, .device_drivers = {kDeviceDriver}};
  policy.pod_deletion = PodDeletionPolicy{.timeout = absl::Minutes(5)};
  return {.name = "devices instead of nodes",
          .set_up =
              [](FakeCluster& cluster) {
                AddFleet(cluster, 2);
                PublishDevices(cluster, absl::ZeroDuration());
                cluster.AddWorkload({.ns = "team-a",
                                     .name = "train",
                                     .replicas = 2,
                                     .behavior = kQuick,
                                     .devices = testing::DeviceRequest{.driver = kDeviceDriver}});
                SetNewTemplate(cluster);
              },
          .tick = PublishDevices,
          .policy = std::move(policy)};
}

Scenario DevicesReleased() {
  Scenario scenario = Devices();
  scenario.name = "devices instead of nodes, and Release in the midst";
  scenario.release_after = absl::Seconds(8);
  return scenario;
}

}  // namespace

std::vector<Scenario> Scenarios() {
  return {InPlace(),        EveryState(), Jobs(),     Validation(),   SafeLoad(),      Requestor(),         Retry(),
          HandOver(),       WithLedger(), InStages(), WithElection(), RollingUpdate(), RemovedInTheMidst(), Devices(),
          DevicesReleased()};
}

Scenario SmallScenario() {
  return {.name = "one node",
          .set_up =
              [](FakeCluster& cluster) {
                AddFleet(cluster, 1);
                SetNewTemplate(cluster);
              },
          .policy = Policy()};
}

}  // namespace driverupgrade::tests
