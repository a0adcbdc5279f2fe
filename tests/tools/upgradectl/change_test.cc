// Tests the verbs that write: which changes they refuse, what they write, and when they require confirmation.
#include "upgradectl/change.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

using Texts = std::vector<std::string>;
using driverupgrade::HttpRequest;

const std::string kTrouble = (kTestData / "trouble.json").string();

std::shared_ptr<DumpServer> Trouble() { return std::make_shared<DumpServer>(ContentOf(kTrouble)); }

Answer Change(const Texts& arguments, const std::shared_ptr<DumpServer>& server, bool interactive = false,
              const std::string& typed = {}) {
  Texts all = arguments;
  all.insert(all.end(), {"--kubeconfig", "any"});
  return RunIn(all, {.standard_input = typed, .interactive = interactive, .server = server});
}

// Returns the only patch that the verb has sent.
std::string Written(const Texts& arguments) {
  const auto server = Trouble();
  Texts all = arguments;
  all.emplace_back("--yes");
  const Answer answer = Change(all, server);
  INFO(answer.err);
  CHECK(answer.exit_code == kExitDone);
  REQUIRE(server->writes().size() == 1);
  CHECK(server->writes()[0].content_type == "application/merge-patch+json");
  return server->writes()[0].path + " " + server->writes()[0].body;
}

TEST_CASE("Each verb sends one patch, which fails if the object has changed") {
  CHECK(
      Written({"skip", "waiting"}) ==
      R"(/api/v1/nodes/waiting {"metadata":{"uid":"uid-waiting","resourceVersion":"1","labels":{"nvidia.com/gpu-driver-upgrade.skip":"true"}}})");
  CHECK(
      Written({"unskip", "skipped"}) ==
      R"(/api/v1/nodes/skipped {"metadata":{"uid":"uid-skipped","resourceVersion":"1","labels":{"nvidia.com/gpu-driver-upgrade.skip":null}}})");
  CHECK(
      Written({"retry", "failed"}) ==
      R"(/api/v1/nodes/failed {"metadata":{"uid":"uid-failed","resourceVersion":"1","labels":{"nvidia.com/gpu-driver-upgrade-state":"upgrade-required"}}})");
  CHECK(
      Written({"request", "done-1"}) ==
      R"(/api/v1/nodes/done-1 {"metadata":{"uid":"uid-done-1","resourceVersion":"1","annotations":{"nvidia.com/gpu-driver-upgrade-requested":"true"}}})");
}

TEST_CASE("A pause patches the custom resource, and detects a schema that drops the field") {
  CHECK(
      Written({"pause"}) ==
      R"(/apis/nvidia.com/v1/clusterpolicies/cluster-policy {"metadata":{"uid":"uid-policy","resourceVersion":"77"},"spec":{"driver":{"upgradePolicy":{"paused":true}}}})");
  const auto server = Trouble();
  server->AnswerPatches(R"({"spec":{"driver":{"upgradePolicy":{"autoUpgrade":true}}}})");
  const Answer dropped = Change({"pause", "--yes"}, server);
  CHECK(dropped.exit_code == kExitUsage);
  CHECK(dropped.err.find("the server dropped `paused`") != std::string::npos);
}

// Approves a stage of the rollout on `server`.
Answer ApproveIn(const std::shared_ptr<DumpServer>& server, const std::string& stage) {
  return Change({"approve", stage, "--yes"}, server);
}

TEST_CASE("An approval is an annotation on the driver's DaemonSet, and replaces approvals of older revisions") {
  const auto server = std::make_shared<DumpServer>(DumpOfRollout("", "canary@old"));
  const Answer answer = ApproveIn(server, "canary");
  INFO(answer.err);
  REQUIRE(answer.exit_code == kExitDone);
  REQUIRE(server->writes().size() == 1);
  CHECK(server->writes()[0].path == "/apis/apps/v1/namespaces/gpu-operator/daemonsets/driver");
  CHECK(
      server->writes()[0].body ==
      R"({"metadata":{"uid":"ds","resourceVersion":"55","annotations":{"nvidia.com/gpu-driver-upgrade.approved":"canary@new"}}})");
}

TEST_CASE("Approval requires read access to the ledger, which may record a halt, and reports a missing record") {
  const auto server = std::make_shared<DumpServer>(DumpOfRollout(""));
  CHECK(ApproveIn(server, "canary")
            .out.starts_with("the record of the rollout: missing in the ledger gpu-operator/nvidia-gpu-driver-upgrade: "
                             "it is not known whether the rollout was halted before.\n"));
  const auto blind = std::make_shared<DumpServer>(DumpOfRollout(""));
  blind->Forbid("/api/v1/namespaces/gpu-operator/configmaps");
  const Answer answer = ApproveIn(blind, "canary");
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.err ==
        "upgradectl: list /api/v1/namespaces/gpu-operator/configmaps: 403: not for you: approve needs that "
        "information; nothing was written\n");
  CHECK(blind->writes().empty());
}

TEST_CASE(
    "Verbs read only the objects that they need, and a policy that the user may not read is not reported as missing") {
  const auto server = Trouble();
  server->Forbid("/apis/nvidia.com/v1/clusterpolicies");
  server->Forbid("/api/v1/namespaces/gpu-operator/configmaps");
  CHECK(Change({"skip", "waiting", "--yes"}, server).exit_code == kExitDone);
  const Answer refused = Change({"pause", "--yes"}, server);
  CHECK(refused.exit_code == kExitUsage);
  CHECK(refused.err.find("403: not for you: pause needs that information") != std::string::npos);
  const Texts paths = server->paths();
  CHECK(std::count(paths.begin(), paths.end(), "/api/v1/namespaces/gpu-operator/configmaps") == 0);
}

TEST_CASE(
    "An approval on any DaemonSet of the driver counts, and approvals from before a halt are withdrawn from all") {
  const std::string more =
      R"(,{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{"namespace":"gpu-operator","name":"driver-b","uid":"ds-b","resourceVersion":"66","labels":{"app":"nvidia-driver-daemonset"},
"annotations":{"nvidia.com/gpu-driver-upgrade.approved":"canary@new"}},"spec":{"updateStrategy":{"type":"OnDelete"}}},
{"kind":"ControllerRevision","apiVersion":"apps/v1","metadata":{"namespace":"gpu-operator","name":"driver-b-new","labels":{"app":"nvidia-driver-daemonset","controller-revision-hash":"new"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver-b","uid":"ds-b","controller":true}]},"revision":1,"data":{}}]})";
  const auto with_second = [&](std::string dump) { return dump.substr(0, dump.rfind("]}")) + more; };
  const std::string record = R"({"version":1,"revision":"new","stages":"other","stage":"","waived":[],"durations":{}})";
  const auto approved = std::make_shared<DumpServer>(with_second(DumpOfRollout(record)));
  CHECK(ApproveIn(approved, "canary").out == "canary@new is already approved\n");
  CHECK(approved->writes().empty());
  const auto halted = std::make_shared<DumpServer>(with_second(DumpOfRollout("no record", "x@y,canary@new")));
  const Answer answer = ApproveIn(halted, "canary");
  INFO(answer.err);
  const std::vector<HttpRequest> writes = halted->writes();
  REQUIRE(writes.size() == 2);
  CHECK(
      writes[0].body ==
      R"({"metadata":{"uid":"ds","resourceVersion":"55","annotations":{"nvidia.com/gpu-driver-upgrade.approved":"x@y"}}})");
  CHECK(
      writes[1].body ==
      R"({"metadata":{"uid":"ds-b","resourceVersion":"66","annotations":{"nvidia.com/gpu-driver-upgrade.approved":null}}})");
}

TEST_CASE("A stage is not approved if it is missing from the policy or already approved") {
  const auto server = std::make_shared<DumpServer>(DumpOfRollout("", ""));
  const Answer mistyped = ApproveIn(server, "cannary");
  CHECK(mistyped.exit_code == kExitUsage);
  CHECK(mistyped.err.find("cannary: the policy has no such stage") != std::string::npos);
  CHECK(server->writes().empty());
  const auto without_rollout = Trouble();
  CHECK(ApproveIn(without_rollout, "rest").exit_code == kExitUsage);
  CHECK(without_rollout->writes().empty());
  // The record is valid, because an unreadable record would halt the rollout.
  const std::string record = R"({"version":1,"revision":"new","stages":"other","stage":"","waived":[],"durations":{}})";
  const auto approved = std::make_shared<DumpServer>(DumpOfRollout(record, "canary@new"));
  const Answer again = ApproveIn(approved, "canary");
  CHECK(again.out == "canary@new is already approved\n");
  CHECK(approved->writes().empty());
}

TEST_CASE("W20: an approval is refused if the stage needs no approval, and an early approval is reported as early") {
  // The record is valid, because an unreadable record would halt the rollout.
  const std::string record = R"({"version":1,"revision":"new","stages":"other","stage":"","waived":[],"durations":{}})";
  const auto server = std::make_shared<DumpServer>(DumpOfRollout(record, ""));
  const Answer rest = ApproveIn(server, "rest");
  CHECK(rest.exit_code == kExitUsage);
  CHECK(rest.err.find("rest: is the last stage, and the rollout is not halted") != std::string::npos);
  std::string automatic = DumpOfRollout(record, "");
  automatic.replace(automatic.find("Manual"), 6, "Automatic");
  const auto without = std::make_shared<DumpServer>(automatic);
  const Answer answer = ApproveIn(without, "canary");
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.err.find("canary: has approval: Automatic") != std::string::npos);
  CHECK(without->writes().empty());
  CHECK(server->writes().empty());

  const Answer early = ApproveIn(server, "canary");
  CHECK(early.out.find("stage canary has not soaked yet; the approval takes effect after the soak") !=
        std::string::npos);
  CHECK(server->writes().size() == 1);
}

TEST_CASE("While a rollout is halted, only the halted stage can be approved, and other approvals stay") {
  const std::string record =
      R"({"version":1,"revision":"new","stages":"s","stage":"rest","halt":{"stage":"rest","reason":"sick","policy":"","seen":[]},"waived":[],"durations":{}})";
  const auto server = std::make_shared<DumpServer>(DumpOfRollout(record, "canary@new"));
  const Answer answer = ApproveIn(server, "canary");
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.err.find("halted in stage rest") != std::string::npos);
  CHECK(server->writes().empty());
}

TEST_CASE("An approval from before a halt does not lift it, and is withdrawn") {
  const auto server = std::make_shared<DumpServer>(DumpOfRollout("no record", "canary@new"));
  const Answer answer = ApproveIn(server, "canary");
  INFO(answer.err);
  CHECK(answer.out.find("approve again in a minute") != std::string::npos);
  REQUIRE(server->writes().size() == 1);
  CHECK(
      server->writes()[0].body ==
      R"({"metadata":{"uid":"ds","resourceVersion":"55","annotations":{"nvidia.com/gpu-driver-upgrade.approved":null}}})");
}

TEST_CASE("A change without an effect is reported, and not written") {
  for (const Texts& verb : {Texts{"resume"}, Texts{"skip", "skipped"}, Texts{"unskip", "waiting"},
                            Texts{"retry", "waiting"}, Texts{"release", "waiting"}}) {
    const auto server = Trouble();
    const Answer answer = Change(verb, server);
    CAPTURE(verb, answer.out, answer.err);
    CHECK(answer.exit_code == kExitDone);
    CHECK_FALSE(answer.out.empty());
    CHECK(server->writes().empty());
  }
}

TEST_CASE("A harmful change is refused for all named nodes") {
  const auto refused = [](const Texts& verb, const std::string& why) {
    const auto server = Trouble();
    Texts all = verb;
    all.emplace_back("--yes");
    const Answer answer = Change(all, server);
    CAPTURE(verb, answer.err);
    CHECK(answer.exit_code == kExitUsage);
    CHECK(answer.err.starts_with("upgradectl: " + why));
    CHECK(server->writes().empty());
  };
  refused({"skip", "waiting", "budget"},
          "budget: is in drain-required: the skip label has an effect only before admission");
  refused({"retry", "done-1"}, "done-1: has not failed");
  refused({"request", "waiting"}, "waiting: is already being upgraded");
  refused({"request", "failed"}, "failed: has failed: retry it");
  refused({"skip", "nobody"}, "nobody: there is no such node");
  refused({"pause", "--policy-resource", "x.org/v1/things/one:spec"},
          "things.x.org/one: there is no such custom resource");
}

// A node whose driver waits for a safe load.
std::string WaitsForLoad(bool cordoned, const std::string& pods = {}) {
  return fmt::format(
      R"({{"kind":"List","items":[{{"kind":"Node","metadata":{{"name":"n1","uid":"u","resourceVersion":"1",
"labels":{{"nvidia.com/gpu-driver-upgrade-state":"upgrade-failed"}},
"annotations":{{"nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load":"true"}}}},"spec":{{"unschedulable":{}}}}}{}]}})",
      cordoned, pods);
}

std::string PodOnNode(const std::string& resources) {
  return fmt::format(
      R"(,{{"kind":"Pod","metadata":{{"namespace":"lab","name":"web","uid":"p"}},"spec":{{"nodeName":"n1",
"containers":[{{"name":"c","resources":{}}}]}},"status":{{"phase":"Running"}}}})",
      resources);
}

TEST_CASE("A driver may load only on a node that is cordoned and has no pods that would use the driver") {
  const auto release = [](const std::string& dump, const Texts& more = {}) {
    const auto server = std::make_shared<DumpServer>(dump);
    Texts all = {"allow-load", "n1", "--yes"};
    all.insert(all.end(), more.begin(), more.end());
    const Answer answer = Change(all, server);
    return server->writes().empty() ? answer.err : server->writes()[0].body;
  };
  CHECK(
      release(WaitsForLoad(true)) ==
      R"({"metadata":{"uid":"u","resourceVersion":"1","annotations":{"nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load":null}}})");
  CHECK(release(WaitsForLoad(false)).find("n1: is not cordoned") != std::string::npos);
  const std::string web = PodOnNode("{}");
  CHECK(release(WaitsForLoad(true, web), {"--no-gpu-pods"}).find("n1: is not evacuated: lab/web") != std::string::npos);
  CHECK(release(WaitsForLoad(true, web)).find("metadata") != std::string::npos);
  const std::string trainer = PodOnNode(R"({"limits":{"nvidia.com/gpu":"1"}})");
  CHECK(release(WaitsForLoad(true, trainer)).find("lab/web") != std::string::npos);
  // The pod cannot release its ResourceClaim before the driver runs.
  const std::string ended =
      R"(,{"kind":"Pod","metadata":{"namespace":"lab","name":"web","uid":"p","deletionTimestamp":"2026-01-02T12:00:00Z"},
"spec":{"nodeName":"n1"},"status":{"phase":"Running","containerStatuses":[{"name":"c","state":{"terminated":{}}}]}})";
  CHECK(release(WaitsForLoad(true, ended), {"--no-gpu-pods"}).find("metadata") != std::string::npos);
}

TEST_CASE("A request starts a waiting node that is not Ready") {
  const auto request = [](const std::string& ready) {
    const auto server = std::make_shared<DumpServer>(fmt::format(
        R"({{"kind":"List","items":[{{"kind":"Node","metadata":{{"name":"n1","uid":"u","resourceVersion":"1",
"labels":{{"nvidia.com/gpu-driver-upgrade-state":"upgrade-required"}}}},
"status":{{"conditions":[{{"type":"Ready","status":"{}"}}]}}}}]}})",
        ready));
    const Answer answer = Change({"request", "n1", "--yes"}, server);
    CAPTURE(answer.err);
    return server->writes().size();
  };
  CHECK(request("False") == 1);
  CHECK(request("True") == 0);
}

TEST_CASE("Only interactive users are asked for confirmation, and --yes always confirms") {
  const auto server = Trouble();
  const Answer no = Change({"retry", "failed"}, server, true, "n\n");
  CHECK(no.exit_code == kExitDone);
  CHECK(no.out.find("Write this? [y/N] nothing was written\n") != std::string::npos);
  const Answer nobody = Change({"retry", "failed"}, server);
  CHECK(nobody.exit_code == kExitUsage);
  CHECK(nobody.err.starts_with("upgradectl: --yes: "));
  CHECK(server->writes().empty());
  const Answer yes = Change({"retry", "failed"}, server, true, "y\n");
  CHECK(yes.exit_code == kExitDone);
  CHECK(server->writes().size() == 1);
  CHECK(yes.out.find(
            "written: node failed: label nvidia.com/gpu-driver-upgrade-state: upgrade-failed -> upgrade-required") !=
        std::string::npos);
}

TEST_CASE("A dry run either sends the request to the server without writing, or sends no request") {
  const auto server = Trouble();
  const Answer on_server = Change({"retry", "failed", "--dry-run=server"}, server);
  CHECK(on_server.out.find("would be written: ") != std::string::npos);
  REQUIRE(server->writes().size() == 1);
  const std::vector<std::pair<std::string, std::string>> wanted = {{"fieldManager", "upgradectl"}, {"dryRun", "All"}};
  CHECK(server->writes()[0].query == wanted);
  const Answer here = RunWith({"retry", "failed", "--dry-run=client", "--cluster", kTrouble});
  CHECK(here.exit_code == kExitDone);
  CHECK(here.out.starts_with("node failed: label "));
  CHECK(RunWith({"retry", "failed", "--cluster", kTrouble}).exit_code == kExitUsage);
}

}  // namespace
}  // namespace upgradectl
