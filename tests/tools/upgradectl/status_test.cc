// Tests the lines, colors, documents, and exit codes of `upgradectl status`, from a dump and from a server.
#include "upgradectl/status.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "decide/rollout/stages.h"
#include "driverupgrade/policy_codec.h"
#include "fmt/format.h"
#include "upgradectl/json_view.h"
#include "upgradectl/live_view.h"
#include "upgradectl/request.h"
#include "upgradectl/table.h"
#include "upgradectl/text.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

using Texts = std::vector<std::string>;

const std::string kAt = "2026-01-02T12:05:00Z";

std::string TroublePath() { return (kTestData / "trouble.json").string(); }

Texts StatusOfDump(const std::string& dump, const Texts& more = {}) {
  Texts arguments = {"status", "--cluster", dump, "--at", kAt};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::size_t WidestLine(const std::string& text) {
  std::istringstream in(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(in, line);) widest = std::max(widest, Width(line));
  return widest;
}

// Returns a dump with one node in this state and a driver pod of the target revision.
std::string OneNode(const std::string& state, const std::string& labels = {}) {
  return fmt::format(
      R"({{"kind":"List","items":[
{{"kind":"Node","metadata":{{"name":"n1","uid":"u","resourceVersion":"1","labels":{{"nvidia.com/gpu-driver-upgrade-state":"{}"{}}}}}}},
{{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{{"namespace":"gpu-operator","name":"driver","uid":"ds","generation":1,"labels":{{"app":"nvidia-driver-daemonset"}}}},
"spec":{{"selector":{{"matchLabels":{{"app":"nvidia-driver-daemonset"}}}},"updateStrategy":{{"type":"OnDelete"}}}},"status":{{"observedGeneration":1}}}},
{{"kind":"ControllerRevision","apiVersion":"apps/v1","metadata":{{"namespace":"gpu-operator","name":"driver-new","labels":{{"app":"nvidia-driver-daemonset","controller-revision-hash":"new"}},
"ownerReferences":[{{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"ds","controller":true}}]}},"revision":1,"data":{{}}}},
{{"kind":"Pod","metadata":{{"namespace":"gpu-operator","name":"driver-1","uid":"p","labels":{{"app":"nvidia-driver-daemonset","controller-revision-hash":"new"}},
"ownerReferences":[{{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"ds","controller":true}}]}},
"spec":{{"nodeName":"n1"}},"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":true}}]}}}}]}})",
      state, labels);
}

// Returns a record for DumpOfRollout at the stage canary, with these additional members.
std::string CanaryRecord(const std::string& more) {
  const auto policy =
      driverupgrade::ParseUpgradePolicy("rollout: {stages: [{name: canary, nodeSelector: pool=canary}]}");
  const std::string stages = driverupgrade::internal::RulesOf(*policy->rollout, {}).stages_fingerprint;
  return fmt::format(
      R"({{"version":1,"revision":"new","stages":"{}","stage":"canary"{},"waived":[],"durations":{{}}}})", stages,
      more);
}

TEST_CASE("The stage of a rollout, its gate, and a halt have their own lines") {
  const auto lines = [](const std::string& record) {
    const auto server = std::make_shared<DumpServer>(DumpOfRollout(record));
    return RunIn({"status", "--kubeconfig", "any", "--at", kAt}, {.server = server}).out;
  };
  CHECK(lines(CanaryRecord(R"(,"soakSince":1767355200)"))
            .find("\nstage canary, 1 of 2: 2 of 2 done; Soak 55m: stage canary soaks for 1h\n") != std::string::npos);
  CHECK(lines(CanaryRecord(R"(,"soakSince":1767340000)"))
            .find("\nstage canary, 1 of 2: 2 of 2 done; Approval: stage canary waits for the approval canary@new\n") !=
        std::string::npos);
  CHECK(lines("no record").find("\nhalted: ") != std::string::npos);
}

TEST_CASE("The document of a status contains the rollout") {
  const auto server = std::make_shared<DumpServer>(DumpOfRollout(CanaryRecord(R"(,"soakSince":1767340000)")));
  const std::string out = RunIn({"status", "--kubeconfig", "any", "--at", kAt, "-o", "json"}, {.server = server}).out;
  json::Document document;
  document.Parse(out.c_str());
  REQUIRE_FALSE(document.HasParseError());
  CHECK(Text(document, {"rollout", "revision"}) == "new");
  CHECK(Text(document, {"rollout", "stage"}) == "canary");
  CHECK(Text(document, {"rollout", "waitsFor", "reason"}) == "Approval");
  REQUIRE(Items(document, {"rollout", "stages"}).Size() == 2);
  CHECK(Integer(Items(document, {"rollout", "stages"})[0], {"done"}) == 2);
  CHECK(Integer(Items(document, {"rollout", "stages"})[1], {"nodes"}) == 2);
}

TEST_CASE(
    "The status of a fleet with every problem fits into 80 columns, and is complete if the width is not limited") {
  const Answer narrow = RunIn(StatusOfDump(TroublePath()), {.screen = {.columns = 80}});
  CHECK(narrow.err.empty());
  CheckGolden("trouble.status-80.txt", narrow.out);
  CHECK(WidestLine(narrow.out) <= 80);
  const Answer wide = RunIn(StatusOfDump(TroublePath(), {"-o", "wide"}), {.screen = {.columns = 200}});
  CheckGolden("trouble.status-200.txt", wide.out);
  CHECK(WidestLine(wide.out) <= 200);
  const Answer piped = RunWith(StatusOfDump(TroublePath()));
  CHECK(piped.out.find("…") == std::string::npos);
  CHECK(piped.out.find("disruption budget web allows none (2 healthy, 2 needed)") != std::string::npos);
}

TEST_CASE("Colors are used on request, and do not change the columns") {
  const Screen coloured{.columns = 80, .colour = true};
  std::string text = RunIn(StatusOfDump(TroublePath()), {.screen = coloured}).out;
  CHECK(text.find("\x1b[31mfailed\x1b[0m") != std::string::npos);
  while (text.find('\x1b') != std::string::npos) {
    const std::size_t at = text.find('\x1b');
    text.erase(at, text.find('m', at) - at + 1);
  }
  CHECK(text == RunIn(StatusOfDump(TroublePath()), {.screen = {.columns = 80}}).out);
}

TEST_CASE("The status is available as the same document in JSON and in YAML") {
  CheckGolden("trouble.status.json", RunWith(StatusOfDump(TroublePath(), {"-o", "json"})).out);
  CheckGolden("trouble.status.yaml", RunWith(StatusOfDump(TroublePath(), {"-o", "yaml"})).out);
}

TEST_CASE("The exit code shows whether the rollout is done, in progress, or failed") {
  const auto code = [](const std::string& dump) {
    const ScratchFile file(dump);
    return RunWith(StatusOfDump(file.path())).exit_code;
  };
  CHECK(code(OneNode("upgrade-done")) == kExitDone);
  CHECK(code(OneNode("validation-required")) == kExitUnderWay);
  CHECK(code(OneNode("upgrade-required", R"(,"nvidia.com/gpu-driver-upgrade.skip":"true")")) == kExitUnderWay);
  CHECK(code(OneNode("upgrade-failed")) == kExitFailed);
  CHECK(code(R"({"kind":"List","items":[]})") == kExitFailed);  // no node has the driver
  CHECK(code("{") == kExitUsage);
}

TEST_CASE("Without a policy, the status reports the policy as unknown, and shows no limits") {
  const ScratchFile dump(OneNode("upgrade-done"));
  const std::string text = RunWith(StatusOfDump(dump.path())).out;
  CHECK(text.find("policy unknown") != std::string::npos);
  CHECK(text.find("slots") == std::string::npos);
}

TEST_CASE("Only the pods of the driver and of nodes that are cordoned or in progress are requested from a server") {
  const auto server = std::make_shared<DumpServer>(ContentOf(kTestData / "trouble.json"));
  const Answer live = RunIn({"status", "--kubeconfig", "any", "--at", kAt}, {.server = server});
  CHECK(live.err.empty());
  CHECK(live.out ==
        "this is upgradectl's own view, not the operator's: gpu-operator-5d8-x7_42 does not serve its view "
        "(--rollout-secure-address)\n" +
            RunWith(StatusOfDump(TroublePath())).out);
  const Texts paths = server->paths();
  CHECK(std::count(paths.begin(), paths.end(), "/api/v1/pods") == 5);
}

TEST_CASE("Events of a deleted node do not count for the rollout") {
  json::Document dump;
  dump.Parse(ContentOf(TroublePath()).c_str());
  for (const auto& [state, time] : {std::pair("cordon-required", "10:00"), {"upgrade-done", "10:59"}}) {
    json::Document event(&dump.GetAllocator());
    event.Parse(
        fmt::format(
            R"({{"apiVersion": "v1", "kind": "Event", "metadata": {{"namespace": "default", "name": "gone.{0}"}},
"involvedObject": {{"kind": "Node", "name": "gone"}}, "reason": "GPUDriverUpgrade", "type": "Normal",
"message": "Successfully updated node state label to {0}", "count": 1, "lastTimestamp": "2026-01-02T{1}:00Z"}})",
            state, time)
            .c_str());
    dump["items"].PushBack(event, dump.GetAllocator());
  }
  const ScratchFile file(Compact(dump));
  CHECK(RunWith(StatusOfDump(file.path())).out == RunWith(StatusOfDump(TroublePath())).out);
}

TEST_CASE("If the policy is in a file, a missing policy in the custom resource is not reported") {
  const auto server = std::make_shared<DumpServer>(ContentOf(kTestData / "trouble.json"));
  server->Forbid("/apis/nvidia.com/v1/clusterpolicies");
  const ScratchFile policy("autoUpgrade: true");
  const auto status = [&](Texts more) {
    more.insert(more.end(), {"--kubeconfig", "any", "--at", kAt});
    return RunIn(more, {.server = server}).out;
  };
  CHECK(status({"status"}).find("not read: list /apis/nvidia.com/v1/clusterpolicies") != std::string::npos);
  CHECK(status({"status", "--policy", policy.path()}).find("not read: ") == std::string::npos);
}

TEST_CASE("A resource that the cluster does not serve is distinguished from the 404 response of another server") {
  const auto server = std::make_shared<DumpServer>(ContentOf(kTestData / "trouble.json"));
  const std::string path = "/apis/nvidia.com/v1/clusterpolicies/cluster-policy";
  const auto status = [&] { return RunIn({"status", "--kubeconfig", "any", "--at", kAt}, {.server = server}).out; };
  server->AnswerAt(path, {.status = 404, .body = "404 page not found\n"});
  CHECK(status().find("not read: list " + path + ": 404: the cluster does not serve this resource\n") !=
        std::string::npos);
  server->AnswerAt(path, {.status = 404, .body = "<html>"});
  CHECK(status().find("not read: list " + path + ": 404: the response is not from an API server\n") !=
        std::string::npos);
}

TEST_CASE("The remaining time does not include nodes that the rollout leaves out") {
  json::Document dump;
  dump.Parse(ContentOf(kTestData / "trouble.json").c_str());
  const std::set<std::string> others = {"budget", "image", "failed", "other", "skipped", "waiting"};
  json::Value& items = dump["items"];
  for (auto item = items.Begin(); item != items.End();) {
    const std::string kind = Text(*item, {"kind"});
    const std::string node = kind == "Node" ? Text(*item, {"metadata", "name"}) : Text(*item, {"spec", "nodeName"});
    item = others.contains(node) ? items.Erase(item) : item + 1;
  }
  const ScratchFile file(Compact(dump));
  const auto status = [&](const std::string& cordoned_nodes) {
    const ScratchFile policy("{autoUpgrade: true, cordonedNodes: " + cordoned_nodes + "}");
    return RunWith({"status", "--cluster", file.path(), "--at", kAt, "--policy", policy.path()}).out;
  };
  CHECK(status("Proceed").find("3 of 4 done") != std::string::npos);
  CHECK(status("Proceed").find(" to go (") != std::string::npos);
  CHECK(status("Ignore").find("Cordoned: ") != std::string::npos);
  CHECK(status("Ignore").find(" to go (") == std::string::npos);
}

TEST_CASE("A node in upgrade-done with an old driver pod counts as waiting") {
  std::string dump = ContentOf(kTestData / "trouble.json");
  const std::size_t pod = dump.find("driver-done-2");
  const std::string hash = R"("controller-revision-hash": "new")";
  const std::size_t place = dump.find(hash, pod);
  REQUIRE(place != std::string::npos);
  dump.replace(place, hash.size(), R"("controller-revision-hash": "old")");
  const ScratchFile file(dump);
  const Answer answer = RunWith(StatusOfDump(file.path()));
  INFO(answer.out << answer.err);
  CHECK(answer.out.find(": 2 of 10 done, 1 failed, 2 in progress, 5 waiting\n") != std::string::npos);
}

TEST_CASE(
    "A forbidden read of optional data is reported in one line, and a forbidden read of required data is an error") {
  const auto server = std::make_shared<DumpServer>(ContentOf(kTestData / "trouble.json"));
  server->Forbid("/apis/policy/v1");
  const Answer answer = RunIn({"status", "--kubeconfig", "any", "--at", kAt}, {.server = server});
  CHECK(answer.exit_code == kExitFailed);
  CHECK(answer.out.find("not read: list /apis/policy/v1/poddisruptionbudgets: 403: not for you") != std::string::npos);
  server->Forbid("/api/v1/nodes");
  const Answer refused = RunIn({"status", "--kubeconfig", "any", "--at", kAt}, {.server = server});
  CHECK(refused.exit_code == kExitUsage);
  CHECK(refused.err == "upgradectl: list /api/v1/nodes: 403: not for you\n");
}

TEST_CASE("With --watch every change prints the status again, until the rollout is done") {
  const auto server = std::make_shared<DumpServer>(OneNode("validation-required"));
  server->AddWatchLine(
      "/api/v1/nodes",
      R"({"type":"MODIFIED","object":{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1","uid":"u","resourceVersion":"101","labels":{"nvidia.com/gpu-driver-upgrade-state":"upgrade-done"}}}})");
  const Answer answer = RunIn({"status", "-w", "--kubeconfig", "any", "--at", kAt}, {.server = server});
  INFO(answer.err);
  CHECK(answer.exit_code == kExitDone);
  CHECK(answer.out.find("nvidia.com/gpu done: 1 of 1 done") != std::string::npos);
  CHECK(RunWith(StatusOfDump(TroublePath(), {"-w"})).exit_code == kExitUsage);
}

// Returns the view of the default driver's rollout on the server.
std::unique_ptr<LiveView> ViewOf(const std::shared_ptr<DumpServer>& server) {
  const auto driver = LoadDriver({});
  REQUIRE(driver.ok());
  return std::make_unique<LiveView>(server, driver->question.identity, driver->place, absl::Milliseconds(1));
}

void AwaitAll(LiveView& view) {
  while (!view.Complete()) REQUIRE(view.Await(absl::Seconds(10)).ok());
}

TEST_CASE("With --watch a change of only the ledger prints the status again") {
  const auto server = std::make_shared<DumpServer>(DumpOfRollout("as it was"));
  server->AddWatchLine(
      "/api/v1/namespaces/gpu-operator/configmaps",
      R"({"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"gpu-operator","name":"nvidia-gpu-driver-upgrade","uid":"c","resourceVersion":"101"},"data":{"_rollout_nvidia.com_gpu":"as it is"}}})");
  const auto view = ViewOf(server);
  std::string seen;
  std::vector<std::string> notes;
  while (seen.find("as it is") == std::string::npos) {
    REQUIRE(view->Await(absl::Seconds(10)).ok());
    seen = view->Read({}, absl::UnixEpoch(), notes).value();
  }
  CHECK(seen.find("as it was") == std::string::npos);
}

TEST_CASE("Without read access to the ledger, the remaining status is shown, and the missing access is reported") {
  const auto server = std::make_shared<DumpServer>(DumpOfRollout(""));
  server->Forbid("/api/v1/namespaces/gpu-operator/configmaps");
  const auto view = ViewOf(server);
  AwaitAll(*view);
  std::vector<std::string> notes;
  CHECK(view->Read({}, absl::UnixEpoch(), notes).value().find("canary-1") != std::string::npos);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "list /api/v1/namespaces/gpu-operator/configmaps: 403: not for you");
}

TEST_CASE("An unreachable server is reported for each watch, until the server is reachable") {
  const auto server = std::make_shared<DumpServer>(DumpOfRollout(""));
  server->CutOff("/");
  const auto view = ViewOf(server);
  REQUIRE(view->Await(absl::Seconds(10)).ok());
  CHECK_FALSE(view->Complete());
  const Texts troubles = view->Troubles();
  REQUIRE(troubles.size() == 5);
  CHECK(troubles[0].starts_with("watch v1 nodes: "));
  CHECK(troubles[0].find("connection refused") != std::string::npos);
  server->Restore();
  AwaitAll(*view);
  CHECK(view->Troubles().empty());
}

TEST_CASE("A failed list does not end --watch: the failure is reported, and the next list is shown") {
  const auto server = std::make_shared<DumpServer>(OneNode("upgrade-done"));
  server->CutOff("/apis/apps/v1/namespaces/gpu-operator/controllerrevisions", 1);
  const Answer answer = RunIn({"status", "-w", "--kubeconfig", "any", "--at", kAt}, {.server = server});
  CHECK(answer.exit_code == kExitDone);
  CHECK(answer.err ==
        "upgradectl: list /apis/apps/v1/namespaces/gpu-operator/controllerrevisions: connection refused; trying "
        "again\n");
  CHECK(answer.out.find("1 of 1 done") != std::string::npos);
}

TEST_CASE("With --watch a failed rollout ends with exit code 4 once no other node can proceed") {
  const auto ended = [](const std::string& state) {
    const auto server = std::make_shared<DumpServer>(OneNode(state));
    return RunIn({"status", "-w", "--kubeconfig", "any", "--at", kAt}, {.server = server}).exit_code;
  };
  CHECK(ended("upgrade-done") == kExitDone);
  CHECK(RunIn({"status", "-w", "--kubeconfig", "any", "--at", kAt},
              {.server = std::make_shared<DumpServer>(R"({"kind":"List","items":[]})")})
            .exit_code == kExitFailed);
  using driverupgrade::Gate;
  using driverupgrade::GateReason;
  using driverupgrade::UpgradeState;
  const auto has_ended = [](Phase phase, UpgradeState state, std::optional<GateReason> reason) {
    NodeStatus node{.name = "n1", .state = state};
    if (reason) node.gate = Gate{.reason = *reason, .detail = ""};
    const Gate of_failed{.reason = GateReason::kFailed, .detail = ""};
    const NodeStatus failed{.name = "n2", .state = UpgradeState::kFailed, .gate = of_failed};
    RolloutStatus status{.phase = phase, .nodes = {node}};
    if (phase == Phase::kFailed) status.nodes.push_back(failed);
    return HasEnded(status);
  };
  CHECK(has_ended(Phase::kFailed, UpgradeState::kDone, std::nullopt));
  CHECK(has_ended(Phase::kFailed, UpgradeState::kUpgradeRequired, GateReason::kHalted));
  CHECK(has_ended(Phase::kFailed, UpgradeState::kUpgradeRequired, GateReason::kMaxFailures));
  CHECK(has_ended(Phase::kFailed, UpgradeState::kUpgradeRequired,
                  GateReason::kMaxParallel));  // the failed node holds the slot
  CHECK_FALSE(has_ended(Phase::kFailed, UpgradeState::kUpgradeRequired, GateReason::kWindow));
  CHECK_FALSE(has_ended(Phase::kFailed, UpgradeState::kDrainRequired, std::nullopt));
  CHECK_FALSE(has_ended(Phase::kFailed, UpgradeState::kDrainRequired, GateReason::kPodsTerminating));
  CHECK_FALSE(has_ended(Phase::kUnderWay, UpgradeState::kUpgradeRequired, GateReason::kApproval));
}

TEST_CASE("Objects that are not watched are listed again after a change, every ten seconds at most") {
  const auto server = std::make_shared<DumpServer>(OneNode("drain-required"));
  const auto view = ViewOf(server);
  AwaitAll(*view);
  const Wanted wanted{.events = true, .budgets = true, .leases = true};
  const absl::Time begin = absl::UnixEpoch();
  // Returns the number of requests that a read sends `seconds` seconds after the first read.
  const auto requests = [&](int seconds) {
    const std::size_t before = server->paths().size();
    std::vector<std::string> notes;
    REQUIRE(view->Read(wanted, begin + absl::Seconds(seconds), notes).ok());
    CHECK(notes.size() <= 1);  // the only note is about the missing ClusterPolicy
    return server->paths().size() - before;
  };
  const auto change = [&](const std::string& version, const std::string& node = "n1") {
    REQUIRE(view->Await(absl::ZeroDuration()).ok());  // consumes earlier changes
    server->AddWatchLine(
        "/api/v1/nodes",
        fmt::format(
            R"({{"type":"MODIFIED","object":{{"kind":"Node","apiVersion":"v1","metadata":{{"name":"{}","uid":"u","resourceVersion":"{}","labels":{{"nvidia.com/gpu-driver-upgrade-state":"drain-required"}}}}}}}})",
            node, version));
    REQUIRE(view->Await(absl::Seconds(10)).ok());
  };
  // A read lists revisions, budgets, Leases, and Deployments, and reads the policy. It also lists the pods of each node
  // in progress.
  constexpr std::size_t kAll = 5;
  CHECK(requests(0) == kAll + 1);
  change("101");
  CHECK(requests(9) == 0);
  CHECK(requests(10) == kAll + 1);
  CHECK(requests(30) == 0);  // nothing has changed
  change("102", "n2");
  CHECK(requests(31) == kAll + 2);
  change("103", "n3");
  CHECK(requests(32) == 1);         // only the pods of a node that has started
  CHECK(requests(92) == kAll + 3);  // no watched object has changed, but a minute has passed
}

TEST_CASE("An age has at most two units") {
  CHECK(Age(absl::Seconds(-5)) == "0s");
  CHECK(Age(absl::Seconds(119)) == "119s");
  CHECK(Age(absl::Minutes(119)) == "119m");
  CHECK(Age(absl::Minutes(125)) == "2h05m");
  CHECK(Age(absl::Hours(50)) == "2d2h");
}

TEST_CASE("Only Events of this rollout count for its start time and for the durations of nodes (W37)") {
  // An earlier rollout upgraded the nodes that wait now.
  const auto entered = [](const std::string& node, const std::string& time, const std::string& state) {
    return fmt::format(
        R"({{"apiVersion":"v1","kind":"Event","metadata":{{"namespace":"default","name":"{0}.{1}"}},"involvedObject":{{"kind":"Node","name":"{0}"}},
"reason":"GPUDriverUpgrade","type":"Normal","count":1,"lastTimestamp":"2026-01-02T{1}Z","message":"Successfully updated node state label to {2}"}},)",
        node, time, state);
  };
  std::string events;
  for (const char* node : {"gpu-1", "gpu-2"}) {
    events += entered(node, "11:10:00", "cordon-required") + entered(node, "11:14:00", "upgrade-done");
  }
  for (const char* node : {"canary-1", "canary-2"}) {
    events += entered(node, "12:00:00", "cordon-required") + entered(node, "12:02:00", "upgrade-done");
  }
  const auto began = [&](const std::string& record) {
    std::string dump = DumpOfRollout(record);
    dump.insert(dump.find('[') + 1, events);
    const ScratchFile file(dump);
    json::Document document;
    document.Parse(RunWith(StatusOfDump(file.path(), {"-o", "json"})).out.c_str());
    REQUIRE(document.IsObject());
    return std::string(Text(document, {"began"}));
  };
  CHECK(began("") == "2026-01-02T12:00:00Z");
  CHECK(began(CanaryRecord(R"(,"began":1767350000)")) == "2026-01-02T10:33:20Z");
}

TEST_CASE("The last column of a table is shortened first, and then names are shortened in the middle (W28)") {
  const std::string first = "aks-gpunodepool-12345678-vmss-with-a-long-name-000001";
  const std::string second = "aks-gpunodepool-12345678-vmss-with-a-long-name-000002";
  const std::vector<TableRow> rows = {{{"NODE"}, {"WAITS FOR"}},
                                      {{first}, {"MaxParallel: maxParallelUpgrades: 1 of 1 slots are taken"}},
                                      {{second}, {"-"}}};
  const std::string wide = FormatRows(rows, {.columns = 80});
  CHECK(wide.find(first) != std::string::npos);
  CHECK(wide.find("MaxParallel: max") != std::string::npos);
  CHECK(WidestLine(wide) <= 80);
  const std::string narrow = FormatRows(rows, {.columns = 50});
  CHECK(WidestLine(narrow) <= 50);
  CHECK(narrow.find("aks-gpunodepool…") != std::string::npos);
  CHECK(narrow.find("name-000001  MaxParallel") != std::string::npos);
  CHECK(narrow.find("name-000002") != std::string::npos);
  CHECK(narrow.find("MaxParallel: ma…") != std::string::npos);
}

TEST_CASE("Shortened text is marked, and is cut between characters") {
  CHECK(CutMiddle("abcdef", 6) == "abcdef");
  CHECK(CutMiddle("abcdefgh", 5) == "ab…gh");
  CHECK(CutMiddle("äöüäöü", 4) == "ä…öü");
  CHECK(CutMiddle("abcdef", 1) == "…");
  CHECK(CutMiddle("abcdef", 0) == "abcdef");

  CHECK(CutTo("abcdef", 6) == "abcdef");
  CHECK(CutTo("abcdef", 4) == "abc…");
  CHECK(CutTo("äöüä", 3) == "äö…");
  CHECK(CutTo("abcdef", 0) == "abcdef");
}

}  // namespace
}  // namespace upgradectl
