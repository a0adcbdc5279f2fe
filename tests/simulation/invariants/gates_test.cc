// Tests L1 to L6: the progress of every node, and the reported reasons of waiting nodes. The tests break each of these
// invariants on purpose.
#include "driverupgrade/testing/invariants.h"

#include <string>
#include <vector>

#include "driverupgrade/testing/fake_cluster.h"
#include "simulation/invariants/world.h"
#include "simulation/world/liveness.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("L1: the limit is 90 minutes, plus 10 minutes for each round and for two additional rounds") {
  testing::internal::World world(1, {.nodes = 8});
  world.policy.max_parallel = 2;
  world.policy.max_unavailable.reset();
  CHECK(testing::internal::TimeToConverge(world, world.policy) == absl::Minutes(90 + 60));
}

TEST_CASE("L1: the limit allows a C interface host one poll in each state of a node, even if its clock is slow") {
  testing::internal::Setup setup{.poll_interval = absl::Minutes(1)};
  CHECK(testing::internal::TimeOfRound(setup) == absl::Minutes(10));
  setup.hosted = true;
  CHECK(testing::internal::TimeOfRound(setup) == absl::Minutes(10 + 8));
  setup.modes[static_cast<std::size_t>(testing::Mode::kClockRates)] = true;
  CHECK(testing::internal::TimeOfRound(setup) == absl::Minutes(10 + 16));
}

TEST_CASE("L4: the other nodes wait for one bad node") {
  World world;
  const absl::Duration limit = InvariantChecker::MayTakeBesideBadNode(absl::Minutes(10));
  world.checker->CheckDelay(absl::Minutes(10), limit);
  CHECK(world.Broken() == "");
  world.checker->CheckDelay(absl::Minutes(10), limit + absl::Seconds(10));
  CHECK(world.Broken() == "L4");
}

Plan Waiting(const std::string& node, std::vector<GateReason> reasons) {
  Plan plan;
  for (const GateReason reason : reasons) plan.gates.push_back({.node = node, .gate = {.reason = reason}});
  return plan;
}

TEST_CASE("L5: a node has no reason, two reasons, or a false reason") {
  World none;
  none.Start(0);
  none.checker->CheckGates(*none.guarded, {});
  CHECK(none.Broken() == "L5");
  World two;
  two.Start(0);
  two.cluster->SetPodReady(two.fleet.ns, two.DriverPodOn(0).ref.name, false);
  two.checker->CheckGates(*two.guarded,
                          Waiting(two.NodeName(0), {GateReason::kDriverPodNotReady, GateReason::kUnsettled}));
  CHECK(two.Broken() == "L5");
}

TEST_CASE("L5: a reason is compared with the cluster") {
  for (const GateReason reason : {GateReason::kMaxParallel,
                                  GateReason::kMaxUnavailable,
                                  GateReason::kMaxFailures,
                                  GateReason::kPaused,
                                  GateReason::kSkipLabel,
                                  GateReason::kCordoned,
                                  GateReason::kFrozen,
                                  GateReason::kOtherDriver,
                                  GateReason::kUnsettled,
                                  GateReason::kUnknownState,
                                  GateReason::kUnreadable,
                                  GateReason::kUnhandledState,
                                  GateReason::kRevisionUnknown,
                                  GateReason::kMaintenance,
                                  GateReason::kJobs,
                                  GateReason::kPodsTerminating,
                                  GateReason::kDisruptionBudget,
                                  GateReason::kSeveralBudgets,
                                  GateReason::kUndeletablePods,
                                  GateReason::kHook,
                                  GateReason::kDriverPodMissing,
                                  GateReason::kDriverPodNotReady,
                                  GateReason::kSafeLoad,
                                  GateReason::kFailed}) {
    INFO(ToString(reason));
    World world({.auto_upgrade = true, .max_parallel = 3, .drain = DrainPolicy{}});
    world.Start(0);
    world.checker->CheckGates(*world.guarded, Waiting(world.NodeName(0), {reason}));
    CHECK(world.Broken() == "L5");
  }
}

TEST_CASE("L5: true reasons are accepted") {
  World world;
  world.Start(0);
  world.cluster->SetPodReady(world.fleet.ns, world.DriverPodOn(0).ref.name, false);
  world.cluster->EditNode(world.NodeName(1), [](Node& node) { node.labels[Gpu().SkipUpgradeLabel()] = "true"; });
  Plan plan = Waiting(world.NodeName(0), {GateReason::kDriverPodNotReady});
  plan.gates.push_back({.node = world.NodeName(1), .gate = {.reason = GateReason::kSkipLabel}});
  plan.gates.push_back({.node = world.NodeName(2), .gate = {.reason = GateReason::kMaxParallel}});
  world.checker->CheckGates(*world.guarded, plan);
  CHECK(world.checker->Report() == "");
}

TEST_CASE("L5: a late response to an eviction reaches no engine") {
  for (const bool late : {false, true}) {
    INFO(late);
    World world;
    world.Start(0);
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    const PodRef web = world.WebPodOn(0);
    const StringMap labels = world.cluster->pod(web.ns, web.name)->labels;
    world.cluster->AddDisruptionBudget({.ns = web.ns,
                                        .name = "never",
                                        .selector = LabelSelector::FromMatchLabels({labels.begin(), labels.end()}),
                                        .max_unavailable = 0});
    testing::Writer sender = world.guarded->writer();
    sender.late = late;
    world.guarded->As(sender, [&] {
      const auto answer = world.guarded->EvictPod({}, {.pod = web});
      REQUIRE(answer.ok());
      REQUIRE_FALSE(answer->accepted());
    });
    world.checker->CheckGates(*world.guarded, Waiting(world.NodeName(0), {GateReason::kEvictionRefused}));
    CHECK(world.Broken() == (late ? "" : "L5"));
  }
}

TEST_CASE("L5: a node in progress that also holds a grant counts once") {
  for (const int max_parallel : {1, 2}) {
    World world({.auto_upgrade = true, .max_parallel = max_parallel, .drain = DrainPolicy{}});
    world.Start(0);
    const Node node = world.NodeAt(0);
    REQUIRE(world.guarded
                ->CreateConfigMap({}, {.ns = world.fleet.ns,
                                       .name = "ledger",
                                       .data = {{"grants", node.uid + " " + node.resource_version},
                                                {"_rollout_nvidia.com_gpu", R"({"version":1,"revision":"r"})"}}})
                .ok());
    world.cluster->SetPodReady(world.fleet.ns, world.DriverPodOn(0).ref.name, false);
    Plan plan = Waiting(world.NodeName(0), {GateReason::kDriverPodNotReady});
    plan.gates.push_back({.node = world.NodeName(1), .gate = {.reason = GateReason::kMaxParallel}});
    // A node counts toward the limit only if it would be in progress.
    plan.nodes.push_back({.node = world.NodeName(2), .uid = world.NodeAt(2).uid, .path = {UpgradeState::kDone}});
    world.checker->CheckGates(*world.guarded, plan);
    CHECK(world.Broken() == (max_parallel == 1 ? "" : "L5"));
  }
}

TEST_CASE("L5: a change to another DaemonSet does not make the revision of the driver unknown") {
  for (const bool driver : {true, false}) {
    World world({.auto_upgrade = true, .drain = DrainPolicy{}}, nullptr, /*template_delay=*/absl::Milliseconds(200));
    world.Start(0);
    // The DaemonSet controller has not seen the new template yet.
    if (driver) {
      world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
    } else {
      world.cluster->AddDaemonSet({.ns = "team-a", .name = "logging", .node_selector = {{"pool", "none"}}});
      world.cluster->SetTemplate("team-a", "logging", "rev-2");
    }
    world.checker->CheckGates(*world.guarded, Waiting(world.NodeName(0), {GateReason::kRevisionUnknown}));
    CHECK(world.Broken() == (driver ? "" : "L5"));
  }
}

TEST_CASE("L5: another driver is the reason only while it relies on the cordon and is not in the cordon set") {
  const std::string ofed = "nvidia.com/ofed-driver-upgrade-state";
  for (const auto& [state, names, true_one] : std::vector<std::tuple<std::string, std::string, bool>>{
           {"drain-required", "", true},
           {"upgrade-done", "", false},
           {"upgrade-required", "", false},
           {"upgrade-done", "nvidia.com/ofed", false},
           {"drain-required", "nvidia.com/ofed", false}}) {
    INFO(state << " " << names);
    World world;
    world.Put(0, "upgrade-required", [&, &state = state, &names = names](Node& node) {
      node.unschedulable = true;
      node.labels[ofed] = state;
      if (!names.empty()) node.annotations[std::string(kCordonedByAnnotation)] = names;
    });
    world.checker->CheckGates(*world.guarded, Waiting(world.NodeName(0), {GateReason::kOtherDriver}));
    CHECK(world.Broken() == (true_one ? "" : "L5"));
  }
}

TEST_CASE("L5: an administrator need not lift our own cordon or the maintenance operator's cordon") {
  enum class Whose { kOurs, kMaintenanceOperators, kAdministrators };
  for (const Whose whose : {Whose::kOurs, Whose::kMaintenanceOperators, Whose::kAdministrators}) {
    INFO(static_cast<int>(whose));
    World world({.auto_upgrade = true, .drain = DrainPolicy{}, .cordoned_nodes = CordonedNodes::kIgnore});
    if (whose == Whose::kOurs) {
      world.Start(0);
    } else {
      world.Put(0, "upgrade-required", [&](Node& node) { node.unschedulable = whose == Whose::kAdministrators; });
    }
    if (whose == Whose::kMaintenanceOperators) {
      world.cluster->RunMaintenanceOperator();
      world.cluster->AddNodeMaintenance(
          {.ns = "default", .name = "a", .requestor_id = "another", .node_name = world.NodeName(0)});
      world.cluster->Advance(absl::Minutes(1));
    }
    REQUIRE(world.NodeAt(0).unschedulable);
    world.checker->CheckGates(*world.guarded, Waiting(world.NodeName(0), {GateReason::kCordoned}));
    CHECK(world.Broken() == (whose == Whose::kAdministrators ? "" : "L5"));
  }
}

TEST_CASE("L6: the totals do not match the cluster") {
  World world;
  world.Start(0);
  world.checker->CheckTotals({.total = 4, .in_progress = 1});
  CHECK(world.checker->Report() == "");
  world.checker->CheckTotals({.total = 4, .in_progress = 1, .done = 1});
  CHECK(world.Broken() == "L6");
}

}  // namespace
}  // namespace driverupgrade::tests
