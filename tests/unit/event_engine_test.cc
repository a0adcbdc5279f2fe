// Tests an engine's Events about nodes that cannot proceed, on the fake cluster in virtual time.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeClock;
using testing::FakeCluster;
using testing::Fleet;

/// A fleet of one node with a pod that a disruption budget can protect.
struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster =
      std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  UpgradePolicy policy = {.auto_upgrade = true, .drain = DrainPolicy{.timeout = absl::InfiniteDuration()}};
  Fleet fleet = testing::AddFleet(*cluster, {.node_count = 1, .workload = ""});
  std::shared_ptr<WatchCache> cache = {};
  std::unique_ptr<UpgradeEngine> engine = {};

  explicit World(bool with_cache, ExecutorOptions executor = {}, PodFilter uses_driver = nullptr) {
    cluster->AddPod(testing::PodBuilder("team-b", "pinned")
                        .OnNode("node-1")
                        .WithLabel("app", "pinned")
                        .OwnedByStatefulSet("pinned")
                        .Build());
    cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    if (with_cache) {
      cache = *WatchCache::Create(cluster, {.drivers = {{.ns = fleet.ns, .driver_labels = labels}}, .clock = clock});
    }
    executor.calls_in_flight = 1;
    auto created = UpgradeEngine::Create(
        Gpu(), cluster,
        {.snapshot = {.ns = fleet.ns, .driver_labels = labels, .uses_driver = std::move(uses_driver)},
         .executor = executor,
         .cache = cache,
         .clock = clock});
    REQUIRE(created.ok());
    engine = *std::move(created);
  }
  ~World() {
    engine.reset();
    if (cache) cache->Stop();
  }
  void AddBudget() { cluster->AddDisruptionBudget({.ns = "team-b", .name = "never", .max_unavailable = 0}); }
  void Run(absl::Duration duration) {
    for (const absl::Time end = clock->Now() + duration; clock->Now() < end; cluster->Advance(absl::Seconds(1))) {
      if (cache) cache->Turn({});
      REQUIRE(engine->Reconcile({}, policy).ok());
    }
  }
  std::vector<RecordEventParams> Warnings() const {
    std::vector<RecordEventParams> warnings = cluster->stored_events();
    std::erase_if(warnings, [](const RecordEventParams& event) { return event.type != EventType::kWarning; });
    return warnings;
  }
};

TEST_CASE("api-A48: a disruption budget that blocks for hours causes one Event, which does not expire in that time") {
  World world(GENERATE(false, true));
  world.AddBudget();
  world.Run(absl::Hours(2) + absl::Minutes(5));
  CHECK(world.cluster->CallCount(Operation::kEvictPod) > 100);
  const std::vector<RecordEventParams> warnings = world.Warnings();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].node_name == "node-1");
  CHECK(warnings[0].node_uid == world.cluster->node("node-1")->uid);
  CHECK(warnings[0].reason == "GPUDriverUpgrade");
  CHECK(warnings[0].message ==
        "The driver upgrade waits in drain-required (DisruptionBudget): team-b/pinned: refused by disruption budget "
        "never");
  // The Event is repeated every half hour, so that it does not expire.
  REQUIRE(warnings[0].series);
  CHECK(warnings[0].series->count == 5);
  CHECK(world.clock->Now() - warnings[0].time <= absl::Minutes(31));

  world.cluster->ExpireEvents();
  world.Run(absl::Minutes(30));
  REQUIRE(world.Warnings().size() == 1);
  CHECK(world.Warnings()[0].series->count == 6);
}

TEST_CASE("api-A48: a wait that lasts for hours is reported repeatedly, even if passes run only at their wake times") {
  World world(GENERATE(false, true));
  world.policy.drain->timeout = absl::Seconds(10);
  world.AddBudget();
  world.Run(absl::Minutes(2));
  REQUIRE(world.cluster->node("node-1")->labels.at(Gpu().StateLabel()) == "upgrade-failed");
  int passes = 0;
  for (const absl::Time end = world.clock->Now() + absl::Hours(2); world.clock->Now() < end; ++passes) {
    if (world.cache) world.cache->Turn({});
    const auto pass = world.engine->Reconcile({}, world.policy);
    REQUIRE(pass.ok());
    const absl::Time next = pass->wake_at.value_or(absl::InfiniteFuture());
    world.cluster->RunUntil(std::min(std::max(next, world.clock->Now() + absl::Seconds(1)), end));
  }
  CHECK(passes < 100);
  const std::vector<RecordEventParams> warnings = world.Warnings();
  const auto failed = std::find_if(warnings.begin(), warnings.end(), [](const RecordEventParams& event) {
    return event.message.starts_with("The driver upgrade waits in upgrade-failed");
  });
  REQUIRE(failed != warnings.end());
  REQUIRE(failed->series);
  CHECK(failed->series->count >= 4);
  CHECK(world.clock->Now() - failed->time <= absl::Minutes(31));
}

TEST_CASE("A node that is blocked again, after an upgrade that completed, is reported again") {
  World world(GENERATE(false, true));
  world.AddBudget();
  world.Run(absl::Minutes(2));
  REQUIRE(world.cluster->RemoveDisruptionBudget("team-b", "never"));
  world.Run(absl::Minutes(2));
  REQUIRE(world.cluster->node("node-1")->labels.at(Gpu().StateLabel()) == "upgrade-done");
  world.cluster->AddPod(testing::PodBuilder("team-b", "pinned")
                            .OnNode("node-1")
                            .WithLabel("app", "pinned")
                            .OwnedByStatefulSet("pinned")
                            .Build());
  world.AddBudget();
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-3");
  world.Run(absl::Minutes(2));
  REQUIRE(world.Warnings().size() == 1);
  REQUIRE(world.Warnings()[0].series);
  CHECK(world.Warnings()[0].series->count == 2);
}

TEST_CASE("A hook that fails causes one Event on the node, and no second Event for the gate") {
  World world(GENERATE(false, true), {},
              [](const CallContext&, const Pod&) -> absl::StatusOr<bool> { return absl::InternalError("boom"); });
  world.Run(absl::Minutes(4));
  const std::vector<RecordEventParams> warnings = world.Warnings();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].message == "HookFailed: pod filter for team-b/pinned: boom");
  CHECK_FALSE(warnings[0].series);
}

TEST_CASE("A patch that the API server keeps refusing causes one Event series, which is updated at a limited rate") {
  World world(GENERATE(false, true));
  world.cluster->SetFaultHooks(
      [](const testing::Call& call) -> std::optional<absl::Status> {
        if (call.operation != Operation::kPatchNode) return std::nullopt;
        return absl::PermissionDeniedError("nodes \"node-1\" is forbidden");
      },
      nullptr);
  world.Run(absl::Hours(1));
  const std::vector<RecordEventParams> warnings = world.Warnings();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].message == "Failed to update node state label to drain-required, nodes \"node-1\" is forbidden");
  REQUIRE(warnings[0].series);
  // An initial burst of 25 Events, and then 12 Events per hour.
  CHECK(world.cluster->events().size() <= 37);
}

TEST_CASE("Events about transitions and Events about findings can be disabled separately") {
  struct Row {
    ExecutorOptions options;
    bool transitions, findings;
  };
  const Row row = GENERATE(values<Row>({{{}, true, true},
                                        {{.transition_events = false}, false, true},
                                        {{.finding_events = false}, true, false},
                                        {{.events = false}, false, false}}));
  World world(/*with_cache=*/true, row.options);
  world.AddBudget();
  world.Run(absl::Minutes(5));
  int transitions = 0;
  for (const RecordEventParams& event : world.cluster->events()) transitions += event.type == EventType::kNormal;
  CHECK((transitions > 0) == row.transitions);
  CHECK(world.Warnings().size() == (row.findings ? 1 : 0));
}

TEST_CASE(
    "W31: if a node changes its state several times in one pass, its Events sort by name in the order of the changes") {
  World world(GENERATE(false, true));
  world.policy = {.auto_upgrade = true};
  world.Run(absl::Minutes(5));
  std::vector<std::string> names;
  std::vector<std::string> states;
  for (const RecordEventParams& event : world.cluster->stored_events()) {
    names.push_back(EventName(event));
    states.push_back(event.message.substr(event.message.rfind(' ') + 1));
  }
  CHECK(states == std::vector<std::string>{"upgrade-required", "cordon-required", "wait-for-jobs-required",
                                           "drain-required", "pod-restart-required", "uncordon-required",
                                           "upgrade-done"});
  CHECK(std::is_sorted(names.begin(), names.end()));
}

}  // namespace
}  // namespace driverupgrade::tests
