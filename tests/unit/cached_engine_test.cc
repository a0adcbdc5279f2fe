// An engine that reads from a cache, and the controller that runs it: on the fake cluster, in virtual time.
#include <algorithm>
#include <map>
#include <set>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::AddFleet;
using testing::Call;
using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;
using testing::Fleet;

constexpr int kWatches = 5;  // nodes, pods, DaemonSets, revisions, driver pods

/// A fleet, a cache that follows it, and an engine and a controller on the cache.
struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(clock);
  UpgradePolicy policy = {.auto_upgrade = true, .max_parallel = 2, .drain = DrainPolicy{}};
  Fleet fleet = {};
  std::shared_ptr<WatchCache> cache = {};
  std::unique_ptr<UpgradeEngine> engine = {};
  std::unique_ptr<UpgradeController> controller = {};
  int most_in_progress = 0;

  explicit World(testing::FleetOptions options = {}) {
    fleet = AddFleet(*cluster, options);
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    cluster->SetChangeObserver([this](const Change& change) { Watch(change); });
    cache = *WatchCache::Create(cluster, {.drivers = {{.ns = fleet.ns, .driver_labels = labels}}, .clock = clock});
    EngineOptions engine_options{.snapshot = {.ns = fleet.ns, .driver_labels = labels}, .cache = cache, .clock = clock};
    engine_options.executor.calls_in_flight = 1;
    auto created = UpgradeEngine::Create(Gpu(), cluster, std::move(engine_options));
    REQUIRE(created.ok());
    engine = *std::move(created);
    controller = std::make_unique<UpgradeController>(*engine, cache, ControllerOptions{.clock = clock});
    controller->SetPolicy(policy);
    cache->Start();
    Settle();
  }
  ~World() {
    controller.reset();
    cache->Stop();
    cluster->SetChangeObserver(nullptr);
  }
  void Watch(const Change& change) {
    if (change.node.after == nullptr) return;
    const auto label = change.node.after->labels.find(Gpu().StateLabel());
    const auto state = ParseUpgradeState(label == change.node.after->labels.end() ? "" : label->second);
    if (state && IsInProgress(*state)) {
      busy.insert(change.node.after->name);
    } else {
      busy.erase(change.node.after->name);
    }
    most_in_progress = std::max(most_in_progress, static_cast<int>(busy.size()));
  }
  /// Everything that has happened has been seen by the cache.
  void Settle() { cluster->AwaitWatchesIdle(kWatches); }
  std::size_t Count(Operation operation) const {
    std::size_t count = 0;
    for (const Call& call : cluster->journal()) count += call.operation == operation;
    return count;
  }
  bool AllDone() const {
    const std::vector<Node> nodes = cluster->nodes();
    return std::all_of(nodes.begin(), nodes.end(), [](const Node& node) {
      const auto label = node.labels.find(Gpu().StateLabel());
      return label != node.labels.end() && label->second == "upgrade-done" && !node.unschedulable;
    });
  }
  /// Steps of the controller when something changes and when it says so, at no other time. How long it took.
  absl::Duration RunUntilDone(absl::Duration limit = absl::Hours(2)) {
    const absl::Time begin = clock->Now();
    while (!AllDone() && clock->Now() < begin + limit) {
      const absl::Time next = controller->Step({});
      Settle();
      if (next <= clock->Now()) continue;
      cluster->Advance(std::min(absl::Milliseconds(100), next - clock->Now()));
      Settle();
    }
    return clock->Now() - begin;
  }
  std::set<std::string> busy = {};
};

TEST_CASE("arch-A10: a rollout from the cache ends like one from lists, and reads pods once a node") {
  World world;
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Settle();
  world.RunUntilDone();
  CHECK(world.AllDone());
  CHECK(world.most_in_progress == 2);
  for (const Pod& pod : world.cluster->pods()) {
    if (pod.ref.ns == world.fleet.ns) CHECK(RevisionHash(pod) == "rev-2");
  }
  const std::size_t nodes = world.fleet.node_names.size();
  CHECK(world.Count(Operation::kListPods) == nodes);
  CHECK(world.Count(Operation::kDeletePod) == nodes);
  CHECK(world.Count(Operation::kListNodes) == 0);
  CHECK(world.Count(Operation::kGetNode) == 0);
}

TEST_CASE("arch-A10: an idle engine of 5,000 nodes makes no call but watches in an hour") {
  World world({.node_count = 5000});
  world.RunUntilDone();
  REQUIRE(world.AllDone());
  for (int i = 0; i < 3; ++i) {  // it sees what it has written itself
    world.controller->Step({});
    world.cluster->Advance(absl::Seconds(1));
    world.Settle();
  }
  const std::size_t before = world.cluster->journal().size();
  const int passes = world.controller->status().passes;
  for (int minute = 0; minute < 60; ++minute) {
    world.cluster->Advance(absl::Minutes(1));
    world.Settle();
    world.controller->Step({});
  }
  const std::vector<Call> calls = world.cluster->journal();
  for (std::size_t i = before; i < calls.size(); ++i) {
    CAPTURE(std::string(ToString(calls[i].operation)));
    CHECK(std::string(ToString(calls[i].operation)).starts_with("watch "));
  }
  CHECK(calls.size() - before <= kWatches * 12);  // each ends after five to ten minutes
  CHECK(world.controller->status().passes == passes);
}

TEST_CASE("arch-A11: pods that come after the cordon are evicted, those of a lagging watch too") {
  World world({.node_count = 1});
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Settle();
  world.controller->Step({});  // cordon
  world.cluster->PauseWatches();
  world.cluster->AddPod(
      testing::PodBuilder("team-a", "late").OnNode(world.fleet.node_names[0]).OwnedByReplicaSet("x").Build());
  world.cluster->ResumeWatches();
  world.Settle();
  world.RunUntilDone();
  CHECK(world.AllDone());
  CHECK_FALSE(world.cluster->pod("team-a", "late"));
}

TEST_CASE("A16, A18: broken and expired watches lose nothing") {
  World world({.node_count = 4});
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  for (int i = 0; i < 40 && !world.AllDone(); ++i) {
    world.controller->Step({});
    if (i % 3 == 1) world.cluster->BreakWatches(absl::UnavailableError("connection reset"));
    if (i % 3 == 2) {
      world.cluster->PauseWatches();
      world.cluster->Advance(absl::Seconds(1));
      world.cluster->CompactLog();
      world.cluster->BreakWatches(absl::OutOfRangeError("too old resource version"));
      world.cluster->ResumeWatches();
    }
    world.cluster->Advance(absl::Seconds(2));
    world.Settle();
  }
  world.RunUntilDone();
  CHECK(world.AllDone());
  CHECK(world.most_in_progress <= 2);
}

TEST_CASE("arch-A9: a refused eviction keeps its pace while the pods of its node are not known for a moment") {
  World world({.node_count = 1});
  world.cluster->AddDisruptionBudget({.ns = "team-a", .name = "web", .min_available = 1});
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Settle();
  const auto refused = [&] {
    std::vector<absl::Time> times;
    for (const Call& call : world.cluster->journal()) {
      if (call.operation == Operation::kEvictPod && call.object.starts_with("team-a/web-")) times.push_back(call.time);
    }
    return times;
  };
  const auto pass = [&] {
    world.controller->Step({});
    world.Settle();
    world.cluster->Advance(absl::Milliseconds(30));
    world.Settle();
  };
  for (int i = 0; i < 10 && refused().empty(); ++i) pass();
  REQUIRE(refused().size() == 1);
  for (int i = 0; i < 3; ++i) {
    world.cluster->CompactLog();
    world.cluster->BreakWatches(absl::OutOfRangeError("too old resource version"));
    world.Settle();
    for (int again = 0; again < 3; ++again) pass();
  }
  const std::vector<absl::Time> times = refused();
  for (std::size_t i = 1; i < times.size(); ++i) CHECK(times[i] - times[i - 1] >= absl::Milliseconds(4500));
}

TEST_CASE("A node that is deleted in the middle is forgotten, and its slot is free") {
  World world({.node_count = 3});
  world.policy.max_parallel = 1;
  world.controller->SetPolicy(world.policy);
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Settle();
  world.controller->Step({});
  world.cluster->RemoveNode(world.fleet.node_names[0]);
  world.Settle();
  world.RunUntilDone();
  CHECK(world.AllDone());
  CHECK(world.cluster->nodes().size() == 2);
}

TEST_CASE("arch-A10: Explain and Everything know what a pass did not repeat") {
  World world({.node_count = 4});
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Settle();
  for (int i = 0; i < 3; ++i) world.controller->Step({});
  const auto gate = world.engine->Explain(world.fleet.node_names[3]);
  REQUIRE(gate);
  CHECK(gate->reason == GateReason::kMaxParallel);
  CHECK(gate->detail.find("place 2 in the queue") != std::string::npos);
  CHECK(world.engine->Everything().gates.size() == 4);
  CHECK_FALSE(world.engine->Explain("nobody"));
}

TEST_CASE("A controller without a policy does nothing, and one with errors is patient") {
  World world({.node_count = 1});
  UpgradeController idle(*world.engine, world.cache, {.clock = world.clock});
  CHECK(idle.Step({}) == absl::InfiniteFuture());
  CHECK(absl::IsUnavailable(idle.Ready()));

  idle.SetPolicy({.auto_upgrade = true, .max_parallel = -1});  // refused by Validate
  const absl::Time first = idle.Step({});
  CHECK(first - world.clock->Now() == absl::Seconds(1));
  CHECK(absl::IsInvalidArgument(idle.status().last_error));
  CHECK(absl::IsInvalidArgument(idle.Ready()));
  world.clock->Advance(absl::Seconds(1));
  CHECK(idle.Step({}) - world.clock->Now() == absl::Seconds(2));
  idle.Notify();
  CHECK(idle.Step({}) - world.clock->Now() == absl::Seconds(2));  // what changes does not make it less patient
  CHECK(idle.status().passes == 2);
  world.clock->Advance(absl::Seconds(2));
  idle.SetPolicy(world.policy);
  idle.Step({});
  CHECK(idle.Ready().ok());
  CHECK(idle.Healthy().ok());
}

TEST_CASE("A cache that does not follow the driver is no cache for its engine") {
  World world({.node_count = 1});
  EngineOptions options{
      .snapshot = {.ns = "elsewhere", .driver_labels = LabelSelector::FromMatchLabels({{"app", "driver"}})},
      .cache = world.cache};
  CHECK(UpgradeEngine::Create(Gpu(), world.cluster, options).status() ==
        absl::InvalidArgumentError("engine options: the cache does not follow the driver in namespace elsewhere"));
}

}  // namespace
}  // namespace driverupgrade::tests
