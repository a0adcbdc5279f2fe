#include "service/rollout_pages.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/http_get.h"
#include "support/rollout_schema.h"
#include "unit/service/service_world.h"

namespace driverupgrade::tests {
namespace {

namespace json = ::driverupgrade_rapidjson;

std::int64_t CallsOf(const FakeCluster& cluster) {
  std::int64_t calls = 0;
  for (const Operation operation :
       {Operation::kListNodes, Operation::kListPods, Operation::kListDaemonSets, Operation::kListControllerRevisions,
        Operation::kGetConfigMap, Operation::kPatchConfigMap, Operation::kPatchNode, Operation::kGetLease}) {
    calls += cluster.CallCount(operation);
  }
  return calls;
}

// A service that serves the rollout page.
struct ShownWorld : World {
  explicit ShownWorld(std::optional<RolloutPolicy> rollout = std::nullopt) {
    ServiceOptions options = Options();
    options.election = Election("a");
    options.engine.ledger = AdmissionLedgerOptions{.ns = fleet.ns, .name = "ledger"};
    options.rollout_address = "127.0.0.1:0";
    Make(std::move(options));
    EngineSpec spec = Spec();
    spec.policy.rollout = std::move(rollout);
    director.wanted = std::vector{std::move(spec)};
  }

  int port() const {
    for (const std::string& line : log) {
      const std::size_t at = line.find(" port=");
      if (at != std::string::npos) return std::stoi(line.substr(at + 6));
    }
    return 0;
  }
  json::Document Document() {
    clock->Advance(absl::Seconds(1));  // the document is formatted at most once a second
    return ParsedJson(service->Rollout());
  }
};

TEST_CASE("The document matches its schema from before the first pass to the end of a rollout in stages") {
  ShownWorld world(RolloutPolicy{.stages = {{.name = "canary", .nodes = CountOrPercent(Count{1})}}});
  std::vector<std::string> states;
  for (int i = 0; i < 400 && !world.service->End(); ++i) {
    const json::Document document = world.Document();
    REQUIRE(BreaksRolloutSchema(document) == "");
    for (const auto& node : document["nodes"].GetArray()) {
      const std::string state = node["state"].GetString();
      if (states.empty() || states.back() != state) states.push_back(state);
    }
    world.Turn();
  }
  const json::Document end = world.Document();
  CHECK(BreaksRolloutSchema(end) == "");
  CHECK(states.size() > 4);  // the document showed how nodes change their state
  CHECK(end["leader"].GetBool());
  CHECK(end["replica"] == "a");
  REQUIRE(end["nodes"].Size() == 2);
  for (const auto& node : end["nodes"].GetArray()) {
    CHECK(node["state"] == "upgrade-done");
    CHECK(node["upToDate"].GetBool());
    CHECK(node["driverReady"].GetBool());
    CHECK(node["transitions"].Size() > 3);
    CHECK_FALSE(node.HasMember("gate"));
  }
  CHECK(std::set<std::string>{end["nodes"][0]["stage"].GetString(), end["nodes"][1]["stage"].GetString()} ==
        std::set<std::string>{"canary", "rest"});
  const auto& pool = end["pools"][0];
  CHECK(pool["totals"]["done"].GetInt() == 2);
  CHECK(pool["rollout"]["stages"][0]["done"].GetInt() == 1);
  CHECK(pool["budgets"][0]["limit"].GetInt() == 1);
}

TEST_CASE("The entry of a waiting node contains its gate as data, the start of its wait, and advice") {
  ShownWorld world(
      RolloutPolicy{.stages = {{.name = "canary", .nodes = CountOrPercent(Count{1}), .approval = Approval::kManual}}});
  bool waits = false;
  for (int i = 0; i < 400 && !waits; ++i) {
    world.Turn();
    const json::Document document = world.Document();
    for (const auto& node : document["nodes"].GetArray()) {
      if (!node.HasMember("gate") || node["gate"]["reason"] != "Approval") continue;
      waits = true;
      const auto& gate = node["gate"];
      CHECK(gate["opener"] == "Administrator");
      CHECK(gate["subject"]["kind"] == "Approval");
      CHECK(gate.HasMember("since"));
      CHECK(gate["commands"][1] == "upgradectl approve canary");
      CHECK(gate["advice"] == "Check the upgraded nodes. If they are healthy, approve the stage.");
      CHECK(document["pools"][0]["rollout"]["waitsFor"]["reason"] == "Approval");
    }
  }
  CHECK(waits);
}

TEST_CASE("The document causes no requests, and keeps its tag until something changes") {
  ShownWorld world;
  REQUIRE(world.TurnsUntilEnd());
  const int port = world.port();
  const std::int64_t before = CallsOf(*world.cluster);
  const std::string answer = HttpGet(port, "/rollout");
  CHECK(answer.starts_with("HTTP/1.1 200"));
  CHECK(answer.find("Content-Type: application/json\r\n") != std::string::npos);
  const std::size_t at = answer.find("ETag: ") + 6;
  const std::string tag = answer.substr(at, answer.find("\r\n", at) - at);
  world.clock->Advance(absl::Seconds(3));  // the document contains no ages, because its reader computes them
  CHECK(HttpGet(port, "/rollout", {.header = "If-None-Match: " + tag}).starts_with("HTTP/1.1 304"));
  CHECK(CallsOf(*world.cluster) == before);
}

TEST_CASE("A stream sends the document immediately, as a server-sent event") {
  ShownWorld world;
  world.Turn();
  const std::string answer = HttpGet(world.port(), "/rollout?watch=true", {.until = "\n\n"});
  CHECK(answer.find("Content-Type: text/event-stream\r\n") != std::string::npos);
  CHECK(answer.find("event: rollout\n") != std::string::npos);
  CHECK(answer.find("data: {\"at\":\"") != std::string::npos);
}

TEST_CASE("The page runs only its own script, and pages from other sites cannot read the document") {
  ShownWorld world;
  const std::string page = HttpGet(world.port(), "/");
  CHECK(page.starts_with("HTTP/1.1 200"));
  CHECK(page.find("Content-Security-Policy: default-src 'none'") != std::string::npos);
  const std::size_t nonce = page.find("script-src 'nonce-") + 18;
  CHECK(page.find("<script nonce=\"" + page.substr(nonce, 32) + "\">") != std::string::npos);
  CHECK(page.find("<style nonce=\"" + page.substr(nonce, 32) + "\">") != std::string::npos);
  for (const char* path : {"/", "/rollout", "/rollout?watch=true"}) {
    for (const char* host : {"evil.example:8082", "127.0.0.1.evil.example:8082", "localhost.evil.example", ""}) {
      CHECK(HttpGet(world.port(), path, {.host = host, .until = "\r\n"}).starts_with("HTTP/1.1 403"));
    }
    CHECK(HttpGet(world.port(), path, {.host = "127.0.0.1:8082", .until = "\r\n"}).starts_with("HTTP/1.1 200"));
  }
}

TEST_CASE("The page is not served if it could be read over the network without credentials") {
  World world;
  ServiceOptions options = world.Options();
  options.rollout_address = "0.0.0.0:0";
  const auto service = UpgradeService::Create(world.cluster, world.director, std::move(options));
  CHECK(service.status() ==
        absl::InvalidArgumentError("the rollout page needs a loopback address, such as 127.0.0.1:8082, not "
                                   "`0.0.0.0:0`, because its readers need no credentials"));
}

}  // namespace
}  // namespace driverupgrade::tests
