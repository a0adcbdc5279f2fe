// Runs rollouts through the C interface, with documents as bytes. The invariants are checked, and the results are
// compared with those of the native engine, which uses threads.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "c/engine_host.h"
#include "c/engine_world.h"
#include "simulation/world/random.h"
#include "support/catch.h"
#include "support/node_under_test.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace driverupgrade::tests {
namespace {

using testing::AddFleet;
using testing::FakeClock;
using testing::FakeCluster;
using testing::Fleet;

std::vector<std::string> NativeEnd(int nodes) {
  World world(nodes);
  EngineOptions options = world.options;
  options.executor.calls_in_flight = 1;
  auto engine = *UpgradeEngine::Create(world.identity, world.checker.Guard("native"), options);
  for (int pass = 0; pass < 400; ++pass) {
    REQUIRE(engine->Reconcile({}, world.policy).ok());
    world.cluster->Advance(absl::Seconds(2));
  }
  return world.End();
}

TEST_CASE("A rollout through the C interface ends like a rollout by the threaded engine, within the same budgets") {
  World world;
  EngineHost host = world.Host();
  RollOut(world, host);
  CHECK(world.End() == NativeEnd(4));
  CHECK(world.checker.upgrades() == 4);
  CHECK_FALSE(world.cluster->pod("team-b", "training").has_value());
  CHECK_FALSE(host.events().empty());
  // Three patches and one deletion for each of four nodes, one eviction for each of five pods, and two spare requests.
  CHECK(host.requests() <= 4 * 4 + 5 + 2);
}

TEST_CASE("A fleet that is done causes no requests") {
  World world;
  EngineHost host = world.Host();
  RollOut(world, host);
  const int requests = host.requests();
  for (int pass = 0; pass < 10; ++pass) {
    CHECK_FALSE(host.Pass(std::nullopt, kPolicy, world.clock->Now()));
    world.cluster->Advance(absl::Seconds(60));
  }
  CHECK(host.requests() == requests);
}

// Response to one write of the rollout. If `applied` is true, the server carries out the request despite this response.
struct Fault {
  HttpAnswer answer;
  bool applied = false;
};

const std::vector<Fault>& Faults() {
  static const std::vector<Fault> faults = {
      {{.status = DU_NO_ANSWER}, false},
      {{.status = DU_NO_ANSWER}, true},
      {{.status = DU_NOT_SENT}, false},
      {{.status = 409, .body = R"({"kind":"Status","reason":"Conflict"})"}, false},
      {{.status = 410, .body = "gone"}, false},
      {{.status = 429, .retry_after_s = 3, .body = R"({"kind":"Status","reason":"TooManyRequests"})"}, false},
      {{.status = 500}, false},
      {{.status = 503, .retry_after_s = 1, .body = "<html>"}, true},
      {{.status = 200, .body = "\x01 garbage {"}, true},
      {{.status = 77}, true},
  };
  return faults;
}

TEST_CASE("The rollout ends the same way, whatever the response to any single request") {
  const std::vector<std::string> end = NativeEnd(2);
  int requests = 0;
  {
    World world(2);
    EngineHost host = world.Host();
    RollOut(world, host, 150);
    REQUIRE(world.End() == end);
    requests = host.requests();
  }
  REQUIRE(requests > 8);
  for (std::size_t kind = 0; kind < Faults().size(); ++kind) {
    const Fault& fault = Faults()[kind];
    for (int at = 0; at < requests; ++at) {
      CAPTURE(kind, at);
      World world(2);
      int number = 0;
      EngineHost host = world.Host([&](const std::function<HttpAnswer()>& send) {
        if (number++ != at) return send();
        if (fault.applied) send();
        return fault.answer;
      });
      RollOut(world, host, 150);
      REQUIRE(world.End() == end);
    }
  }
}

TEST_CASE("A rollout has the same result if its host is killed at any request and restarts with a new engine") {
  const std::vector<std::string> end = NativeEnd(2);
  for (int at = 0; at < 12; ++at) {
    CAPTURE(at);
    World world(2);
    int number = 0;
    EngineHost host = world.Host([&](const std::function<HttpAnswer()>& send) {
      if (number++ == at) throw std::runtime_error("killed");
      return send();
    });
    for (int pass = 0; pass < 150; ++pass) {
      try {
        host.Pass(std::nullopt, kPolicy, world.clock->Now());
      } catch (const std::runtime_error&) {
        host.Restart();
      }
      REQUIRE(world.checker.Report() == "");
      world.cluster->Advance(absl::Seconds(2));
    }
    REQUIRE(world.End() == end);
  }
}

TEST_CASE("wakeAt and changes in the cluster are enough to drive a rollout to its end") {
  World world(2);
  EngineHost host = world.Host();
  for (int pass = 0; pass < 200; ++pass) {
    while (host.Pass(std::nullopt, kPolicy, world.clock->Now())) {
    }
    const absl::Time next = std::min(host.wake_at().value_or(absl::InfiniteFuture()), world.cluster->NextEventTime());
    if (next == absl::InfiniteFuture()) break;
    world.cluster->RunUntil(next);
  }
  CHECK(world.End() == NativeEnd(2));
}

TEST_CASE("Passes at wakeAt are enough to show a node's gate after the node has been stuck for a minute") {
  World world(2);
  world.cluster->AddDisruptionBudget({.ns = "team-b", .name = "never", .max_unavailable = 0});
  EngineHost host = world.Host();
  const std::string& stuck = world.fleet.node_names[0];
  const std::string key = Gpu().WaitingForAnnotation();
  const absl::Time end = world.clock->Now() + absl::Minutes(3);
  while (world.clock->Now() < end && !world.cluster->node(stuck)->annotations.contains(key)) {
    while (host.Pass(std::nullopt, kPolicy, world.clock->Now())) {
    }
    const absl::Time next = std::min(host.wake_at().value_or(end), world.cluster->NextEventTime());
    world.cluster->RunUntil(std::min(next, end));
  }
  CHECK(world.cluster->node(stuck)->annotations[key] ==
        "DisruptionBudget: team-b/training: refused by disruption budget never");
  CHECK_FALSE(world.cluster->node(world.fleet.node_names[1])->annotations.contains(key));
}

TEST_CASE("A release in the middle of an upgrade returns every node to service") {
  World world;
  EngineHost host = world.Host();
  for (int pass = 0; pass < 5; ++pass) {
    host.Pass(std::nullopt, kPolicy, world.clock->Now());
    world.cluster->Advance(absl::Seconds(2));
  }
  const auto any_cordoned = [&] {
    const std::vector<Node> nodes = world.cluster->nodes();
    return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.unschedulable; });
  };
  REQUIRE(any_cordoned());
  for (int round = 0; round < 20 && host.Release(world.clock->Now()); ++round) {
    world.cluster->Advance(absl::Seconds(2));
  }
  CHECK_FALSE(any_cordoned());
  for (const Node& node : world.cluster->nodes()) CHECK_FALSE(node.labels.contains(world.identity.StateLabel()));
}

// Rolls out a driver with three policies, each of which applies to one part of the nodes. Driver pods are missing at
// random times, and no pass names a node whose driver pod is missing. The node names that a pass gets can be older than
// the engine's data.
void RollParts(std::uint64_t first_seed, std::uint64_t last_seed) {
  constexpr int kNodes = 9;
  constexpr std::string_view kOneEach =
      R"({"autoUpgrade":true,"maxParallelUpgrades":1,"maxUnavailable":null,"drain":{"enable":true}})";
  for (std::uint64_t seed = first_seed; seed <= last_seed; ++seed) {
    CAPTURE(seed);
    testing::internal::Random random(seed, "parts");
    auto clock = std::make_shared<FakeClock>();
    auto cluster = std::make_shared<FakeCluster>(clock);
    const Fleet fleet = AddFleet(*cluster, {.node_count = kNodes, .workload_max_unavailable = kNodes});
    cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
    testing::WireSeam seam{.cluster = cluster};
    seam.list_version = [cluster] { return std::to_string(cluster->revision()); };
    EngineHost host({.options = std::string(kOptions) + "}", .ns = "driver-system", .driver_labels = "app=driver"},
                    std::make_shared<ApiServer>(std::move(seam)));
    const std::string label = DriverIdentity::Create("nvidia.com", "gpu")->StateLabel();
    std::vector<Pod> before = cluster->daemon_set_pods(fleet.ns, fleet.daemon_set);
    std::set<int> known_parts;  // parts that the engine has seen; the first names of a part must be current
    for (int round = 0; round < 400; ++round) {
      const int part = random.Below(3);
      std::set<std::string> nodes;
      const std::vector<Pod> now = cluster->daemon_set_pods(fleet.ns, fleet.daemon_set);
      const bool names_are_old = known_parts.contains(part) && random.Percent(20);
      for (const Pod& pod : names_are_old ? before : now) {
        const int number = std::stoi(pod.node_name.substr(pod.node_name.find('-') + 1)) - 1;
        if (number % 3 == part) nodes.insert(pod.node_name);
      }
      before = now;
      if (!nodes.empty()) {
        host.Pass(nodes, kOneEach, clock->Now());
        known_parts.insert(part);
      }
      if (random.Percent(2)) {
        host.Restart();
        known_parts.clear();
      }
      if (random.Percent(5)) {
        const std::vector<Pod> pods = cluster->daemon_set_pods(fleet.ns, fleet.daemon_set);
        if (!pods.empty()) {
          const Pod& pod = pods[static_cast<std::size_t>(random.Below(static_cast<int>(pods.size())))];
          cluster->RemovePod(pod.ref.ns, pod.ref.name);
        }
      }
      std::map<int, int> in_progress;
      for (const Node& node : cluster->nodes()) {
        const auto found = node.labels.find(label);
        if (found == node.labels.end()) continue;
        const int number = std::stoi(node.name.substr(node.name.find('-') + 1)) - 1;
        const auto state = ParseUpgradeState(found->second);
        if (state && IsInProgress(*state)) ++in_progress[number % 3];
      }
      for (const auto& [of, count] : in_progress) {
        CAPTURE(of, round);
        REQUIRE(count <= 1);
      }
      cluster->Advance(absl::Seconds(random.Below(15)));
    }
    for (const Pod& pod : cluster->daemon_set_pods(fleet.ns, fleet.daemon_set)) CHECK(RevisionHash(pod) == "rev-2");
  }
}

TEST_CASE(
    "With three policies for the nodes of one driver, no part exceeds its budget, whichever driver pod is missing") {
  RollParts(1, 60);
}

TEST_CASE("No part exceeds its budget with a thousand seeds", "[long]") { RollParts(61, 1000); }

TEST_CASE("Nodes stay in their part even if they lose their driver pods in turn") {
  constexpr std::string_view kOneAtATime =
      R"({"autoUpgrade":true,"maxParallelUpgrades":1,"maxUnavailable":null,"drain":{"enable":true}})";
  World world(3);
  EngineHost host = world.Host();
  const std::string first = world.fleet.node_names[0];
  const std::string second = world.fleet.node_names[1];
  const auto in_progress = [&](const std::string& node) {
    return IsInProgress(*ParseUpgradeState(world.cluster->node(node)->labels.at(world.identity.StateLabel())));
  };
  const auto lose_driver_pod = [&](const std::string& node) {
    for (const Pod& pod : world.cluster->daemon_set_pods(world.fleet.ns, world.fleet.daemon_set)) {
      if (pod.node_name == node) world.cluster->RemovePod(pod.ref.ns, pod.ref.name);
    }
  };
  const auto pass = [&](const std::set<std::string>& nodes) { host.Pass(nodes, kOneAtATime, world.clock->Now()); };
  for (int i = 0; i < 3; ++i) pass({first, second});
  REQUIRE(in_progress(first));
  REQUIRE_FALSE(in_progress(second));

  lose_driver_pod(second);
  pass({first});
  world.cluster->Advance(absl::Seconds(30));  // the driver pod returns
  lose_driver_pod(first);
  for (int i = 0; i < 3; ++i) pass({second});
  CHECK(in_progress(first));
  CHECK_FALSE(in_progress(second));
}

TEST_CASE("W41: a node in progress without its state label counts in its part, whether or not the pass names it") {
  constexpr std::string_view kOneAtATime =
      R"({"autoUpgrade":true,"maxParallelUpgrades":1,"maxUnavailable":null,"drain":{"enable":true}})";
  World world(3);
  EngineHost host = world.Host();
  const std::string first = world.fleet.node_names[0];
  const std::set<std::string> all(world.fleet.node_names.begin(), world.fleet.node_names.end());
  std::set<std::string> others = all;
  others.erase(first);
  const auto cordoned = [&] {
    std::set<std::string> names;
    for (const Node& node : world.cluster->nodes()) {
      if (node.unschedulable) names.insert(node.name);
    }
    return names;
  };
  const auto pass = [&](const std::set<std::string>& nodes) {
    host.Pass(nodes, kOneAtATime, world.clock->Now());
    world.cluster->Advance(absl::Seconds(2));
  };
  for (int i = 0; i < 10 && cordoned().empty(); ++i) pass(all);
  REQUIRE(cordoned() == std::set<std::string>{first});
  world.cluster->EditNode(first, [&](Node& node) { node.labels.erase(world.identity.StateLabel()); });

  SECTION("the operator leaves the node out") {
    for (int i = 0; i < 10; ++i) pass(others);
    CHECK(cordoned() == std::set<std::string>{first});
  }
  SECTION("its driver pod is missing, and the engine is new") {
    for (const Pod& pod : world.cluster->daemon_set_pods(world.fleet.ns, world.fleet.daemon_set)) {
      if (pod.node_name == first) world.cluster->RemovePod(pod.ref.ns, pod.ref.name);
    }
    host.Restart();
    host.Pass(others, kOneAtATime, world.clock->Now());
    host.Pass(others, kOneAtATime, world.clock->Now());
    CHECK(cordoned() == std::set<std::string>{first});
  }
  SECTION("the operator names the node, and the engine is new") { host.Restart(); }
  for (int i = 0; i < 200; ++i) {
    pass(all);
    REQUIRE(cordoned().size() <= 1);
  }
  CHECK(cordoned().empty());
  for (const Pod& pod : world.cluster->daemon_set_pods("driver-system", "driver")) CHECK(RevisionHash(pod) == "rev-2");
}

// Returns the number of heap bytes in use, or 0 if the standard library cannot report this number. Sanitizers replace
// the heap, and report leaks at exit.
std::size_t HeapInUse() {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  return mallinfo2().uordblks;
#else
  return 0;
#endif
}

// Each round consists of a pass, a request that a busy server rejects, and the calls for a status page.
TEST_CASE("A hundred thousand calls to an engine use constant memory, without leaks") {
  World world(1);
  EngineHost host = world.Host([](const auto&) { return HttpAnswer{.status = 503, .body = "later"}; });
  absl::Time now = world.clock->Now();
  int calls = 0;
  const auto made = [&](const Said& said) {
    ++calls;
    REQUIRE(said.code == 0);
    return said.text;
  };
  const std::string node = world.fleet.node_names[0];
  const auto round = [&] {
    now += absl::Seconds(1);
    const std::int64_t at = absl::ToUnixMillis(now);
    made(Call(du_engine_apply, host.engine(), Str(""), Str(kPolicy), at));
    if (made(Call(du_engine_next, host.engine(), Str(node), at)) != "{}") {
      made(Call(du_engine_answer, host.engine(), Str(node), 503, 0, Str("later"), at));
    }
    made(Call(du_engine_settle, host.engine(), at));
    made(Call(du_engine_explain, host.engine(), Str(node)));
    made(Call(du_engine_read, host.engine(), at));
    made(Call(du_engine_everything, host.engine()));
  };
  host.Read();
  for (int warm_up = 0; warm_up < 1000; ++warm_up) round();
  const std::size_t before = HeapInUse();
  calls = 0;
  while (calls < 100'000) round();
  // The limit is less than one byte per call, for the allocator's own data and for responses that happen to be longer.
  CHECK(HeapInUse() < before + 64'000);
}

TEST_CASE("A list of pods that is older than the node's cordon is not used") {
  World world(1);
  EngineHost host = world.Host();
  const std::string node = world.fleet.node_names[0];
  const std::string before = R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[]})";
  host.Read();
  CHECK(Call(du_engine_put_pods, host.engine(), Str(node), Str(before), Str("")).text == R"({"taken":false})");
  CHECK(Call(du_engine_put_pods, host.engine(), Str("no-such"), Str(before), Str("")).text == R"({"taken":false})");
  const std::string newer = R"({"kind":"PodList","metadata":{"resourceVersion":"99999"},"items":[]})";
  CHECK(Call(du_engine_put_pods, host.engine(), Str(node), Str(newer), Str("")).text == R"({"taken":true})");
  const std::string unversioned = R"({"kind":"PodList","metadata":{},"items":[]})";
  CHECK(Call(du_engine_put_pods, host.engine(), Str(node), Str(unversioned), Str("")).code == 3);
}

TEST_CASE("A node waits with a reason while its pods are unknown or the host cannot read them") {
  World world(1);
  EngineHost host = world.Host();
  const auto apply = [&] {
    return Call(du_engine_apply, host.engine(), Str(""), Str(kPolicy), absl::ToUnixMillis(world.clock->Now())).text;
  };
  const std::string node = world.fleet.node_names[0];
  for (int pass = 0; pass < 3; ++pass) {
    host.Read();
    if (apply().find("\"wantedPods\":[\"" + node) != std::string::npos) break;
    host.Pass(std::nullopt, kPolicy, world.clock->Now());
  }
  Call(du_engine_put_pods, host.engine(), Str(node), Str(""), Str(""));
  CHECK(apply().find("the host could not read the pods on the node") != std::string::npos);
}

TEST_CASE("Invalid input returns an error that names the problem, and changes nothing") {
  World world(1);
  EngineHost host = world.Host();
  const auto now = absl::ToUnixMillis(world.clock->Now());
  du_engine* other = nullptr;
  const auto refused = [&](std::string_view options) { return Call(du_engine_new, Str(options), &other).text; };
  CHECK(refused("{}") == "options.identity: is missing");
  CHECK(refused(std::string(kOptions) + R"(,"color":1})") == "options: unknown member \"color\"");
  CHECK(refused(std::string(kOptions) + R"(,"ownPod":"x"})") ==
        "options.ownPod: must be a namespace and a name, as in gpu-operator/gpu-operator-0");
  CHECK(refused(std::string(kOptions) + R"(,"driverRestartCountMax":-1})") ==
        "options.driverRestartCountMax: must be a whole number, 0 or more");
  CHECK(other == nullptr);

  CHECK(Call(du_engine_apply, host.engine(), Str(""), Str(kPolicy), now).code == 14);
  host.Read();
  CHECK(Call(du_engine_apply, host.engine(), Str(""), Str("{"), now).code == 3);
  CHECK(Call(du_engine_apply, host.engine(), Str("{}"), Str(kPolicy), now).text == "nodes.owner: is missing");
  CHECK(Call(du_engine_apply, host.engine(), Str(R"({"owner":"gold"})"), Str(kPolicy), now).text ==
        "nodes.names: is missing");
  const std::string rollout = R"({"autoUpgrade":true,"rollout":{"stages":[{"name":"canary","nodes":1}]}})";
  CHECK(Call(du_engine_apply, host.engine(), Str(""), Str(rollout), now).code == 9);
  CHECK(Call(du_engine_put, host.engine(), 8, Str("{}")).text == "kind: 8 is not a kind of object");
  CHECK(Call(du_engine_put, host.engine(), DU_NODES, Str(R"({"kind":"Status"})")).code == 3);
  CHECK(Call(du_engine_watch_line, host.engine(), DU_NODES, Str(R"({"type":"ERROR","object":{}})")).code == 3);
  CHECK(Call(du_engine_answer, host.engine(), Str("node-1"), 200, 0, Str(""), now).code == 9);
  CHECK(Call(du_engine_next, host.engine(), Str("no-such"), now).text == "{}");
  CHECK(Call(du_engine_settle, static_cast<du_engine*>(nullptr), now).text == "engine: is null");
  // The engine still has its node data.
  CHECK(Call(du_engine_read, host.engine(), now).text.find("node-1") != std::string::npos);
}

}  // namespace
}  // namespace driverupgrade::tests
