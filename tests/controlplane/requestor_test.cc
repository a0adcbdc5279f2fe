// Tests requestor mode: a maintenance operator evacuates the nodes, and gpu_operator replaces the driver and releases
// the nodes.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gpu_operator.h"
#include "json.h"
#include "maintenance_operator.h"
#include "rollout_expectations.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr char kOurId[] = "nvidia.gpu-operator";
constexpr char kOtherId[] = "other.example.com";

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
podDeletion: {force: false, timeoutSeconds: 300, deleteEmptyDir: false}
drain: {enable: true, force: false, timeoutSeconds: 300, deleteEmptyDir: false}
)";

constexpr std::string_view kOthersMaintenance = R"(
apiVersion: maintenance.nvidia.com/v1alpha1
kind: NodeMaintenance
metadata: {name: $NAME, namespace: $NS}
spec: {requestorID: other.example.com, nodeName: $NODE, drainSpec: {timeoutSeconds: 60}}
)";

std::string MaintenanceOf(const std::string& node) { return "nvidia-operator-" + node; }

std::vector<std::string> RequestorOptions(const World& world) {
  return {"--requestor-id", kOurId, "--requestor-namespace", world.driver_ns()};
}

rapidjson::Document Maintenances(const World& world) {
  return world.control_plane().admin().Get({kNodeMaintenances, "--namespace=" + world.driver_ns()});
}

std::size_t CountMaintenances(const World& world) { return Items(Maintenances(world), {"items"}).Size(); }

rapidjson::Document GetMaintenance(const World& world, const std::string& node) {
  return world.control_plane().admin().Get(
      {kNodeMaintenances, MaintenanceOf(node), "--namespace=" + world.driver_ns()});
}

bool IsJoined(const rapidjson::Value& object) {
  const auto others = Items(object, {"spec", "additionalRequestors"});
  return std::any_of(others.begin(), others.end(), [](const rapidjson::Value& id) { return id == kOurId; });
}

// Sets the object's additional requestors, as another requestor would.
void SetOthers(const World& world, const std::string& node, const std::string& ids) {
  world.control_plane().admin().Must({"patch", kNodeMaintenances, MaintenanceOf(node),
                                      "--namespace=" + world.driver_ns(), "--type=merge",
                                      R"(--patch={"spec": {"additionalRequestors": )" + ids + "}}"});
}

bool IsBeingDeleted(const rapidjson::Value& object) {
  return Find(object, {"metadata", "deletionTimestamp"}) != nullptr;
}

// arch-A12: the request is recorded on the node before it takes effect, and is released before the upgrade ends.
void ExpectRequestedAndReleasedInTime(Rollout& rollout, const std::string& node) {
  INFO(node);
  const auto created = FindWrite(rollout.audit, "create", "nodemaintenances", MaintenanceOf(node));
  const auto deleted = FindWrite(rollout.audit, "delete", "nodemaintenances", MaintenanceOf(node));
  ExpectInOrder(FindEntry(rollout.audit, node, "node-maintenance-required"), created);
  ExpectInOrder(FindEntry(rollout.audit, node, "uncordon-required"), deleted);
  ExpectInOrder(deleted, FindEntry(rollout.audit, node, "upgrade-done"));
}

// Expects that the maintenance operator uncordoned the node before the node was done.
void ExpectSchedulableBeforeDone(Rollout& rollout, const std::string& node) {
  INFO(node);
  const std::vector<NodeVersion> versions = rollout.watch.Read().VersionsOf(node);
  const auto done = std::find_if(versions.begin(), versions.end(),
                                 [](const NodeVersion& version) { return version.state == "upgrade-done"; });
  REQUIRE(done != versions.end());
  REQUIRE(done != versions.begin());
  CHECK_FALSE((done - 1)->unschedulable);
  CHECK((done - 1)->state == "uncordon-required");
}

TEST_CASE("In requestor mode the maintenance operator evacuates the nodes, and uncordons them before they are done",
          "[stages]") {
  constexpr int kNodes = 3;
  World world(ControlPlane::Shared(), "requestor", kNodes);
  MaintenanceOperator maintenance(world.control_plane(), world.driver_ns(), 2);
  world.DeployDriver();
  Workload workload;
  workload.replicas = kNodes;
  world.Deploy(workload);
  Rollout rollout(world);
  world.ChangeDriver("driver:2");

  GpuOperator gpu_operator(world, kPolicy);
  gpu_operator.set_more_options(RequestorOptions(world));
  const std::unique_ptr<Process> process = gpu_operator.Start();
  const OperatorResult result = gpu_operator.Finish(*process, [&] { maintenance.Step(); });
  INFO(result.output());
  REQUIRE(result.exit_code == 0);

  CHECK(CountMaintenances(world) == 0);
  ExpectEveryNodeUpgraded(rollout);
  ExpectWitnessesSawTheEnd(rollout);
  for (const std::string& node : world.nodes()) {
    ExpectRequestedAndReleasedInTime(rollout, node);
    ExpectSchedulableBeforeDone(rollout, node);
  }
  // The maintenance operator evicted the pods. Our operator sent no evictions.
  const auto is_eviction = [](const AuditedRequest& request) { return request.resource == "pods/eviction"; };
  CHECK_FALSE(FindRequest(rollout.audit, is_eviction).has_value());
  for (const std::string& pod : world.WorkloadPods()) CHECK(rollout.workload_pods_before.count(pod) == 0);
}

TEST_CASE("Our operator joins another requestor's maintenance, waits for the node, and leaves the object in place",
          "[stages]") {
  World world(ControlPlane::Shared(), "shared", 2);
  MaintenanceOperator maintenance(world.control_plane(), world.driver_ns(), 2);
  world.DeployDriver();
  const std::string shared = world.nodes()[0];
  world.control_plane().admin().Create(
      Substitute(std::string(kOthersMaintenance),
                 {{"$NAME", MaintenanceOf(shared)}, {"$NS", world.driver_ns()}, {"$NODE", shared}}));
  Rollout rollout(world);
  world.ChangeDriver("driver:2");
  const std::string old_pod = world.DriverPodOn(shared).name;

  // The maintenance operator is held until our operator has joined the request and has had enough time to continue by
  // mistake.
  GpuOperator gpu_operator(world, kPolicy);
  gpu_operator.set_more_options(RequestorOptions(world));
  const std::unique_ptr<Process> process = gpu_operator.Start();
  REQUIRE(Eventually(kStepLimit, [&] { return IsJoined(GetMaintenance(world, shared)); }));
  GiveTimeToAct(world);
  CHECK(world.Nodes().at(shared).state == "node-maintenance-required");
  CHECK(world.DriverPodOn(shared).name == old_pod);

  const OperatorResult result = gpu_operator.Finish(*process, [&] { maintenance.Step(); });
  INFO(result.output());
  REQUIRE(result.exit_code == 0);
  const rapidjson::Document object = GetMaintenance(world, shared);
  CHECK(Text(object, {"spec", "requestorID"}) == kOtherId);
  CHECK_FALSE(IsJoined(object));
  CHECK_FALSE(IsBeingDeleted(object));
  CHECK(CountMaintenances(world) == 1);
  CHECK(world.Nodes().at(shared).state == "upgrade-done");
  CHECK(world.Nodes().at(shared).unschedulable);

  world.control_plane().admin().Must(
      {"delete", kNodeMaintenances, MaintenanceOf(shared), "--wait=false", "--namespace=" + world.driver_ns()});
  REQUIRE(Eventually(kStepLimit, [&] {
    maintenance.Step();
    return CountMaintenances(world) == 0;
  }));
  ExpectEveryNodeUpgraded(rollout);
}

TEST_CASE("A node that another requestor relies on is released, but is not done until that requestor has left",
          "[stages]") {
  World world(ControlPlane::Shared(), "relied", 1);
  MaintenanceOperator maintenance(world.control_plane(), world.driver_ns(), 1);
  world.DeployDriver();
  const std::string node = world.nodes()[0];
  Rollout rollout(world);
  world.ChangeDriver("driver:2");

  GpuOperator gpu_operator(world, kPolicy);
  gpu_operator.set_more_options(RequestorOptions(world));
  const std::unique_ptr<Process> process = gpu_operator.Start();
  REQUIRE(Eventually(kStepLimit, [&] { return CountMaintenances(world) == 1; }));
  SetOthers(world, node, R"(["other.example.com"])");
  REQUIRE(Eventually(kStepLimit, [&] {
    maintenance.Step();
    return IsBeingDeleted(GetMaintenance(world, node));
  }));
  maintenance.Step();
  GiveTimeToAct(world);
  CHECK(CountMaintenances(world) == 1);
  CHECK(world.Nodes().at(node).state == "uncordon-required");
  CHECK(world.Nodes().at(node).unschedulable);

  SetOthers(world, node, "[]");
  const OperatorResult result = gpu_operator.Finish(*process, [&] { maintenance.Step(); });
  INFO(result.output());
  REQUIRE(result.exit_code == 0);
  CHECK(CountMaintenances(world) == 0);
  ExpectEveryNodeUpgraded(rollout);
}

}  // namespace
}  // namespace driverupgrade::e2e
