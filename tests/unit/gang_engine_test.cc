// Tests when an engine starts the nodes of a gang while requests are in flight.
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/watch_cache.h"
#include "support/catch.h"
#include "support/late_tasks.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeClock;
using testing::FakeCluster;

TEST_CASE(
    "a gang does not start while the label patch of one of its nodes is in flight, because that node's pods are "
    "unknown") {
  const auto clock = std::make_shared<FakeClock>();
  const auto cluster = std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  const testing::Fleet fleet = AddFleet(*cluster, {.node_count = 3, .workload = ""});
  for (const std::string& node : fleet.node_names) {
    cluster->AddPod(testing::PodBuilder("team-a", "job-" + node)
                        .OnNode(node)
                        .WithLabel("jobset.sigs.k8s.io/jobset-name", "job")
                        .OwnedByJob("job")
                        .Build());
  }
  cluster->Advance(absl::Minutes(1));
  const UpgradePolicy policy{.auto_upgrade = true,
                             .max_parallel = std::nullopt,
                             .max_unavailable = Count{3},
                             .drain = DrainPolicy{},
                             .rollout = RolloutPolicy{.gangs = NodeGangs{}}};
  const LabelSelector driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
  const std::shared_ptr<WatchCache> cache =
      *WatchCache::Create(cluster, {.drivers = {{.ns = fleet.ns, .driver_labels = driver_labels}}, .clock = clock});
  const auto late = std::make_shared<LateTasks>();
  EngineOptions options{.snapshot = {.ns = fleet.ns, .driver_labels = driver_labels},
                        .cache = cache,
                        .ledger = AdmissionLedgerOptions{.ns = "ops", .name = "ledger"},
                        .clock = clock};
  options.executor.events = false;
  options.executor.runner = late;
  const auto engine = *UpgradeEngine::Create(Gpu(), cluster, std::move(options));
  UpgradeController controller(*engine, cache, {});
  controller.SetPolicy(policy);
  const auto pass = [&] {
    cache->Turn({});
    static_cast<void>(controller.Step({}));
  };
  pass();
  const std::function<void()> label_of_one_node = late->TakeOne();
  late->RunAll();
  cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  for (int i = 0; i < 5; ++i) {
    pass();
    late->RunAll();
    cluster->Advance(absl::Seconds(1));
  }
  for (const Node& node : cluster->nodes()) CHECK_FALSE(node.unschedulable);
  label_of_one_node();
  std::set<std::string> units;
  for (int i = 0; i < 10 && units.empty(); ++i) {
    pass();
    late->RunAll();
    cluster->Advance(absl::Seconds(1));
    for (const Node& node : cluster->nodes()) {
      if (node.annotations.contains(Gpu().UnitAnnotation())) units.insert(node.name);
    }
  }
  CHECK(units.size() == 3);
}

}  // namespace
}  // namespace driverupgrade::tests
