// An engine that reads from a cache, together with its controller, on the fake cluster in virtual time.
#ifndef DRIVERUPGRADE_TESTS_UNIT_CACHED_WORLD_H_
#define DRIVERUPGRADE_TESTS_UNIT_CACHED_WORLD_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "support/catch.h"
#include "support/holding_facade.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {

using testing::AddFleet;
using testing::Call;
using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;
using testing::Fleet;

inline constexpr int kWatches = 5;  // nodes, pods, DaemonSets, revisions, driver pods

/// A fleet, a cache that follows it, and an engine and a controller that use the cache.
struct CachedWorld {
  const bool threads;
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster;
  UpgradePolicy policy = {.auto_upgrade = true, .max_parallel = 2, .drain = DrainPolicy{}};
  Fleet fleet = {};
  std::shared_ptr<HoldingFacade> line = {};
  std::shared_ptr<WatchCache> cache = {};
  std::unique_ptr<UpgradeEngine> engine = {};
  std::unique_ptr<UpgradeController> controller = {};
  int calls_in_flight = 1;
  std::optional<std::size_t> nodes_per_pass = std::nullopt;
  PodFilter uses_driver = nullptr;
  RestartOnlyPredicate restart_only = nullptr;
  std::optional<LabelSelector> validation = std::nullopt;
  std::optional<AdmissionLedgerOptions> ledger = std::nullopt;
  int most_in_progress = 0;

  /// If `with_threads` is false, the cache has no threads, and the test runs the cache's watches with WatchCache::Turn.
  explicit CachedWorld(testing::FleetOptions options = {}, int calls_in_flight = 1, bool with_threads = true)
      : threads(with_threads),
        cluster(std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = with_threads})),
        calls_in_flight(calls_in_flight) {
    fleet = AddFleet(*cluster, options);
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    cluster->SetChangeObserver([this](const Change& change) { Watch(change); });
    line = std::make_shared<HoldingFacade>(cluster);
    cache = *WatchCache::Create(line, {.drivers = {{.ns = fleet.ns, .driver_labels = labels}}, .clock = clock});
    MakeEngine();
    controller = std::make_unique<UpgradeController>(*engine, cache, ControllerOptions{});
    controller->SetPolicy(policy);
    if (!threads) return;
    cache->Start();
    Settle();
  }
  void MakeEngine() {
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    EngineOptions options{
        .snapshot = {.ns = fleet.ns, .driver_labels = labels, .uses_driver = uses_driver, .restart_only = restart_only},
        .state_machine = {.validation_selector = validation},
        .cache = cache,
        .ledger = ledger,
        .clock = clock};
    options.executor.calls_in_flight = calls_in_flight;
    if (nodes_per_pass) options.nodes_per_pass = *nodes_per_pass;
    auto created = UpgradeEngine::Create(Gpu(), line, std::move(options));
    REQUIRE(created.ok());
    engine = *std::move(created);
  }
  ~CachedWorld() {
    line->LetGo();
    if (engine) engine->Quiesce();
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
  /// Returns when the cache has seen all changes.
  void Settle() {
    if (threads) {
      cluster->AwaitWatchesIdle(kWatches);
    } else {
      cache->Turn({});
    }
  }
  std::size_t Count(Operation operation) const {
    std::size_t count = 0;
    for (const Call& call : cluster->journal()) count += call.operation == operation;
    return count;
  }
  static bool IsDone(const Node& node) {
    const auto label = node.labels.find(Gpu().StateLabel());
    return label != node.labels.end() && label->second == "upgrade-done" && !node.unschedulable;
  }
  bool AllDone() const {
    const std::vector<Node> nodes = cluster->nodes();
    return std::all_of(nodes.begin(), nodes.end(), IsDone);
  }
  /// Steps the controller until `condition` holds, for at most 60,000 steps. After each step a little time passes, and
  /// the cache sees all changes. Returns true if the condition holds.
  template <typename Condition>
  bool StepsUntil(Condition condition) {
    for (int i = 0; i < 60'000 && !condition(); ++i) {
      controller->Step({});
      cluster->Advance(absl::Milliseconds(10));
      Settle();
    }
    return condition();
  }
  /// Runs the controller until all nodes are done or `limit` has passed. The controller steps only when something has
  /// changed or a step is due. Returns the virtual time that has passed.
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

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_UNIT_CACHED_WORLD_H_
