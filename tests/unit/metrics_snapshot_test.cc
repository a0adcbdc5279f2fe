#include <thread>

#include "driverupgrade/observer.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "observe/node_times.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeClock;
using testing::FakeCluster;

struct Observed {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  MetricsObserver observer{Gpu(), clock};
  MetricsSnapshot After(const Plan& plan) {
    observer.OnPlan(plan);
    return observer.Snapshot();
  }
  MetricsSnapshot After(const NodePlan& plan, const NodeOutcome& outcome) {
    observer.OnNodeApplied(plan, outcome);
    return observer.Snapshot();
  }
};

NodeGate Waits(std::string node, GateReason reason) { return {.node = std::move(node), .gate = {.reason = reason}}; }

TEST_CASE("A histogram counts each value once, in the first bucket that contains it") {
  Histogram histogram{.bounds = {1, 2}};
  for (const double value : {0.5, 1.0, 1.5, 2.5, 100.0}) histogram.Add(value);
  CHECK(histogram.counts == std::vector<std::uint64_t>{2, 1, 2});
  CHECK(histogram.Count() == 5);
  CHECK(histogram.sum == 105.5);
}

TEST_CASE("Each transition is counted, but only if the node was patched") {
  Observed observed;
  const NodePlan plan{.node = "n1",
                      .from = UpgradeState::kDone,
                      .path = {UpgradeState::kUpgradeRequired, UpgradeState::kCordonRequired}};
  CHECK(observed.After(plan, {.status = absl::UnavailableError("")}).transitions.empty());
  CHECK_FALSE(observed.observer.Snapshot().last_progress);
  observed.After(plan, {.patched = true});
  observed.clock->Advance(absl::Seconds(7));
  const MetricsSnapshot figures = observed.After(plan, {.patched = true});
  CHECK(figures.transitions.size() == 2);
  CHECK(figures.transitions.at({UpgradeState::kDone, UpgradeState::kUpgradeRequired}) == 2);
  CHECK(figures.transitions.at({UpgradeState::kUpgradeRequired, UpgradeState::kCordonRequired}) == 2);
  CHECK(figures.last_progress == observed.clock->Now());
}

/// The upgrade of one node as seen by an observer.
struct Journey {
  Observed observed = {};
  std::string uid = "u1";
  UpgradeState state = UpgradeState::kDone;
  MetricsSnapshot To(std::vector<UpgradeState> path, absl::Duration after = absl::ZeroDuration(), bool patched = true) {
    observed.clock->Advance(after);
    const NodePlan plan{.node = "n1", .uid = uid, .from = state, .path = path};
    if (patched) state = path.back();
    return observed.After(plan, {.patched = patched});
  }
};

TEST_CASE(
    "The time in a state is recorded when the node leaves the state, and the upgrade time when the upgrade ends") {
  Journey journey;
  journey.To({UpgradeState::kUpgradeRequired});
  journey.To({UpgradeState::kCordonRequired, UpgradeState::kDrainRequired}, absl::Seconds(60));
  journey.To({UpgradeState::kPodRestartRequired}, absl::Seconds(7), /*patched=*/false);
  journey.To({UpgradeState::kFailed}, absl::Seconds(3));
  MetricsSnapshot figures = journey.To({UpgradeState::kUncordonRequired}, absl::Seconds(100));
  CHECK(figures.upgrade_seconds.Count() == 0);
  figures = journey.To({UpgradeState::kDone}, absl::Seconds(1));
  CHECK(figures.state_seconds.at(UpgradeState::kUpgradeRequired).sum == 60);
  CHECK(figures.state_seconds.at(UpgradeState::kDrainRequired).sum == 10);
  CHECK(figures.state_seconds.at(UpgradeState::kFailed).sum == 100);
  CHECK_FALSE(
      figures.state_seconds.contains(UpgradeState::kCordonRequired));  // the node entered and left it with one patch
  CHECK_FALSE(figures.state_seconds.contains(UpgradeState::kDone));
  CHECK(figures.upgrade_seconds.Count() == 1);
  CHECK(figures.upgrade_seconds.sum == 111);
}

TEST_CASE("The time in a state is not counted unless the observer saw the same node enter that state") {
  Journey journey;
  journey.state = UpgradeState::kDrainRequired;
  CHECK(journey.To({UpgradeState::kPodRestartRequired}, absl::Hours(1)).state_seconds.empty());
  SECTION("the node was created again under the same name") { journey.uid = "u2"; }
  SECTION("another client changed the label of the node") { journey.state = UpgradeState::kValidationRequired; }
  const MetricsSnapshot figures = journey.To({UpgradeState::kDone}, absl::Hours(1));
  CHECK(figures.state_seconds.empty());
  CHECK(figures.upgrade_seconds.Count() == 0);
}

TEST_CASE("A clock that is set back does not lead to a negative time in a state") {
  Journey journey;
  journey.To({UpgradeState::kUpgradeRequired});
  const MetricsSnapshot figures = journey.To({UpgradeState::kCordonRequired}, -absl::Hours(1));
  CHECK(figures.state_seconds.at(UpgradeState::kUpgradeRequired).sum == 0);
}

TEST_CASE("The number of remembered nodes is limited, and the nodes that changed most recently are kept") {
  internal::NodeTimes times;
  const absl::Time now = absl::UnixEpoch();
  for (int i = 0; i < 5; ++i) {
    times.Follow({.node = "n" + std::to_string(i), .path = {UpgradeState::kUpgradeRequired}}, now + absl::Seconds(i));
  }
  times.Trim(2);
  CHECK(times.size() == 2);
  const auto in_state = [&](const char* node) {
    const NodePlan plan{.node = node, .from = UpgradeState::kUpgradeRequired, .path = {UpgradeState::kCordonRequired}};
    return times.Follow(plan, now + absl::Seconds(10)).in_state;
  };
  CHECK_FALSE(in_state("n2"));
  CHECK(in_state("n4") == absl::Seconds(6));
}

TEST_CASE("Failures are counted by status code, and conflicts and unknown outcomes also have their own counters") {
  struct Row {
    absl::Status status;
    std::uint64_t conflicts;
    std::uint64_t unknown;
  };
  const auto row = GENERATE(values<Row>({{absl::OkStatus(), 0, 0},
                                         {absl::AbortedError(""), 1, 0},
                                         {absl::UnavailableError(""), 0, 1},
                                         {absl::DeadlineExceededError(""), 0, 1},
                                         {absl::PermissionDeniedError(""), 0, 0}}));
  CAPTURE(row.status.ToString());
  Observed observed;
  const MetricsSnapshot figures = observed.After(NodePlan{.node = "n1"}, {.status = row.status});
  CHECK(figures.conflicts == row.conflicts);
  CHECK(figures.unknown_outcomes == row.unknown);
  CHECK(figures.node_errors.size() == !row.status.ok());
  if (!row.status.ok()) CHECK(figures.node_errors.at(row.status.code()) == 1);
}

TEST_CASE("Evictions and deleted driver pods are counted, including those before a failure") {
  Observed observed;
  observed.After(NodePlan{.node = "n1"}, {.evictions_accepted = 3, .evictions_refused = 1});
  const MetricsSnapshot figures = observed.After(
      NodePlan{.node = "n2"}, {.status = absl::UnavailableError(""), .evictions_accepted = 1, .pods_deleted = 1});
  CHECK(figures.evictions_accepted == 4);
  CHECK(figures.evictions_refused == 1);
  CHECK(figures.driver_pods_deleted == 1);
}

TEST_CASE("Nodes are counted by wait reason, from plans with all gates and from plans with changed gates") {
  Observed observed;
  const Plan all{.gates = {Waits("n1", GateReason::kMaxParallel), Waits("n2", GateReason::kMaxParallel)}};
  CHECK(observed.After(all).blocked == std::map<GateReason, int>{{GateReason::kMaxParallel, 2}});
  CHECK(observed.After({.gates_complete = false}).blocked == std::map<GateReason, int>{{GateReason::kMaxParallel, 2}});
  CHECK(observed.After({.gates = {Waits("n1", GateReason::kJobs)}, .gates_complete = false}).blocked ==
        std::map<GateReason, int>{{GateReason::kMaxParallel, 1}, {GateReason::kJobs, 1}});
  CHECK(observed.After({.gates_complete = false, .ungated = {"n1", "n2"}}).blocked ==
        std::map<GateReason, int>{{GateReason::kMaxParallel, 0}, {GateReason::kJobs, 0}});
  CHECK(observed.After(all).blocked.at(GateReason::kMaxParallel) == 2);
  CHECK(observed.After(Plan{}).blocked.at(GateReason::kMaxParallel) == 0);
}

TEST_CASE("Findings are counted from the last plan, and ended findings count as zero") {
  Observed observed;
  const Finding cordon{.code = FindingCode::kForeignCordon, .node = "n1"};
  observed.After({.findings = {cordon, cordon, {.code = FindingCode::kLedger}}});
  CHECK(observed.After({.findings = {cordon}}).findings ==
        std::map<FindingCode, int>{{FindingCode::kForeignCordon, 1}, {FindingCode::kLedger, 0}});
}

TEST_CASE("Findings about the configuration come from the last successful pass, and are added to the plan's findings") {
  Observed observed;
  const Finding nothing{.code = FindingCode::kNothingIsEvicted};
  const Finding ledger{.code = FindingCode::kLedger};
  observed.After({.findings = {ledger}});
  observed.observer.OnPassEnded({.configuration = {nothing}});
  observed.After({.findings = {ledger}});  // the next pass, which has not ended yet
  const std::map<FindingCode, int> both = {{FindingCode::kLedger, 1}, {FindingCode::kNothingIsEvicted, 1}};
  CHECK(observed.observer.Snapshot().findings == both);
  observed.observer.OnPassEnded({.status = absl::UnavailableError("away")});
  CHECK(observed.observer.Snapshot().findings == both);
  observed.observer.OnPassEnded({});
  CHECK(observed.observer.Snapshot().findings ==
        std::map<FindingCode, int>{{FindingCode::kLedger, 1}, {FindingCode::kNothingIsEvicted, 0}});
}

TEST_CASE("A failed pass is counted and timed, and a clock that is set back adds no time") {
  Observed observed;
  const absl::Time now = observed.clock->Now();
  observed.observer.OnPassEnded({.began = now, .ended = now + absl::Milliseconds(1500), .auto_upgrade = true});
  observed.observer.OnPassEnded({.status = absl::UnavailableError(""), .began = now, .ended = now - absl::Hours(1)});
  const MetricsSnapshot figures = observed.observer.Snapshot();
  CHECK(figures.reconcile_seconds.Count() == 2);
  CHECK(figures.reconcile_seconds.sum == 1.5);
  CHECK(figures.reconcile_errors == 1);
  CHECK_FALSE(figures.auto_upgrade);
}

TEST_CASE("Metrics can be read while the plans of nodes are being applied") {
  Observed observed;
  const NodePlan plan{.node = "n1", .from = UpgradeState::kDrainRequired, .path = {UpgradeState::kPodRestartRequired}};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) observed.observer.OnNodeApplied(plan, {.patched = true});
    });
  }
  for (int n = 0; n < 100; ++n) observed.After({.gates = {Waits("n1", GateReason::kJobs)}});
  for (std::thread& thread : threads) thread.join();
  CHECK(observed.observer.Snapshot().transitions.at(
            {UpgradeState::kDrainRequired, UpgradeState::kPodRestartRequired}) == 400);
}

TEST_CASE("An observer group forwards each call to all its observers, and skips null observers") {
  const auto one = std::make_shared<MetricsObserver>(Gpu());
  const auto other = std::make_shared<MetricsObserver>(Gpu());
  const auto group = MakeObserverGroup({one, nullptr, other});
  group->OnPlan({.totals = {.total = 5}});
  group->OnNodeApplied({.node = "n1"}, {.pods_deleted = 1});
  group->OnPassEnded({.paused = true});
  for (const auto& observer : {one, other}) {
    CHECK(observer->Snapshot().nodes.total == 5);
    CHECK(observer->Snapshot().driver_pods_deleted == 1);
    CHECK(observer->Snapshot().paused);
  }
}

/// A rollout over six nodes with lists or a cache, observed from its first pass.
struct Rollout {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(clock);
  testing::Fleet fleet = AddFleet(*cluster, {.node_count = 6});
  std::shared_ptr<MetricsObserver> metrics = std::make_shared<MetricsObserver>(Gpu(), clock);
  std::shared_ptr<WatchCache> cache = nullptr;
  std::unique_ptr<UpgradeEngine> engine = nullptr;
  UpgradePolicy policy = {.auto_upgrade = true, .max_parallel = 2, .drain = DrainPolicy{}};

  explicit Rollout(bool cached) {
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    if (cached) {
      cache = *WatchCache::Create(cluster, {.drivers = {{.ns = fleet.ns, .driver_labels = labels}}, .clock = clock});
      cache->Start();
    }
    EngineOptions options{
        .snapshot = {.ns = fleet.ns, .driver_labels = labels}, .cache = cache, .clock = clock, .observer = metrics};
    options.executor.calls_in_flight = 1;
    engine = *UpgradeEngine::Create(Gpu(), cluster, std::move(options));
    cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  }
  ~Rollout() {
    if (cache) cache->Stop();
  }
  MetricsSnapshot Pass() {
    if (cache) cluster->AwaitWatchesIdle(5);
    REQUIRE(engine->Reconcile({}, policy).ok());
    return metrics->Snapshot();
  }
  /// Returns the number of waiting nodes by reason, according to the engine's complete report.
  std::map<GateReason, int> Blocked() const {
    std::map<GateReason, int> blocked;
    for (const NodeGate& gate : engine->Everything().gates) ++blocked[gate.gate.reason];
    return blocked;
  }
};

TEST_CASE("During a whole rollout the metrics match the engine, with lists and with a cache") {
  const bool cached = GENERATE(false, true);
  CAPTURE(cached);
  Rollout rollout(cached);
  MetricsSnapshot figures;
  int passes = 0;
  while (figures.nodes.done < 6 && passes < 500) {
    figures = rollout.Pass();
    ++passes;
    std::erase_if(figures.blocked, [](const auto& entry) { return entry.second == 0; });
    CHECK(figures.blocked == rollout.Blocked());
    CHECK(figures.nodes == rollout.engine->Everything().totals);
    rollout.cluster->Advance(absl::Seconds(1));
  }
  CHECK(figures.nodes.InState(UpgradeState::kDone) == 6);
  CHECK(figures.blocked.empty());
  CHECK(figures.budget.parallel_max == 2);
  CHECK(figures.driver_pods_deleted == 6);
  CHECK(figures.transitions.at({UpgradeState::kUpgradeRequired, UpgradeState::kCordonRequired}) == 6);
  CHECK(figures.transitions.at({UpgradeState::kUncordonRequired, UpgradeState::kDone}) == 6);
  CHECK(figures.upgrade_seconds.Count() == 6);
  CHECK(figures.upgrade_seconds.sum > 0);
  CHECK(figures.reconcile_seconds.Count() == static_cast<std::uint64_t>(passes));
  CHECK(figures.reconcile_errors == 0);
  CHECK(figures.auto_upgrade);
}

TEST_CASE("After a failed pass, the metrics of the previous pass are kept, and an error is counted") {
  Rollout rollout(/*cached=*/false);
  rollout.Pass();
  rollout.policy.max_parallel = -1;
  rollout.policy.paused = true;
  CHECK_FALSE(rollout.engine->Reconcile({}, rollout.policy).ok());
  const MetricsSnapshot figures = rollout.metrics->Snapshot();
  CHECK(figures.nodes.total == 6);
  CHECK(figures.reconcile_errors == 1);
  CHECK(figures.paused);
}

}  // namespace
}  // namespace driverupgrade::tests
