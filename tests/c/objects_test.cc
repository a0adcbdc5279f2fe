// Tests the calls with which a host passes data to the engine of the C interface, one document per call: lists,
// watches, pods, responses, and the time.
#include <cctype>
#include <fstream>
#include <functional>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "c/engine_host.h"
#include "c/engine_world.h"
#include "fmt/format.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

// An engine to which the test passes a few objects directly.
struct ByHand {
  ByHand() { REQUIRE(Call(du_engine_new, Str(std::string(kOptions) + "}"), &engine).code == 0); }
  ~ByHand() { du_engine_free(engine); }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  Said Put(int kind, std::string_view items, int version = 100, std::string_view more = "") {
    return Call(du_engine_put, engine, kind,
                Str(fmt::format(R"({{"kind":"{}","metadata":{{"resourceVersion":"{}"{}}},"items":[{}]}})",
                                kind == DU_NODES ? "NodeList" : "PodList", version, more, items)));
  }
  Said PutPods(std::string_view items, int version = 100) {
    const std::string list =
        fmt::format(R"({{"kind":"PodList","metadata":{{"resourceVersion":"{}"}},"items":[{}]}})", version, items);
    return Call(du_engine_put_pods, engine, Str("n1"), Str(list), Str(""));
  }
  Said Line(int kind, std::string_view type, std::string_view object) {
    return Call(du_engine_watch_line, engine, kind, Str(fmt::format(R"({{"type":"{}","object":{}}})", type, object)));
  }
  std::string Read() { return Call(du_engine_read, engine, 1000).text; }

  du_engine* engine = nullptr;
};

std::string NodeText(std::string_view uid, int version, std::string_view state) {
  return fmt::format(R"({{"kind":"Node","metadata":{{"name":"n1","uid":"{}","resourceVersion":"{}",)"
                     R"("labels":{{"nvidia.com/gpu-driver-upgrade-state":"{}"}}}}}})",
                     uid, version, state);
}

std::string DriverPod(int version) {
  return fmt::format(
      R"({{"kind":"Pod","metadata":{{"namespace":"driver-system","name":"d1","uid":"p1","resourceVersion":"{}"}},)"
      R"("spec":{{"nodeName":"n1"}}}})",
      version);
}

bool Has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("du_keys returns every label and annotation key of DriverIdentity") {
  const Said said = Call(du_keys, Str(R"({"domain":"nvidia.com","driver":"gpu"})"));
  REQUIRE(said.code == 0);
  std::ifstream header(std::string(DRIVERUPGRADE_DOCS_DIR) + "/../include/driverupgrade/driver_identity.h");
  const std::regex accessor("  const std::string& ([A-Z])(\\w+(?:Label|Annotation))\\(\\) const;");
  int count = 0;
  for (std::string line; std::getline(header, line);) {
    std::smatch name;
    if (!std::regex_match(line, name, accessor)) continue;
    ++count;
    const std::string member = fmt::format("\"{}{}\":", static_cast<char>(std::tolower(name.str(1)[0])), name.str(2));
    INFO(member);
    CHECK(said.text.find(member) != std::string::npos);
  }
  CHECK(count > 15);
}

TEST_CASE("A watch event with an older version of a node changes nothing") {
  ByHand told;
  told.Put(DU_NODES, NodeText("u1", 20, "drain-required"));
  told.Line(DU_NODES, "MODIFIED", NodeText("u1", 19, "cordon-required"));
  CHECK(Has(told.Read(), "\"state\":\"drain-required\""));
  told.Line(DU_NODES, "MODIFIED", NodeText("u1", 21, "upgrade-done"));
  CHECK(Has(told.Read(), "\"state\":\"upgrade-done\""));
}

TEST_CASE("A watch needs a list: a line before the list is refused, and does not count as the full list") {
  for (const int kind : {DU_NODES, DU_DRIVER_PODS, DU_DAEMON_SETS, DU_CONTROLLER_REVISIONS, DU_NODE_MAINTENANCES}) {
    INFO(kind);
    ByHand told;
    const Said said = told.Line(kind, "ADDED", kind == DU_NODES ? NodeText("u1", 20, "drain-required") : DriverPod(20));
    CHECK(said.code == 3);
    CHECK(Has(said.text, "put a list of this kind first"));
  }
  ByHand told;
  told.Put(DU_NODES, "");
  CHECK(told.Line(DU_NODES, "ADDED", NodeText("u1", 20, "drain-required")).code == 0);
}

TEST_CASE("DRA objects are passed as lists and lines, or as the Status of a server that does not serve their kind") {
  du_engine* engine = nullptr;
  const std::string options = std::string(kOptions) + R"(,"devices":["gpu.nvidia.com"]})";
  REQUIRE(Call(du_engine_new, Str(options), &engine).code == 0);
  const auto put = [&](int kind, std::string_view document) {
    return Call(du_engine_put, engine, kind, Str(document));
  };
  CHECK(put(DU_DEVICE_TAINT_RULES, R"({"kind":"Status","code":404,"message":"404 page not found"})").code == 0);
  CHECK(put(DU_RESOURCE_CLAIMS, R"({"kind":"Status","code":403,"message":"no"})").code == 3);
  CHECK(put(DU_NODES, R"({"kind":"Status","code":404})").code == 3);
  const auto line = [&](int kind) {
    return Call(du_engine_watch_line, engine, kind,
                Str(R"({"type":"ADDED","object":{"kind":"ResourceClaim","metadata":{"name":"a","namespace":"b",)"
                    R"("resourceVersion":"1"}}})"));
  };
  CHECK(Has(line(DU_RESOURCE_CLAIMS).text, "put a list of this kind first"));
  CHECK(put(DU_RESOURCE_CLAIMS, R"({"kind":"ResourceClaimList","metadata":{"resourceVersion":"1"},"items":[]})").code ==
        0);
  CHECK(line(DU_RESOURCE_CLAIMS).code == 0);
  CHECK(line(DU_KINDS).code == 3);
  du_engine_free(engine);
}

TEST_CASE("A late deletion event for an earlier node of the same name does not delete the new node") {
  ByHand told;
  told.Put(DU_NODES, NodeText("u2", 20, "upgrade-done"));
  told.Line(DU_NODES, "DELETED", NodeText("u1", 18, "upgrade-done"));
  CHECK(Has(told.Read(), "\"uid\":\"u2\""));
  told.Line(DU_NODES, "DELETED", NodeText("u2", 21, "upgrade-done"));
  CHECK(Has(told.Read(), "\"nodes\":[]"));
}

TEST_CASE("A driver pod that is missing from a new list is removed") {
  ByHand told;
  told.Put(DU_NODES, NodeText("u1", 20, "upgrade-done"));
  told.Put(DU_DRIVER_PODS, DriverPod(30));
  CHECK(Has(told.Read(), R"("driverPods":["driver-system/d1"])"));
  told.Put(DU_DRIVER_PODS, "", 101);
  CHECK(Has(told.Read(), R"("driverPods":[])"));
}

TEST_CASE("A list that is only one of several pages is refused, and changes nothing") {
  ByHand told;
  told.Put(DU_NODES, NodeText("u1", 20, "upgrade-done"));
  const Said said = told.Put(DU_NODES, "", 101, R"(,"continue":"page-2")");
  CHECK(said.code == 3);
  CHECK(Has(said.text, "list.metadata.continue"));
  CHECK(Has(told.Read(), "\"uid\":\"u1\""));
}

TEST_CASE("A list of pods is not used if one of the pods cannot be read") {
  ByHand told;
  told.Put(DU_NODES, NodeText("u1", 20, "upgrade-done"));
  const std::string other = R"({"metadata":{"namespace":"a","name":"b","uid":"p2"},"spec":{"nodeName":7}})";
  CHECK(told.PutPods(DriverPod(30)).text == R"({"taken":true})");
  CHECK(told.PutPods(DriverPod(30) + "," + other, 101).text == R"({"taken":false})");
}

// ----- with a fleet

std::string Apply(const EngineHost& host, absl::Time now, std::string_view nodes = "",
                  std::string_view policy = kPolicy) {
  return Call(du_engine_apply, host.engine(), Str(nodes), Str(policy), absl::ToUnixMillis(now)).text;
}

bool SaysNoWork(const std::string& pass) { return Has(pass, "\"work\":[],"); }

void RunPasses(World& world, EngineHost& host, int passes, absl::Duration ahead = absl::ZeroDuration(),
               std::string_view policy = kPolicy) {
  for (int pass = 0; pass < passes; ++pass) {
    host.Pass(std::nullopt, policy, world.clock->Now() + ahead);
    world.cluster->Advance(absl::Seconds(2));
  }
}

void CheckDrivers(const World& world, std::string_view revision) {
  for (const Pod& pod : world.cluster->daemon_set_pods(world.fleet.ns, world.fleet.daemon_set)) {
    CHECK(RevisionHash(pod) == revision);
  }
}

// Returns a network that responds to the first `count` writes with `answer`.
EngineHost::Network Answers(HttpAnswer answer, int count = 1) {
  return [answer, count](const auto& send) mutable { return count-- > 0 ? answer : send(); };
}

TEST_CASE("An engine that has rolled out a revision also rolls out the next revision") {
  World world(2);
  EngineHost host = world.Host();
  RollOut(world, host, 150);
  CheckDrivers(world, "rev-2");
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-3");
  RollOut(world, host, 150);
  CheckDrivers(world, "rev-3");
}

TEST_CASE("The result of a patch is known without another list") {
  World world(1);
  EngineHost host = world.Host();
  const auto now = absl::ToUnixMillis(world.clock->Now());
  const std::string label = world.identity.StateLabel();
  REQUIRE(host.Pass(std::nullopt, kPolicy, world.clock->Now()));
  const StringMap labels = world.cluster->nodes().front().labels;
  CHECK(Has(Call(du_engine_read, host.engine(), now).text, "\"state\":\"" + labels.at(label) + '"'));
}

TEST_CASE("A clock that is set back an hour does not delay the retry of refused requests") {
  World world(2);
  EngineHost host = world.Host(Answers({.status = 500}, 4));
  RunPasses(world, host, 3, absl::Hours(1));
  RollOut(world, host, 150);
  CheckDrivers(world, "rev-2");
}

TEST_CASE("After a refused patch the node waits, unless the cluster is restored to an earlier state") {
  World world(1);
  EngineHost host = world.Host(Answers({.status = 403}, 100));
  const absl::Time now = world.clock->Now();
  host.Pass(std::nullopt, kPolicy, now);
  REQUIRE(SaysNoWork(Apply(host, now)));
  // The list has the same nodes but is older than the previous list.
  HttpResponse nodes = *world.Server()->Send({}, {.path = "/api/v1/nodes"});
  const std::string version = fmt::format("\"resourceVersion\":\"{}\"", world.cluster->revision());
  REQUIRE(Has(nodes.body, version));
  nodes.body.replace(nodes.body.find(version), version.size(), "\"resourceVersion\":\"1\"");
  REQUIRE(Call(du_engine_put, host.engine(), DU_NODES, Str(nodes.body)).code == 0);
  CHECK_FALSE(SaysNoWork(Apply(host, now)));
}

TEST_CASE("A permanent refusal is reported by an Event") {
  World world(1);
  EngineHost host = world.Host(Answers({.status = 403}));
  RunPasses(world, host, 1);
  REQUIRE_FALSE(host.events().empty());
  CHECK(Has(host.events().front(), "Failed"));
}

TEST_CASE("A node whose drain never finishes fails at its deadline, after any number of passes") {
  World world(1);
  world.cluster->AddDisruptionBudget({.ns = "team-b", .name = "never", .max_unavailable = 0});
  EngineHost host({.options = std::string(kOptions) + "}", .ns = "driver-system", .driver_labels = "app=driver"},
                  world.Server());
  const std::string policy =
      R"({"autoUpgrade":true,"maxUnavailable":"100%","drain":{"enable":true,"timeoutSeconds":60},"podDeletion":{}})";
  RunPasses(world, host, 200, absl::ZeroDuration(), policy);
  CHECK(world.cluster->nodes().front().labels.at(world.identity.StateLabel()) == "upgrade-failed");
}

TEST_CASE("Releasing some nodes does not change the others, and objects that could not be read are reported") {
  World world(2);
  EngineHost host = world.Host();
  const auto now = absl::ToUnixMillis(world.clock->Now());
  const auto release = [&](std::string_view nodes) { return Call(du_engine_release, host.engine(), Str(nodes), now); };
  RunPasses(world, host, 4);
  host.Read();
  CHECK(Has(release(R"(["node-1"])").text, R"("work":["node-1"])"));

  host.Restart();
  host.Read();
  while (host.Release(world.clock->Now())) world.cluster->Advance(absl::Seconds(2));
  Node node = world.cluster->nodes().front();
  const std::string unreadable = fmt::format(
      R"({{"type":"MODIFIED","object":{{"kind":"Node","metadata":{{"name":"{}","uid":"{}","resourceVersion":"99999"}},)"
      R"("spec":{{"unschedulable":"perhaps"}}}}}})",
      node.name, node.uid);
  REQUIRE(Call(du_engine_watch_line, host.engine(), DU_NODES, Str(unreadable)).code == 0);
  const Said said = release("");
  CHECK(said.code == 14);
  CHECK(Has(said.text, node.name));
}

TEST_CASE("After the cluster was restored from a backup, no pass is made until everything has been put again") {
  World world(1);
  EngineHost host = world.Host();
  host.Read();
  const auto now = absl::ToUnixMillis(world.clock->Now());
  const auto apply = [&] { return Call(du_engine_apply, host.engine(), Str(""), Str(R"({"autoUpgrade":true})"), now); };
  REQUIRE(apply().code == 0);

  constexpr std::string_view kOlder = R"({"kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[]})";
  REQUIRE(Call(du_engine_put, host.engine(), DU_NODES, Str(kOlder)).code == 0);
  CHECK(apply().code == 14);
  constexpr std::string_view kBookmark = R"({"type":"BOOKMARK","object":{"kind":"Pod","metadata":{}}})";
  CHECK(Call(du_engine_watch_line, host.engine(), DU_DRIVER_PODS, Str(kBookmark)).code == 3);
  host.Read();
  CHECK(apply().code == 0);
}

TEST_CASE("A new policy replaces the previous policy, and an empty node list selects no nodes") {
  World world(1);
  EngineHost host = world.Host();
  host.Read();
  const absl::Time now = world.clock->Now();
  CHECK(SaysNoWork(Apply(host, now, "", R"({"autoUpgrade":false})")));
  CHECK(SaysNoWork(Apply(host, now, "[]")));
  CHECK_FALSE(SaysNoWork(Apply(host, now)));
}

TEST_CASE("Pods with the skip label stay, unless the options disable this label") {
  for (const bool spares : {true, false}) {
    World world(1);
    world.cluster->AddPod(testing::PodBuilder("team-b", "spared")
                              .OnNode(world.fleet.node_names[0])
                              .OwnedByReplicaSet("spared")
                              .WithLabel(world.identity.SkipDrainPodLabel(), "true")
                              .Build());
    const std::string options =
        fmt::format(R"({{"identity":{{"domain":"nvidia.com","driver":"gpu"}},"namespace":"driver-system",)"
                    R"("driverLabels":"app=driver","spareSkippedPods":{}}})",
                    spares);
    EngineHost host({.options = options, .ns = "driver-system", .driver_labels = "app=driver"}, world.Server());
    RunPasses(world, host, 150, absl::ZeroDuration(),
              R"({"autoUpgrade":true,"maxUnavailable":null,"drain":{"enable":true}})");
    CheckDrivers(world, "rev-2");
    CHECK(world.cluster->pod("team-b", "spared").has_value() == spares);
  }
}

TEST_CASE("A node waits if the host cannot determine whether one of its pods uses the driver") {
  World world(1);
  EngineHost host({.options = std::string(kOptions) + "}",
                   .ns = "driver-system",
                   .driver_labels = "app=driver",
                   .uses_driver = [](const Pod&) -> absl::StatusOr<bool> { return absl::UnknownError("no answer"); }},
                  world.Server());
  RunPasses(world, host, 20);
  CHECK(Has(Call(du_engine_explain, host.engine(), Str(world.fleet.node_names[0])).text, "\"reason\":\"Hook\""));
  CheckDrivers(world, "rev-1");
}

TEST_CASE("An answered question is not asked again") {
  World world(1);
  EngineHost host({.options = std::string(kOptions) + R"(,"restartOnly":true})",
                   .ns = "driver-system",
                   .driver_labels = "app=driver"},
                  world.Server());
  RunPasses(world, host, 1);
  const auto now = absl::ToUnixMillis(world.clock->Now());
  REQUIRE_FALSE(Has(Call(du_engine_read, host.engine(), now).text, "\"questions\":[]"));
  host.AnswerQuestions(world.clock->Now(), true);
  CHECK(Has(Call(du_engine_read, host.engine(), now).text, "\"questions\":[]"));
}

TEST_CASE("The outcome shows that a request was not sent") {
  World world(1);
  EngineHost host = world.Host();
  host.Read();
  const auto now = absl::ToUnixMillis(world.clock->Now());
  const du_str node = Str(world.fleet.node_names[0]);
  REQUIRE_FALSE(SaysNoWork(Apply(host, world.clock->Now())));
  Call(du_engine_next, host.engine(), node, now);
  Call(du_engine_answer, host.engine(), node, DU_NOT_SENT, 0, Str(""), now);
  CHECK(Has(Call(du_engine_settle, host.engine(), now).text, "the request was not sent"));
}

// A node with pods that disruption budgets protect.
struct Blocked {
  Blocked() {
    world.cluster->AddPod(testing::PodBuilder("team-b", "inference")
                              .OnNode(node)
                              .OwnedByReplicaSet("inference")
                              .WithResource("nvidia.com/gpu")
                              .Build());
    world.cluster->AddDisruptionBudget({.ns = "team-b", .name = "never", .max_unavailable = 0});
  }
  // Runs passes until the engine evacuates the node, as shown by `podInterest`, which then names the node. From then
  // on, the engine has a list of the node's pods.
  void Run() {
    for (int pass = 0; pass < 40 && !Has(host.last(), "\"podInterest\":[\"" + node); ++pass) RunPasses(world, host, 1);
    REQUIRE(Has(host.last(), "\"podInterest\":[\"" + node));
  }
  std::string NodeLine(bool cordoned, int version) const {
    Node now = world.cluster->nodes().front();
    std::string labels;
    for (const auto& [key, value] : now.labels)
      labels += fmt::format(R"({}"{}":"{}")", labels.empty() ? "" : ",", key, value);
    std::string notes;
    for (const auto& [key, value] : now.annotations)
      notes += fmt::format(R"({}"{}":"{}")", notes.empty() ? "" : ",", key, value);
    return fmt::format(
        R"({{"type":"MODIFIED","object":{{"kind":"Node","metadata":{{"name":"{}","uid":"{}","resourceVersion":"{}",)"
        R"("labels":{{{}}},"annotations":{{{}}}}},"spec":{{"unschedulable":{}}}}}}})",
        now.name, now.uid, version, labels, notes, cordoned);
  }

  World world{1};
  EngineHost host = world.Host();
  const std::string node = world.fleet.node_names[0];
};

TEST_CASE("A response shows whether another request follows, and an eviction waits as long as the server requests") {
  Blocked blocked;
  blocked.Run();
  blocked.world.cluster->Advance(absl::Seconds(30));
  const auto now = [&] { return absl::ToUnixMillis(blocked.world.clock->Now()); };
  REQUIRE_FALSE(SaysNoWork(Apply(blocked.host, blocked.world.clock->Now())));
  const auto next = [&] { return Call(du_engine_next, blocked.host.engine(), Str(blocked.node), now()).text; };
  const auto refuse = [&] {
    return Call(du_engine_answer, blocked.host.engine(), Str(blocked.node), 429, 200, Str(""), now()).text;
  };
  REQUIRE(Has(next(), "/eviction"));
  CHECK(refuse() == R"({"more":true})");
  REQUIRE(Has(next(), "/eviction"));
  CHECK(refuse() == R"({"more":false})");
  CHECK(next() == "{}");
  blocked.world.cluster->Advance(absl::Seconds(120));
  CHECK(SaysNoWork(Apply(blocked.host, blocked.world.clock->Now())));
  blocked.world.cluster->Advance(absl::Seconds(120));
  CHECK_FALSE(SaysNoWork(Apply(blocked.host, blocked.world.clock->Now())));
}

TEST_CASE("Pods that were read before their node was cordoned are requested again afterwards") {
  Blocked blocked;
  blocked.Run();
  CHECK(Has(Apply(blocked.host, blocked.world.clock->Now()), R"("wantedPods":[])"));
  for (const bool cordoned : {false, true}) {
    const std::string line = blocked.NodeLine(cordoned, cordoned ? 99999 : 99998);
    REQUIRE(Call(du_engine_watch_line, blocked.host.engine(), DU_NODES, Str(line)).code == 0);
  }
  CHECK(Has(Apply(blocked.host, blocked.world.clock->Now()), "\"wantedPods\":[\"" + blocked.node));
}

TEST_CASE("A deadline is checked once the host has tried to read the pods") {
  Blocked blocked;
  blocked.Run();
  blocked.host.Restart();
  blocked.host.Read();
  CHECK(SaysNoWork(Apply(blocked.host, blocked.world.clock->Now())));
  blocked.world.cluster->Advance(absl::Minutes(20));
  blocked.host.Read();
  const std::string unread = Apply(blocked.host, blocked.world.clock->Now());
  CHECK(Has(unread, "\"wantedPods\":[\"" + blocked.node));
  CHECK(SaysNoWork(unread));
  Call(du_engine_put_pods, blocked.host.engine(), Str(blocked.node), Str(""), Str(""));
  CHECK_FALSE(SaysNoWork(Apply(blocked.host, blocked.world.clock->Now())));
}

TEST_CASE("A node in progress that its policy no longer selects still counts, and waits") {
  World world(2);
  EngineHost host = world.Host();
  const std::string policy =
      R"({"autoUpgrade":true,"maxParallelUpgrades":1,"maxUnavailable":null,"drain":{"enable":true}})";
  host.Pass(std::set<std::string>{"node-1", "node-2"}, policy, world.clock->Now());
  const auto state = [&](int node) {
    const std::vector<Node> nodes = world.cluster->nodes();
    const auto found = nodes[static_cast<std::size_t>(node)].labels.find(world.identity.StateLabel());
    return found == nodes[static_cast<std::size_t>(node)].labels.end() ? std::string() : found->second;
  };
  const std::string first = state(0);
  const std::string second = state(1);
  REQUIRE(first != "upgrade-required");
  REQUIRE(second == "upgrade-required");
  for (int pass = 0; pass < 60; ++pass) {
    host.Pass(std::set<std::string>{"node-2"}, policy, world.clock->Now());
    world.cluster->Advance(absl::Seconds(2));
  }
  CHECK(state(0) == first);
  CHECK(state(1) == second);
}

}  // namespace
}  // namespace driverupgrade::tests
