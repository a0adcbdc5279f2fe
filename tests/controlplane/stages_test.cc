// Tests, one at a time, the conditions that an upgrade waits for on a node: jobs, validation pods, and a driver that
// waits to be loaded.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gpu_operator.h"
#include "json.h"
#include "rollout_expectations.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr char kSafeLoad[] = "nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load";

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 2
maxUnavailable: 100%
podDeletion: {force: false, timeoutSeconds: 300, deleteEmptyDir: false}
)";

constexpr std::string_view kJobPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 2
maxUnavailable: 100%
waitForCompletion: {podSelector: app=training}
podDeletion: {force: false, timeoutSeconds: 300, deleteEmptyDir: false}
)";

constexpr std::string_view kJob = R"(
apiVersion: batch/v1
kind: Job
metadata: {name: training, namespace: $WORKLOAD_NS}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {app: training}}
    spec:
      restartPolicy: Never
      nodeSelector: {kubernetes.io/hostname: $NODE}
      containers: [{name: training, image: "training:1", resources: {limits: {nvidia.com/gpu: 1}}}]
)";

class TrainingJob {
 public:
  // Returns once the job's pod runs on `node`.
  TrainingJob(const World& world, const std::string& node) : world_(world) {
    kubectl().Create(Substitute(std::string(kJob), {{"$WORKLOAD_NS", world.workload_ns()}, {"$NODE", node}}));
    REQUIRE(Eventually(kStepLimit, [this] { return Status("ready") == 1; }));
    const std::set<std::string> pods = world.WorkloadPodsOn(node, "training");
    REQUIRE(pods.size() == 1);
    pod_ = *pods.begin();
  }

  const std::string& pod() const { return pod_; }
  bool IsComplete() const { return Status("succeeded") == 1; }
  bool IsRunning() const {
    const rapidjson::Document pod = kubectl().Get({"pod", pod_, "--namespace=" + world_.workload_ns()});
    return Text(pod, {"status", "phase"}) == "Running" && Find(pod, {"metadata", "deletionTimestamp"}) == nullptr;
  }
  void Complete() const {
    kubectl().Must({"annotate", "pod", pod_, "--namespace=" + world_.workload_ns(), "sim/complete=true"});
  }

 private:
  const Kubectl& kubectl() const { return world_.control_plane().admin(); }
  std::int64_t Status(const char* counter) const {
    return Integer(kubectl().Get({"job", "training", "--namespace=" + world_.workload_ns()}), {"status", counter});
  }

  const World& world_;
  std::string pod_;
};

TEST_CASE("A job is waited for and not evicted, and its node continues when the job is complete", "[stages]") {
  World world(ControlPlane::Shared(), "job", 2);
  world.DeployDriver();
  const std::string busy = world.nodes()[0];
  const TrainingJob job(world, busy);
  Rollout rollout(world);
  world.ChangeDriver("driver:2");

  const GpuOperator gpu_operator(world, kJobPolicy);
  const std::unique_ptr<Process> process = gpu_operator.Start();
  REQUIRE(AwaitState(world, world.nodes()[1], "upgrade-done"));
  REQUIRE(AwaitState(world, busy, "wait-for-jobs-required"));
  GiveTimeToAct(world);
  CHECK(world.Nodes().at(busy).state == "wait-for-jobs-required");
  CHECK(world.Nodes().at(busy).unschedulable);
  CHECK(job.IsRunning());

  job.Complete();
  const OperatorResult result = gpu_operator.Finish(*process);
  INFO(result.output());
  REQUIRE(result.exit_code == 0);
  CHECK(Eventually(kStepLimit, [&] { return job.IsComplete(); }));
  CHECK_FALSE(FindWrite(rollout.audit, "create", "pods/eviction", job.pod()).has_value());
  CHECK_FALSE(FindWrite(rollout.audit, "delete", "pods", job.pod()).has_value());
  ExpectEveryNodeUpgraded(rollout);
  ExpectWitnessesAgree(rollout);
}

void ExpectWaitsForValidation(const World& world, const std::string& node) {
  INFO(node);
  const NodeVersion version = world.Nodes().at(node);
  CHECK(version.state == "validation-required");
  CHECK(version.unschedulable);
}

TEST_CASE("A node stays in validation-required until its late validation pod is ready", "[stages]") {
  World world(ControlPlane::Shared(), "late", 2);
  world.DeployDriver();
  world.DeployHeldValidator();
  const std::string first = world.nodes()[0];
  const std::string second = world.nodes()[1];
  Rollout rollout(world);
  world.ChangeDriver("driver:2");

  GpuOperator gpu_operator(world, kPolicy);
  gpu_operator.set_more_options({"--validation-selector", "app=validator"});
  const std::unique_ptr<Process> process = gpu_operator.Start();
  for (const std::string& node : world.nodes()) REQUIRE(AwaitState(world, node, "validation-required"));
  GiveTimeToAct(world);
  for (const std::string& node : world.nodes()) {
    ExpectWaitsForValidation(world, node);
    CHECK(world.DriverPodOn(node).is_ready);
    CHECK(world.DriverPodOn(node).revision == world.NewestDriverRevision());
  }

  world.ReleaseValidator(first);
  REQUIRE(AwaitState(world, first, "upgrade-done"));
  GiveTimeToAct(world);
  ExpectWaitsForValidation(world, second);

  world.ReleaseValidator(second);
  const OperatorResult result = gpu_operator.Finish(*process);
  INFO(result.output());
  REQUIRE(result.exit_code == 0);
  ExpectEveryNodeUpgraded(rollout);
  ExpectWitnessesAgree(rollout);
}

// Acts as the init containers of held driver pods. Each container annotates its node to show that the driver waits to
// be loaded, and starts the driver when the annotation is removed.
class InitContainers {
 public:
  explicit InitContainers(const World& world) : world_(world) {}

  void Step() {
    const std::map<std::string, NodeVersion> nodes = world_.Nodes();
    for (const DriverPod& pod : world_.DriverPods()) {
      if (!pod.is_held || pod.node.empty()) continue;
      CHECK_FALSE(pod.is_ready);
      if (waiting_.insert(pod.name).second) {
        world_.control_plane().admin().Must({"annotate", "node", pod.node, kSafeLoad + std::string("=true")});
      } else if (nodes.at(pod.node).annotations.count(kSafeLoad) == 0) {
        Load(pod, nodes.at(pod.node));
      }
    }
  }

  bool IsWaitingOn(const std::string& node) const { return world_.Nodes().at(node).annotations.count(kSafeLoad) == 1; }
  int loads() const { return loads_; }

 private:
  // Checks the conditions under which the kernel module may load, and lets the driver pod start.
  void Load(const DriverPod& pod, const NodeVersion& node) {
    INFO(pod.name << " on " << node.name);
    CHECK(node.unschedulable);
    CHECK(world_.WorkloadPodsOn(node.name, "work").empty());
    world_.Release(world_.driver_ns(), pod.name);
    ++loads_;
  }

  const World& world_;
  std::set<std::string> waiting_;
  int loads_ = 0;
};

// Returns the version of `node` in which the operator allowed the driver to load.
NodeVersion Unblocked(const NodeTimeline& timeline, const std::string& node) {
  const std::vector<NodeVersion> versions = timeline.VersionsOf(node);
  const auto is_blocked = [](const NodeVersion& version) { return version.annotations.count(kSafeLoad) == 1; };
  const auto blocked = std::find_if(versions.begin(), versions.end(), is_blocked);
  const auto unblocked = std::find_if_not(blocked, versions.end(), is_blocked);
  REQUIRE(unblocked != versions.end());
  return *unblocked;
}

void ExpectUnblockedWhenEvacuated(Rollout& rollout, const std::string& node, const std::set<std::string>& pods) {
  INFO(node);
  const NodeVersion unblocked = Unblocked(rollout.watch.Read(), node);
  CHECK(unblocked.unschedulable);
  const auto patch = FindRequest(rollout.audit, [&](const AuditedRequest& request) {
    return request.node.has_value() && request.node->version == unblocked.version;
  });
  CHECK_FALSE(pods.empty());
  for (const std::string& pod : pods) {
    ExpectInOrder(FindWrite(rollout.audit, "create", "pods/eviction", pod), patch);
  }
}

// One node was rebooted and gets the new driver immediately. The other node gets the new driver through the upgrade.
TEST_CASE("A driver that waits to be loaded is released when its node is cordoned and evacuated", "[stages]") {
  World world(ControlPlane::Shared(), "safeload", 2);
  world.DeployDriver();
  Workload workload;
  workload.replicas = 4;
  workload.stop_delay = "1s";
  world.Deploy(workload);
  std::map<std::string, std::set<std::string>> pods;
  for (const std::string& node : world.nodes()) pods[node] = world.WorkloadPodsOn(node, "work");
  Rollout rollout(world);
  world.ChangeDriverAndHold("driver:2");
  const std::string restarted = world.nodes()[0];
  world.control_plane().admin().Must(
      {"delete", "pod", world.DriverPodOn(restarted).name, "--namespace=" + world.driver_ns()});
  InitContainers init_containers(world);
  REQUIRE(Eventually(kStepLimit, [&] {
    init_containers.Step();
    return init_containers.IsWaitingOn(restarted);
  }));

  const GpuOperator gpu_operator(world, kPolicy);
  const std::unique_ptr<Process> process = gpu_operator.Start();
  const OperatorResult result = gpu_operator.Finish(*process, [&] { init_containers.Step(); });
  INFO(result.output());
  REQUIRE(result.exit_code == 0);
  CHECK(init_containers.loads() == 2);
  ExpectEveryNodeUpgraded(rollout);
  ExpectWitnessesSawTheEnd(rollout);
  for (const std::string& node : world.nodes()) ExpectUnblockedWhenEvacuated(rollout, node, pods[node]);
}

}  // namespace
}  // namespace driverupgrade::e2e
