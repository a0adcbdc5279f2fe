#include "write/plan_executor.h"

#include <memory>

#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/holding_facade.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using internal::PlanExecutor;

using testing::FakeClock;
using testing::FakeCluster;

struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(clock);
  std::shared_ptr<HoldingFacade> facade = std::make_shared<HoldingFacade>(cluster);
  AttemptLog log = {};

  World() { cluster->AddNode({.name = "n1"}); }
  PlanExecutor Executor(int calls_in_flight) {
    return {Gpu(), facade, clock, nullptr, {.calls_in_flight = calls_in_flight, .call_timeout = absl::Seconds(10)}};
  }
  Plan PatchOfN1() const {
    const Node node = *cluster->node("n1");
    return {.nodes = {{.node = "n1",
                       .uid = node.uid,
                       .resource_version = node.resource_version,
                       .patch = PatchNodeParams{.labels = {{"a", "b"}}}}}};
  }
};

TEST_CASE("A NodeMaintenance that is there already is as good as one that was made") {
  World world;
  const NodeMaintenance object{
      .ns = "maintenance", .name = "nvidia-operator-n1", .requestor_id = "nvidia.gpu-operator", .node_name = "n1"};
  REQUIRE(world.cluster->CreateNodeMaintenance({}, {.object = object}).ok());
  NodePlan plan{.node = "n1", .uid = world.cluster->node("n1")->uid};
  plan.maintenance = {{.kind = MaintenanceCall::Kind::kCreate, .object = object}};
  const std::vector<NodeOutcome> outcomes = world.Executor(1).Apply({}, {.nodes = {plan}}, world.log);
  REQUIRE(outcomes.size() == 1);
  CHECK(outcomes.front().status.ok());
}

TEST_CASE("Each call has a time limit of its own, within that of the pass") {
  World world;
  PlanExecutor executor = world.Executor(1);
  executor.Apply({}, world.PatchOfN1(), world.log);
  CHECK(world.facade->latest_patch_deadline() == world.clock->Now() + absl::Seconds(10));
  executor.Apply({.deadline = world.clock->Now() + absl::Seconds(3)}, world.PatchOfN1(), world.log);
  CHECK(world.facade->latest_patch_deadline() == world.clock->Now() + absl::Seconds(3));
}

TEST_CASE("A node whose requests are not answered is in flight until its answers are collected") {
  World world;
  PlanExecutor executor = world.Executor(2);
  world.facade->Hold("n1");
  executor.Begin({}, world.PatchOfN1(), world.log);
  CHECK(executor.InFlight("n1"));
  CHECK(executor.Collect(world.log).empty());
  world.facade->LetGo();
  executor.Quiesce();
  CHECK(executor.InFlight("n1"));
  CHECK(executor.Collect(world.log).size() == 1);
  CHECK_FALSE(executor.InFlight("n1"));
}

}  // namespace
}  // namespace driverupgrade::tests
