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

std::vector<NodeOutcome> Apply(PlanExecutor& executor, const CallContext& context, const Plan& plan) {
  std::vector<internal::NodeRequests> requests(plan.nodes.begin(), plan.nodes.end());
  executor.Begin(context, std::move(requests));
  executor.AwaitAnswers();
  std::vector<NodeOutcome> outcomes;
  for (const auto& answered : executor.TakeAnswered()) outcomes.push_back(answered->outcome());
  return outcomes;
}

TEST_CASE("A NodeMaintenance that already exists counts as created") {
  World world;
  const NodeMaintenance object{
      .ns = "maintenance", .name = "nvidia-operator-n1", .requestor_id = "nvidia.gpu-operator", .node_name = "n1"};
  REQUIRE(world.cluster->CreateNodeMaintenance({}, {.object = object}).ok());
  NodePlan plan{.node = "n1", .uid = world.cluster->node("n1")->uid};
  plan.maintenance = {{.kind = MaintenanceCall::Kind::kCreate, .object = object}};
  PlanExecutor executor = world.Executor(1);
  const std::vector<NodeOutcome> outcomes = Apply(executor, {}, {.nodes = {plan}});
  REQUIRE(outcomes.size() == 1);
  CHECK(outcomes.front().status.ok());
}

TEST_CASE("Each call has its own time limit, which does not exceed the limit of the pass") {
  World world;
  PlanExecutor executor = world.Executor(1);
  Apply(executor, {}, world.PatchOfN1());
  CHECK(world.facade->latest_patch_deadline() == world.clock->Now() + absl::Seconds(10));
  Apply(executor, {.deadline = world.clock->Now() + absl::Seconds(3)}, world.PatchOfN1());
  CHECK(world.facade->latest_patch_deadline() == world.clock->Now() + absl::Seconds(3));
}

TEST_CASE("Requests are returned once, after their responses have arrived") {
  World world;
  PlanExecutor executor = world.Executor(2);
  world.facade->Hold("n1");
  std::vector<internal::NodeRequests> requests;
  requests.emplace_back(world.PatchOfN1().nodes.front());
  executor.Begin({}, std::move(requests));
  CHECK(executor.TakeAnswered().empty());
  world.facade->LetGo();
  executor.Quiesce();
  CHECK(executor.TakeAnswered().size() == 1);
  CHECK(executor.TakeAnswered().empty());
}

}  // namespace
}  // namespace driverupgrade::tests
