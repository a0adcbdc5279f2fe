// Tests that the facade of examples/custom_facade fulfills the ClusterFacade contract, and that an engine can upgrade a
// fleet with it.
#include "custom_facade/store_cluster.h"

#include <algorithm>
#include <memory>
#include <string>

#include "driverupgrade/testing/facade_contract.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "support/catch.h"

namespace custom_facade {
namespace {

using driverupgrade::CallContext;
using driverupgrade::ClusterFacade;
using driverupgrade::DaemonSet;
using driverupgrade::DriverIdentity;
using driverupgrade::EngineOptions;
using driverupgrade::LabelSelector;
using driverupgrade::Node;
using driverupgrade::Operation;
using driverupgrade::Pod;
using driverupgrade::PodPhase;
using driverupgrade::StringMap;
using driverupgrade::UpgradeEngine;
using driverupgrade::UpgradePolicy;
using driverupgrade::testing::ContractOutcome;
using driverupgrade::testing::ContractReport;
using driverupgrade::testing::ContractResult;
using driverupgrade::testing::ContractWorld;
using driverupgrade::testing::FakeClock;

Pod Running(Pod pod) {
  pod.phase = PodPhase::kRunning;
  pod.container_statuses = {{.name = "main", .ready = true}};
  return pod;
}

class StoreWorld final : public ContractWorld {
 public:
  ClusterFacade& facade() override { return cluster_; }
  CallContext context() override { return {}; }
  std::string prefix() override { return "contract-" + std::to_string(++count_) + "-"; }
  absl::StatusOr<std::string> MakeNamespace() override { return "contract-" + std::to_string(++count_); }
  absl::StatusOr<Node> MakeNode(const Node& node) override { return cluster_.PutNode(node); }
  absl::Status TouchNode(const std::string& name) override {
    absl::StatusOr<Node> node = cluster_.GetNode({}, {.name = name});
    if (!node.ok()) return node.status();
    node->annotations["touched"] = "yes";
    cluster_.PutNode(*std::move(node));
    return absl::OkStatus();
  }
  absl::StatusOr<Pod> MakePod(const Pod& pod) override { return cluster_.PutPod(Running(pod)); }
  absl::Status MakeBudget(const std::string& ns, const std::string& name, const StringMap& labels) override {
    cluster_.PutBudget(
        {.ns = ns, .name = name, .selector = LabelSelector::FromMatchLabels(labels), .desired_healthy = 1000});
    return absl::OkStatus();
  }
  absl::Status RemoveNode(const std::string& name) override {
    return cluster_.RemoveNode(name) ? absl::OkStatus() : absl::NotFoundError("no such node");
  }
  absl::StatusOr<DaemonSet> MakeDaemonSet(const std::string& ns, const std::string& name) override {
    cluster_.PutDriver(ns, name, "v1");
    const auto sets = cluster_.ListDaemonSets({}, {.ns = ns});
    if (!sets.ok()) return sets.status();
    const auto made = std::find_if(sets->begin(), sets->end(), [&](const DaemonSet& set) { return set.name == name; });
    if (made == sets->end()) return absl::NotFoundError("the daemon set was not stored");
    return *made;
  }

 private:
  StoreCluster cluster_{std::make_shared<FakeClock>()};
  int count_ = 0;
};

TEST_CASE("The store fulfills the ClusterFacade contract, with a test for every operation that it supports") {
  StoreWorld world;
  const ContractReport report = driverupgrade::testing::RunFacadeContract(world);
  INFO(report.ToString());
  CHECK(report.Verdict().ok());
  CHECK(report.Count(ContractOutcome::kKept) == 25);
  for (const ContractResult& one : report.results) {
    if (one.outcome == ContractOutcome::kSkipped) CHECK(one.reason.starts_with("the facade does not support: "));
  }
}

std::unique_ptr<UpgradeEngine> MakeEngine(const std::shared_ptr<StoreCluster>& cluster,
                                          const std::shared_ptr<FakeClock>& clock) {
  EngineOptions options{
      .snapshot = {.ns = "drivers", .driver_labels = LabelSelector::FromMatchLabels({{"app", "nic"}})}, .clock = clock};
  auto engine = UpgradeEngine::Create(*DriverIdentity::Create("example.com", "nic"), cluster, options);
  REQUIRE(engine.ok());
  return *std::move(engine);
}

UpgradePolicy Policy() {
  UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 1};
  policy.drain = driverupgrade::DrainPolicy{};
  return policy;
}

Pod Web(const std::string& name, const std::string& node) {
  return Running({.ref = {.ns = "shop", .name = name},
                  .node_name = node,
                  .labels = {{"app", "web"}},
                  .owners = {{"apps/v1", "ReplicaSet", "web", "web-uid", true}}});
}

// Returns two nodes with a new driver revision, and a web pod on the first node.
std::shared_ptr<StoreCluster> MakeFleet(const std::shared_ptr<FakeClock>& clock) {
  auto cluster = std::make_shared<StoreCluster>(clock);
  for (const char* name : {"a", "b"}) cluster->PutNode({.name = name});
  cluster->PutPod(Web("web-1", "a"));
  cluster->PutDriver("drivers", "nic", "v1");
  cluster->Tick();
  cluster->PutDriver("drivers", "nic", "v2");
  return cluster;
}

// Runs `passes` passes, and returns the totals of the last pass.
driverupgrade::Tally Pass(UpgradeEngine& engine, StoreCluster& cluster, FakeClock& clock, int passes) {
  driverupgrade::Tally totals;
  for (int i = 0; i < passes; ++i) {
    const auto result = engine.Reconcile({}, Policy());
    REQUIRE(result.ok());
    totals = result->plan.totals;
    cluster.Tick();
    clock.Advance(absl::Seconds(1));
  }
  return totals;
}

TEST_CASE("An engine upgrades the store's fleet, and evicts the workload from each node") {
  const auto clock = std::make_shared<FakeClock>();
  const auto cluster = MakeFleet(clock);
  const auto engine = MakeEngine(cluster, clock);
  CHECK(Pass(*engine, *cluster, *clock, 30).done == 2);
  engine->Quiesce();  // waits for Events, because passes do not
  const auto drivers = cluster->ListPods({}, {.ns = "drivers"});
  REQUIRE(drivers.ok());
  REQUIRE(drivers->size() == 2);
  for (const Pod& pod : *drivers) CHECK(RevisionHash(pod) == "v2");
  const auto nodes = cluster->ListNodes({}, {});
  REQUIRE(nodes.ok());
  for (const Node& node : *nodes) CHECK_FALSE(node.unschedulable);
  const auto web = cluster->ListPods({}, {.ns = "shop"});
  REQUIRE(web.ok());
  REQUIRE(web->size() == 1);
  CHECK(web->front().ref.name != "web-1");
  CHECK_FALSE(cluster->events().empty());
}

TEST_CASE(
    "If a disruption budget in the store allows no disruption, the node is blocked, and the engine names the budget") {
  const auto clock = std::make_shared<FakeClock>();
  const auto cluster = MakeFleet(clock);
  cluster->PutBudget({.ns = "shop",
                      .name = "strict",
                      .selector = LabelSelector::FromMatchLabels({{"app", "web"}}),
                      .desired_healthy = 1});
  const auto engine = MakeEngine(cluster, clock);
  CHECK(Pass(*engine, *cluster, *clock, 30).done == 0);
  const auto gate = engine->Explain("a");
  REQUIRE(gate.has_value());
  CHECK(gate->reason == driverupgrade::GateReason::kDisruptionBudget);
  CHECK(gate->detail.find("strict") != std::string::npos);
}

}  // namespace
}  // namespace custom_facade
