// The engine on a fake cluster, in one page: change the driver's template, reconcile until every node is done.
#include <cstdio>
#include <memory>
#include <string>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"

using namespace driverupgrade;

int main() {
  auto clock = std::make_shared<testing::FakeClock>();
  auto cluster = std::make_shared<testing::FakeCluster>(clock);
  const testing::Fleet fleet = testing::AddFleet(*cluster, {.node_count = 3});
  cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");

  auto identity = DriverIdentity::Create("nvidia.com", "gpu");
  EngineOptions options{
      .snapshot = {.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})},
      .clock = clock};
  auto engine = UpgradeEngine::Create(*identity, cluster, options);
  if (!engine.ok()) return 1;

  UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 1};
  policy.drain = DrainPolicy{};
  for (int pass = 0; pass < 600; ++pass) {
    auto result = (*engine)->Reconcile({}, policy);
    if (!result.ok()) return 1;
    for (const NodePlan& node : result->plan.nodes) std::puts(Describe(node).c_str());
    if (result->plan.totals.done == 3) return 0;
    cluster->Advance(absl::Seconds(1));
  }
  return 1;
}
