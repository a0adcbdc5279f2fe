// Tests lists that are older than the data that the engine has already read or written.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_facade.h"
#include "support/catch.h"
#include "unit/upgrade_engine_world.h"

namespace driverupgrade::tests {
namespace {

/// Responds to one list with the result of an earlier list, as a lagging server does.
class LaggingFacade final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;
  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override {
    if (const auto older = std::exchange(answer_next, {}); !older.empty()) return older;
    return ForwardingFacade::ListNodes(context, params);
  }
  absl::StatusOr<std::vector<NodeMaintenance>> ListNodeMaintenances(const CallContext& context,
                                                                    const ListNodeMaintenancesParams& params) override {
    if (const auto older = std::exchange(maintenances_next, {}); !older.empty()) return older;
    return ForwardingFacade::ListNodeMaintenances(context, params);
  }
  std::vector<Node> answer_next = {};
  std::vector<NodeMaintenance> maintenances_next = {};
};

/// A world whose engine reads through a LaggingFacade.
struct LaggingWorld : World {
  std::shared_ptr<LaggingFacade> lagging = std::make_shared<LaggingFacade>(cluster);
  Fleet fleet = {};

  explicit LaggingWorld(FleetOptions fleet_options = {}, const std::optional<RequestorOptions>& requestor = {}) {
    fleet_options.node_count = 1;
    fleet = AddFleet(*cluster, fleet_options);
    EngineOptions options{
        .snapshot = {.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})},
        .state_machine = {.requestor = requestor},
        .clock = clock};
    options.executor.calls_in_flight = 1;
    auto created = UpgradeEngine::Create(Gpu(), lagging, options);
    REQUIRE(created.ok());
    engine = *std::move(created);
    Pass();
    cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
    clock->Advance(absl::Seconds(1));
  }
  std::string State() const { return StateOf(cluster->nodes().front()); }
  void PassUntil(const std::function<bool()>& reached) {
    for (int i = 0; i < 100 && !reached(); ++i) {
      Pass();
      cluster->Advance(absl::Seconds(1));
    }
    REQUIRE(reached());
  }
};

TEST_CASE(
    "I2, dep-F11: a list that is older than the node's readiness does not cause the deletion of a driver pod in use") {
  LaggingWorld world({.workload_behavior = {.stop_delay = absl::Minutes(2)}});
  const std::string node = world.fleet.node_names.front();
  world.PassUntil([&] { return world.cluster->CallCount(Operation::kEvictPod) > 0; });
  world.cluster->SetNodeReady(node, false);
  world.cluster->FailNext(Operation::kDeletePod, absl::UnavailableError("busy"));
  world.PassUntil([&] { return world.State() == "pod-restart-required"; });
  const std::int64_t deletions = world.cluster->CallCount(Operation::kDeletePod);
  const std::vector<Node> before = world.cluster->nodes();
  REQUIRE_FALSE(before.front().ready);
  world.clock->Advance(absl::Seconds(10));
  world.cluster->EditNode(node, [](Node& edited) { edited.ready = true; });

  world.lagging->answer_next = before;
  const Plan plan = world.Pass();
  REQUIRE(plan.nodes.size() == 1);
  CHECK(plan.nodes.front().remove.size() == 1);
  CHECK(world.cluster->CallCount(Operation::kDeletePod) == deletions);
  world.RunUntilAll("upgrade-done");
  CHECK(world.AllIn("upgrade-done"));
}

TEST_CASE("I2, T35: a list that still contains a deleted NodeMaintenance does not let the node continue") {
  LaggingWorld world({}, RequestorOptions{.id = "nvidia.gpu-operator", .ns = "maintenance"});
  world.cluster->RunMaintenanceOperator();
  world.PassUntil([&] { return !world.cluster->node_maintenances().empty(); });
  while (!world.cluster->nodes().front().unschedulable) world.cluster->Advance(absl::Seconds(1));
  world.cluster->Advance(absl::Minutes(5));
  const std::vector<NodeMaintenance> before = world.cluster->node_maintenances();
  REQUIRE(before.front().conditions.front().reason == "Ready");
  world.cluster->RemoveNodeMaintenance(before.front().ns, before.front().name);

  world.lagging->maintenances_next = before;
  const Plan plan = world.Pass();
  REQUIRE(plan.nodes.size() == 1);
  CHECK(plan.nodes.front().to() == UpgradeState::kPodRestartRequired);
  CHECK(world.State() == "node-maintenance-required");
  CHECK(world.cluster->CallCount(Operation::kDeletePod) == 0);
  world.RunUntilAll("upgrade-done");
  CHECK(world.AllIn("upgrade-done"));
}

TEST_CASE("arch-A9: a list that is older than our own patch does not cause an early retry of an eviction") {
  LaggingWorld world;
  const std::vector<Node> before = world.cluster->nodes();
  world.cluster->AnswerNextEviction({.refusal = Refusal::kDisruptionBudget}, 100);
  for (int i = 0; i < 10 && world.cluster->CallCount(Operation::kEvictPod) == 0; ++i) world.Pass();
  const std::int64_t evictions = world.cluster->CallCount(Operation::kEvictPod);
  REQUIRE(evictions > 0);

  world.lagging->answer_next = before;
  world.Pass();
  world.Pass();
  CHECK(world.cluster->CallCount(Operation::kEvictPod) == evictions);
}

}  // namespace
}  // namespace driverupgrade::tests
