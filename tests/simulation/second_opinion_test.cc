// The second opinion is one: plans that an engine with a mistake would make are found, by the scene of each (I15, L7).
#include "simulation/opinion/second_opinion.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/testing/invariants.h"
#include "simulation/invariants/world.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::internal::EngineTime;
using testing::internal::OperatorFacts;
using testing::internal::Scene;
using testing::internal::SecondOpinion;
using State = UpgradeState;

const EngineTime kLongAtWork{.active = absl::Hours(1)};

// One node of a fleet whose driver is out of date, as an engine is about to plan for it.
class Stage {
 public:
  explicit Stage(State state, UpgradePolicy policy = {.auto_upgrade = true, .drain = DrainPolicy{}})
      : policy_(std::move(policy)), fleet_(AddFleet(*cluster_, {.node_count = 1, .node_labels = {{"driver", "gpu"}}})) {
    facts.ns = fleet_.ns;
    facts.driver_labels = LabelSelector::FromMatchLabels({{"app", fleet_.daemon_set}});
    Edit([&](Node& node) { node.labels[Gpu().StateLabel()] = std::string(ToLabelValue(state)); });
  }

  void Edit(const std::function<void(Node&)>& edit) { cluster_->EditNode(fleet_.node_names[0], edit); }
  void NewRevision() {
    cluster_->SetTemplate(fleet_.ns, fleet_.daemon_set, "new");
    cluster_->Advance(absl::Minutes(1));
  }
  void AddPod(const Pod& pod) { cluster_->AddPod(pod); }
  void RemoveWorkloads() {
    for (const Pod& pod : cluster_->pods_on(fleet_.node_names[0])) {
      if (pod.ref.ns != fleet_.ns) cluster_->RemovePod(pod.ref.ns, pod.ref.name);
    }
  }
  Node node() const { return *cluster_->node(fleet_.node_names[0]); }
  Pod DriverPod() const { return cluster_->daemon_set_pods(fleet_.ns, fleet_.daemon_set).front(); }
  absl::Time now() const { return cluster_->Now(); }

  std::string Judge(NodePlan plan, EngineTime time = kLongAtWork) const {
    const auto wanted = WantedIn(*cluster_, facts);
    const Scene scene(facts, *cluster_, node(), wanted, policy_, now());
    plan.from = *ParseUpgradeState(node().labels.at(Gpu().StateLabel()));
    return SecondOpinion(scene, time).WhyWrong(plan);
  }
  std::string JudgeRest(GateReason reason) const {
    const auto wanted = WantedIn(*cluster_, facts);
    const Scene scene(facts, *cluster_, node(), wanted, policy_, now());
    return SecondOpinion(scene, kLongAtWork).WhyNotStay(Gate{.reason = reason});
  }
  NodePlan Plan(std::vector<State> path, Edits annotations = {},
                std::optional<bool> unschedulable = std::nullopt) const {
    PatchNodeParams patch{.labels = {{Gpu().StateLabel(), std::string(ToLabelValue(path.back()))}},
                          .annotations = std::move(annotations),
                          .unschedulable = unschedulable};
    return {.path = std::move(path), .patch = std::move(patch)};
  }
  std::string Timer(const std::string& state, absl::Time began) const {
    return state + "@" + std::to_string(absl::ToUnixSeconds(began)) + "@new";
  }

  OperatorFacts facts = testing::internal::FactsOf(Gpu());

 private:
  std::shared_ptr<FakeCluster> cluster_ = std::make_shared<FakeCluster>(std::make_shared<FakeClock>());
  UpgradePolicy policy_;
  Fleet fleet_;
};

const std::string kCordonedBy(kCordonedByAnnotation);

TEST_CASE("I15: an upgrade that is due, and one that is not") {
  Stage stage(State::kDone);
  CHECK(stage.Judge(stage.Plan({State::kUpgradeRequired})) ==
        "upgrade-done -> upgrade-required: nothing asks for an upgrade");
  stage.NewRevision();
  CHECK(stage.Judge(stage.Plan({State::kUpgradeRequired})) == "");
  CHECK(stage.JudgeRest(GateReason::kDriverPodNotReady) ==
        "upgrade-done is over, and the node has to go to upgrade-required");
}

TEST_CASE("I15: a start leaves the cordon, its name and the timer of the state in which it ends") {
  Stage stage(State::kUpgradeRequired);
  stage.NewRevision();
  const std::vector<State> path = {State::kCordonRequired, State::kWaitForJobsRequired, State::kDrainRequired};
  const std::string timer = stage.Timer("drain-required", stage.now());
  const std::string stage_key = Gpu().StageAnnotation();
  CHECK(stage.Judge(stage.Plan(path, {{kCordonedBy, Gpu().Name()}, {stage_key, timer}}, true)) == "");
  CHECK(stage.Judge(stage.Plan(path, {{kCordonedBy, Gpu().Name()}}, true)) ==
        "the timer of drain-required is to begin now, and is absent");
  CHECK(stage.Judge(stage.Plan(path, {{stage_key, timer}}, true)) ==
        "its cordon is to name [nvidia.com/gpu], and names []");
  CHECK(stage.Judge(stage.Plan(path, {{kCordonedBy, Gpu().Name()}, {stage_key, timer}})) == "it is to be cordoned");
  CHECK(stage.Judge(stage.Plan({State::kPodRestartRequired}, {}, true)) ==
        "upgrade-required -> pod-restart-required: a restart is not enough");
}

TEST_CASE("I15: an administrator's cordon is noted when an upgrade begins, and stays when it ends") {
  Stage stage(State::kDone);
  stage.NewRevision();
  stage.Edit([](Node& node) { node.unschedulable = true; });
  const std::string noted = Gpu().InitiallyUnschedulableAnnotation();
  CHECK(stage.Judge(stage.Plan({State::kUpgradeRequired}, {{noted, "true"}})) == "");
  CHECK(stage.Judge(stage.Plan({State::kUpgradeRequired})) == "annotation " + noted + " is to be there, and is absent");
  stage.Edit([&](Node& node) { node.annotations[kCordonedBy] = "nvidia.com/other"; });
  CHECK(stage.Judge(stage.Plan({State::kUpgradeRequired}, {{noted, "true"}})) != "");
}

TEST_CASE("I15: the driver is touched only once the pods are gone, and after a look at the node") {
  Stage stage(State::kDrainRequired);
  stage.NewRevision();
  stage.Edit([](Node& node) {
    node.unschedulable = true;
    node.annotations[kCordonedBy] = Gpu().Name();
  });
  stage.RemoveWorkloads();
  NodePlan plan = stage.Plan({State::kPodRestartRequired},
                             {{Gpu().StageAnnotation(), stage.Timer("pod-restart-required", stage.now())}});
  plan.remove = {stage.DriverPod().ref};
  CHECK(stage.Judge(plan) == "");
  stage.AddPod(PodBuilder("team-a", "web").OnNode(stage.node().name).OwnedByReplicaSet("web").Build());
  CHECK(stage.Judge(plan) == "drain-required -> pod-restart-required: pods to be drained are on it");
  CHECK(stage.Judge({.remove = {stage.DriverPod().ref}}) == "a driver pod is to be deleted before its time");

  Stage restart(State::kPodRestartRequired);
  restart.NewRevision();
  restart.Edit([](Node& node) { node.unschedulable = true; });
  const NodePlan unconfirmed{.remove = {restart.DriverPod().ref}};
  CHECK(restart.Judge(unconfirmed) == "its driver pod is to be deleted without a look at the node");
}

TEST_CASE("I15: a time limit is over by the state's own timer, and not in the first minute of an engine") {
  Stage stage(State::kDrainRequired);
  stage.NewRevision();
  stage.AddPod(PodBuilder("team-a", "web").OnNode(stage.node().name).OwnedByReplicaSet("web").Build());
  const auto judge = [&](const std::string& timer, EngineTime time) {
    stage.Edit([&](Node& node) {
      node.unschedulable = true;
      node.annotations[kCordonedBy] = Gpu().Name();
      node.annotations[Gpu().StageAnnotation()] = timer;
    });
    return stage.Judge(stage.Plan({State::kFailed}, {{Gpu().StageAnnotation(), std::nullopt},
                                                     {Gpu().FailedRevisionAnnotation(), "new"},
                                                     {Gpu().FailuresAnnotation(), "1@1"}}),
                       time);
  };
  const absl::Time long_ago = stage.now() - absl::Minutes(6);
  CHECK(judge(stage.Timer("drain-required", long_ago), kLongAtWork) == "");
  CHECK(judge(stage.Timer("drain-required", long_ago), {.active = absl::Seconds(30)}) ==
        "drain-required -> upgrade-failed: the drain goes on");
  CHECK(judge(stage.Timer("pod-restart-required", long_ago), kLongAtWork) != "");
  CHECK(judge(stage.Timer("drain-required", stage.now() - absl::Minutes(4)), kLongAtWork) != "");
  stage.Edit([&](Node& node) { node.annotations[Gpu().StageAnnotation()] = stage.Timer("drain-required", long_ago); });
  CHECK(stage.JudgeRest(GateReason::kPodsTerminating) ==
        "drain-required is over, and the node has to go to upgrade-failed");
  CHECK(stage.JudgeRest(GateReason::kPodsUnknown) == "");
}

TEST_CASE("I15: labels are matched by a reading of its own") {
  const auto selects = [](const std::string& selector, const StringMap& labels) {
    return testing::internal::Selects(*LabelSelector::Parse(selector), labels);
  };
  CHECK(selects("app notin (job)", {}));
  CHECK_FALSE(selects("tier>3", {{"tier", "3"}}));
  CHECK(selects("tier>3", {{"tier", "4"}}));
  CHECK(selects("tier<3,!app", {{"tier", "2"}}));
  CHECK_FALSE(testing::internal::Selects(LabelSelector::Nothing(), {}));
}

TEST_CASE("I9: a Lease is not taken over before its time") {
  for (const absl::Duration waited : {absl::Seconds(5), absl::Seconds(20)}) {
    World world;
    Lease lease{.ns = world.fleet.ns, .name = "driver-upgrade", .holder = "a", .duration = absl::Seconds(15)};
    lease = *world.cluster->CreateLease({}, lease);
    world.cluster->Advance(waited);
    lease.holder = "b";
    REQUIRE(world.guarded->UpdateLease({}, lease).ok());
    CHECK(world.Broken() == (waited < lease.duration ? "I9" : ""));
  }
}

TEST_CASE("I1, I6: a node starts with a grant of its version, and only if the operator selects it") {
  World world;
  const auto judge = [&](InvariantOptions options) {
    options.identity = Gpu();
    options.driver_ns = world.fleet.ns;
    options.driver_labels = LabelSelector::FromMatchLabels({{"app", world.fleet.daemon_set}});
    options.policy = {.auto_upgrade = true, .max_parallel = 4, .drain = DrainPolicy{}};
    world.checker.reset();
    world.checker = std::make_unique<InvariantChecker>(world.cluster, options);
    world.guarded = world.checker->Guard("engine");
    world.observer = world.checker->MakeObserver();
  };
  const auto grant = [&](std::size_t i) { return world.NodeAt(i).uid + " " + world.NodeAt(i).resource_version + "\n"; };
  const std::string ns = world.fleet.ns;
  const InvariantOptions with_ledger{.identity = Gpu(), .grants_max = 1};
  judge(with_ledger);
  REQUIRE(
      world.guarded->CreateConfigMap({}, {.ns = ns, .name = "grants", .data = {{"nvidia.com_gpu", grant(0)}}}).ok());
  world.Start(0);
  CHECK(world.Broken() == "");
  world.Start(1);
  CHECK(world.Broken() == "I1");

  judge(with_ledger);
  REQUIRE(
      world.guarded->CreateConfigMap({}, {.ns = ns, .name = "two", .data = {{"nvidia.com_gpu", grant(1) + grant(2)}}})
          .ok());
  CHECK(world.Broken() == "I1");

  judge({.identity = Gpu(), .node_selector = *LabelSelector::Parse("driver!=gpu")});
  world.Start(3);
  CHECK(world.Broken() == "I6");
}

}  // namespace
}  // namespace driverupgrade::tests
