#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

using testing::Actor;
using testing::Call;
using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;
using testing::NodeBuilder;
using testing::PodBuilder;

struct World {
  World() {
    node = cluster.AddNode(NodeBuilder("n1").Build());
    pod = cluster.AddPod(PodBuilder("a", "p").OnNode("n1").Build());
  }

  absl::Status Cordon() {
    return cluster
        .PatchNode(context, {.name = "n1",
                             .uid = node.uid,
                             .resource_version = cluster.node("n1")->resource_version,
                             .unschedulable = true})
        .status();
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  FakeCluster cluster{clock};
  CallContext context = {};
  Node node = {};
  Pod pod = {};
};

TEST_CASE("a failing call is not applied, and only the requested number of calls of that operation fail") {
  World world;
  world.cluster.FailNext(Operation::kPatchNode, absl::UnavailableError("etcd is down"), 2);
  CHECK(world.cluster.ListNodes(world.context, {}).ok());
  CHECK(world.Cordon() == absl::UnavailableError("etcd is down"));
  CHECK(world.Cordon() == absl::UnavailableError("etcd is down"));
  CHECK_FALSE(world.cluster.node("n1")->unschedulable);
  CHECK(world.Cordon().ok());
  CHECK(world.cluster.node("n1")->unschedulable);
}

TEST_CASE("a write with a lost response is applied (fault-F6)") {
  World world;
  world.cluster.FailNextAfterApplying(Operation::kPatchNode, absl::DeadlineExceededError("no answer"));
  CHECK(absl::IsDeadlineExceeded(world.Cordon()));
  CHECK(world.cluster.node("n1")->unschedulable);
  world.cluster.FailNextAfterApplying(Operation::kDeletePod, absl::UnavailableError("reset"));
  CHECK(absl::IsUnavailable(world.cluster.DeletePod(world.context, {.pod = world.pod.ref})));
  CHECK(world.cluster.pod("a", "p")->deletion_timestamp.has_value());
}

TEST_CASE("faults of one operation occur in the order in which they were set") {
  World world;
  world.cluster.FailNext(Operation::kGetNode, absl::UnavailableError("first"));
  world.cluster.FailNextAfterApplying(Operation::kGetNode, absl::UnauthenticatedError("second"));
  CHECK(absl::IsUnavailable(world.cluster.GetNode(world.context, {.name = "n1"}).status()));
  CHECK(absl::IsUnauthenticated(world.cluster.GetNode(world.context, {.name = "n1"}).status()));
  CHECK(world.cluster.GetNode(world.context, {.name = "n1"}).ok());
}

TEST_CASE("throttling of an eviction is returned as a refusal, not as an error (E24)") {
  World world;
  world.cluster.FailNext(Operation::kEvictPod, absl::ResourceExhaustedError("too many requests"));
  world.cluster.FailNext(Operation::kEvictPod, absl::NotFoundError("gone"));
  world.cluster.FailNext(Operation::kEvictPod, absl::InternalError("webhook"));
  const absl::StatusOr<EvictionAnswer> throttled = world.cluster.EvictPod(world.context, {.pod = world.pod.ref});
  REQUIRE(throttled.ok());
  CHECK(throttled->refusal == Refusal::kThrottled);
  CHECK(throttled->message == "too many requests");
  CHECK(world.cluster.EvictPod(world.context, {.pod = world.pod.ref})->gone);
  CHECK(world.cluster.EvictPod(world.context, {.pod = world.pod.ref}).status() == absl::InternalError("webhook"));
  CHECK_FALSE(world.cluster.pod("a", "p")->deletion_timestamp.has_value());
}

TEST_CASE("any response to an eviction can be set") {
  World world;
  const EvictionAnswer answer{
      .refusal = Refusal::kDisruptionBudget, .budget = "mine", .retry_after = absl::Seconds(7)};
  world.cluster.AnswerNextEviction(answer, 2);
  for (int i = 0; i < 2; ++i) {
    CHECK(world.cluster.EvictPod(world.context, {.pod = world.pod.ref}).value() == answer);
  }
  CHECK(world.cluster.EvictPod(world.context, {.pod = world.pod.ref})->accepted());
}

TEST_CASE("a call that has been stopped, or whose deadline has passed, does not reach the cluster") {
  World world;
  std::stop_source stop;
  stop.request_stop();
  world.context.stop = stop.get_token();
  CHECK(absl::IsCancelled(world.Cordon()));
  world.context = {.deadline = world.clock->Now()};
  CHECK(absl::IsDeadlineExceeded(world.Cordon()));
  CHECK_FALSE(world.cluster.node("n1")->unschedulable);
  CHECK_FALSE(world.cluster.journal().back().applied);
}

TEST_CASE("a disabled operation is not supported") {
  World world;
  CHECK(world.cluster.Supports(Operation::kPatchNode));
  world.cluster.SetSupported(Operation::kPatchNode, false);
  CHECK_FALSE(world.cluster.Supports(Operation::kPatchNode));
  CHECK(absl::IsUnimplemented(world.Cordon()));
  world.cluster.SetSupported(Operation::kPatchNode, true);
  CHECK(world.Cordon().ok());
}

TEST_CASE("a hook before a call can let an administrator act first") {
  World world;
  const Node read = world.cluster.node("n1").value();
  world.cluster.SetFaultHooks(
      [&](const Call& call) -> std::optional<absl::Status> {
        if (call.operation == Operation::kPatchNode) world.cluster.Cordon(call.object);
        return std::nullopt;
      },
      nullptr);
  CHECK(absl::IsAborted(
      world.cluster
          .PatchNode(world.context,
                     {.name = "n1", .uid = read.uid, .resource_version = read.resource_version, .labels = {{"a", "b"}}})
          .status()));
  CHECK(world.cluster.node("n1")->labels.empty());
}

TEST_CASE("hooks can replace the response of the cluster, before or after the call is applied") {
  World world;
  std::vector<std::string> seen;
  world.cluster.SetFaultHooks(
      [&](const Call& call) -> std::optional<absl::Status> {
        if (call.number == 1) return absl::UnavailableError("before");
        return std::nullopt;
      },
      [&](const Call& call) -> std::optional<absl::Status> {
        seen.push_back(call.object + (call.code == absl::StatusCode::kOk ? " ok" : " not ok"));
        return absl::UnavailableError("after");
      });
  CHECK(world.Cordon() == absl::UnavailableError("before"));
  CHECK_FALSE(world.cluster.node("n1")->unschedulable);
  CHECK(world.Cordon() == absl::UnavailableError("after"));
  CHECK(world.cluster.node("n1")->unschedulable);
  CHECK(seen == std::vector<std::string>{"n1 ok"});
  world.cluster.SetFaultHooks(nullptr, nullptr);
  CHECK(world.Cordon().ok());
}

TEST_CASE("the journal lists calls and results, and the calls of each operation are counted") {
  World world;
  world.cluster.FailNextAfterApplying(Operation::kPatchNode, absl::UnavailableError("lost"));
  REQUIRE_FALSE(world.Cordon().ok());
  world.clock->Advance(absl::Seconds(1));
  REQUIRE(world.cluster.EvictPod(world.context, {.pod = world.pod.ref}).ok());
  REQUIRE(world.cluster.ListPods(world.context, {.ns = "a", .node_name = "n1"}).ok());
  const std::vector<Call> journal = world.cluster.journal();
  REQUIRE(journal.size() == 3);
  CHECK(journal[0].number == 1);
  CHECK(journal[0].operation == Operation::kPatchNode);
  CHECK(journal[0].object == "n1");
  CHECK(journal[0].parameters == "resourceVersion=1001 unschedulable=true");
  CHECK(journal[0].code == absl::StatusCode::kUnavailable);
  CHECK(journal[0].answer == "lost");
  CHECK(journal[0].applied);
  CHECK(journal[1].object == "a/p");
  CHECK(journal[1].time == FakeClock::DefaultStart() + absl::Seconds(1));
  CHECK(journal[1].answer == std::string(ToString(EvictionAnswer())));
  CHECK(journal[2].object == "a n1");
  CHECK(world.cluster.CallCount(Operation::kPatchNode) == 1);
  CHECK(world.cluster.CallCount(Operation::kDeletePod) == 0);
}

TEST_CASE("events are kept in the order in which they were recorded") {
  World world;
  const RecordEventParams on_node{.node_name = "n1", .node_uid = "1", .reason = "GPUDriverUpgrade", .message = "one"};
  const RecordEventParams on_pod{.pod = world.pod.ref, .type = EventType::kWarning, .message = "two"};
  REQUIRE(world.cluster.RecordEvent(world.context, on_node).ok());
  REQUIRE(world.cluster.RecordEvent(world.context, on_pod).ok());
  CHECK(world.cluster.events() == std::vector{on_node, on_pod});
}

TEST_CASE("the Events of a series are stored as one Event until it expires") {
  World world;
  const RecordEventParams first{.node_name = "n1", .reason = "Blocked", .message = "by web"};
  RecordEventParams second = first;
  second.message = "by shop";
  second.time += absl::Seconds(60);
  second.series = {.count = 2, .first_time = first.time, .first_message = first.message};
  RecordEventParams other = first;
  other.node_name = "n2";
  for (const RecordEventParams& event : {first, other, second}) {
    REQUIRE(world.cluster.RecordEvent(world.context, event).ok());
  }
  CHECK(world.cluster.stored_events() == std::vector{second, other});
  REQUIRE(world.cluster.RecordEvent(world.context, first).ok());  // the Event already exists
  CHECK(world.cluster.stored_events() == std::vector{second, other});
  world.cluster.ExpireEvents();
  CHECK(world.cluster.stored_events().empty());
  REQUIRE(world.cluster.RecordEvent(world.context, second).ok());
  CHECK(world.cluster.stored_events() == std::vector{second});
}

TEST_CASE(
    "an observer sees every commit in the order of revisions, with its actor and the object before and after it") {
  World world;
  std::vector<std::string> seen;
  std::int64_t revision = world.cluster.revision();
  world.cluster.SetChangeObserver([&](const Change& change) {
    CHECK(change.revision == ++revision);
    const char* actor = change.actor == Actor::kClient    ? "client"
                        : change.actor == Actor::kCluster ? "cluster"
                                                          : "admin";
    if (change.node.after != nullptr) {
      REQUIRE(change.node.before != nullptr);
      seen.push_back(std::string(actor) + " cordons " + change.node.after->name);
      CHECK_FALSE(change.node.before->unschedulable);
    }
    if (change.pod.before != nullptr) {
      seen.push_back(std::string(actor) + (change.pod.after != nullptr ? " deletes " : " ends ") +
                     change.pod.before->ref.name);
    }
  });
  REQUIRE(world.Cordon().ok());
  REQUIRE(world.cluster.DeletePod(world.context, {.pod = world.pod.ref}).ok());
  world.cluster.Advance(absl::Minutes(1));
  CHECK(seen == std::vector<std::string>{"client cordons n1", "client deletes p", "cluster ends p"});
}

TEST_CASE("several threads may use one cluster") {
  World world;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&world, i] {
      const CallContext context;
      for (int k = 0; k < 50; ++k) {
        // Retries the compare-and-swap until it succeeds, so that no increment is lost.
        for (;;) {
          const Node node = world.cluster.GetNode(context, {.name = "n1"}).value();
          auto found = node.labels.find("count");
          const int count = found == node.labels.end() ? 0 : std::stoi(found->second);
          PatchNodeParams params{.name = "n1", .uid = node.uid, .resource_version = node.resource_version};
          params.labels["count"] = std::to_string(count + 1);
          if (world.cluster.PatchNode(context, params).ok()) break;
        }
        if (i == 0) world.cluster.Advance(absl::Seconds(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(world.cluster.node("n1")->labels.at("count") == "200");
}

}  // namespace
}  // namespace driverupgrade
