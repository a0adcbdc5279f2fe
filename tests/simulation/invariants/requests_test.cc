// Tests I4 to I13 with requests that are not allowed, are repeated too often, or contain an incorrect value.
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/testing/invariants.h"
#include "simulation/invariants/world.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("I4: a pod that the policy spares is evicted") {
  World world({.auto_upgrade = true});
  world.Start(0);
  REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
  CHECK(world.Broken() == "I4");
}

TEST_CASE("I4: a workload pod is deleted, not evicted") {
  World world;
  world.Start(0);
  REQUIRE(world.guarded->DeletePod({}, {.pod = world.WebPodOn(0)}).ok());
  CHECK(world.Broken() == "I4");
}

// Puts the node into drain-required, with evictions in progress since `began`, and lets the engine read the node.
void PutDraining(World& world, std::size_t i, absl::Time began) {
  world.Put(i, "drain-required", [&](Node& node) {
    node.unschedulable = true;
    node.annotations[Gpu().StageAnnotation()] = "drain-required@" + std::to_string(absl::ToUnixSeconds(began)) + "@rev";
  });
  REQUIRE(world.guarded->ListNodes({}, {}).ok());
}

TEST_CASE("I4: a pod is evicted from a node that neither a list nor a response showed as cordoned") {
  for (const bool read : {false, true}) {
    World world;
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    world.Put(0, "drain-required", [](Node& node) { node.unschedulable = true; });
    if (read) REQUIRE(world.guarded->ListNodes({}, {}).ok());
    REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == (read ? "" : "I4"));
  }
  World answered;
  answered.StartUnread(0);
  REQUIRE(answered.guarded->EvictPod({}, {.pod = answered.WebPodOn(0)}).ok());
  CHECK(answered.Broken() == "");
}

TEST_CASE("I4: if a replica loses the response to its patch, its eviction is checked against its earlier knowledge") {
  for (const bool lost : {false, true}) {
    World world;
    PutDraining(world, 0, world.clock->Now());
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    const testing::Writer before = world.guarded->writer();
    world.Move(0, UpgradeState::kDrainRequired, {UpgradeState::kFailed});
    if (lost) world.guarded->NoteAnswerLost(world.NodeName(0), before);
    REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == (lost ? "" : "I4"));
  }
}

// A sink that accepts no objects.
class DeafSink final : public WatchSink<Node> {
 public:
  bool OnList(std::vector<Node>, std::string_view) override { return false; }
  bool OnChange(Node, std::string_view) override { return false; }
  bool OnDelete(Node, std::string_view) override { return false; }
  bool OnBookmark(std::string_view) override { return false; }
};

TEST_CASE("I4: a replica that follows nodes is checked against its watch, and against a list once it releases nodes") {
  for (const auto& [follows, releases, broken] :
       std::vector<std::tuple<bool, bool, std::string>>{{false, false, "I4"}, {true, false, ""}, {true, true, "I4"}}) {
    INFO(follows << " " << releases);
    World world;
    PutDraining(world, 0, world.clock->Now());
    if (follows) {
      DeafSink sink;
      REQUIRE(world.guarded->WatchNodes({}, {}, sink).ok());
    }
    if (releases) world.guarded->BeginRelease();
    world.Put(0, "upgrade-done", [](Node& node) { node.unschedulable = false; });
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I4: a replica that starts a watch at a version counts as having read the nodes at that version") {
  for (const bool begins : {false, true}) {
    World world;
    DeafSink sink;
    REQUIRE(world.guarded->WatchNodes({}, {}, sink).ok());
    world.Put(0, "drain-required", [](Node& node) { node.unschedulable = true; });
    const std::string version = std::to_string(world.cluster->revision());
    world.Put(1, "upgrade-done");
    if (begins) REQUIRE(world.guarded->WatchNodes({}, {.resource_version = version}, sink).ok());
    REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == (begins ? "" : "I4"));
  }
}

TEST_CASE("I4: a replica that gets an old list of nodes is checked against that list") {
  for (const bool old : {false, true}) {
    World world;
    PutDraining(world, 0, world.clock->Now());
    const std::int64_t revision = world.cluster->revision();
    world.Put(0, "upgrade-done", [](Node& node) { node.unschedulable = false; });
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    if (old) world.guarded->NoteOldNodes(revision);
    REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == (old ? "" : "I4"));
  }
}

TEST_CASE("I4: a replica is checked against the pod labels it read, until it reads the pod or a newer cordon") {
  enum class Reads { kNothing, kPods, kNodes };
  for (const auto& [reads, broken] :
       std::vector<std::pair<Reads, std::string>>{{Reads::kNothing, ""}, {Reads::kPods, "I4"}, {Reads::kNodes, "I4"}}) {
    INFO(static_cast<int>(reads));
    PodDeletionPolicy deletion;
    deletion.pod_selector = LabelSelector::FromMatchLabels({{"uses", "driver"}});
    World world({.auto_upgrade = true, .pod_deletion = deletion});
    const auto label = [&](const std::string& value) {
      const PodRef web = world.WebPodOn(0);
      REQUIRE(world.cluster->EditPod(web.ns, web.name, [&](Pod& pod) { pod.labels["uses"] = value; }));
    };
    label("driver");
    PutDraining(world, 0, world.clock->Now());
    REQUIRE(world.guarded->ListPods({}, {.node_name = world.NodeName(0)}).ok());
    world.Put(0, "drain-required", [](Node& node) { node.unschedulable = false; });
    label("nothing");
    world.Put(0, "drain-required", [](Node& node) { node.unschedulable = true; });
    if (reads == Reads::kPods) REQUIRE(world.guarded->ListPods({}, {.node_name = world.NodeName(0)}).ok());
    if (reads == Reads::kNodes) REQUIRE(world.guarded->ListNodes({}, {}).ok());
    REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I4: a pod is evicted while its node is in a state that does not allow evictions") {
  for (const auto& [state, broken] : std::map<std::string, std::string>{{"drain-required", ""},
                                                                        {"pod-deletion-required", ""},
                                                                        {"pod-restart-required", ""},
                                                                        {"validation-required", ""},
                                                                        {"upgrade-required", "I4"},
                                                                        {"cordon-required", "I4"},
                                                                        {"wait-for-jobs-required", "I4"},
                                                                        {"uncordon-required", "I4"},
                                                                        {"upgrade-failed", "I4"},
                                                                        {"upgrade-done", "I4"}}) {
    INFO(state);
    World world;
    world.Put(0, state, [](Node& node) { node.unschedulable = true; });
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    // An administrator moves the node to another state. The evicting engine has not read this change.
    if (broken.empty()) world.Put(0, "upgrade-required");
    REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I4: a pod is deleted before the timeout of its eviction has passed") {
  for (const absl::Duration passed : {absl::Seconds(299), absl::Seconds(300)}) {
    World world(
        {.auto_upgrade = true, .drain = DrainPolicy{.timeout = absl::Minutes(5), .on_timeout = OnTimeout::kDelete}});
    PutDraining(world, 0, world.clock->Now());
    world.clock->Advance(passed);
    REQUIRE(world.guarded->DeletePod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == (passed < absl::Minutes(5) ? "I4" : ""));
  }
}

TEST_CASE("I4: a node continues while a job that it must wait for is running") {
  const bool is_reset = GENERATE(false, true);  // other clients remove the label and the cordon in the meantime
  for (const absl::Duration passed : {absl::Seconds(299), absl::Seconds(300)}) {
    World world({.auto_upgrade = true,
                 .wait_for_completion =
                     WaitForCompletionPolicy{.pod_selector = LabelSelector::FromMatchLabels({{"app", "web"}}),
                                             .timeout = absl::Minutes(5)},
                 .drain = DrainPolicy{}});
    world.Put(0, "wait-for-jobs-required", [&](Node& node) {
      node.unschedulable = true;
      node.annotations[Gpu().StageAnnotation()] =
          "wait-for-jobs-required@" + std::to_string(absl::ToUnixSeconds(world.clock->Now())) + "@rev";
    });
    if (is_reset) {
      world.cluster->EditNode(world.NodeName(0), [](Node& node) {
        node.labels.erase(Gpu().StateLabel());
        node.unschedulable = false;
      });
    }
    world.clock->Advance(passed);
    world.Move(0, UpgradeState::kWaitForJobsRequired,
               {UpgradeState::kPodDeletionRequired, UpgradeState::kDrainRequired});
    CHECK(world.Broken() == (passed < absl::Minutes(5) ? "I4" : ""));
  }
}

TEST_CASE("I4: a pod is evicted without its UID") {
  World world;
  PodRef pod = world.WebPodOn(0);
  pod.uid.clear();
  CHECK_FALSE(world.guarded->EvictPod({}, {.pod = pod}).ok());
  CHECK(world.Broken() == "I4");
}

TEST_CASE("I5: a write without a precondition") {
  World world;
  CHECK_FALSE(world.guarded->PatchNode({}, {.name = world.NodeName(0), .uid = world.NodeAt(0).uid}).ok());
  CHECK(world.Broken() == "I5");
  World other;
  CHECK_FALSE(other.guarded->UpdateLease({}, {.ns = "a", .name = "b"}).ok());
  CHECK(other.Broken() == "I5");
}

TEST_CASE("I6: a foreign field is changed") {
  World labels;
  labels.Patch(0, {.labels = {{"zone", "b"}}});
  CHECK(labels.Broken() == "I6");
  World annotations;
  annotations.Patch(0, {.annotations = {{Gpu().SafeLoadAnnotation(), "true"}}});
  CHECK(annotations.Broken() == "I6");
}

TEST_CASE("I7: an illegal path") {
  World world;
  world.Move(0, UpgradeState::kUnknown, {UpgradeState::kDrainRequired});
  CHECK(world.Broken() == "I7");
  World unannounced;
  unannounced.Patch(0, {.labels = {{Gpu().StateLabel(), "upgrade-done"}}});
  CHECK(unannounced.Broken() == "I7");
}

TEST_CASE("I7: with EveryState, a patch needs a plan for its version that moves the node by one state") {
  for (const bool explained : {false, true}) {
    World world({.auto_upgrade = true, .max_parallel = 1, .drain = DrainPolicy{}, .pacing = Pacing::kEveryState});
    world.cluster->EditNode(world.NodeName(0), [](Node& node) {
      node.labels[Gpu().StateLabel()] = "wait-for-jobs-required";
      node.unschedulable = true;
    });
    // This path was planned a moment ago, under another policy.
    world.Announce(0, UpgradeState::kWaitForJobsRequired,
                   {UpgradeState::kPodDeletionRequired, UpgradeState::kDrainRequired});
    if (explained) world.Announce(0, UpgradeState::kWaitForJobsRequired, {UpgradeState::kDrainRequired});
    world.Patch(0, {.labels = {{Gpu().StateLabel(), "drain-required"}}});
    CHECK(world.Broken() == (explained ? "" : "I7"));
  }
}

TEST_CASE("I7: only Release removes the label of a node") {
  for (const bool released : {false, true}) {
    World world;
    world.Start(0);
    if (released) world.guarded->BeginRelease();
    world.Announce(0, UpgradeState::kDrainRequired, {UpgradeState::kUnknown});
    world.Patch(0, {.labels = {{Gpu().StateLabel(), std::nullopt}}, .unschedulable = false});
    CHECK(world.Broken() == (released ? "" : "I7"));
  }
}

TEST_CASE("I8: a node starts although it is skipped, the rollout is paused or frozen, or too many nodes have failed") {
  World skipped;
  skipped.cluster->EditNode(skipped.NodeName(0), [](Node& node) { node.labels[Gpu().SkipUpgradeLabel()] = "true"; });
  skipped.Start(0);
  CHECK(skipped.Broken() == "I8");
  World paused({.auto_upgrade = true, .paused = true});
  paused.Start(0);
  CHECK(paused.Broken() == "I8");
  const UpgradePolicy half_may_fail{
      .auto_upgrade = true, .max_parallel = 4, .failure_policy = FailurePolicy{.max_failures = Percent{50}}};
  World halted(half_may_fail);
  halted.Put(0, "upgrade-failed");
  halted.Ask(2);
  halted.StartUnread(2);
  CHECK(halted.checker->Report().empty());
  // The start of node 3 was requested before node 1 failed.
  halted.Ask(3);
  halted.Put(1, "upgrade-failed");
  halted.StartUnread(3);
  CHECK(halted.checker->Report().empty());
  World unheeded(half_may_fail);
  unheeded.Put(0, "upgrade-failed");
  unheeded.Put(1, "upgrade-failed");
  unheeded.Ask(2);
  unheeded.StartUnread(2);
  CHECK(unheeded.Broken() == "I8");
  World frozen({.auto_upgrade = false});
  frozen.Patch(0, {.unschedulable = true});
  CHECK(frozen.Broken() == "I8");
}

TEST_CASE("I10: a timer that is older than its node") {
  World world;
  world.clock->Advance(absl::Hours(1));
  world.cluster->AddNode(testing::NodeBuilder(world.NodeName(0)).Build());
  const std::int64_t began = absl::ToUnixSeconds(FakeClock::DefaultStart());
  world.Patch(0, {.annotations = {{Gpu().StageAnnotation(), "drain-required@" + std::to_string(began) + "@rev-1"}}});
  CHECK(world.Broken() == "I10");
}

TEST_CASE("I13: the same pod is evicted repeatedly") {
  World world;
  world.Start(0);
  const PodRef pod = world.WebPodOn(0);
  REQUIRE(world.guarded->EvictPod({}, {.pod = pod}).ok());
  CHECK(world.Broken() == "");
  REQUIRE(world.guarded->EvictPod({}, {.pod = pod}).ok());
  CHECK(world.Broken() == "I13");
}

TEST_CASE("I9: a replica writes after its lease has expired") {
  World world;
  world.checker->CheckLease("replica", absl::Seconds(10), absl::Seconds(10));
  CHECK(world.Broken() == "");
  world.checker->CheckLease("replica", absl::Seconds(11), absl::Seconds(10));
  CHECK(world.Broken() == "I9");
}

TEST_CASE("I11: a log line that spans two lines, or moves the cursor") {
  for (const char* line : {"level=info\nlevel=error", "node=\x1b[2J", "node=\x7f"}) {
    World world;
    world.checker->CheckLogLine("level=info node=\xc3\xa9");
    CHECK(world.Broken() == "");
    world.checker->CheckLogLine(line);
    CHECK(world.Broken() == "I11");
  }
}

TEST_CASE("I12: a replica writes although nothing is left to do") {
  World world;
  world.checker->CheckRest(7, 7);
  CHECK(world.Broken() == "");
  world.checker->CheckRest(7, 8);
  CHECK(world.Broken() == "I12");
}

TEST_CASE("I13: an upgrade needs too many writes, and faults triple the limit") {
  enum class Faults { kNone, kAllTheTime, kOne, kOneLongAgo, kClocksApart };
  for (const Faults faults :
       {Faults::kNone, Faults::kAllTheTime, Faults::kOne, Faults::kOneLongAgo, Faults::kClocksApart}) {
    World world;
    world.checker->set_disturbed(faults == Faults::kAllTheTime);
    if (faults == Faults::kOne || faults == Faults::kOneLongAgo) world.checker->NoteFault();
    if (faults == Faults::kOneLongAgo) world.clock->Advance(absl::Seconds(61));
    world.Start(0);
    if (faults == Faults::kClocksApart) world.checker->NoteClocksApart();
    // Changes to the node by other clients allow further writes.
    world.cluster->EditNode(world.NodeName(0), [](Node& node) { node.labels["rack"] = "7"; });
    int writes = 1;
    for (; world.Broken().empty() && writes < 100; ++writes) {
      world.Patch(0, {.annotations = {{Gpu().StageAnnotation(), "drain-required@" + std::to_string(writes)}}});
    }
    CHECK(world.Broken() == "I13");
    const bool with_faults = faults == Faults::kAllTheTime || faults == Faults::kOne;
    CHECK(writes == (with_faults ? 36 : faults == Faults::kClocksApart ? 24 : 12) + 2);
  }
}

TEST_CASE("I13: a node that an administrator resets, in progress or failed, starts another attempt") {
  for (const std::vector<UpgradeState>& states :
       {std::vector{UpgradeState::kUpgradeRequired}, {UpgradeState::kFailed, UpgradeState::kUpgradeRequired}}) {
    World world;
    world.Start(0);
    int stamp = 0;
    const auto write = [&] {
      world.Patch(0, {.annotations = {{Gpu().StageAnnotation(), "drain-required@" + std::to_string(++stamp)}}});
    };
    for (int i = 0; i < 11; ++i) write();
    for (const UpgradeState state : states) {
      world.cluster->EditNode(world.NodeName(0),
                              [&](Node& node) { node.labels[Gpu().StateLabel()] = std::string(ToLabelValue(state)); });
    }
    for (int i = 0; i < 12; ++i) write();
    CHECK(world.Broken() == "");
    write();
    CHECK(world.Broken() == "I13");
  }
}

TEST_CASE("I13: only with gangs does a refused eviction allow one more patch of the node") {
  for (const bool gangs : {false, true}) {
    INFO(gangs);
    UpgradePolicy policy{.auto_upgrade = true, .drain = DrainPolicy{}};
    World world(policy);
    world.Start(0);
    if (gangs) {  // set after the start, because a start with gangs needs a record
      policy.rollout = RolloutPolicy{.gangs = NodeGangs{}};
      world.checker->SetPolicy(policy);
    }
    const PodRef pod = world.WebPodOn(0);
    world.cluster->AnswerNextEviction({.refusal = Refusal::kDisruptionBudget}, 20);
    for (int i = 0; i < 20; ++i) {
      world.Patch(0, {.annotations = {{Gpu().StageAnnotation(), "drain-required@" + std::to_string(i)}}});
      REQUIRE(world.guarded->EvictPod({}, {.pod = pod}).ok());
      world.clock->Advance(absl::Seconds(5));
    }
    CHECK(world.Broken() == (gangs ? "" : "I13"));
  }
}

TEST_CASE("I13: refused evictions of a pod do not count") {
  World world;
  world.Start(0);
  const PodRef pod = world.WebPodOn(0);
  world.cluster->AnswerNextEviction({.refusal = Refusal::kDisruptionBudget}, 20);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(world.guarded->EvictPod({}, {.pod = pod}).ok());
    world.clock->Advance(absl::Seconds(5));
  }
  CHECK(world.Broken() == "");
}

TEST_CASE("I13: each pod that a drain must delete allows one more request") {
  World world({.auto_upgrade = true, .drain = DrainPolicy{.force = true, .on_timeout = OnTimeout::kDelete}});
  PutDraining(world, 0, absl::UnixEpoch());
  const auto add_and_delete = [&](int i) {
    const Pod pod =
        world.cluster->AddPod(PodBuilder("team-a", "job-" + std::to_string(i)).OnNode(world.NodeName(0)).Build());
    REQUIRE(world.guarded->DeletePod({}, {.pod = pod.ref}).ok());
    return pod;
  };
  Pod last;
  for (int i = 0; i < 40; ++i) last = add_and_delete(i);
  CHECK(world.Broken() == "");
  for (int i = 0; i < 20; ++i) REQUIRE(world.guarded->DeletePod({}, {.pod = last.ref}).ok());
  CHECK(world.Broken() == "I13");
}

TEST_CASE("I9: a Lease is taken over before it expires") {
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

}  // namespace
}  // namespace driverupgrade::tests
