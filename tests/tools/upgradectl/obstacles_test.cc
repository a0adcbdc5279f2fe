// Tests the reasons that `upgradectl simulate` reports if a rollout does not finish.
#include <string>
#include <vector>

#include "fmt/format.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

using Texts = std::vector<std::string>;

// Returns a disruption budget that requires `needed` web pods. `more` contains further members of its spec.
std::string Budget(const std::string& name, int needed = 9, const std::string& more = {}) {
  return fmt::format(
      R"(,{{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{{"namespace":"shop","name":"{}"}},
"spec":{{"selector":{{"matchLabels":{{"app":"web"}}}}{}}},
"status":{{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":{},"expectedPods":9}}}})",
      name, more, needed);
}

const std::string kDrains = "{autoUpgrade: true, maxParallelUpgrades: 1, drain: {enable: true, timeoutSeconds: 300}}";

Answer Simulate(const std::string& dump, const std::string& policy, const Texts& more = {}) {
  const ScratchFile dump_file(dump);
  const ScratchFile policy_file(policy);
  Texts arguments = {"simulate",         "--cluster",     dump_file.path(), "--policy",
                     policy_file.path(), "--no-gpu-pods", "--seeds",        "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunWith(arguments);
}

json::Document Parsed(const Answer& answer) {
  json::Document document;
  document.Parse(answer.out.c_str());
  INFO(answer.err);
  REQUIRE(document.IsArray());
  return document;
}

TEST_CASE("A simulation lists the unfinished nodes by cause, and exits with 4 (W33)") {
  const Answer answer = Simulate(Fleet(4, Budget("web")), kDrains, {"-o", "json"});
  CHECK(answer.exit_code == kExitFailed);
  const json::Document document = Parsed(answer);
  CHECK_FALSE(document[0]["finishes"].GetBool());
  CHECK(document[0]["makespanSecondsMedian"].IsNull());
  const auto obstacles = document[0]["obstacles"].GetArray();
  REQUIRE(obstacles.Size() == 2);
  CHECK(obstacles[0]["nodes"].GetInt() == 1);
  CHECK(obstacles[0]["failed"].GetBool());
  CHECK(Text(obstacles[0], {"gate"}) == "DisruptionBudget");
  CHECK(Text(obstacles[0], {"subject"}) == "disruption budget shop/web");
  CHECK(Text(obstacles[0], {"example"}) == "n0000");
  CHECK(obstacles[1]["nodes"].GetInt() == 3);
  CHECK_FALSE(obstacles[1]["failed"].GetBool());
  CHECK(Text(obstacles[1], {"gate"}) == "MaxParallel");
}

TEST_CASE("The table of a simulation names the disruption budget that makes nodes fail (W33)") {
  const std::string out = Simulate(Fleet(4, Budget("web")), kDrains).out;
  CHECK(out.find("does not finish in 2 of 2 simulations; 4 of 4 nodes are not done") != std::string::npos);
  CHECK(out.find("Failed, DisruptionBudget  disruption budget shop/web") != std::string::npos);
  CHECK(out.find("n0000: drain timed out after 300 s: shop/web-0") != std::string::npos);
}

TEST_CASE("If several budgets select a pod, a simulation names all of them (W33)") {
  const json::Document document = Parsed(Simulate(Fleet(1, Budget("a") + Budget("b")), kDrains, {"-o", "json"}));
  const json::Value& obstacle = document[0]["obstacles"][0];
  CHECK(Text(obstacle, {"gate"}) == "SeveralBudgets");
  CHECK(Text(obstacle, {"subject"}) == "disruption budgets shop/a and shop/b");
}

TEST_CASE("A simulation reports a node that waits indefinitely for a disruption budget (W33)") {
  const Answer answer = Simulate(Fleet(1, Budget("web")),
                                 "{autoUpgrade: true, drain: {enable: true, timeoutSeconds: 0}}", {"-o", "json"});
  CHECK(answer.exit_code == kExitFailed);
  const json::Document document = Parsed(answer);
  CHECK(document[0]["failed"].GetInt() == 0);
  CHECK(Text(document[0]["obstacles"][0], {"subject"}) == "disruption budget shop/web");
}

TEST_CASE("A rollout that leaves out a skipped node counts as finished (W33)") {
  const std::string skipped =
      R"(,{"kind":"Node","metadata":{"name":"s1","uid":"s1","resourceVersion":"1","labels":{"nvidia.com/gpu-driver-upgrade.skip":"true"}}},
{"kind":"Pod","metadata":{"namespace":"gpu-operator","name":"s","uid":"s","labels":{"app":"nvidia-driver-daemonset"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"ds","controller":true}]},
"spec":{"nodeName":"s1"},"status":{"phase":"Running","containerStatuses":[{"name":"c","ready":true}]}})";
  const Answer answer = Simulate(Fleet(2, skipped), kDrains);
  CHECK(answer.exit_code == kExitDone);
  CHECK(answer.out.find("does not finish") == std::string::npos);
  CHECK(answer.out.find("finishes without 1 of 3 nodes") != std::string::npos);
  CHECK(answer.out.find("SkipLabel") != std::string::npos);
}

TEST_CASE(
    "If a stage waits for an approval, the missing approval is reported as the cause, even outside the window (W37)") {
  const std::string policy =
      "{autoUpgrade: true, maxParallelUpgrades: 0, maxUnavailable: 100%, rollout: {windows: [{days: [Sat], start: "
      "'22:00', "
      "durationSeconds: 3600}], stages: [{name: canary, nodes: 1, approval: Manual}]}}";
  const Answer answer = Simulate(Fleet(3), policy, {"--at", "2026-01-03T20:00:00Z", "-o", "json"});
  CHECK(answer.exit_code == kExitFailed);
  const json::Document document = Parsed(answer);
  REQUIRE(document[0]["obstacles"].Size() == 1);
  CHECK(document[0]["obstacles"][0]["nodes"].GetInt() == 2);
  CHECK(Text(document[0]["obstacles"][0], {"gate"}) == "Approval");
}

TEST_CASE("A simulation without a driver exits with 4, as `status` does (W33)") {
  const Answer answer = Simulate(R"({"kind":"List","items":[]})", kDrains);
  CHECK(answer.exit_code == kExitFailed);
  CHECK(answer.err.find("no node has the driver") != std::string::npos);
}

TEST_CASE("A budget that always allows evictions of unhealthy pods also allows them in a simulation (W26)") {
  const auto exit_code = [](const std::string& more) {
    std::string fleet = Fleet(2, Budget("web", 1, more));
    // The web pods crash.
    const std::string ready = R"("ready":true)";
    for (std::size_t at = 0; (at = fleet.find(R"("name":"web-)", at)) != std::string::npos;) {
      at = fleet.find(ready, at);
      fleet.replace(at, ready.size(), R"("ready":false)");
    }
    return Simulate(fleet, kDrains).exit_code;
  };
  CHECK(exit_code(R"(,"unhealthyPodEvictionPolicy":"AlwaysAllow")") == kExitDone);
  CHECK(exit_code("") == kExitFailed);
}

TEST_CASE("A simulation evicts no pods if the new revision loads the same driver (W26)") {
  const auto revision = [](int number, const std::string& digest) {
    return fmt::format(
        R"(,{{"kind":"ControllerRevision","apiVersion":"apps/v1","revision":{0},"metadata":{{"namespace":"gpu-operator",
"name":"driver-{0}","labels":{{"controller-revision-hash":"h{0}"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"ds","controller":true}}]}},
"data":{{"spec":{{"template":{{"metadata":{{"labels":{{"chart":"{0}"}}}},"spec":{{"containers":[{{"name":"c","env":[{{"name":"DRIVER_CONFIG_DIGEST","value":"{1}"}}]}}]}}}}}}}}}})",
        number, digest);
  };
  const auto evictions = [&](const std::string& wanted) {
    std::string fleet = Fleet(2, revision(1, "same") + revision(2, wanted));
    const std::string label = R"("labels":{"app":"nvidia-driver-daemonset")";
    for (std::size_t at = 0; (at = fleet.find(label, at)) != std::string::npos; at += label.size()) {
      fleet.insert(at + label.size(), R"(,"controller-revision-hash":"h1")");
    }
    return Parsed(Simulate(fleet, kDrains, {"-o", "json"}))[0]["evictions"].GetInt();
  };
  CHECK(evictions("same") == 0);
  CHECK(evictions("other") > 0);
}

}  // namespace
}  // namespace upgradectl
