#include "safe_load_init/safe_load.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace safe_load_init {
namespace {

using driverupgrade::CallContext;
using driverupgrade::ForwardingFacade;
using driverupgrade::LogRecord;
using driverupgrade::Node;
using driverupgrade::Operation;
using driverupgrade::WatchParams;
using driverupgrade::WatchSink;
using driverupgrade::testing::Call;
using driverupgrade::testing::FakeClock;
using driverupgrade::testing::FakeCluster;
using driverupgrade::testing::NodeBuilder;

constexpr char kKey[] = "nvidia.com/ofed-driver-upgrade.driver-wait-for-safe-load";
constexpr char kOn[] =
    R"({"safeDriverLoad":{"enable":true,"annotation":"nvidia.com/ofed-driver-upgrade.driver-wait-for-safe-load"}})";

// Counts the watches, and handles them with the callback `watch` if it is set. Forwards all other calls.
class WatchedCluster final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;
  absl::Status WatchNodes(const CallContext& context, const WatchParams& params, WatchSink<Node>& sink) override {
    ++watches;
    if (params.resource_version.empty()) return absl::InternalError("a watch that begins with a list");
    return watch ? watch(context, params, sink) : ForwardingFacade::WatchNodes(context, params, sink);
  }
  std::function<absl::Status(const CallContext&, const WatchParams&, WatchSink<Node>&)> watch;
  int watches = 0;
};

// The init container's node `n1`, and another node.
struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> fake =
      std::make_shared<FakeCluster>(clock, driverupgrade::testing::FakeClusterOptions{.watches_follow = false});
  WatchedCluster cluster{fake};
  SafeLoadOptions options{.node_name = "n1", .configmap_ns = "drivers", .configmap_name = "init"};
  std::stop_source stop;
  std::vector<std::string> log;
  absl::Time start = clock->Now();

  explicit World(const std::string& config = kOn) {
    fake->AddNode(NodeBuilder("n1").Build());
    fake->AddNode(NodeBuilder("n2").Build());
    CHECK(fake->CreateConfigMap({}, {.ns = "drivers", .name = "init", .data = {{"config.json", config}}}).ok());
  }

  absl::Status Run() {
    return AwaitSafeLoad(
        options, cluster, *clock, [this](const LogRecord& record) { log.push_back(record.message); }, stop.get_token());
  }

  // Allows the driver to load, as the engine would.
  void Release() {
    fake->EditNode("n1", [](Node& node) { node.annotations.erase(kKey); });
  }
  std::string Value() const {
    const driverupgrade::StringMap annotations = fake->node("n1")->annotations;
    const auto value = annotations.find(kKey);
    return value == annotations.end() ? "absent" : value->second;
  }
  // Calls `what` before the first request that is sent when at least `after` has passed since the start.
  void At(absl::Duration after, std::function<void()> what) {
    auto done = std::make_shared<bool>(false);
    Before([this, after, done, what = std::move(what)](const Call&) -> std::optional<absl::Status> {
      if (*done || clock->Now() < start + after) return std::nullopt;
      *done = true;
      what();
      return std::nullopt;
    });
  }
  void Before(driverupgrade::testing::FaultHook hook) { fake->SetFaultHooks(std::move(hook), {}); }
  absl::Duration Elapsed() const { return clock->Now() - start; }
};

TEST_CASE("the section safeDriverLoad sets whether to wait and for which annotation") {
  const auto parsed = [](const char* json) { return ParseSafeLoadConfig(json); };
  CHECK(*parsed(kOn) == SafeLoadConfig{.enabled = true, .annotation = kKey});
  CHECK_FALSE(parsed(R"({"safeDriverLoad":{"enable":false,"annotation":"a"}})")->enabled);
  CHECK_FALSE(parsed(R"({"safeDriverLoad":{}})")->enabled);
  CHECK_FALSE(parsed(R"({"safeDriverLoad":null})")->enabled);
  CHECK_FALSE(parsed(R"({"moduleDependencyCheck":{"modules":["a"]}})")->enabled);
}

TEST_CASE("the error for an invalid configuration contains the path of the wrong member") {
  const auto error = [](const char* json) { return std::string(ParseSafeLoadConfig(json).status().message()); };
  CHECK(error("{") != "");
  CHECK(error("[]") == "not a JSON object");
  CHECK(error(R"({"safeDriverLoad":true})") == "safeDriverLoad: not an object");
  CHECK(error(R"({"safeDriverLoad":{"enable":"true"}})") == "safeDriverLoad.enable: not a boolean");
  CHECK(error(R"({"safeDriverLoad":{"enable":true,"annotation":7}})") == "safeDriverLoad.annotation: not a string");
  for (const char* json :
       {R"({"safeDriverLoad":{"enable":true}})", R"({"safeDriverLoad":{"enable":true,"annotation":""}})"}) {
    CHECK(error(json) == "safeDriverLoad.annotation: required if safeDriverLoad.enable is true");
  }
}

TEST_CASE("if safe load is off, the driver may load immediately, and the node is left alone") {
  World world("{}");
  CHECK(world.Run().ok());
  CHECK(world.Value() == "absent");
  CHECK(world.Elapsed() == absl::ZeroDuration());
  CHECK(world.log == std::vector<std::string>{"safe loading is off"});
}

TEST_CASE("the error for a missing or invalid config map, or for a missing key, names the config map") {
  World world(R"({"safeDriverLoad":{"enable":true}})");
  const absl::Status invalid = world.Run();
  CHECK(invalid == absl::InvalidArgumentError("config map drivers/init: config.json: safeDriverLoad.annotation: "
                                              "required if safeDriverLoad.enable is true"));
  world.options.configmap_key = "other.json";
  CHECK(world.Run() == absl::InvalidArgumentError("config map drivers/init has no key `other.json`"));
  world.options.configmap_name = "nobody";
  const absl::Status missing = world.Run();
  CHECK(ExitCodeOf(missing) == kExitUsage);
  CHECK(missing.message().find("nobody") != absl::string_view::npos);
  CHECK(world.Value() == "absent");
}

TEST_CASE("the annotation is set, and the watch reports its removal without delay") {
  World world;
  world.cluster.watch = [&](const CallContext&, const WatchParams& params, WatchSink<Node>& sink) {
    CHECK(world.Value() == "true");
    CHECK(params.resource_version == world.fake->node("n1")->resource_version);
    CHECK(sink.OnChange(*world.fake->node("n2"), "99"));  // other nodes do not matter
    CHECK(sink.OnBookmark("100"));
    world.Release();
    CHECK_FALSE(sink.OnChange(*world.fake->node("n1"), "101"));
    return absl::OkStatus();
  };
  CHECK(world.Run().ok());
  CHECK(world.Elapsed() == absl::ZeroDuration());
  CHECK(world.log.back() == "the driver may be loaded");
}

TEST_CASE("an empty annotation does not block the driver") {
  World world;
  world.At(absl::Seconds(1), [&] { world.fake->EditNode("n1", [](Node& node) { node.annotations[kKey] = ""; }); });
  CHECK(world.Run().ok());
}

TEST_CASE("the node is checked within five seconds, even if the watch never reports anything") {
  World world;
  absl::Time released;
  world.cluster.watch = [&](const CallContext& context, const WatchParams&, WatchSink<Node>&) {
    CHECK(context.deadline <= world.clock->Now() + absl::Seconds(5));
    world.clock->AdvanceTo(context.deadline);
    if (world.cluster.watches == 3) {
      world.Release();
      released = world.clock->Now();
    }
    return absl::DeadlineExceededError("quiet");
  };
  CHECK(world.Run().ok());
  CHECK(world.clock->Now() - released <= absl::Seconds(5));
  CHECK(world.log.size() == 2);  // a quiet watch is not an error
}

TEST_CASE("a restarted container sets the annotation again, even if the engine has removed it before") {
  World world;
  world.At(absl::Seconds(3), [&] { world.Release(); });
  CHECK(world.Run().ok());
  world.start = world.clock->Now();
  world.cluster.watch = [&](const CallContext&, const WatchParams&, WatchSink<Node>& sink) {
    CHECK(world.Value() == "true");
    world.Release();
    sink.OnChange(*world.fake->node("n1"), "101");
    return absl::OkStatus();
  };
  CHECK(world.Run().ok());
  CHECK(world.cluster.watches > 0);
}

TEST_CASE("the annotation is set even if the node changes meanwhile or a response is lost") {
  World world;
  world.fake->FailNext(Operation::kPatchNode, absl::AbortedError("conflict"), 2);
  world.fake->FailNextAfterApplying(Operation::kPatchNode, absl::UnavailableError("reset"));
  world.At(absl::Seconds(30), [&] { world.Release(); });
  CHECK(world.Run().ok());
  CHECK(world.fake->CallCount(Operation::kPatchNode) == 4);
}

TEST_CASE("if the API server is unavailable, this is reported once, and the server is queried at intervals") {
  World world;
  world.Before([&](const Call&) -> std::optional<absl::Status> {
    if (world.Elapsed() < absl::Hours(1)) return absl::UnavailableError("connection refused");
    if (world.Elapsed() > absl::Hours(2) && world.Elapsed() < absl::Hours(3)) {
      return absl::UnavailableError("connection refused");
    }
    if (world.Elapsed() > absl::Hours(4)) world.Release();
    return std::nullopt;
  });
  CHECK(world.Run().ok());
  CHECK(world.Elapsed() >= absl::Hours(4));
  CHECK(world.log == std::vector<std::string>{"the cluster does not respond", "the cluster responds again",
                                              "waiting until the node is evacuated", "the cluster does not respond",
                                              "the cluster responds again", "the driver may be loaded"});
  // While the cluster is unavailable, the program sends one request every five seconds.
  CHECK(world.fake->CallCount(Operation::kGetConfigMap) < 3600 / 5 + 5);
}

TEST_CASE("watches that end immediately do not cause a busy loop") {
  World world;
  world.At(absl::Minutes(10), [&] { world.Release(); });
  CHECK(world.Run().ok());
  CHECK(world.cluster.watches <= 600);
  World broken;
  broken.cluster.watch = [](const CallContext&, const WatchParams&, WatchSink<Node>&) {
    return absl::UnavailableError("proxy");
  };
  broken.At(absl::Minutes(10), [&] { broken.Release(); });
  CHECK(broken.Run().ok());
  CHECK(broken.cluster.watches <= 120);
}

TEST_CASE("the wait fails if the node is deleted or replaced by another node of the same name") {
  World world;
  world.At(absl::Seconds(20), [&] { world.fake->RemoveNode("n1"); });
  CHECK(world.Run() == absl::NotFoundError("node n1 no longer exists"));

  World watched;
  watched.cluster.watch = [&](const CallContext&, const WatchParams&, WatchSink<Node>& sink) {
    sink.OnDelete(*watched.fake->node("n1"), "99");
    return absl::OkStatus();
  };
  CHECK(watched.Run() == absl::NotFoundError("node n1 no longer exists"));

  World replaced;
  replaced.At(absl::Seconds(20), [&] { replaced.fake->AddNode(NodeBuilder("n1").Build()); });
  const absl::Status other = replaced.Run();
  CHECK(other == absl::NotFoundError("node n1 was replaced by another node with the same name"));
  CHECK(ExitCodeOf(other) == kExitNodeGone);

  World never;
  never.options.node_name = "n3";
  CHECK(ExitCodeOf(never.Run()) == kExitNodeGone);
}

TEST_CASE("after a stop or a timeout, the annotation stays and the driver is not loaded") {
  World stopped;
  stopped.At(absl::Seconds(20), [&] { stopped.stop.request_stop(); });
  const absl::Status cancelled = stopped.Run();
  CHECK(absl::IsCancelled(cancelled));
  CHECK(stopped.Value() == "true");
  CHECK(ExitCodeOf(cancelled) == kExitNotReleased);

  World late;
  late.options.timeout = absl::Minutes(10);
  const absl::Status timed_out = late.Run();
  CHECK(absl::IsDeadlineExceeded(timed_out));
  CHECK(late.Elapsed() == absl::Minutes(10));
  CHECK(late.Value() == "true");
  CHECK(ExitCodeOf(timed_out) == kExitNotReleased);

  World away;
  away.options.timeout = absl::Minutes(10);
  away.fake->FailNext(Operation::kGetConfigMap, absl::UnavailableError("away"), 100'000);
  CHECK(absl::IsDeadlineExceeded(away.Run()));
  CHECK(away.Elapsed() == absl::Minutes(10));
}

TEST_CASE("at startup a refused request ends the program, but during the wait it is retried") {
  for (const Operation operation : {Operation::kGetConfigMap, Operation::kGetNode, Operation::kPatchNode}) {
    World world;
    world.fake->FailNext(operation, absl::PermissionDeniedError("forbidden: no"));
    const absl::Status refused = world.Run();
    CHECK(refused == absl::PermissionDeniedError("forbidden: no"));
    CHECK(ExitCodeOf(refused) == kExitRefused);
    CHECK(world.log.empty());
  }
  World world;
  world.Before([&](const Call& call) -> std::optional<absl::Status> {
    if (world.Value() == "true" && call.operation == Operation::kGetNode && world.Elapsed() < absl::Minutes(1)) {
      return absl::PermissionDeniedError("forbidden: no");
    }
    if (world.Elapsed() >= absl::Minutes(2)) world.Release();
    return std::nullopt;
  });
  CHECK(world.Run().ok());
  CHECK(world.log == std::vector<std::string>{"waiting until the node is evacuated", "the cluster refuses requests",
                                              "the cluster responds again", "the driver may be loaded"});
}

}  // namespace
}  // namespace safe_load_init
