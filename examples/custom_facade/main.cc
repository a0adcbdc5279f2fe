// Upgrades a driver on a fleet that exists only in this program, through the facade of store_cluster.h.
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "custom_facade/store_cluster.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/upgrade_engine.h"

namespace custom_facade {
namespace {

using driverupgrade::DriverIdentity;
using driverupgrade::EngineOptions;
using driverupgrade::LabelSelector;
using driverupgrade::NodePlan;
using driverupgrade::UpgradeEngine;
using driverupgrade::UpgradePolicy;

// The fleet's clock, which the loop advances by a second after each Tick. The engine uses this clock to decide when to
// retry refused evictions.
class FleetClock final : public driverupgrade::Clock {
 public:
  absl::Time Now() const override { return absl::FromUnixSeconds(seconds_); }
  bool SleepFor(absl::Duration duration, std::stop_token stop) override {
    seconds_ += absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1)));
    return !stop.stop_requested();
  }

 private:
  std::atomic<std::int64_t> seconds_ = 1'700'000'000;
};

// Creates a driver and a web pod on each node. All but one of the web pods must be available.
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

int Upgrade(const std::shared_ptr<StoreCluster>& cluster, const std::shared_ptr<FleetClock>& clock, int nodes) {
  const auto identity = DriverIdentity::Create("example.com", "nic");
  const EngineOptions options{
      .snapshot = {.ns = "drivers", .driver_labels = LabelSelector::FromMatchLabels({{"app", "nic"}})}, .clock = clock};
  const auto engine = UpgradeEngine::Create(*identity, cluster, options);
  if (!engine.ok()) {
    std::cerr << engine.status().message() << "\n";
    return 1;
  }
  UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 2};
  policy.drain = driverupgrade::DrainPolicy{};
  // No other client changes this fleet, so the loop needs no watch: it calls Tick after each pass.
  const int passes_max = 60 * nodes;
  for (int pass = 0; pass < passes_max; ++pass) {
    const auto result = (*engine)->Reconcile({}, policy);
    if (!result.ok()) {
      std::cerr << result.status().message() << "\n";
      return 1;
    }
    for (const NodePlan& node : result->plan.nodes) std::cout << Describe(node) << "\n";
    if (result->plan.totals.done == nodes) return 0;
    cluster->Tick();
    clock->SleepFor(absl::Seconds(1), {});
  }
  std::cerr << "the upgrade does not finish\n";
  return 1;
}

}  // namespace
}  // namespace custom_facade

int main(int argc, char** argv) {
  CLI::App app("Upgrades a driver on a fleet in memory");
  int nodes = 3;
  app.add_option("--nodes", nodes, "number of nodes")->check(CLI::Range(1, 10000))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto clock = std::make_shared<custom_facade::FleetClock>();
  const auto cluster = std::make_shared<custom_facade::StoreCluster>(clock);
  custom_facade::Fill(*cluster, nodes);
  cluster->PutDriver("drivers", "nic", "v2");
  return custom_facade::Upgrade(cluster, clock, nodes);
}
