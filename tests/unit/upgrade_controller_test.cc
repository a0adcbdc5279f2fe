// Tests observer calls that depend on more than one pass.
#include "driverupgrade/upgrade_controller.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/observer.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "engine/rollout_over.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeClock;
using testing::FakeCluster;

/// Two nodes, a cache whose watches the test runs, and an engine with a logging observer.
struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster =
      std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  testing::Fleet fleet = AddFleet(*cluster, {.node_count = 2, .workload = ""});
  std::shared_ptr<WatchCache> cache = nullptr;
  std::unique_ptr<UpgradeEngine> engine = nullptr;
  std::vector<std::string> log = {};

  World() {
    cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    cache = *WatchCache::Create(cluster, {.drivers = {{.ns = fleet.ns, .driver_labels = labels}}, .clock = clock});
    EngineOptions options{.snapshot = {.ns = fleet.ns, .driver_labels = labels}, .cache = cache, .clock = clock};
    options.executor.calls_in_flight = 1;
    options.observer =
        MakeLoggingObserver(Gpu(), [this](const LogRecord& record) { log.push_back(FormatLogfmt(record)); });
    engine = *UpgradeEngine::Create(Gpu(), cluster, std::move(options));
  }
  ~World() { engine->Quiesce(); }
  void Turn(UpgradeController& controller, int times = 1) {
    for (int i = 0; i < times; ++i) {
      cache->Turn({});
      controller.Step({});
      cluster->Advance(absl::Seconds(1));
    }
  }
  std::ptrdiff_t Logged(const std::string& text) const {
    return std::count_if(log.begin(), log.end(),
                         [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }
};

}  // namespace

TEST_CASE("Failed reads are reported once with the reason, also by Ready, and so is the end of the failures") {
  World world;
  UpgradeController controller(*world.engine, world.cache, {});
  controller.SetPolicy({.auto_upgrade = true});
  world.cluster->FailNext(Operation::kWatchPods, absl::PermissionDeniedError("list pods: 403: no"), 3);
  world.Turn(controller, 2);
  CHECK(world.Logged("msg=trouble") == 1);
  CHECK(world.Logged("list pods: 403: no") == 1);
  CHECK(controller.Ready().ToString().find("list pods: 403: no") != std::string::npos);
  world.Turn(controller, 60);
  CHECK(world.Logged("msg=\"trouble has ended\"") == 1);
  CHECK(controller.Ready().ok());
}

TEST_CASE("A policy that the engine refuses is reported, and so is the acceptance of the next policy") {
  World world;
  UpgradeController controller(*world.engine, world.cache, {});
  UpgradePolicy staged{.auto_upgrade = true};
  staged.rollout.emplace();
  controller.SetPolicy(staged);
  world.Turn(controller, 5);
  CHECK(world.Logged("the engine has no ledger") == 1);
  CHECK_FALSE(controller.Ready().ok());
  controller.SetPolicy({.auto_upgrade = true});
  world.Turn(controller, 60);
  CHECK(world.Logged("msg=\"trouble has ended\"") == 1);
}

TEST_CASE("A rollout that ends is reported once, with its result") {
  World world;
  UpgradeController controller(*world.engine, world.cache, {});
  controller.SetPolicy({.auto_upgrade = true});
  world.Turn(controller, 200);
  REQUIRE(controller.status().totals.done == 2);
  CHECK(world.Logged("msg=\"rollout ended\" driver=nvidia.com/gpu nodes=2 done=2 failed=0") == 1);
  CHECK(world.Logged("msg=\"rollout ended\"") == 1);
  CHECK(world.Logged("msg=trouble") == 0);
  CHECK(world.Logged("msg=leads") == 0);  // without an election there is no leader to report
}

/// Counts the driver pods that were deleted before the finding NothingIsEvicted was reported.
class DeletionsSoFar final : public Observer {
 public:
  explicit DeletionsSoFar(std::shared_ptr<FakeCluster> cluster) : cluster_(std::move(cluster)) {}
  void OnFinding(const Finding& finding) override {
    if (finding.code == FindingCode::kNothingIsEvicted) {
      deletions.push_back(static_cast<int>(cluster_->CallCount(Operation::kDeletePod)));
    }
  }
  std::vector<int> deletions = {};

 private:
  const std::shared_ptr<FakeCluster> cluster_;
};

TEST_CASE("W39: the finding NothingIsEvicted is reported before a rollout deletes its first driver pod") {
  const auto clock = std::make_shared<FakeClock>();
  const auto cluster = std::make_shared<FakeCluster>(clock);
  const auto fleet = testing::AddFleet(*cluster, {.node_count = 1, .workload = ""});
  const auto observer = std::make_shared<DeletionsSoFar>(cluster);
  const auto engine = UpgradeEngine::Create(
      Gpu(), cluster,
      {.snapshot = {.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})},
       .executor = {.calls_in_flight = 1},
       .clock = clock,
       .observer = observer});
  REQUIRE(engine.ok());
  for (const char* revision : {"rev-2", "rev-3"}) {
    cluster->SetTemplate(fleet.ns, fleet.daemon_set, revision);
    for (int second = 0; second < 60; ++second) {
      REQUIRE((*engine)->Reconcile({}, {.auto_upgrade = true}).ok());
      cluster->Advance(absl::Seconds(1));
    }
  }
  CHECK(observer->deletions == std::vector{0, 1});
}

TEST_CASE("Labels that match no DaemonSet, and a policy that evicts no pods, are reported even without a service") {
  World world;
  UpgradeController controller(*world.engine, world.cache, {});
  controller.SetPolicy({.auto_upgrade = true});
  const auto logged = [&](const std::string& code) {
    return world.Logged("msg=finding driver=nvidia.com/gpu code=" + code);
  };
  world.Turn(controller, 200);
  REQUIRE(controller.status().totals.done == 2);
  CHECK(logged("NothingIsEvicted") == 1);
  CHECK(logged("NoDaemonSet") == 0);
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-3");
  world.Turn(controller, 200);
  CHECK(logged("NothingIsEvicted") == 2);  // reported again for the next rollout
  controller.SetPolicy({.auto_upgrade = true, .drain = DrainPolicy{}});
  world.cluster->RemoveDaemonSet(world.fleet.ns, world.fleet.daemon_set);
  world.Turn(controller, 5);
  CHECK(logged("NothingIsEvicted") == 2);
  CHECK(logged("NoDaemonSet") == 1);
}

TEST_CASE("All nodes are checked for the end of a rollout only after a change since the last check") {
  int looks = 0;
  Plan everything{.gates = {{.node = "n1", .gate = {.reason = GateReason::kPaused}}}};
  internal::RolloutOver end;
  const auto ended = [&](const Plan& plan) {
    return end.Ended(plan, [&] {
      ++looks;
      return everything;
    });
  };
  const Plan nothing{.gates_complete = false};
  Plan moving = nothing;
  moving.totals = {.total = 1, .in_progress = 1};
  moving.totals.by_state[static_cast<std::size_t>(UpgradeState::kDrainRequired)] = 1;
  REQUIRE(moving.totals.Moving() == 1);

  CHECK_FALSE(ended(nothing));
  CHECK(looks == 0);  // nothing has started
  CHECK_FALSE(ended(moving));
  for (int pass = 0; pass < 5; ++pass) CHECK_FALSE(ended(nothing));
  CHECK(looks == 1);  // the rollout is paused, so no pass changes anything

  SECTION("a gate is reported, or ended") {
    Plan told = nothing;
    told.gates = everything.gates;
    CHECK_FALSE(ended(told));
    CHECK(looks == 2);
    everything.gates = {};
    Plan ungated = nothing;
    ungated.ungated = {"n1"};
    CHECK(ended(ungated));
    CHECK_FALSE(ended(nothing));
    CHECK(looks == 3);
  }
  SECTION("the last node continues without a gate") {
    everything.gates = {};
    CHECK_FALSE(ended(moving));
    CHECK(ended(nothing));
  }
  SECTION("a failed pass counts as a change, because its changes are lost") {
    everything.gates = {};
    end.PassFailed();
    CHECK(ended(nothing));
  }
  SECTION("without a cache each plan has all gates") {
    everything.gates = {};
    CHECK(ended({}));
    CHECK_FALSE(ended({}));  // the end is reported only once for each rollout
  }
}

TEST_CASE("A replica reports whether it leads, and what prevents it from leading") {
  World world;
  const std::shared_ptr<LeaderElection> election = *LeaderElection::Create(
      world.cluster, {.ns = world.fleet.ns, .name = "lease", .identity = "a", .clock = world.clock});
  UpgradeController controller(*world.engine, world.cache, {.election = election});
  controller.SetPolicy({.auto_upgrade = true});
  world.Turn(controller, 3);
  CHECK(world.Logged("msg=leads ") == 1);
  world.cluster->FailNext(Operation::kUpdateLease, absl::PermissionDeniedError("403: no"), 100);
  world.Turn(controller, 30);
  CHECK(world.Logged("msg=\"no longer leads\"") == 1);
  CHECK(world.Logged("msg=trouble") >= 1);
}

}  // namespace driverupgrade::tests
