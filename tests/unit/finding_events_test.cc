#include "observe/finding_events.h"

#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/node_under_test.h"
#include "write/refusal_event.h"
#include "write/send_requests.h"

namespace driverupgrade::tests {
namespace {

using internal::EventOfRefusal;
using internal::FindingEvents;
using internal::NodeRequests;
using testing::FakeClock;
using testing::FakeCluster;

const PodRef kOwnPod{"operators", "operator-1", "u-op"};

NodeGate Waits(std::string node, GateReason reason, std::string detail = "shop/web") {
  return {.node = std::move(node),
          .state = UpgradeState::kDrainRequired,
          .gate = {.reason = reason, .detail = std::move(detail)}};
}

Plan Changes(std::vector<NodeGate> gates, std::vector<std::string> ungated = {}) {
  return {.gates = std::move(gates), .gates_complete = false, .ungated = std::move(ungated)};
}

struct World {
  FindingEvents events{Gpu(), kOwnPod};
  absl::Time now = absl::FromUnixSeconds(1'000);

  std::vector<RecordEventParams> Follow(const Plan& plan) {
    return events.Follow(
        plan, [](const std::string& node) { return "uid of " + node; }, now);
  }
  std::size_t CountNews(const Plan& plan) { return Follow(plan).size(); }
};

TEST_CASE("A gate that requires action causes one Event, on its node") {
  World world;
  const Plan plan = Changes({Waits("n1", GateReason::kDisruptionBudget, "shop/web: refused by disruption budget web")});
  CHECK(world.Follow(plan) ==
        std::vector<RecordEventParams>{{.node_name = "n1",
                                        .node_uid = "uid of n1",
                                        .type = EventType::kWarning,
                                        .reason = "GPUDriverUpgrade",
                                        .message = "The driver upgrade waits in drain-required (DisruptionBudget): "
                                                   "shop/web: refused by disruption budget web",
                                        .time = world.now}});
  CHECK(world.CountNews(plan) == 0);
  CHECK(world.CountNews(Changes({})) == 0);
}

TEST_CASE("A gate causes an Event unless the wait is intended or has its own finding") {
  World world;
  for (const GateTraits& gate : kGates) {
    const GateReason reason = gate.reason;
    CAPTURE(ToString(reason));
    const bool told = reason == GateReason::kDisruptionBudget || reason == GateReason::kSeveralBudgets ||
                      reason == GateReason::kEvictionRefused || reason == GateReason::kUndeletablePods ||
                      reason == GateReason::kDevicesUnfit || reason == GateReason::kSafeLoad ||
                      reason == GateReason::kFailed;
    CHECK(world.CountNews(Changes({Waits("n1", reason)})) == (told ? 1 : 0));
  }
}

TEST_CASE("A gate is reported again if it changes, or if it returns after it has ended") {
  World world;
  const Plan blocked = Changes({Waits("n1", GateReason::kDisruptionBudget)});
  CHECK(world.CountNews(blocked) == 1);
  CHECK(world.CountNews(Changes({Waits("n1", GateReason::kDisruptionBudget, "shop/web-2")})) == 1);
  CHECK(world.CountNews(Changes({Waits("n1", GateReason::kSeveralBudgets, "shop/web-2")})) == 1);
  CHECK(world.CountNews(Changes({}, {"n1"})) == 0);
  CHECK(world.CountNews(blocked) == 1);
  CHECK(world.CountNews(Changes({Waits("n1", GateReason::kPodsTerminating)})) == 0);
  CHECK(world.CountNews(blocked) == 1);
  CHECK(world.CountNews(Plan{}) == 0);  // a complete plan without the gate, so the gate has ended
  CHECK(world.CountNews(blocked) == 1);
}

TEST_CASE("Plans that repeat the same gates cause no new Events") {
  World world;
  const Plan plan{.gates = {Waits("n1", GateReason::kDisruptionBudget), Waits("n2", GateReason::kFailed)}};
  CHECK(world.CountNews(plan) == 2);
  for (int i = 0; i < 100; ++i) {
    world.now += absl::Seconds(10);
    CHECK(world.CountNews(plan) == 0);
  }
}

TEST_CASE("A gate or finding that persists is reported again after half an hour") {
  World world;
  const Plan plan{.gates = {Waits("n1", GateReason::kFailed)},
                  .findings = {{.code = FindingCode::kHookFailed, .node = "n1", .message = "boom"}}};
  CHECK(world.CountNews(plan) == 2);
  world.now += absl::Minutes(30) - absl::Seconds(1);
  CHECK(world.CountNews(plan) == 0);
  world.now += absl::Seconds(1);
  CHECK(world.CountNews(plan) == 2);
  world.now -= absl::Hours(100);  // the clock is set back
  CHECK(world.CountNews(plan) == 0);
  world.now += absl::Minutes(30);
  CHECK(world.CountNews(plan) == 2);
}

TEST_CASE("A finding is reported when it appears or returns, on its node or on the operator's own pod") {
  World world;
  const Finding hook{.code = FindingCode::kHookFailed, .node = "n1", .message = "pod filter for shop/web: boom"};
  const Finding strategy{.code = FindingCode::kUpdateStrategy, .message = "DaemonSet drivers/gpu is not OnDelete"};
  const std::vector<RecordEventParams> news = world.Follow({.findings = {hook, strategy}});
  REQUIRE(news.size() == 2);
  CHECK(news[0].node_name == "n1");
  CHECK(news[0].node_uid == "uid of n1");
  CHECK_FALSE(news[0].pod);
  CHECK(news[0].type == EventType::kWarning);
  CHECK(news[0].message == "HookFailed: pod filter for shop/web: boom");
  CHECK(news[1].pod == kOwnPod);
  CHECK(news[1].message == "UpdateStrategy: DaemonSet drivers/gpu is not OnDelete");
  CHECK(world.CountNews({.findings = {hook, strategy}}) == 0);
  CHECK(world.CountNews({.findings = {strategy}}) == 0);
  CHECK(world.CountNews({.findings = {hook, strategy}}) == 1);
  FindingEvents without_pod(Gpu(), std::nullopt);
  CHECK(without_pod
            .Follow(
                {.findings = {strategy}}, [](const std::string&) { return ""; }, world.now)
            .empty());
}

TEST_CASE("A finding that requires no action causes an Event of type Normal") {
  World world;
  const auto news = world.Follow({.findings = {{.code = FindingCode::kPodLeftAlone, .node = "n1", .message = "x"}}});
  REQUIRE(news.size() == 1);
  CHECK(news[0].type == EventType::kNormal);
}

TEST_CASE("A message that is too long for an Event is truncated") {
  World world;
  const auto news = world.Follow(Changes({Waits("n1", GateReason::kFailed, std::string(5'000, 'x'))}));
  REQUIRE(news.size() == 1);
  CHECK(news[0].message.size() == 1024);
}

/// The requests for one node, sent to a cluster that responds to a patch or a deletion with `failure`.
struct Refused {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  FakeCluster cluster{clock};
  NodePlan plan = {};

  std::optional<RecordEventParams> Send(const absl::Status& failure) {
    cluster.FailNext(plan.patch ? Operation::kPatchNode : Operation::kDeletePod, failure, 1);
    NodeRequests requests(plan);
    internal::SendRequests(requests, {}, absl::Seconds(30), cluster, *clock);
    return EventOfRefusal(requests, "GPUDriverUpgrade", clock->Now());
  }
};

TEST_CASE("§5.5: a refused patch causes a Warning with the same text as in the Go library") {
  Refused world;
  world.plan = {.node = "n1",
                .uid = "u1",
                .resource_version = "7",
                .path = {UpgradeState::kCordonRequired, UpgradeState::kDrainRequired},
                .patch = PatchNodeParams{.annotations = {{"b", "2"}, {"a", std::nullopt}}, .unschedulable = true}};
  const absl::Status forbidden = absl::PermissionDeniedError("nodes \"n1\" is forbidden");
  auto event = world.Send(forbidden);
  REQUIRE(event);
  CHECK(event->node_uid == "u1");
  CHECK(event->type == EventType::kWarning);
  CHECK(event->message == "Failed to update node state label to drain-required, nodes \"n1\" is forbidden");
  world.plan.path.clear();
  CHECK(world.Send(forbidden)->message == "Failed to cordon the node, nodes \"n1\" is forbidden");
  world.plan.patch->unschedulable.reset();
  CHECK(world.Send(forbidden)->message == "Failed to update node annotation to a=null: nodes \"n1\" is forbidden");
}

TEST_CASE("A refused deletion is reported on its pod") {
  Refused world;
  const PodRef pod{"drivers", "gpu-7", "u-7"};
  world.plan = {.node = "n1", .uid = "u1", .remove = {pod}};
  const auto event = world.Send(absl::PermissionDeniedError("no"));
  REQUIRE(event);
  CHECK(event->pod == pod);
  CHECK(event->message == "Failed to delete the pod for the driver upgrade, no");
}

TEST_CASE("A failed request that may succeed on the next attempt does not cause an Event") {
  Refused world;
  world.plan = {.node = "n1", .uid = "u1", .resource_version = "7", .patch = PatchNodeParams{.unschedulable = true}};
  CHECK_FALSE(world.Send(absl::AbortedError("409")));
  CHECK_FALSE(world.Send(absl::UnavailableError("503")));
  CHECK_FALSE(world.Send(absl::ResourceExhaustedError("429")));
}

TEST_CASE("A gate that has ended is not reported again, no matter how much time passes") {
  World world;
  REQUIRE(world.CountNews(Changes({Waits("n1", GateReason::kDisruptionBudget)})) == 1);
  REQUIRE(world.events.NextReminder());
  CHECK(world.CountNews(Changes({}, {"n1"})) == 0);
  CHECK_FALSE(world.events.NextReminder());
  world.now += absl::Hours(1);
  CHECK(world.CountNews(Changes({})) == 0);
}

TEST_CASE("W1: a label that is removed repeatedly causes one Event per node and hour") {
  World world;
  const auto taken = [](int times) {
    return Plan{.findings = {{.code = FindingCode::kLabelTakenAway, .node = "n1", .message = std::to_string(times)}}};
  };
  CHECK(world.Follow(taken(1)).at(0).type == EventType::kWarning);
  world.now += absl::Minutes(59);
  CHECK(world.CountNews(taken(2)) == 0);
  CHECK(world.events.NextReminder() == world.now + absl::Minutes(1));
  world.now += absl::Minutes(1);
  CHECK(world.CountNews(taken(3)) == 1);
}

}  // namespace
}  // namespace driverupgrade::tests
