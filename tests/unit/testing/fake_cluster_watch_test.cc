#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "watch_recorder.h"

namespace driverupgrade {
namespace {

using testing::Call;
using testing::FakeClock;
using testing::FakeCluster;
using testing::FakeClusterOptions;
using testing::NodeBuilder;
using testing::PodBuilder;

using Lines = std::vector<std::string>;

struct World {
  explicit World(FakeClusterOptions options = {}) : cluster(clock, options) {
    cluster.AddNode(NodeBuilder("n1").WithLabel("gpu", "yes").Build());
    cluster.AddNode(NodeBuilder("n2").Build());
  }

  std::string Version() const { return std::to_string(cluster.revision()); }
  void Label(const std::string& name, const std::string& key, const std::string& value) {
    cluster.EditNode(name, [&](Node& node) { node.labels[key] = value; });
  }
  absl::Status Poll(const WatchParams& params, WatchSink<Node>& sink) { return cluster.Poll<Node>({}, params, sink); }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  FakeCluster cluster;
};

// Watches nodes on a separate thread until the watch ends or is stopped.
class NodeWatch {
 public:
  NodeWatch(FakeCluster& cluster, WatchParams params, absl::Time deadline = absl::InfiniteFuture())
      : thread_([this, &cluster, params = std::move(params), deadline](const std::stop_token& stop) {
          status_ = cluster.WatchNodes({.deadline = deadline, .stop = stop}, params, sink);
        }) {}

  /// Waits for the end of the watch.
  absl::Status Join() {
    thread_.join();
    return status_;
  }
  absl::Status Stop() {
    thread_.request_stop();
    return Join();
  }

  WatchRecorder<Node> sink;

 private:
  absl::Status status_;
  std::jthread thread_;
};

TEST_CASE("a watch returns the list, and then every commit in order (api-A6)") {
  World world;
  NodeWatch watch(world.cluster, {});
  world.cluster.AwaitWatchesIdle(1);
  CHECK(watch.sink.Take() == Lines{"list n1 n2"});
  CHECK(watch.sink.version == "1002");

  world.cluster.Cordon("n2");
  world.cluster.AddNode(NodeBuilder("n3").Build());
  world.cluster.Uncordon("n2");
  world.cluster.Uncordon("n2");  // changes nothing
  world.cluster.RemoveNode("n1");
  world.cluster.AwaitWatchesIdle(1);
  CHECK(watch.sink.Take() == Lines{"change n2(cordoned)", "change n3", "change n2", "delete n1"});
  CHECK(watch.sink.version == world.Version());
  CHECK(absl::IsCancelled(watch.Stop()));
}

TEST_CASE("a deletion is reported with the last state and its own version (api-A6, api-A12)") {
  World world;
  WatchRecorder<Node> sink;
  const std::string before = world.Version();
  world.Label("n1", "x", "1");
  world.cluster.RemoveNode("n1");
  CHECK(world.Poll({.resource_version = before}, sink).ok());
  CHECK(sink.lines == Lines{"change n1", "delete n1", "bookmark"});
  CHECK(sink.last.labels.at("x") == "1");
  CHECK(sink.last.resource_version == "1004");
}

TEST_CASE("a watch without a list reports the version from which changes follow") {
  World world;
  NodeWatch watch(world.cluster, {.list = false});
  world.cluster.AwaitWatchesIdle(1);
  CHECK(watch.sink.Take() == Lines{"list"});
  CHECK(watch.sink.version == "1002");
  world.cluster.Cordon("n1");
  world.cluster.AwaitWatchesIdle(1);
  CHECK(watch.sink.Take() == Lines{"change n1(cordoned)"});
}

TEST_CASE("a watch continues after the given version (api-A14)") {
  World world;
  WatchRecorder<Node> sink;
  CHECK(world.Poll({}, sink).ok());
  CHECK(sink.Take() == Lines{"list n1 n2", "bookmark"});
  for (const char* name : {"n1", "n2", "n1"}) {
    world.Label(name, "count", world.Version());
    CHECK(world.Poll({.resource_version = sink.version}, sink).ok());
    CHECK(sink.Take() == Lines{std::string("change ") + name, "bookmark"});
  }
  CHECK(world.Poll({.resource_version = sink.version}, sink).ok());
  CHECK(sink.Take() == Lines{"bookmark"});
}

TEST_CASE("an object that starts or stops matching is reported as a change or a deletion (api-A13)") {
  World world;
  WatchRecorder<Node> sink;
  const WatchParams params{.label_selector = LabelSelector::FromMatchLabels({{"gpu", "yes"}}),
                           .resource_version = world.Version()};
  world.Label("n2", "gpu", "yes");
  world.Label("n2", "x", "1");
  world.Label("n1", "gpu", "no");
  world.Label("n1", "x", "1");
  world.cluster.RemoveNode("n1");
  CHECK(world.Poll(params, sink).ok());
  CHECK(sink.Take() == Lines{"change n2", "change n2", "delete n1", "bookmark"});
  CHECK(sink.last.labels.at("gpu") == "yes");
  CHECK(sink.last.resource_version == "1005");
  CHECK(world.Poll({.label_selector = params.label_selector}, sink).ok());
  CHECK(sink.Take() == Lines{"list n2", "bookmark"});
}

TEST_CASE("a node that is created again is reported as a deletion and a change") {
  World world;
  WatchRecorder<Node> sink;
  const std::string before = world.Version();
  world.cluster.AddNode(NodeBuilder("n1").WithUid("another").Build());
  CHECK(world.Poll({.resource_version = before}, sink).ok());
  CHECK(sink.lines == Lines{"delete n1", "change n1", "bookmark"});
  CHECK(sink.last.uid == "another");
}

TEST_CASE("every kind can be watched, in one namespace or in all") {
  World world;
  FakeCluster& cluster = world.cluster;
  const std::string before = world.Version();
  for (const char* ns : {"a", "b"}) {
    cluster.AddDaemonSet({.ns = ns, .name = "driver", .node_selector = {{"gpu", "yes"}}});
    cluster.AddNodeMaintenance({.ns = ns, .name = "request", .requestor_id = "me", .node_name = "n2"});
  }
  cluster.RemoveNodeMaintenance("b", "request");
  cluster.RemoveDaemonSet("b", "driver");
  const auto see = [&](auto kind, WatchParams params) {
    WatchRecorder<decltype(kind)> sink;
    CHECK(cluster.Poll<decltype(kind)>({}, params, sink).ok());
    Lines lines = sink.Take();
    // Pod names are generated, so they are cut off.
    for (std::string& line : lines) line = line.substr(0, line.find("/driver-"));
    return lines;
  };
  CHECK(see(Pod(), {.ns = "a"}).size() == 2);
  CHECK(see(Pod(), {.ns = "a", .resource_version = before}) == Lines{"change a", "bookmark"});
  CHECK(see(Pod(), {.resource_version = before}) == Lines{"change a", "change b", "change b", "bookmark"});
  CHECK(see(DaemonSet(), {.ns = "a"}) == Lines{"list a/driver", "bookmark"});
  CHECK(see(DaemonSet(), {.ns = "b", .resource_version = before}) ==
        Lines{"change b/driver", "change b/driver", "delete b/driver", "bookmark"});
  CHECK(see(ControllerRevision(), {.ns = "a"}) == Lines{"list a", "bookmark"});
  CHECK(see(ControllerRevision(), {.ns = "b", .resource_version = before}) ==
        Lines{"change b", "delete b", "bookmark"});
  CHECK(see(NodeMaintenance(), {}) == Lines{"list a/request", "bookmark"});
  CHECK(see(NodeMaintenance(), {.ns = "b", .resource_version = before}) ==
        Lines{"change b/request", "delete b/request", "bookmark"});
  CHECK(see(NodeMaintenance(), {.label_selector = LabelSelector::FromMatchLabels({{"x", "1"}})}) ==
        Lines{"list", "bookmark"});
}

TEST_CASE("a version is too old if its history has been dropped (api-A16)") {
  World world;
  WatchRecorder<Node> sink;
  const std::string before = world.Version();
  world.cluster.Cordon("n1");
  world.cluster.CompactLog();
  CHECK(absl::IsOutOfRange(world.Poll({.resource_version = before}, sink)));
  CHECK(absl::IsOutOfRange(world.Poll({.resource_version = "0"}, sink)));
  CHECK(sink.lines.empty());
  CHECK(world.Poll({.resource_version = world.Version()}, sink).ok());
}

TEST_CASE("a future version and an invalid version are refused") {
  World world;
  WatchRecorder<Node> sink;
  CHECK(absl::IsUnavailable(world.Poll({.resource_version = "1003"}, sink)));
  for (const char* version : {"x", "1002x", "-1", "99999999999999999999"}) {
    CHECK_FALSE(world.Poll({.resource_version = version}, sink).ok());
  }
  CHECK(absl::IsInvalidArgument(world.Poll({.resource_version = "1002x"}, sink)));
  CHECK(sink.lines.empty());
}

TEST_CASE("the log of each kind keeps as many commits as configured") {
  World world({.watch_log_size = 3});
  WatchRecorder<Node> sink;
  const std::string before = world.Version();
  for (int i = 0; i < 3; ++i) world.Label("n1", "count", std::to_string(i));
  for (int i = 0; i < 9; ++i) world.cluster.AddPod(PodBuilder("a", "p" + std::to_string(i)).OnNode("n1").Build());
  CHECK(world.Poll({.resource_version = before}, sink).ok());
  CHECK(sink.Take() == Lines{"change n1", "change n1", "change n1", "bookmark"});
  world.Label("n1", "count", "3");
  CHECK(absl::IsOutOfRange(world.Poll({.resource_version = before}, sink)));
  CHECK(world.Poll({.resource_version = "1003"}, sink).ok());
}

TEST_CASE("a watch that has seen all changes survives a compaction, but a watch that lags does not") {
  World world;
  NodeWatch watch(world.cluster, {});
  world.cluster.AwaitWatchesIdle(1);
  world.cluster.AddPod(PodBuilder("a", "p").OnNode("n1").Build());
  world.cluster.CompactLog();
  world.cluster.Cordon("n1");
  world.cluster.AwaitWatchesIdle(1);
  CHECK(watch.sink.Take() == Lines{"list n1 n2", "change n1(cordoned)"});
  world.cluster.PauseWatches();
  world.cluster.Cordon("n2");
  world.cluster.CompactLog();
  world.cluster.ResumeWatches();
  CHECK(absl::IsOutOfRange(watch.Join()));
  CHECK(watch.sink.Take().empty());
}

TEST_CASE("bookmarks report how far a watch has read, on request") {
  World world;
  NodeWatch watch(world.cluster, {});
  world.cluster.AwaitWatchesIdle(1);
  world.cluster.AddPod(PodBuilder("a", "p").OnNode("n1").Build());
  world.cluster.Cordon("n1");
  world.cluster.SendBookmarks();
  world.cluster.AwaitWatchesIdle(1);
  CHECK(watch.sink.Take() == Lines{"list n1 n2", "change n1(cordoned)", "bookmark"});
  CHECK(watch.sink.version == world.Version());
}

TEST_CASE("bookmarks are sent periodically if requested") {
  World world({.bookmark_period = absl::Minutes(1)});
  NodeWatch watch(world.cluster, {});
  world.cluster.AwaitWatchesIdle(1);
  for (int i = 0; i < 4; ++i) {
    world.clock->Advance(absl::Seconds(30));
    world.cluster.AwaitWatchesIdle(1);
  }
  CHECK(watch.sink.Take() == Lines{"list n1 n2", "bookmark", "bookmark"});
}

TEST_CASE("a watch sees changes that the clock causes, whichever client advances the clock") {
  World world;
  NodeWatch watch(world.cluster, {});
  world.cluster.RunMaintenanceOperator();
  world.cluster.AddNodeMaintenance({.ns = "a", .name = "request", .requestor_id = "me", .node_name = "n1"});
  world.cluster.AwaitWatchesIdle(1);
  CHECK(watch.sink.Take() == Lines{"list n1 n2"});
  world.clock->SleepFor(absl::Minutes(1), {});
  // The clock caused the change, without a call to the cluster.
  world.cluster.AwaitWatchesIdle(1);
  CHECK(watch.sink.Take() == Lines{"change n1(cordoned)"});
}

TEST_CASE("a watch ends successfully after its timeout, and with an error at the deadline (api-A15)") {
  World world;
  NodeWatch timed(world.cluster, {.timeout = absl::Minutes(2)});
  NodeWatch late(world.cluster, {.timeout = absl::Minutes(9)}, world.clock->Now() + absl::Minutes(1));
  world.cluster.AwaitWatchesIdle(2);
  world.clock->Advance(absl::Minutes(1));
  CHECK(absl::IsDeadlineExceeded(late.Join()));
  world.cluster.Cordon("n1");
  world.clock->Advance(absl::Minutes(1));
  CHECK(timed.Join().ok());
  CHECK(timed.sink.lines == Lines{"list n1 n2", "change n1(cordoned)"});
  CHECK(late.sink.lines.front() == "list n1 n2");
}

TEST_CASE("a sink that returns false ends the watch with OK") {
  World world;
  WatchRecorder<Node> sink;
  sink.limit = 1;
  CHECK(world.cluster.WatchNodes({}, {}, sink).ok());
  CHECK(sink.lines == Lines{"list n1 n2"});
  world.cluster.Cordon("n1");
  world.cluster.Cordon("n2");
  WatchRecorder<Node> other;
  other.limit = 1;
  CHECK(world.cluster.WatchNodes({}, {.resource_version = sink.version}, other).ok());
  CHECK(other.lines == Lines{"change n1(cordoned)"});
}

TEST_CASE("a stop request ends a watch, and an earlier stop request prevents the watch") {
  World world;
  NodeWatch watch(world.cluster, {});
  world.cluster.AwaitWatchesIdle(1);
  CHECK(absl::IsCancelled(watch.Stop()));
  std::stop_source stop;
  stop.request_stop();
  WatchRecorder<Node> sink;
  CHECK(absl::IsCancelled(world.cluster.WatchNodes({.stop = stop.get_token()}, {}, sink)));
  CHECK(sink.lines.empty());
}

TEST_CASE("breaking the watches ends all running watches, and drops pending events") {
  World world;
  NodeWatch first(world.cluster, {});
  NodeWatch second(world.cluster, {});
  world.cluster.AwaitWatchesIdle(2);
  world.cluster.PauseWatches();
  world.cluster.Cordon("n1");
  world.cluster.BreakWatches(absl::UnavailableError("reset"));
  CHECK(first.Join() == absl::UnavailableError("reset"));
  CHECK(second.Join() == absl::UnavailableError("reset"));
  CHECK(first.sink.Take() == Lines{"list n1 n2"});
  world.cluster.ResumeWatches();

  NodeWatch third(world.cluster, {.resource_version = first.sink.version});
  world.cluster.AwaitWatchesIdle(1);
  CHECK(third.sink.Take() == Lines{"change n1(cordoned)"});
  world.cluster.BreakWatches(absl::OkStatus());
  CHECK(third.Join().ok());
}

TEST_CASE("paused watches lag, and new watches start with the current list") {
  World world;
  NodeWatch watch(world.cluster, {});
  world.cluster.AwaitWatchesIdle(1);
  world.cluster.PauseWatches();
  world.cluster.Cordon("n1");
  world.cluster.SendBookmarks();
  world.cluster.AwaitWatchesIdle(1);
  CHECK(watch.sink.Take() == Lines{"list n1 n2"});
  WatchRecorder<Node> sink;
  CHECK(world.Poll({}, sink).ok());
  CHECK(world.Poll({.resource_version = "1002"}, sink).ok());
  CHECK(sink.Take() == Lines{"list n1(cordoned) n2"});
  world.cluster.ResumeWatches();
  world.cluster.AwaitWatchesIdle(1);
  CHECK(watch.sink.Take() == Lines{"change n1(cordoned)", "bookmark"});
}

TEST_CASE("a watch can fail before it starts, or break after all existing events") {
  World world;
  WatchRecorder<Node> sink;
  world.cluster.FailNext(Operation::kWatchNodes, absl::ResourceExhaustedError("busy"));
  CHECK(absl::IsResourceExhausted(world.cluster.WatchNodes({}, {}, sink)));
  CHECK(sink.lines.empty());
  CHECK_FALSE(world.cluster.journal().back().applied);
  world.cluster.FailNext(Operation::kWatchNodes, absl::OkStatus());
  CHECK(world.cluster.WatchNodes({}, {}, sink).ok());
  CHECK(sink.lines.empty());
  world.cluster.FailNextAfterApplying(Operation::kWatchNodes, absl::UnavailableError("reset"));
  CHECK(absl::IsUnavailable(world.cluster.WatchNodes({}, {}, sink)));
  CHECK(sink.Take() == Lines{"list n1 n2"});
  world.cluster.Cordon("n1");
  world.cluster.FailNextAfterApplying(Operation::kWatchNodes, absl::OutOfRangeError("expired"));
  CHECK(absl::IsOutOfRange(world.cluster.WatchNodes({}, {.resource_version = sink.version}, sink)));
  CHECK(sink.Take() == Lines{"change n1(cordoned)"});
  world.cluster.SetSupported(Operation::kWatchNodes, false);
  CHECK(absl::IsUnimplemented(world.cluster.WatchNodes({}, {}, sink)));
}

TEST_CASE("a watch is recorded and counted like other calls") {
  World world;
  Lines ended;
  world.cluster.SetFaultHooks({}, [&](const Call& call) -> std::optional<absl::Status> {
    ended.push_back(call.object + " " + call.parameters + " " + absl::StatusCodeToString(call.code));
    return std::nullopt;
  });
  WatchRecorder<Pod> sink;
  sink.limit = 1;
  const WatchParams params{.ns = "a", .label_selector = LabelSelector::FromMatchLabels({{"x", "1"}})};
  CHECK(world.cluster.WatchPods({}, params, sink).ok());
  CHECK(absl::IsInvalidArgument(world.cluster.WatchPods({}, {.ns = "b", .resource_version = "x"}, sink)));
  CHECK(ended == Lines{"a labels(x=1) OK", "b resourceVersion=x INVALID_ARGUMENT"});
  CHECK(world.cluster.CallCount(Operation::kWatchPods) == 2);
  CHECK(world.cluster.journal().front().applied);
}

TEST_CASE("a sink may change the cluster during a call, and receives the change after that call") {
  World world;
  NodeWatch watch(world.cluster, {.resource_version = world.Version()});
  world.cluster.AwaitWatchesIdle(1);
  watch.sink.during = [&, done = false]() mutable {
    if (!std::exchange(done, true)) world.cluster.Uncordon("n1");
  };
  world.cluster.Cordon("n1");
  world.cluster.AwaitWatchesIdle(1);
  CHECK(watch.sink.Take() == Lines{"change n1(cordoned)", "change n1"});
}

TEST_CASE("a watch is not idle while its sink is busy") {
  World world;
  std::latch begun(1);
  std::latch released(1);
  NodeWatch watch(world.cluster, {.resource_version = world.Version()});
  world.cluster.AwaitWatchesIdle(1);
  watch.sink.during = [&] {
    begun.count_down();
    released.wait();
  };
  world.cluster.Cordon("n1");
  begun.wait();
  // The helper releases the sink immediately.
  std::jthread helper([&] { released.count_down(); });
  world.cluster.AwaitWatchesIdle(1);
  CHECK(watch.sink.Take() == Lines{"change n1(cordoned)"});
}

TEST_CASE("many watches see the same order while several threads write") {
  World world;
  NodeWatch all(world.cluster, {.resource_version = world.Version()});
  NodeWatch again(world.cluster, {.resource_version = world.Version()});
  world.cluster.AwaitWatchesIdle(2);
  {
    std::vector<std::jthread> writers;
    for (const char* name : {"n1", "n2", "n3"}) {
      writers.emplace_back([&world, name] {
        for (int i = 0; i < 50; ++i) {
          world.cluster.AddNode(NodeBuilder(name).Build());
          world.cluster.Cordon(name);
        }
      });
    }
  }
  world.cluster.AwaitWatchesIdle(2);
  // Every round removes n1 and n2, and every round except the first also removes n3.
  CHECK(all.sink.lines.size() == 449);
  CHECK(all.sink.lines == again.sink.lines);
  CHECK(all.sink.version == world.Version());
}

}  // namespace
}  // namespace driverupgrade
