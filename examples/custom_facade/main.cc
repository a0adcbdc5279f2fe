// Upgrades a driver on a fleet that is kept in the program itself, by the facade of store_cluster.h.
#include <iostream>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "custom_facade/store_cluster.h"
#include "driverupgrade/upgrade_engine.h"

namespace custom_facade {
namespace {

using driverupgrade::DriverIdentity;
using driverupgrade::EngineOptions;
using driverupgrade::LabelSelector;
using driverupgrade::NodePlan;
using driverupgrade::UpgradeEngine;
using driverupgrade::UpgradePolicy;

// A driver and one web pod on each node, of which all but one must be there.
void Fill(StoreCluster& cluster, int nodes) {
  for (int i = 1; i <= nodes; ++i) {
    const std::string number = std::to_string(i);
    cluster.PutNode({.name = "node-" + number});
    cluster.PutPod({.ref = {.ns = "shop", .name = "web-" + number},
                    .node_name = "node-" + number,
                    .labels = {{"app", "web"}},
                    .owners = {{"apps/v1", "ReplicaSet", "web", "web-uid", true}},
                    .phase = driverupgrade::PodPhase::kRunning,
                    .container_statuses = {{.name = "main", .ready = true}}});
  }
  cluster.PutBudget({.ns = "shop",
                     .name = "web",
                     .selector = LabelSelector::FromMatchLabels({{"app", "web"}}),
                     .desired_healthy = nodes - 1});
  cluster.PutDriver("drivers", "nic", "v1");
  cluster.Tick();
}

int Upgrade(const std::shared_ptr<StoreCluster>& cluster, int nodes) {
  const auto identity = DriverIdentity::Create("example.com", "nic");
  const EngineOptions options{
      .snapshot = {.ns = "drivers", .driver_labels = LabelSelector::FromMatchLabels({{"app", "nic"}})}};
  const auto engine = UpgradeEngine::Create(*identity, cluster, options);
  if (!engine.ok()) {
    std::cerr << engine.status().message() << "\n";
    return 1;
  }
  UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 2};
  policy.drain = driverupgrade::DrainPolicy{};
  // Nobody else changes this fleet, so what a Tick does not bring about will not come.
  const int passes_max = 20 * nodes;
  for (int pass = 0; pass < passes_max; ++pass) {
    const auto result = (*engine)->Reconcile({}, policy);
    if (!result.ok()) {
      std::cerr << result.status().message() << "\n";
      return 1;
    }
    for (const NodePlan& node : result->plan.nodes) std::cout << Describe(node) << "\n";
    if (result->plan.totals.done == nodes) return 0;
    cluster->Tick();
  }
  std::cerr << "the upgrade does not come to an end\n";
  return 1;
}

}  // namespace
}  // namespace custom_facade

int main(int argc, char** argv) {
  CLI::App app("Upgrades a driver on a fleet in memory");
  int nodes = 3;
  app.add_option("--nodes", nodes, "how many nodes it has")->check(CLI::Range(1, 10000))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto cluster = std::make_shared<custom_facade::StoreCluster>(driverupgrade::SystemClock());
  custom_facade::Fill(*cluster, nodes);
  cluster->PutDriver("drivers", "nic", "v2");
  return custom_facade::Upgrade(cluster, nodes);
}
