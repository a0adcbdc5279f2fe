// Tests rollouts in stages through the C interface. The record and the grants are stored in a ConfigMap, and the host
// sends the requests that read and write this ConfigMap.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c/engine_host.h"
#include "c/engine_world.h"
#include "driverupgrade/testing/builders.h"
#include "support/catch.h"
#include "support/rollout_schema.h"
#include "testing/gang_controller.h"

namespace driverupgrade::tests {
namespace {

constexpr std::string_view kStages =
    R"({"autoUpgrade":true,"maxParallelUpgrades":2,"maxUnavailable":null,"drain":{"enable":true},"podDeletion":{},)"
    R"("rollout":{"stages":[)"
    R"({"name":"canary","nodes":1,"soakSeconds":60,"approval":"Manual"}]}})";

HostedDriver WithLedger() {
  return {.options = std::string(kOptions) + R"(,"ledger":{"namespace":"driver-system","name":"driver-upgrades"}})",
          .ns = "driver-system",
          .driver_labels = "app=driver"};
}

EngineHost HostOf(
    World& world, EngineHost::Network network = [](const auto& send) { return send(); }) {
  EngineHost host(WithLedger(), world.Server(), std::move(network));
  host.SetObserver(world.checker.MakeObserver());
  return host;
}

int NodesWith(const World& world, std::string_view hash) {
  const std::vector<Pod> pods = world.cluster->daemon_set_pods(world.fleet.ns, world.fleet.daemon_set);
  return static_cast<int>(
      std::count_if(pods.begin(), pods.end(), [&](const Pod& pod) { return RevisionHash(pod) == hash; }));
}

// Runs passes for this time, two seconds apart.
void Run(World& world, EngineHost& host, std::string_view policy, absl::Duration time) {
  for (absl::Duration passed; passed < time; passed += absl::Seconds(2)) {
    try {
      host.Pass(std::nullopt, policy, world.clock->Now());
    } catch (const std::runtime_error&) {
      host.Restart();
    }
    REQUIRE(world.checker.Report() == "");
    world.cluster->Advance(absl::Seconds(2));
  }
}

void Approve(World& world, std::string_view approval) {
  world.cluster->EditDaemonSet(world.fleet.ns, world.fleet.daemon_set, [&](DaemonSet& set) {
    set.annotations[world.identity.ApprovedAnnotation()] = std::string(approval);
  });
}

TEST_CASE("A rollout through the C interface pauses after its canary, soaks, and continues once it is approved") {
  World world(5);
  EngineHost host = HostOf(world);
  Run(world, host, kStages, absl::Minutes(20));
  CHECK(NodesWith(world, "rev-2") == 1);
  CHECK(host.last().find("stage canary waits for the approval canary@rev-2") != std::string::npos);
  Approve(world, "canary@rev-2");
  Run(world, host, kStages, absl::Minutes(20));
  CHECK(NodesWith(world, "rev-2") == 5);
  const auto ledger = world.cluster->config_map("driver-system", "driver-upgrades");
  REQUIRE(ledger);
  CHECK(ledger->data.at("nvidia.com_gpu").empty());
  CHECK(ledger->data.contains("_rollout_nvidia.com_gpu"));
}

TEST_CASE(
    "The document of a rollout through the C interface matches its schema, and contains node histories and the host's "
    "data") {
  World world(3);
  EngineHost host = HostOf(world);
  const auto document = [&](std::string_view facts) {
    const Said said = Call(du_engine_rollout, host.engine(), Str(facts), absl::ToUnixMillis(world.clock->Now()));
    REQUIRE(said.code == 0);
    JsonDocument parsed = ParsedJson(said.text);
    CHECK(BreaksRolloutSchema(parsed) == "");
    return parsed;
  };
  CHECK(document("{}")["nodes"].Size() == 0);  // before the first pass
  Run(world, host, kStages, absl::Minutes(20));
  const JsonDocument waits = document(R"({"leader":false,"replica":"go-1","lastError":"no Lease"})");
  CHECK_FALSE(waits["leader"].GetBool());
  CHECK(waits["replica"] == "go-1");
  CHECK(waits["lastError"] == "no Lease");
  CHECK(waits["pools"].Size() == 1);
  CHECK(waits["pools"][0]["rollout"]["waitsFor"]["reason"] == "Approval");
  int histories = 0;
  for (const auto& node : waits["nodes"].GetArray()) {
    histories += node["state"] == "upgrade-done" && node["transitions"].Size() > 3;
    if (node["stage"] == "rest") CHECK(node["gate"]["commands"][1] == "upgradectl approve canary");
  }
  CHECK(histories == 1);
  const Said refused = Call(du_engine_rollout, host.engine(), Str(R"({"leader":"yes"})"), std::int64_t{0});
  CHECK(refused.code == 3);
  CHECK(refused.text == "facts.leader: must be true or false");
}

// Found by the simulation (seed 25636): a new engine plans before it has read any pods.
TEST_CASE("A rollout that the host reports as sick is halted, and stays halted until the halt is lifted") {
  World world(5);
  bool is_reachable = true;
  EngineHost host =
      HostOf(world, [&](const auto& send) { return is_reachable ? send() : HttpAnswer{.status = DU_NOT_SENT}; });
  Run(world, host, kStages, absl::Minutes(20));
  host.SetRolloutSick("fleet-wide Xid 79");
  SECTION("the halt is stored") { Run(world, host, kStages, absl::Minutes(1)); }
  SECTION("the reason is withdrawn before the halt is stored") {
    is_reachable = false;
    host.Pass(std::nullopt, kStages, world.clock->Now());
    is_reachable = true;
  }
  host.SetRolloutSick("");
  Run(world, host, kStages, absl::Minutes(1));
  CHECK(host.last().find(R"("halted":{"reason":"Halted","detail":"fleet-wide Xid 79)") != std::string::npos);
  Approve(world, "canary@rev-2");
  Run(world, host, kStages, absl::Minutes(20));
  CHECK(NodesWith(world, "rev-2") == 5);
}

TEST_CASE("A soak continues when a new engine takes over, even if the policy watches the pods of upgraded nodes") {
  World world(5);
  world.cluster->AddDaemonSet({.ns = "monitoring", .name = "dcgm"});
  std::string policy(kStages);
  policy.insert(policy.rfind("}}"), R"(,"health":{"podSelector":"app=dcgm"})");
  std::string last;
  for (int term = 0; term < 40; ++term) {
    EngineHost host = HostOf(world);
    Run(world, host, policy, absl::Seconds(30));
    last = host.last();
  }
  CHECK(NodesWith(world, "rev-2") == 1);
  CHECK(last.find("stage canary waits for the approval canary@rev-2") != std::string::npos);
}

TEST_CASE("A host that takes over in the middle of a stage uses the stored record") {
  World world(5);
  {
    EngineHost host = HostOf(world);
    Run(world, host, kStages, absl::Minutes(20));
  }
  REQUIRE(NodesWith(world, "rev-2") == 1);
  EngineHost host = HostOf(world);
  Run(world, host, kStages, absl::Minutes(10));
  CHECK(NodesWith(world, "rev-2") == 1);
  Approve(world, "canary@rev-2");
  SECTION("a native engine continues the rollout") {
    EngineOptions options = world.options;
    options.executor.calls_in_flight = 1;
    options.ledger = AdmissionLedgerOptions{.ns = "driver-system", .name = "driver-upgrades"};
    auto engine = *UpgradeEngine::Create(world.identity, world.checker.Guard("native"), options);
    for (int pass = 0; pass < 400; ++pass) {
      REQUIRE(engine->Reconcile({}, *ParseUpgradePolicyJson(kStages)).ok());
      world.cluster->Advance(absl::Seconds(2));
    }
  }
  SECTION("the host continues the rollout") { Run(world, host, kStages, absl::Minutes(20)); }
  CHECK(NodesWith(world, "rev-2") == 5);
}

// Checks that a rollout of three nodes follows its stages, with an approval after eight minutes.
void ExpectStagesKept(EngineHost::Network network) {
  World world(3);
  EngineHost host = HostOf(world, std::move(network));
  Run(world, host, kStages, absl::Minutes(8));
  REQUIRE(NodesWith(world, "rev-2") <= 1);
  Approve(world, "canary@rev-2");
  Run(world, host, kStages, absl::Minutes(8));
  REQUIRE(NodesWith(world, "rev-2") == 3);
}

TEST_CASE(
    "A rollout keeps its stages and finishes, whatever the response to any one request, including ledger requests") {
  // Each fault consists of a response and a flag, which is true if the server carries out the request
  // despite this response.
  const std::vector<std::pair<HttpAnswer, bool>> faults = {
      {{.status = DU_NO_ANSWER}, false},
      {{.status = DU_NO_ANSWER}, true},
      {{.status = 409, .body = R"({"kind":"Status","reason":"Conflict"})"}, false},
      {{.status = 500}, true},
      {{.status = 403, .body = R"({"kind":"Status","reason":"Forbidden"})"}, false},
  };
  for (std::size_t kind = 0; kind < faults.size(); ++kind) {
    for (int at = 0; at < 24; ++at) {
      CAPTURE(kind, at);
      ExpectStagesKept([&, number = 0](const std::function<HttpAnswer()>& send) mutable {
        if (number++ != at) return send();
        if (faults[kind].second) send();
        return faults[kind].first;
      });
    }
  }
}

TEST_CASE("A rollout keeps its stages and finishes even if its host is killed at any request") {
  for (int at = 0; at < 24; ++at) {
    CAPTURE(at);
    ExpectStagesKept([&, number = 0](const std::function<HttpAnswer()>& send) mutable {
      if (number++ == at) throw std::runtime_error("killed");
      return send();
    });
  }
}

TEST_CASE("Nodes with pods of one job start together through the C interface, and the job is interrupted once") {
  constexpr std::string_view kGangs =
      R"({"autoUpgrade":true,"maxParallelUpgrades":1,"maxUnavailable":2,"drain":{"enable":true},"rollout":{"gangs":{}}})";
  World world(4);
  testing::GangController jobs(world.cluster, 1);
  std::vector<Pod> pods;
  for (const std::size_t node : {0, 3}) {
    pods.push_back(testing::PodBuilder("team", "train-" + std::to_string(node))
                       .OnNode(world.fleet.node_names[node])
                       .WithLabel("ray.io/cluster", "train")
                       .WithResource("nvidia.com/gpu")
                       .Build());
  }
  jobs.Add("train", std::move(pods));
  EngineHost host = HostOf(world);
  for (int pass = 0; pass < 300; ++pass) {
    host.Pass(std::nullopt, kGangs, world.clock->Now());
    REQUIRE(world.checker.Report() == "");
    jobs.Step();
    world.cluster->Advance(absl::Seconds(2));
    jobs.Step();
  }
  CHECK(NodesWith(world, "rev-2") == 4);
  CHECK(jobs.interruptions() == 1);
  CHECK(jobs.AllRun());
}

// The host was not running when the node was deleted, so no watch reports the deletion.
TEST_CASE("A grant for a node that was deleted before the host started holds no slot") {
  constexpr std::string_view kOneAtATime =
      R"({"autoUpgrade":true,"maxParallelUpgrades":1,"maxUnavailable":null,"drain":{"enable":true},"podDeletion":{}})";
  World world(1);
  REQUIRE(world.cluster
              ->CreateConfigMap({}, {.ns = "driver-system",
                                     .name = "driver-upgrades",
                                     .data = {{"nvidia.com_gpu", "uid-of-a-deleted-node 7\n"}}})
              .ok());
  EngineHost host = HostOf(world);
  Run(world, host, kOneAtATime, absl::Minutes(3));
  CHECK(NodesWith(world, "rev-2") == 1);
  CHECK(world.cluster->config_map("driver-system", "driver-upgrades")->data["nvidia.com_gpu"].empty());
}

TEST_CASE("A window is evaluated in a time zone that the host has provided") {
  constexpr std::string_view kNight =
      R"({"autoUpgrade":true,"maxUnavailable":null,"drain":{"enable":true},"podDeletion":{},"rollout":{"windows":[)"
      R"({"start":"22:00","durationSeconds":14400,"timeZone":"Europe/Berlin"}]}})";
  World world(2);
  world.clock->SetTime(absl::FromCivil(absl::CivilMinute(2026, 7, 1, 19, 30), absl::UTCTimeZone()));  // 21:30 in Berlin
  EngineHost host = HostOf(world);
  host.Read();
  const Said unknown =
      Call(du_engine_apply, host.engine(), Str(""), Str(kNight), absl::ToUnixMillis(world.clock->Now()));
  CHECK(unknown.code == static_cast<du_code>(absl::StatusCode::kInvalidArgument));
  CHECK(unknown.text ==
        "policy: rollout.windows[0].timeZone: time zone Europe/Berlin has not been put (du_engine_put_time_zone)");
  host.PutTimeZone(LoadRolloutTimeZone("Europe/Berlin").value());
  Run(world, host, kNight, absl::Minutes(29));
  CHECK(NodesWith(world, "rev-2") == 0);
  CHECK(host.wake_at() == absl::FromCivil(absl::CivilMinute(2026, 7, 1, 20, 0), absl::UTCTimeZone()));
  Run(world, host, kNight, absl::Minutes(20));
  CHECK(NodesWith(world, "rev-2") == 2);
}

TEST_CASE("An engine with a ledger refuses invalid options, time zones, and partitions of the nodes") {
  World world(2);
  const auto make = [](std::string_view ledger) {
    du_engine* engine = nullptr;
    const Said said = Call(du_engine_new,
                           Str(R"({"identity":{"domain":"nvidia.com","driver":"gpu"},"namespace":"driver-system",)"
                               R"("driverLabels":"app=driver","ledger":)" +
                               std::string(ledger) + "}"),
                           &engine);
    du_engine_free(engine);
    return said.text;
  };
  CHECK(make(R"({"namespace":"driver-system"})") == "options.ledger.name: is missing");
  CHECK(make(R"({"namespace":"driver-system","name":""})") ==
        "options.ledger: admission ledger options: namespace and name of the ConfigMap are required");
  EngineHost host = HostOf(world);
  const auto zone = [&](std::string_view text) { return Call(du_engine_put_time_zone, host.engine(), Str(text)).text; };
  CHECK(zone(R"({"name":"X"})") == "time zone X: offsets must not be empty");
  CHECK(zone(R"({"name":"X","offsets":[{"from":0,"seconds":86400}]})") ==
        "time zone X: offset 24h must be a whole number of seconds, and less than a day");
  host.Read();
  const auto apply = [&](std::string_view nodes) {
    return Call(du_engine_apply, host.engine(), Str(nodes), Str(kStages), absl::ToUnixMillis(world.clock->Now())).code;
  };
  const std::string first = world.fleet.node_names[0], second = world.fleet.node_names[1];
  CHECK(apply("[\"" + first + "\"]") == 0);
  CHECK(apply("[\"" + second + "\"]") == static_cast<du_code>(absl::StatusCode::kFailedPrecondition));
  CHECK(apply(R"({"owner":"Not_A_Name","names":[")" + second + "\"]}") ==
        static_cast<du_code>(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace driverupgrade::tests
