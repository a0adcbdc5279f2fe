// Tests gpu_operator alongside other clients that change the cluster: an autoscaler, an administrator, kubelets that
// stop reporting, and a scheduler that finds no room. Another client removes gpu_operator's state label, as NVIDIA's
// operators do while their own `autoUpgrade` is false.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "audit_log.h"
#include "operator_program.h"
#include "policies.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::seconds kStartLimit{60};

constexpr std::string_view kOneAtATime = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec:
  driver:
    upgradePolicy:
      autoUpgrade: true
      maxParallelUpgrades: 1
      maxUnavailable: 100%
)";

constexpr std::string_view kCanaryFirst = R"(
      rollout:
        stages:
        - {name: canary, nodes: 1, soakSeconds: 5}
)";

constexpr std::string_view kWaitForJobs = R"(
      waitForCompletion: {podSelector: app=job, timeoutSeconds: 5}
)";

// The operator, and a neighbor that removes the state label from each node as soon as it sees the label.
class Neighbourhood {
 public:
  explicit Neighbourhood(const World& world, std::string_view rest_of_policy = kWaitForJobs)
      : world_(world),
        policy_(world.control_plane(), std::string(kOneAtATime) + std::string(rest_of_policy)),
        audit_(world.control_plane().audit_log()),
        operator_(world.control_plane(), "gpu_operator", world.control_plane().operator_kubeconfig(),
                  {"--cluster-policy", "--ledger", "--namespace", world.driver_ns(), "--driver-labels", "app=driver",
                   "--validation-selector", ""}) {}

  // Returns whether `condition` became true while the neighbor removed labels.
  bool EraseUntil(std::chrono::seconds limit, const std::function<bool()>& condition) {
    return Eventually(limit, [&] {
      for (const auto& [name, node] : world_.Nodes()) {
        if (!node.state.empty()) {
          world_.control_plane().admin().Run({"label", "node", name, std::string(kStateLabel) + "-"});
          ++erased_;
        }
      }
      return condition();
    });
  }
  void EraseFor(std::chrono::seconds time) {
    EraseUntil(time, [] { return false; });
  }

  int erased() const { return erased_; }
  std::string OperatorLog() const { return operator_.Log(); }

  // Returns the operator's writes to nodes and Events. Writes to the ledger do not count, nor do writes to the Lease,
  // which the operator renews all the time.
  std::vector<std::string> Writes() {
    std::vector<std::string> writes;
    for (const AuditedRequest& request : audit_.Read()) {
      if (!request.is_write() || request.resource == "leases" || request.resource == "configmaps") continue;
      writes.push_back(request.verb + " " + request.resource + " " + request.name);
    }
    return writes;
  }

 private:
  const World& world_;
  Policies policy_;
  AuditLog audit_;
  OperatorProgram operator_;
  int erased_ = 0;
};

std::set<std::string> NodesWithNewestDriver(const World& world) {
  const std::string newest = world.NewestDriverRevision();
  std::set<std::string> nodes;
  for (const DriverPod& pod : world.DriverPods()) {
    if (pod.revision == newest) nodes.insert(pod.node);
  }
  return nodes;
}

TEST_CASE("W1: three idle nodes whose labels are removed cost at most ten writes in a minute", "[neighbours]") {
  World world(ControlPlane::Shared(), "idle-neighbour", 3);
  world.DeployDriver();
  Neighbourhood neighbourhood(world);
  // Three removed labels show that the operator is running.
  REQUIRE(neighbourhood.EraseUntil(kStartLimit, [&] { return neighbourhood.erased() >= 3; }));
  const std::size_t before = neighbourhood.Writes().size();
  neighbourhood.EraseFor(std::chrono::seconds(60));
  std::vector<std::string> writes = neighbourhood.Writes();
  writes.erase(writes.begin(), writes.begin() + static_cast<std::ptrdiff_t>(before));
  CAPTURE(writes, neighbourhood.OperatorLog());
  CHECK(writes.size() <= 10);
}

TEST_CASE("W1: the rollout of a driver that never becomes Ready stops at one node, even if the labels are removed",
          "[neighbours]") {
  World world(ControlPlane::Shared(), "broken-neighbour", 3);
  world.DeployDriver();
  Neighbourhood neighbourhood(world);
  world.ChangeDriverAndHold("driver:broken");
  REQUIRE(neighbourhood.EraseUntil(kStartLimit, [&] { return !NodesWithNewestDriver(world).empty(); }));
  neighbourhood.EraseFor(std::chrono::seconds(30));
  INFO(neighbourhood.OperatorLog());
  CHECK(NodesWithNewestDriver(world).size() == 1);
}

TEST_CASE("W1: the wait for jobs expires on time, although the labels are removed", "[neighbours]") {
  World world(ControlPlane::Shared(), "waiting-neighbour", 1);
  world.DeployDriver();
  Workload job;
  job.name = "job";
  world.Deploy(job);
  Neighbourhood neighbourhood(world);
  REQUIRE(neighbourhood.EraseUntil(kStartLimit, [&] { return neighbourhood.erased() > 0; }));
  world.ChangeDriver("driver:2");
  const Stopwatch stopwatch;
  const bool done = neighbourhood.EraseUntil(std::chrono::seconds(60), [&] {
    if (NodesWithNewestDriver(world).empty()) return false;
    const std::string& node = world.nodes().front();
    return world.DriverPodOn(node).is_ready && !world.Nodes().at(node).unschedulable;
  });
  INFO(neighbourhood.OperatorLog());
  REQUIRE(done);
  CHECK(stopwatch.seconds() < 15);
}

TEST_CASE("W4: nodes that an autoscaler removes do not delay other nodes, and the cordon of another client stays",
          "[neighbours]") {
  World world(ControlPlane::Shared(), "leaving-neighbour", 5);
  world.DeployDriver();
  const Kubectl& admin = world.control_plane().admin();
  const std::string leaving = world.nodes().at(0);
  const std::string cordoned = world.nodes().at(1);
  admin.Must({"taint", "node", leaving, "ToBeDeletedByClusterAutoscaler=1:NoSchedule"});
  world.Cordon(cordoned);
  world.ChangeDriver("driver:2");
  Neighbourhood neighbourhood(world);
  const auto is_done = [&](const std::string& name) { return world.Nodes().at(name).state == "upgrade-done"; };
  const auto others_are_done = [&] { return std::all_of(world.nodes().begin() + 1, world.nodes().end(), is_done); };
  INFO(neighbourhood.OperatorLog());
  CHECK(Eventually(kStartLimit, others_are_done));
  CHECK(world.Nodes().at(leaving).state == "upgrade-required");
  CHECK_FALSE(NodesWithNewestDriver(world).contains(leaving));
  CHECK(world.Nodes().at(cordoned).unschedulable);
  for (const auto& [name, node] : world.Nodes()) CHECK(node.unschedulable == (name == cordoned));

  admin.Must({"delete", "node", leaving});
  world.ChangeDriver("driver:3");
  CHECK(Eventually(kStartLimit, [&] { return NodesWithNewestDriver(world).size() == 4 && others_are_done(); }));
  CHECK(world.Nodes().at(cordoned).unschedulable);
}

// Sets whether the kubelet reports the node as Ready.
void SetReady(const World& world, const std::string& node, bool ready) {
  const Kubectl& admin = world.control_plane().admin();
  admin.Must({"annotate", "node", node, ready ? "sim/not-ready-" : "sim/not-ready=true"});
  admin.Must(
      {"wait", "node", node, std::string("--for=condition=Ready=") + (ready ? "True" : "False"), "--timeout=30s"});
}

bool AwaitDone(const World& world, const std::vector<std::string>& nodes) {
  return Eventually(kStartLimit, [&] {
    const std::map<std::string, NodeVersion> now = world.Nodes();
    const std::set<std::string> newest = NodesWithNewestDriver(world);
    return std::all_of(nodes.begin(), nodes.end(), [&](const std::string& name) {
      return newest.contains(name) && now.at(name).state == "upgrade-done";
    });
  });
}

TEST_CASE("W6: a node that is not Ready waits without taking the only slot, and is upgraded once it is Ready",
          "[neighbours]") {
  World world(ControlPlane::Shared(), "notready-neighbour", 3);
  world.DeployDriver();
  const std::string& lost = world.nodes().front();
  SetReady(world, lost, false);
  Neighbourhood neighbourhood(world);
  world.ChangeDriver("driver:2");
  INFO(neighbourhood.OperatorLog());
  CHECK(AwaitDone(world, {world.nodes().begin() + 1, world.nodes().end()}));
  CHECK_FALSE(NodesWithNewestDriver(world).contains(lost));
  CHECK_FALSE(world.Nodes().at(lost).unschedulable);
  SetReady(world, lost, true);
  CHECK(AwaitDone(world, world.nodes()));
}

TEST_CASE("W6: a node that becomes NotReady in the middle of its upgrade keeps the only slot", "[neighbours]") {
  World world(ControlPlane::Shared(), "losing-neighbour", 3);
  world.DeployDriver();
  Neighbourhood neighbourhood(world);
  world.ChangeDriverAndHold("driver:2");
  REQUIRE(Eventually(kStartLimit, [&] { return !NodesWithNewestDriver(world).empty(); }));
  const std::string started = *NodesWithNewestDriver(world).begin();
  SetReady(world, started, false);
  CHECK_FALSE(Eventually(std::chrono::seconds(10), [&] { return NodesWithNewestDriver(world).size() > 1; }));
  SetReady(world, started, true);
  world.ChangeDriver("driver:3");
  INFO(neighbourhood.OperatorLog());
  CHECK(AwaitDone(world, world.nodes()));
}

TEST_CASE("W8: no further node starts while a canary is not Ready during its soak", "[neighbours]") {
  World world(ControlPlane::Shared(), "sick-neighbour", 3);
  world.DeployDriver();
  Neighbourhood neighbourhood(world, kCanaryFirst);
  world.ChangeDriver("driver:2");
  REQUIRE(Eventually(kStartLimit, [&] { return !NodesWithNewestDriver(world).empty(); }));
  const std::string canary = *NodesWithNewestDriver(world).begin();
  REQUIRE(AwaitDone(world, {canary}));
  SetReady(world, canary, false);
  INFO(neighbourhood.OperatorLog());
  CHECK_FALSE(Eventually(std::chrono::seconds(12), [&] { return NodesWithNewestDriver(world).size() > 1; }));
  SetReady(world, canary, true);
  CHECK(AwaitDone(world, world.nodes()));
}

TEST_CASE("W5: the gate names a driver pod that does not fit on its node, and the pod does not delay other nodes",
          "[neighbours]") {
  World world(ControlPlane::Shared(), "full-neighbour", 3);
  world.DeployDriver();
  const Kubectl& admin = world.control_plane().admin();
  const std::string& full = world.nodes().front();
  const auto set_pods = [&](std::string_view most) {
    admin.Must({"patch", "node", full, "--subresource=status", "--type=merge", "-p",
                std::string(R"({"status":{"allocatable":{"pods":")") + std::string(most) + R"("}}})"});
  };
  set_pods("0");
  admin.Must({"delete", "pod", "-n", world.driver_ns(), world.DriverPodOn(full).name});
  Neighbourhood neighbourhood(world);
  world.ChangeDriver("driver:2");
  CHECK(AwaitDone(world, {world.nodes().begin() + 1, world.nodes().end()}));
  CHECK(neighbourhood.OperatorLog().find("cannot be scheduled") != std::string::npos);
  set_pods("110");
  INFO(neighbourhood.OperatorLog());
  CHECK(AwaitDone(world, world.nodes()));
}

}  // namespace
}  // namespace driverupgrade::e2e
