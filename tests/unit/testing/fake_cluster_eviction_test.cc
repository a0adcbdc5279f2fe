#include <memory>
#include <string>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

using testing::DisruptionBudgetSpec;
using testing::FakeClock;
using testing::FakeCluster;
using testing::NodeBuilder;
using testing::PodBehavior;
using testing::PodBuilder;

// Three ready pods of the ReplicaSet `web` on three nodes.
struct World {
  World() {
    for (const char* name : {"n1", "n2", "n3"}) cluster.AddNode(NodeBuilder(name).Build());
    cluster.AddWorkload({.ns = "team-a", .name = "web", .replicas = 3});
  }

  PodRef On(const std::string& node_name) {
    return cluster.ListPods(context, {.ns = "team-a", .node_name = node_name})->front().ref;
  }
  EvictionAnswer Evict(const PodRef& pod) { return cluster.EvictPod(context, {.pod = pod}).value(); }
  PodDisruptionBudget Budget() { return cluster.ListPodDisruptionBudgets(context, {.ns = "team-a"})->at(0); }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  FakeCluster cluster{clock};
  CallContext context = {};
};

TEST_CASE("an evicted pod has a deletion timestamp one grace period ahead, but may end earlier (E21)") {
  World world;
  const PodRef pod = world.On("n1");
  CHECK(world.Evict(pod).accepted());
  const Pod terminating = world.cluster.pod(pod.ns, pod.name).value();
  CHECK(terminating.deletion_timestamp == world.clock->Now() + absl::Seconds(30));
  CHECK(terminating.phase == PodPhase::kRunning);
  world.cluster.Advance(absl::Seconds(2) - absl::Nanoseconds(1));
  CHECK(world.cluster.pod(pod.ns, pod.name).has_value());
  world.cluster.Advance(absl::Nanoseconds(1));
  CHECK_FALSE(world.cluster.pod(pod.ns, pod.name).has_value());
}

TEST_CASE("evicting a terminating pod is accepted and changes nothing (E14)") {
  World world;
  world.cluster.AddDisruptionBudget({.ns = "team-a", .name = "web", .max_unavailable = 1});
  const PodRef pod = world.On("n1");
  REQUIRE(world.Evict(pod).accepted());
  const Pod before = world.cluster.pod(pod.ns, pod.name).value();
  world.clock->Advance(absl::Seconds(1));
  CHECK(world.Evict(pod).accepted());
  CHECK(world.cluster.pod(pod.ns, pod.name) == before);
}

TEST_CASE("a missing pod, and a pod with the same name and another UID, count as deleted (E16)") {
  World world;
  PodRef pod = world.On("n1");
  pod.uid = "other";
  CHECK(world.Evict(pod).gone);
  CHECK(world.Evict({.ns = "team-a", .name = "absent", .uid = "1"}).gone);
  CHECK(world.Evict({.ns = "absent", .name = "web", .uid = "1"}).gone);
  CHECK(world.cluster.ListPods(world.context, {.node_name = "n1"})->size() == 1);
  CHECK(absl::IsInvalidArgument(
      world.cluster.EvictPod(world.context, {.pod = {.ns = "team-a", .name = "web"}}).status()));
}

TEST_CASE(
    "a budget without allowed disruptions refuses evictions with the server's message and the budget's name (E10)") {
  World world;
  world.cluster.AddDisruptionBudget({.ns = "team-a", .name = "web", .max_unavailable = 1});
  CHECK(world.Budget().disruptions_allowed == 1);
  REQUIRE(world.Evict(world.On("n1")).accepted());
  const PodRef second = world.On("n2");
  const EvictionAnswer answer = world.Evict(second);
  CHECK(answer.refusal == Refusal::kDisruptionBudget);
  CHECK(answer.budget == "web");
  CHECK(answer.message ==
        "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 2 "
        "healthy pods and has 2 currently");
  CHECK(answer.retry_after == absl::ZeroDuration());
  CHECK_FALSE(world.cluster.pod(second.ns, second.name)->deletion_timestamp.has_value());

  // The successor of the first pod is ready, so the next pod may be evicted.
  world.cluster.Advance(absl::Minutes(1));
  CHECK(world.Budget().disruptions_allowed == 1);
  CHECK(world.Evict(second).accepted());
}

TEST_CASE("a budget with minAvailable or maxUnavailable counts healthy pods") {
  World world;
  world.cluster.AddDisruptionBudget({.ns = "team-a", .name = "min", .min_available = 2});
  CHECK(world.Budget() == PodDisruptionBudget{.ns = "team-a",
                                              .name = "min",
                                              .uid = world.Budget().uid,
                                              .disruptions_allowed = 1,
                                              .current_healthy = 3,
                                              .desired_healthy = 2});
  REQUIRE(world.cluster.SetPodReady("team-a", world.On("n1").name, false));
  CHECK(world.Budget().current_healthy == 2);
  CHECK(world.Budget().disruptions_allowed == 0);
  world.cluster.AddDisruptionBudget({.ns = "team-a", .name = "min", .max_unavailable = 2});
  CHECK(world.Budget().desired_healthy == 1);
  CHECK(world.Budget().disruptions_allowed == 1);
  REQUIRE(world.cluster.SetNodeReady("n2", false));
  CHECK(world.Budget().current_healthy == 1);
  REQUIRE(world.cluster.SetNodeReady("n2", true));
  CHECK(world.Budget().current_healthy == 2);
  REQUIRE(world.cluster.RemoveDisruptionBudget("team-a", "min"));
  CHECK(world.cluster.disruption_budgets().empty());
}

TEST_CASE("maxUnavailable is based on the expected replicas, not on the existing pods") {
  World world;
  world.cluster.AddDisruptionBudget({.ns = "team-a", .name = "web", .max_unavailable = 1});
  for (const char* name : {"n1", "n2", "n3"}) world.cluster.Cordon(name);
  REQUIRE(world.Evict(world.On("n1")).accepted());
  world.cluster.Advance(absl::Hours(1));
  // All nodes are cordoned, so the successor cannot be scheduled.
  CHECK(world.Budget().desired_healthy == 2);
  CHECK(world.Budget().current_healthy == 2);
  CHECK(world.Evict(world.On("n2")).refusal == Refusal::kDisruptionBudget);
}

TEST_CASE("maxUnavailable allows no disruption of pods without a workload, but minAvailable does") {
  World world;
  const Pod bare = world.cluster.AddPod(PodBuilder("b", "bare").OnNode("n1").Build());
  world.cluster.AddDisruptionBudget({.ns = "b", .name = "one", .max_unavailable = 1});
  CHECK(world.Evict(bare.ref).refusal == Refusal::kDisruptionBudget);
  world.cluster.AddDisruptionBudget({.ns = "b", .name = "one", .min_available = 0});
  CHECK(world.Evict(bare.ref).accepted());
  const Pod job = world.cluster.AddPod(PodBuilder("team-a", "job-1").OnNode("n1").OwnedByJob("job").Build());
  world.cluster.AddDisruptionBudget({.ns = "team-a", .name = "all", .max_unavailable = 2});
  CHECK(world.Evict(job.ref).refusal == Refusal::kDisruptionBudget);
}

TEST_CASE("a pod that matches two budgets is never evicted, even if each budget would allow it (E7)") {
  World world;
  world.cluster.AddDisruptionBudget({.ns = "team-a", .name = "one", .max_unavailable = 3});
  world.cluster.AddDisruptionBudget({.ns = "team-a", .name = "two", .max_unavailable = 3});
  const EvictionAnswer answer = world.Evict(world.On("n1"));
  CHECK(answer.refusal == Refusal::kSeveralBudgets);
  CHECK(answer.message ==
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
}

TEST_CASE("a budget in another namespace or for other labels does not count (E6)") {
  World world;
  world.cluster.AddDisruptionBudget({.ns = "team-b", .name = "other", .min_available = 9});
  world.cluster.AddDisruptionBudget(
      {.ns = "team-a", .name = "db", .selector = LabelSelector::FromMatchLabels({{"app", "db"}}), .min_available = 9});
  world.cluster.AddDisruptionBudget(
      {.ns = "team-a", .name = "null", .selector = LabelSelector::Nothing(), .min_available = 9});
  CHECK(world.Evict(world.On("n1")).accepted());
}

TEST_CASE("finished and pending pods are evicted regardless of their budgets, even if several budgets match (E5)") {
  World world;
  world.cluster.AddDisruptionBudget({.ns = "team-a", .name = "one", .min_available = 9});
  world.cluster.AddDisruptionBudget({.ns = "team-a", .name = "two", .min_available = 9});
  const Pod succeeded = world.cluster.AddPod(PodBuilder("team-a", "s").OnNode("n1").Succeeded().Build());
  const Pod failed = world.cluster.AddPod(PodBuilder("team-a", "f").OnNode("n1").Failed().Build());
  const Pod pending = world.cluster.AddPod(PodBuilder("team-a", "p").OnNode("n1").Pending().Build());
  for (const Pod& pod : {succeeded, failed, pending}) CHECK(world.Evict(pod.ref).accepted());
  // E20: a finished pod has no grace period.
  CHECK_FALSE(world.cluster.pod("team-a", "s").has_value());
  CHECK_FALSE(world.cluster.pod("team-a", "f").has_value());
  CHECK(world.cluster.pod("team-a", "p")->deletion_timestamp.has_value());
}

TEST_CASE("an unready pod is evicted if the others are healthy enough, or the budget always allows it (E8)") {
  World world;
  const PodRef unready = world.On("n1");
  REQUIRE(world.cluster.SetPodReady(unready.ns, unready.name, false));
  DisruptionBudgetSpec budget{.ns = "team-a", .name = "web", .min_available = 2};
  SECTION("healthy enough") {
    world.cluster.AddDisruptionBudget(budget);
    CHECK(world.Evict(world.On("n2")).refusal == Refusal::kDisruptionBudget);
    CHECK(world.Evict(unready).accepted());
  }
  SECTION("not healthy enough") {
    budget.min_available = 3;
    world.cluster.AddDisruptionBudget(budget);
    CHECK(world.Evict(unready).refusal == Refusal::kDisruptionBudget);
    budget.always_allow_unhealthy = true;
    world.cluster.AddDisruptionBudget(budget);
    CHECK(world.Evict(unready).accepted());
  }
}

TEST_CASE("a budget that has not been processed yet refuses evictions, and the response contains a retry delay (E9)") {
  World world;
  world.cluster.AddDisruptionBudget({.ns = "team-a", .name = "web", .max_unavailable = 3, .processed = false});
  const EvictionAnswer answer = world.Evict(world.On("n1"));
  CHECK(answer.refusal == Refusal::kDisruptionBudget);
  CHECK(answer.budget == "web");
  CHECK(answer.retry_after == absl::Seconds(10));
}

TEST_CASE("in a terminating namespace pods can be deleted, but not evicted, and no objects can be created (E19)") {
  World world;
  const PodRef pod = world.On("n1");
  world.cluster.TerminateNamespace("team-a");
  CHECK(world.Evict(pod).refusal == Refusal::kNamespaceTerminating);
  CHECK(world.Evict({.ns = "team-a", .name = "absent", .uid = "1"}).refusal == Refusal::kNamespaceTerminating);
  CHECK(absl::IsPermissionDenied(world.cluster.RecordEvent(world.context, {.pod = pod})));
  CHECK(world.cluster.DeletePod(world.context, {.pod = pod}).ok());
  world.cluster.Advance(absl::Hours(1));
  CHECK(world.cluster.pods().size() == 2);
}

TEST_CASE("a deletion ignores budgets, and succeeds if the pod is missing or has been replaced (E23)") {
  World world;
  world.cluster.AddDisruptionBudget({.ns = "team-a", .name = "web", .min_available = 3});
  const PodRef pod = world.On("n1");
  PodRef other = pod;
  other.uid = "other";
  CHECK(world.cluster.DeletePod(world.context, {.pod = other}).ok());
  CHECK_FALSE(world.cluster.pod(pod.ns, pod.name)->deletion_timestamp.has_value());
  CHECK(world.cluster.DeletePod(world.context, {.pod = pod}).ok());
  CHECK(world.cluster.pod(pod.ns, pod.name)->deletion_timestamp.has_value());
  world.cluster.Advance(absl::Minutes(1));
  CHECK(world.cluster.DeletePod(world.context, {.pod = pod}).ok());
  CHECK(absl::IsInvalidArgument(world.cluster.DeletePod(world.context, {.pod = {.ns = "team-a", .name = "x"}})));
}

TEST_CASE("W13: a forced deletion ends a pod immediately, terminating or not, unless a finalizer holds it") {
  World world;
  const PodRef pod = world.On("n1");
  CHECK(world.cluster.DeletePod(world.context, {.pod = pod}).ok());
  CHECK(world.cluster.DeletePod(world.context, {.pod = pod, .force = true}).ok());
  CHECK_FALSE(world.cluster.pod(pod.ns, pod.name).has_value());
  const PodRef held = world.cluster.AddPod(PodBuilder("team-a", "held").OnNode("n1").WithFinalizer("x/y").Build()).ref;
  CHECK(world.cluster.DeletePod(world.context, {.pod = held, .force = true}).ok());
  CHECK(world.cluster.pod(held.ns, held.name)->deletion_timestamp.has_value());
}

TEST_CASE("a pod without a grace period ends when it is deleted, and a stuck pod ends when it is released") {
  World world;
  const Pod fast =
      world.cluster.AddPod(PodBuilder("b", "fast").OnNode("n1").Build(), {.grace_period = absl::ZeroDuration()});
  CHECK(world.Evict(fast.ref).accepted());
  CHECK_FALSE(world.cluster.pod("b", "fast").has_value());
  const Pod stuck =
      world.cluster.AddPod(PodBuilder("b", "stuck").OnNode("n1").Build(), {.stop_delay = absl::InfiniteDuration()});
  CHECK(world.Evict(stuck.ref).accepted());
  world.cluster.Advance(absl::Hours(24));
  CHECK(world.cluster.pod("b", "stuck").has_value());
  REQUIRE(world.cluster.SetPodBehavior("b", "stuck", PodBehavior{}));
  world.cluster.Advance(absl::Seconds(2));
  CHECK_FALSE(world.cluster.pod("b", "stuck").has_value());
}

}  // namespace
}  // namespace driverupgrade
