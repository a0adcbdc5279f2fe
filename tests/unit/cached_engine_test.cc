// Tests an engine that reads from a cache, together with its controller, on the fake cluster in virtual time.
#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/snapshot_builder.h"
#include "driverupgrade/upgrade_controller.h"
#include "fmt/format.h"
#include "property/seeded_random.h"
#include "support/catch.h"
#include "unit/cached_world.h"

namespace driverupgrade::tests {
namespace {

class SkewedClock final : public Clock {
 public:
  explicit SkewedClock(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}
  absl::Time Now() const override { return clock_->Now() + skew; }
  bool SleepFor(absl::Duration duration, std::stop_token stop) override {
    return clock_->SleepFor(duration, std::move(stop));
  }
  absl::Duration skew = absl::ZeroDuration();

 private:
  std::shared_ptr<Clock> clock_;
};

using World = CachedWorld;

TEST_CASE(
    "arch-A10: a rollout that reads from a cache completes, lists pods once per node, and never lists or gets nodes") {
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

TEST_CASE("arch-A10: with parallel requests, every node is upgraded, and the rollout stays within the budgets") {
  World world({.node_count = 12}, /*calls_in_flight=*/8);
  world.policy.max_parallel = 4;
  world.controller->SetPolicy(world.policy);
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  CHECK(world.StepsUntil([&] { return world.AllDone() && world.Count(Operation::kDeletePod) == 12; }));
  CHECK(world.Count(Operation::kListPods) == 12);  // pods that are known stay known while a patch is in progress
  CHECK(world.most_in_progress == 4);
}

TEST_CASE("arch-A10: a node whose patch has no response yet does not block other nodes, and gets no second patch") {
  World world({.node_count = 4}, /*calls_in_flight=*/8);
  world.policy.max_parallel = 2;
  world.controller->SetPolicy(world.policy);
  world.line->Hold(world.fleet.node_names[0]);
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  const auto done = [&](std::size_t node) { return World::IsDone(*world.cluster->node(world.fleet.node_names[node])); };
  CHECK(world.StepsUntil([&] { return done(1) && done(2) && done(3) && world.Count(Operation::kDeletePod) == 3; }));
  CHECK_FALSE(done(0));
  const auto gate = world.engine->Explain(world.fleet.node_names[0]);
  REQUIRE(gate);
  CHECK(gate->reason == GateReason::kUnsettled);
  world.line->LetGo();
  CHECK(world.StepsUntil([&] { return world.AllDone() && world.Count(Operation::kDeletePod) == 4; }));
  CHECK(world.most_in_progress <= 2);
}

TEST_CASE("arch-A10: an idle engine with 5,000 nodes makes no calls for an hour, except for watches") {
  World world({.node_count = 5000});
  world.RunUntilDone();
  REQUIRE(world.AllDone());
  while (world.controller->Step({}) < absl::InfiniteFuture()) {  // steps until the engine has seen its own writes
    world.cluster->Advance(absl::Seconds(1));
    world.Settle();
  }
  const std::size_t before = world.cluster->journal().size();
  const int passes = world.controller->status().passes;
  // Shorter than the time for which a watch may be silent. After a longer pause, the cache would restart the watch.
  constexpr absl::Duration kPause = absl::Seconds(20);
  for (absl::Duration past = absl::ZeroDuration(); past < absl::Hours(1); past += kPause) {
    world.cluster->Advance(kPause);
    world.Settle();
    world.controller->Step({});
  }
  const std::vector<Call> calls = world.cluster->journal();
  for (std::size_t i = before; i < calls.size(); ++i) {
    CAPTURE(std::string(ToString(calls[i].operation)));
    CHECK(std::string(ToString(calls[i].operation)).starts_with("watch "));
  }
  CHECK(calls.size() - before <= kWatches * 12);  // each watch ends after five to ten minutes
  CHECK(world.controller->status().passes == passes);
}

TEST_CASE("api-A16, api-A18: broken and expired watches lose no changes") {
  World world({.node_count = 4});
  // On a FakeClock the sleeps of all threads add up. Infinite deadlines keep nodes from failing while watches wait to
  // restart.
  world.policy.deadlines = {.pod_restart = absl::InfiniteDuration(), .validation = absl::InfiniteDuration()};
  world.policy.drain = DrainPolicy{.timeout = absl::InfiniteDuration()};
  world.controller->SetPolicy(world.policy);
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

TEST_CASE("A node that is deleted during its upgrade is forgotten, and its slot becomes free") {
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

TEST_CASE("arch-A10: Explain and Everything include gates that the last pass did not repeat") {
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

TEST_CASE("A controller does nothing while its policy is missing, and backs off after errors") {
  World world({.node_count = 1});
  UpgradeController idle(*world.engine, world.cache, {});
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
  CHECK(idle.Step({}) - world.clock->Now() == absl::Seconds(2));  // a change does not shorten the pause
  CHECK(idle.status().passes == 2);
  world.clock->Advance(absl::Seconds(2));
  idle.SetPolicy(world.policy);
  idle.Step({});
  CHECK(idle.Ready().ok());
  CHECK(idle.Healthy().ok());
}

TEST_CASE("A controller without a policy waits, and does not spin") {
  World world({.node_count = 1});
  UpgradeController idle(*world.engine, world.cache, {});
  idle.Notify();
  idle.Step({});
  std::jthread later([&idle] { idle.SetPolicy({.auto_upgrade = true}); });
  idle.Wait(absl::InfiniteFuture(), {});  // returns only when a policy is set
  CHECK(idle.Step({}) < absl::InfiniteFuture());
  CHECK(idle.status().passes == 1);
}

TEST_CASE("A loop that steps several controllers wakes up for every change that would wake one of them") {
  World world({.node_count = 1}, /*calls_in_flight=*/1, /*with_threads=*/false);
  int told = 0;
  UpgradeController controller(*world.engine, world.cache, {.on_change = [&] { ++told; }});
  controller.SetPolicy(world.policy);
  CHECK(told == 1);
  controller.SetPolicy(world.policy);
  CHECK(told == 1);  // an equal policy is not reported as a change
  controller.Notify();
  CHECK(told == 2);
  world.cache->Turn({});
  CHECK(told > 2);
  // Steps until the engine has seen all its own writes, which no longer wake it up.
  for (int i = 0; i < 5; ++i) {
    controller.Step({});
    world.cluster->Advance(absl::Seconds(1));
    world.cache->Turn({});
  }
  controller.Step({});
  told = 0;
  world.cluster->EditNode("node-1", [](Node& node) { node.unschedulable = true; });
  world.cache->Turn({});
  CHECK(told > 0);
}

TEST_CASE("A corrected policy is applied immediately") {
  World world({.node_count = 1});
  UpgradeController controller(*world.engine, world.cache, {});
  controller.SetPolicy({.auto_upgrade = true, .max_parallel = -1});
  for (int i = 0; i < 5; ++i) world.clock->AdvanceTo(controller.Step({}));
  CHECK(controller.Step({}) > world.clock->Now() + absl::Seconds(30));
  controller.SetPolicy(world.policy);
  controller.Step({});
  CHECK(controller.status().last_error == absl::OkStatus());
}

/// Drops the deadlines of writes and pod lists, because the cluster would check them against a different clock.
class PatientFacade final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;

 protected:
  absl::Status Around(Operation operation, const CallContext& context, const Call& call) override {
    return call(IsWrite(operation) || operation == Operation::kListPods ? CallContext() : context);
  }
};

/// Recreates the engine and its controller with this clock.
void GoBy(std::shared_ptr<Clock> clock, World& world) {
  world.controller.reset();
  world.engine.reset();
  EngineOptions options{
      .snapshot = {.ns = world.fleet.ns,
                   .driver_labels = LabelSelector::FromMatchLabels({{"app", world.fleet.daemon_set}})},
      .cache = world.cache,
      .clock = std::move(clock)};
  options.executor.calls_in_flight = 1;
  world.engine = *UpgradeEngine::Create(Gpu(), std::make_shared<PatientFacade>(world.cluster), std::move(options));
  world.controller = std::make_unique<UpgradeController>(*world.engine, world.cache, ControllerOptions{});
  world.controller->SetPolicy(world.policy);
}

TEST_CASE("After a clock is set back, a change still starts a pass immediately") {
  World world({.node_count = 1});
  auto skewed = std::make_shared<SkewedClock>(world.clock);
  GoBy(skewed, world);
  UpgradeController& controller = *world.controller;
  controller.Step({});
  skewed->skew = -absl::Hours(1);
  controller.Notify();
  const int passes = controller.status().passes;
  controller.Step({});
  CHECK(controller.status().passes == passes + 1);
}

TEST_CASE("A clock that is set back an hour does not delay the retry of a refused eviction") {
  World world({.node_count = 1});
  auto skewed = std::make_shared<SkewedClock>(world.clock);
  GoBy(skewed, world);
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.cluster->AnswerNextEviction({.refusal = Refusal::kDisruptionBudget}, 100);
  world.Settle();
  REQUIRE(world.StepsUntil([&] { return world.Count(Operation::kEvictPod) == 1; }));

  skewed->skew = -absl::Hours(1);
  const absl::Time began = world.clock->Now();
  REQUIRE(world.StepsUntil([&] { return world.Count(Operation::kEvictPod) == 2; }));
  CHECK(world.clock->Now() - began <= absl::Seconds(6));
  // The drain also ends on time by the new clock, because the drain's timer started again.
  REQUIRE(world.StepsUntil(
      [&] { return world.cluster->nodes().front().labels.at(Gpu().StateLabel()) == "upgrade-failed"; }));
  CHECK(world.clock->Now() - began <= world.policy.drain->timeout + absl::Seconds(2));
}

/// Takes over the Lease as another replica, renews it for `duration`, and releases it.
void LeadElsewhere(World& world, absl::Duration duration) {
  const absl::Time end = world.clock->Now() + duration;
  while (world.clock->Now() < end) {
    Lease lease = *world.cluster->lease("driver-system", "driver");
    lease.holder = "another";
    lease.renew_time = world.clock->Now();
    REQUIRE(world.cluster->UpdateLease({}, lease).ok());
    world.cluster->Advance(absl::Seconds(3));
    world.Settle();
    world.controller->Step({});
    REQUIRE_FALSE(world.controller->status().leading);
  }
  Lease lease = *world.cluster->lease("driver-system", "driver");
  lease.holder.clear();
  REQUIRE(world.cluster->UpdateLease({}, lease).ok());
}

TEST_CASE(
    "dep-F4: a leader that returns after a drain has timed out waits a minute before it fails the node or deletes a "
    "pod") {
  World world({.node_count = 1});
  const bool deletes = GENERATE(false, true);
  CAPTURE(deletes);
  world.policy.drain->timeout = absl::Minutes(5);
  world.policy.drain->on_timeout = deletes ? OnTimeout::kDelete : OnTimeout::kFail;
  world.cluster->AddDisruptionBudget({.ns = "team-a", .name = "never", .max_unavailable = 0});
  auto election = LeaderElection::Create(
      world.cluster, {.ns = "driver-system", .name = "driver", .identity = "us", .clock = world.clock});
  REQUIRE(election.ok());
  world.controller.reset();
  world.controller = std::make_unique<UpgradeController>(*world.engine, world.cache,
                                                         ControllerOptions{.election = std::move(*election)});
  world.controller->SetPolicy(world.policy);
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Settle();
  REQUIRE(world.StepsUntil([&] { return world.Count(Operation::kEvictPod) > 0; }));

  LeadElsewhere(world, absl::Minutes(6));
  REQUIRE(world.StepsUntil([&] { return world.controller->status().leading; }));
  const absl::Time back = world.clock->Now();
  const auto ended = [&] {
    return world.Count(Operation::kDeletePod) > 0 ||
           world.cluster->nodes().front().labels.at(Gpu().StateLabel()) == "upgrade-failed";
  };
  REQUIRE(world.StepsUntil(ended));
  CHECK(world.clock->Now() - back >= absl::Minutes(1));
  CHECK(world.clock->Now() - back < absl::Seconds(62));
  CHECK(world.Count(Operation::kDeletePod) == (deletes ? 1 : 0));
}

TEST_CASE("arch-A11: decisions stop while a cache cannot follow the cluster") {
  World world({.node_count = 2}, /*calls_in_flight=*/1, /*with_threads=*/false);
  world.cache->Turn({});
  REQUIRE(world.engine->Reconcile({}, world.policy).ok());
  for (int i = 0; i < 5; ++i) {
    world.cluster->FailNext(Operation::kWatchPods, absl::PermissionDeniedError("pods is forbidden"));
    world.cluster->FailNext(Operation::kWatchPods, absl::PermissionDeniedError("pods is forbidden"));
    world.cache->Turn({});
    world.clock->Advance(absl::Seconds(30));
  }
  const auto refused = world.engine->Reconcile({}, world.policy);
  CHECK(refused.status().message().find("pods is forbidden") != std::string::npos);
  world.cache->Turn({});
  CHECK(world.engine->Reconcile({}, world.policy).ok());
}

TEST_CASE("After a cluster is restored from a backup, the rollout continues from the restored state") {
  World world({}, /*calls_in_flight=*/1, /*with_threads=*/false);
  if (GENERATE(false, true)) {
    // A grant that was written after the backup names a resource version that the restored cluster reaches only much
    // later. Such grants must not keep their slots.
    world.ledger = AdmissionLedgerOptions{.ns = world.fleet.ns, .name = "grants"};
    world.controller.reset();
    world.engine.reset();
    world.MakeEngine();
    world.controller = std::make_unique<UpgradeController>(*world.engine, world.cache, ControllerOptions{});
    world.controller->SetPolicy(world.policy);
  }
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Settle();
  const auto done = [&] {
    const std::vector<Node> nodes = world.cluster->nodes();
    return std::count_if(nodes.begin(), nodes.end(), World::IsDone);
  };
  REQUIRE(world.StepsUntil([&] { return done() == 1; }));
  world.cluster->BackUp();
  REQUIRE(world.StepsUntil([&] { return done() == 4; }));
  world.most_in_progress = 0;
  world.busy.clear();
  REQUIRE(world.cluster->RestoreBackup());
  CHECK(done() == 1);
  // The restored cluster has lower resource versions than the engine has seen. The engine must forget the higher
  // versions.
  CHECK(world.StepsUntil([&] { return world.AllDone(); }));
  CHECK(world.most_in_progress <= 2);
  for (const Pod& pod : world.cluster->pods()) {
    if (pod.ref.ns == world.fleet.ns) CHECK(RevisionHash(pod) == "rev-2");
  }
}

TEST_CASE("A second engine on the same cache starts with the complete state") {
  World world({.node_count = 3}, /*calls_in_flight=*/1, /*with_threads=*/false);
  world.cache->Turn({});
  REQUIRE(world.engine->Reconcile({}, world.policy)->plan.totals.total == 3);
  world.controller.reset();
  world.engine.reset();
  world.MakeEngine();
  CHECK(world.engine->Reconcile({}, world.policy)->plan.totals.total == 3);
}

TEST_CASE("A callback that failed is called again, even if nothing changes") {
  int asked = 0;
  World world({.node_count = 1}, /*calls_in_flight=*/1, /*with_threads=*/false);
  world.uses_driver = [&](const CallContext&, const Pod&) -> absl::StatusOr<bool> {
    if (++asked <= 2) return absl::UnavailableError("the device plugin is away");
    return false;
  };
  world.controller.reset();
  world.engine.reset();
  world.MakeEngine();
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  std::optional<absl::Time> due = world.clock->Now();
  for (int i = 0; i < 60 && asked < 3 && due; ++i) {
    world.cluster->RunUntil(*due);
    world.cache->Turn({});
    due = world.engine->Reconcile({}, world.policy)->wake_at;
  }
  CHECK(asked >= 3);
}

TEST_CASE("T7: the restart-only predicate runs again when the target revision of the DaemonSet changes") {
  World world({.node_count = 1}, /*calls_in_flight=*/1, /*with_threads=*/false);
  world.restart_only = [](const CallContext&, const Pod&, const ControllerRevision&,
                          const ControllerRevision&) -> absl::StatusOr<bool> { return true; };
  world.controller.reset();
  world.engine.reset();
  world.MakeEngine();
  world.cache->Turn({});
  REQUIRE(world.engine->Reconcile({}, world.policy).ok());
  // The engine learns of the new revision while the observed generation of the DaemonSet is still outdated (F15). After
  // that, the engine sees only a change to the DaemonSet.
  world.line->unobserved = true;
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.cache->Turn({});
  REQUIRE(world.engine->Reconcile({}, world.policy)->plan.nodes.empty());
  world.line->unobserved = false;
  world.cluster->FailNext(Operation::kWatchDaemonSets, absl::OutOfRangeError("too old"));
  world.cache->Turn({});
  world.cache->Turn({});
  const auto pass = world.engine->Reconcile({}, world.policy);
  REQUIRE(pass->plan.nodes.size() == 1);
  CHECK(pass->plan.nodes[0].to() == UpgradeState::kPodRestartRequired);
}

TEST_CASE("W40: in 200 rollouts with lagging watches, drivers skip the drain if and only if the template is the same") {
  constexpr int kRollouts = 10;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SeededRandom random(seed);
    std::set<std::string> restarted;
    World world({.node_count = 3}, /*calls_in_flight=*/1, /*with_threads=*/false);
    world.cluster->SetChangeObserver([&](const Change& change) {
      world.Watch(change);
      const auto& node = change.node.after;
      if (node != nullptr && node->annotations.contains(Gpu().RestartOnlyAnnotation())) restarted.insert(node->name);
    });
    world.restart_only = [](const CallContext&, const Pod&, const ControllerRevision& running,
                            const ControllerRevision& wanted) { return SameTemplate(running, wanted); };
    world.controller.reset();
    world.engine.reset();
    world.MakeEngine();
    world.controller = std::make_unique<UpgradeController>(*world.engine, world.cache, ControllerOptions{});
    world.controller->SetPolicy(world.policy);
    world.Settle();
    // With a higher percentage, the pod watch would lag for longer than a drain may take, and nodes would fail.
    world.line->lags = [&random] { return random.Chance(30); };
    int image = 0;
    for (int rollout = 0; rollout < kRollouts; ++rollout) {
      const bool another = rollout == 0 || random.Chance(50);
      image += another ? 1 : 0;
      CAPTURE(seed, rollout, another);
      restarted.clear();
      const std::string revision = fmt::format("rev-{}", rollout + 2);
      world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, revision,
                                 fmt::format(R"({{"spec":{{"containers":[{{"image":"driver:{}"}}]}}}})", image));
      const auto over = [&] {
        const std::vector<Pod> pods = world.cluster->daemon_set_pods(world.fleet.ns, world.fleet.daemon_set);
        return world.AllDone() &&
               std::all_of(pods.begin(), pods.end(), [&](const Pod& pod) { return RevisionHash(pod) == revision; });
      };
      for (int i = 0; i < 2000 && !over(); ++i) {
        world.controller->Step({});
        world.cluster->Advance(absl::Seconds(1));
        world.Settle();
      }
      REQUIRE(over());
      REQUIRE(restarted.size() == (another ? 0U : world.fleet.node_names.size()));
    }
  }
}

TEST_CASE("An engine refuses a cache that does not follow its driver") {
  World world({.node_count = 1});
  EngineOptions options{
      .snapshot = {.ns = "elsewhere", .driver_labels = LabelSelector::FromMatchLabels({{"app", "driver"}})},
      .cache = world.cache};
  CHECK(UpgradeEngine::Create(Gpu(), world.cluster, options).status() ==
        absl::InvalidArgumentError("engine options: the cache does not follow the driver in namespace elsewhere"));
}

TEST_CASE("A controller that becomes the leader again starts with a pass, whatever it was waiting for") {
  World world({.node_count = 1});
  const auto replica = [&](std::string identity) -> std::shared_ptr<LeaderElection> {
    return *LeaderElection::Create(
        world.cluster, {.ns = "ops", .name = "lease", .identity = std::move(identity), .clock = world.clock});
  };
  const std::shared_ptr<LeaderElection> ours = replica("we");
  const std::shared_ptr<LeaderElection> theirs = replica("they");
  UpgradeController controller(*world.engine, world.cache, {.election = ours});
  controller.SetPolicy(world.policy);
  while (controller.status().passes == 0) world.clock->AdvanceTo(controller.Step({}));
  // Steps until the only remaining work is to renew the Lease.
  for (int i = 0; i < 20; ++i) world.clock->AdvanceTo(controller.Step({}));
  const int passes = controller.status().passes;
  controller.Step({});
  REQUIRE(controller.status().passes == passes);
  REQUIRE(ours->Release({}).ok());
  theirs->Step({});
  REQUIRE(theirs->IsLeader());
  REQUIRE(theirs->Release({}).ok());
  do {
    world.clock->AdvanceTo(controller.Step({}));
  } while (!controller.status().leading);
  CHECK(controller.status().passes == passes + 1);
}

}  // namespace
}  // namespace driverupgrade::tests
