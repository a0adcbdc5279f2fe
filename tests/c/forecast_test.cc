// Tests that du_simulate and du_preflight return the same text as upgradectl for the same dump.
#include <string>
#include <vector>

#include "driverupgrade/c/driverupgrade.h"
#include "fmt/format.h"
#include "support/catch.h"
#include "upgradectl_support.h"

namespace {

using upgradectl::ContentOf;
using upgradectl::Fleet;
using upgradectl::RunWith;
using upgradectl::ScratchFile;
using Texts = std::vector<std::string>;

constexpr std::string_view kAt = "2026-01-02T12:05:00Z";
constexpr std::string_view kPolicy =
    R"({"autoUpgrade":true,"maxParallelUpgrades":2,"maxUnavailable":"100%","drain":{"enable":true,"timeoutSeconds":300}})";
constexpr std::string_view kSlow =
    R"({"autoUpgrade":true,"maxParallelUpgrades":1,"maxUnavailable":"100%","drain":{"enable":true,"timeoutSeconds":300}})";

struct Reply {
  du_code code = 0;
  std::string text = {};
};

using Function = du_code (*)(du_str request, du_str cluster, du_buf* out);

Reply Call(Function function, std::string_view request, std::string_view cluster) {
  du_buf out = {};
  Reply reply;
  reply.code = function({.data = request.data(), .size = request.size()},
                        {.data = cluster.data(), .size = cluster.size()}, &out);
  reply.text.assign(out.data, out.size);
  du_free(out.data);
  return reply;
}

// Returns a request for this driver in the dump. `more` contains further members.
std::string Request(std::string_view driver, std::string_view labels, std::string_view more) {
  return fmt::format(
      R"({{"identity":{{"domain":"nvidia.com","driver":"{}"}},"namespace":"gpu-operator","driverLabels":"{}","at":"{}",{}}})",
      driver, labels, kAt, more);
}
std::string OfFleet(std::string_view more) { return Request("ofed", "app=nvidia-driver-daemonset", more); }

// Returns upgradectl's output for the same driver. As in a request without usesDriverUids, no pod counts as using the
// driver.
std::string Upgradectl(Texts arguments, const std::string& driver, const std::string& labels, const std::string& dump) {
  const ScratchFile file(dump);
  for (const std::string& argument :
       {std::string("--driver"), driver, std::string("--namespace"), std::string("gpu-operator"),
        std::string("--driver-labels"), labels, std::string("--at"), std::string(kAt), std::string("--no-gpu-pods"),
        std::string("--validation-selector"), std::string(), std::string("--defaults"), std::string("gpu-operator"),
        std::string("--cluster"), file.path(), std::string("-o"), std::string("json")}) {
    arguments.push_back(argument);
  }
  const upgradectl::Answer answer = RunWith(arguments);
  INFO(answer.err);
  REQUIRE((answer.exit_code == upgradectl::kExitDone || answer.exit_code == upgradectl::kExitFailed));
  return answer.out;
}

// Returns a fleet with obstacles that keep nodes from completing: disruption budgets, a webhook, and a NotReady node.
std::string FleetWithTrouble() {
  return Fleet(6, R"(,
{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{"namespace":"shop","name":"web"},
"spec":{"selector":{"matchLabels":{"app":"web"}}},
"status":{"disruptionsAllowed":0,"currentHealthy":6,"desiredHealthy":6,"expectedPods":6}},
{"kind":"ValidatingWebhookConfiguration","metadata":{"name":"guard"},
"webhooks":[{"name":"evictions.guard.io","rules":[{"resources":["pods/eviction"],"operations":["CREATE"]}]}]},
{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{"namespace":"gpu-operator","name":"driver","uid":"ds","generation":2,
"labels":{"app":"nvidia-driver-daemonset"}},"spec":{"selector":{},"updateStrategy":{"type":"RollingUpdate"}},
"status":{"observedGeneration":1}},
{"kind":"Node","metadata":{"name":"n9","uid":"n9","labels":{"nvidia.com/ofed-driver-upgrade-state":"upgrade-failed"}},
"status":{"conditions":[{"type":"Ready","status":"False"}]}})");
}

TEST_CASE("du_simulate compares policies as upgradectl does") {
  const std::string cluster = Fleet(6);
  const ScratchFile fast(kPolicy);
  const ScratchFile slow(kSlow);
  const std::string policies = fmt::format(
      R"("policyDefaults":"gpu-operator","policies":[{{"name":"{}","policy":{}}},{{"name":"{}","policy":{}}}])",
      fast.path().substr(fast.path().rfind('/') + 1), kPolicy, slow.path().substr(slow.path().rfind('/') + 1), kSlow);
  const Texts tried = {"simulate", "--try", fast.path(), "--try", slow.path()};
  const Reply reply = Call(du_simulate, OfFleet(policies), cluster);
  CHECK(reply.code == 0);
  CHECK(reply.text == Upgradectl(tried, "ofed", "app=nvidia-driver-daemonset", cluster));
  CHECK(reply.text.find("\"done\": 6") != std::string::npos);

  Texts given = tried;
  given.insert(given.end(), {"--seeds", "2", "--jitter", "0", "--driver-start", "100s", "--driver-stop", "3s",
                             "--pod-start", "4s", "--pod-stop", "20s", "--validation", "30s"});
  CHECK(Call(du_simulate,
             OfFleet(policies + R"(,"seeds":2,"durations":{"jitterPercent":0,"driverStartSeconds":100,)" +
                     R"("driverStopSeconds":3,"podStartSeconds":4,"podStopSeconds":20,"validationSeconds":30})"),
             cluster)
            .text == Upgradectl(given, "ofed", "app=nvidia-driver-daemonset", cluster));
}

TEST_CASE("du_simulate and upgradectl report the same obstacles to a rollout") {
  const std::string cluster = FleetWithTrouble();
  const ScratchFile policy(kPolicy);
  const Reply reply =
      Call(du_simulate,
           OfFleet(fmt::format(R"("policyDefaults":"gpu-operator","policies":[{{"name":"{}","policy":{}}}])",
                               policy.path().substr(policy.path().rfind('/') + 1), kPolicy)),
           cluster);
  CHECK(reply.code == 0);
  CHECK(reply.text == Upgradectl({"simulate", "--try", policy.path()}, "ofed", "app=nvidia-driver-daemonset", cluster));
  CHECK(reply.text.find("disruption budget shop/web") != std::string::npos);
}

TEST_CASE("A policy without a name is reported under the name policy") {
  const Reply reply = Call(du_simulate, OfFleet(fmt::format(R"("policy":{},"seeds":1)", kPolicy)), Fleet(1));
  CHECK(reply.code == 0);
  CHECK(reply.text.find("\"policy\": \"policy\"") != std::string::npos);
}

TEST_CASE("du_simulate evicts the pods that use the driver if the request contains their UIDs") {
  const std::string more = R"("policy":{"autoUpgrade":true},"seeds":1)";
  CHECK(Call(du_simulate, OfFleet(more), Fleet(1)).text.find("\"evictions\": 0") != std::string::npos);
  CHECK(Call(du_simulate, OfFleet(more + R"(,"usesDriverUids":["w0"])"), Fleet(1)).text.find("\"evictions\": 1") !=
        std::string::npos);
}

// The driver pod runs the revision driver-1; driver-2 is the newest revision.
std::string WithNewRevision() {
  std::string cluster = Fleet(1, R"(,
{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{"namespace":"gpu-operator","name":"driver","uid":"ds","generation":2,
"labels":{"app":"nvidia-driver-daemonset"}},"spec":{"selector":{"matchLabels":{"app":"nvidia-driver-daemonset"}},
"updateStrategy":{"type":"OnDelete"}},"status":{"observedGeneration":2,"desiredNumberScheduled":1}})");
  cluster.resize(cluster.size() - std::string_view("]}").size());
  for (int number = 1; number <= 2; ++number) {
    cluster += fmt::format(R"(,
{{"kind":"ControllerRevision","apiVersion":"apps/v1","metadata":{{"namespace":"gpu-operator","name":"driver-{0}",
"labels":{{"app":"nvidia-driver-daemonset","controller-revision-hash":"{0}"}},
"ownerReferences":[{{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"ds","controller":true}}]}},
"revision":{0},"data":{{"spec":{{"template":{{"spec":{{"containers":[{{"name":"c","image":"driver:{0}"}}]}}}}}}}}}})",
                           number);
  }
  cluster += "]}";
  const std::string label = R"("labels":{"app":"nvidia-driver-daemonset"},
"ownerReferences")";
  const std::size_t pod = cluster.find(label);
  REQUIRE(pod != std::string::npos);
  return cluster.insert(pod + std::string_view(R"("labels":{)").size(), R"("controller-revision-hash":"1",)");
}

TEST_CASE("No evacuation is needed between revisions for which a restart is enough") {
  const std::string policy = R"("policy":{"autoUpgrade":true,"drain":{"enable":true}})";
  const std::string restart = policy + R"(,"restartOnly":[{"running":"driver-1","wanted":"driver-2"}])";
  const std::string cluster = WithNewRevision();
  const Reply drained = Call(du_simulate, OfFleet(policy + R"(,"seeds":1)"), cluster);
  CHECK(drained.text.find("\"evictions\": 1,") != std::string::npos);
  const Reply restarted = Call(du_simulate, OfFleet(restart + R"(,"seeds":1)"), cluster);
  CHECK(restarted.code == 0);
  CHECK(restarted.text.find("\"evictions\": 0,") != std::string::npos);
  CHECK(restarted.text.find("\"done\": 1,") != std::string::npos);
  CHECK(Call(du_preflight, OfFleet(restart), cluster).code == 0);
}

// If the fleet is up to date, the simulation makes up a next revision, which has no data.
TEST_CASE("A fleet that is up to date is upgraded in full to an unknown revision") {
  const std::string of_first = R"("controller-revision-hash":"1","app")";
  std::string cluster = WithNewRevision();
  const std::size_t pod = cluster.find(of_first);
  REQUIRE(pod != std::string::npos);
  cluster.replace(pod, of_first.size(), R"("controller-revision-hash":"2","app")");
  const Reply reply = Call(du_simulate,
                           OfFleet(R"("policy":{"autoUpgrade":true,"drain":{"enable":true}},"seeds":1,)"
                                   R"("restartOnly":[{"running":"driver-1","wanted":"driver-2"}])"),
                           cluster);
  CHECK(reply.code == 0);
  CHECK(reply.text.find("\"evictions\": 1,") != std::string::npos);
  CHECK(reply.text.find("\"done\": 1,") != std::string::npos);
}

TEST_CASE("A revision that restartOnly names must be in the dump with its data") {
  const auto message = [](std::string_view pair) {
    return Call(du_plan, OfFleet(fmt::format(R"("policy":{{}},"restartOnly":[{}])", pair)), WithNewRevision());
  };
  const Reply unknown = message(R"({"running":"driver-0","wanted":"driver-2"})");
  CHECK(unknown.code == 3);
  CHECK(unknown.text == "request.restartOnly[0].running: the cluster has no ControllerRevision gpu-operator/driver-0");
  CHECK(message(R"({"running":"driver-1"})").text == "request.restartOnly[0].wanted: is missing");
}

TEST_CASE("du_preflight finds the obstacles that upgradectl finds") {
  const ScratchFile policy(kPolicy);
  const std::string request = OfFleet(fmt::format(R"("policyDefaults":"gpu-operator","policy":{})", kPolicy));
  for (const std::string& cluster : {Fleet(3), FleetWithTrouble()}) {
    const Reply reply = Call(du_preflight, request, cluster);
    CHECK(reply.code == 0);
    CHECK(reply.text ==
          Upgradectl({"preflight", "--policy", policy.path()}, "ofed", "app=nvidia-driver-daemonset", cluster));
  }
  for (const std::string_view code : {"BudgetNeverAllows", "EvictionWebhook", "UpdateStrategy", "NodeFailed"}) {
    CAPTURE(code);
    CHECK(Call(du_preflight, request, FleetWithTrouble()).text.find(code) != std::string::npos);
  }
}

TEST_CASE("A-1: du_preflight and du_plan check the devices that the policy isolates") {
  const std::string isolated = R"({"autoUpgrade":true,"isolation":{"scope":"Devices"}})";
  const ScratchFile policy(isolated);
  const std::string request = OfFleet(fmt::format(R"("policyDefaults":"gpu-operator","policy":{})", isolated));
  const std::string unpublished = "no devices are published for the node";
  const Reply preflight = Call(du_preflight, request, Fleet(1));
  CHECK(preflight.text.find("n0000: " + unpublished) != std::string::npos);
  CHECK(preflight.text ==
        Upgradectl({"preflight", "--policy", policy.path()}, "ofed", "app=nvidia-driver-daemonset", Fleet(1)));
  const std::string fleet = ContentOf(upgradectl::kTestData / "fleet.json");
  CHECK(Call(du_plan, Request("gpu", "app=driver", fmt::format(R"("policy":{})", isolated)), fleet)
            .text.find(unpublished) != std::string::npos);
}

TEST_CASE("Simulation and preflight return the same text as upgradectl for dumps of whole clusters") {
  const std::string file = (upgradectl::kTestData / "policy.yaml").string();
  for (const char* name : {"fleet.json", "trouble.json"}) {
    CAPTURE(name);
    const std::string cluster = ContentOf(upgradectl::kTestData / name);
    const std::string policy =
        R"("policyDefaults":"gpu-operator","policy":{"autoUpgrade":true,"maxParallelUpgrades":6,)"
        R"("podDeletion":{"timeoutSeconds":600},"drain":{"enable":true,"timeoutSeconds":600}})";
    CHECK(Call(du_preflight, Request("gpu", "app=driver", policy), cluster).text ==
          Upgradectl({"preflight", "--policy", file}, "gpu", "app=driver", cluster));
    std::string simulated = Upgradectl({"simulate", "--try", file}, "gpu", "app=driver", cluster);
    const std::size_t at = simulated.find("\"policy.yaml\"");
    REQUIRE(at != std::string::npos);
    simulated.replace(at, std::string_view("\"policy.yaml\"").size(), "\"policy\"");
    CHECK(Call(du_simulate, Request("gpu", "app=driver", policy), cluster).text == simulated);
  }
}

// The Go module compares its output with the same files (go/pkg/whatif).
TEST_CASE("du_simulate and upgradectl report the same interruptions of jobs that restart as a whole") {
  const upgradectl::fs::path folder = upgradectl::fs::path(DRIVERUPGRADE_SOURCE_DIR) / "tests/field/training-jobs";
  const std::string cluster = ContentOf(folder / "dump.json");
  const std::string by_name = (folder / "by-name.yaml").string();
  const std::string gangs = (folder / "gangs.yaml").string();
  constexpr std::string_view kByName =
      R"({"autoUpgrade":true,"maxParallelUpgrades":0,"maxUnavailable":8,"drain":{"enable":true,"timeoutSeconds":600}})";
  constexpr std::string_view kGangs =
      R"({"autoUpgrade":true,"maxParallelUpgrades":0,"maxUnavailable":8,"drain":{"enable":true,"timeoutSeconds":600},)"
      R"("rollout":{"gangs":{"mode":"Together"}}})";
  const std::string policies = fmt::format(
      R"("policyDefaults":"gpu-operator","policies":[{{"name":"by-name.yaml","policy":{}}},{{"name":"gangs.yaml","policy":{}}}])",
      kByName, kGangs);
  const std::string simulated =
      Call(du_simulate, Request("gpu", "app=nvidia-driver-daemonset", policies), cluster).text;
  CHECK(simulated ==
        Upgradectl({"simulate", "--try", by_name, "--try", gangs}, "gpu", "app=nvidia-driver-daemonset", cluster));
  CHECK(simulated.find("\"gangInterruptions\": 5,") != std::string::npos);
  upgradectl::CheckGolden("jobs.simulated.json", simulated);
  // Devices are not simulated here, so a claim must not prevent the simulated restart of a pod.
  std::string claimed = cluster;
  const std::string spec = "\"spec\": {\n\"nodeName\"";
  for (std::size_t at = claimed.find(spec); at != std::string::npos; at = claimed.find(spec, at + spec.size())) {
    claimed.insert(at + std::string_view("\"spec\": {").size(),
                   R"("resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],)");
  }
  REQUIRE(claimed.size() > cluster.size());
  CHECK(Call(du_simulate, Request("gpu", "app=nvidia-driver-daemonset", policies), claimed).text == simulated);
  const std::string policy = fmt::format(R"("policyDefaults":"gpu-operator","policy":{})", kByName);
  const std::string obstacles = Call(du_preflight, Request("gpu", "app=nvidia-driver-daemonset", policy), cluster).text;
  CHECK(obstacles == Upgradectl({"preflight", "--policy", by_name}, "gpu", "app=nvidia-driver-daemonset", cluster));
  upgradectl::CheckGolden("jobs.preflight.json", obstacles);
}

// The Go module compares its output with the same files (go/pkg/whatif).
TEST_CASE("A-1: du_simulate compares policies that isolate nodes or devices as upgradectl does") {
  const std::string cluster = ContentOf(upgradectl::kTestData / "devices.json");
  const auto policy = [](std::string_view scope) {
    return fmt::format(
        R"({{"autoUpgrade":true,"maxUnavailable":"100%","drain":{{"enable":true}},"isolation":{{"scope":"{}"}}}})",
        scope);
  };
  const ScratchFile node(policy("Node"));
  const ScratchFile devices(policy("Devices"));
  const auto simulate = [&](std::string_view node_name, std::string_view devices_name) {
    const std::string policies = fmt::format(
        R"("policyDefaults":"gpu-operator","policies":[{{"name":"{}","policy":{}}},{{"name":"{}","policy":{}}}])",
        node_name, policy("Node"), devices_name, policy("Devices"));
    return Call(du_simulate, Request("gpu", "app=nvidia-driver-daemonset", policies), cluster).text;
  };
  const auto name_of = [](const ScratchFile& file) { return file.path().substr(file.path().rfind('/') + 1); };
  CHECK(simulate(name_of(node), name_of(devices)) ==
        Upgradectl({"simulate", "--try", node.path(), "--try", devices.path()}, "gpu", "app=nvidia-driver-daemonset",
                   cluster));
  const std::string simulated = simulate("node", "devices");
  CHECK(simulated.find("\"podsKept\": 3") != std::string::npos);
  upgradectl::CheckGolden("devices.simulated.json", simulated);
}

TEST_CASE("An error contains the path of the invalid member") {
  struct Case {
    Function function;
    std::string more;
    std::string_view error;
  };
  const std::string policy = fmt::format(R"("policy":{})", kPolicy);
  const std::vector<Case> cases = {
      {du_simulate, R"("seeds":1)", "request.policy: is missing"},
      {du_simulate, R"("policies":[])", "request.policies: must not be empty"},
      {du_simulate, policy + R"(,"policies":[])", "request.policies: must not be set if policy is"},
      {du_simulate, R"("policies":[{"name":"a","policy":{"colour":1}}])", "request.policies[0].policy: "},
      {du_simulate, R"("policies":[{"policy":{}}])", "request.policies[0].name: is missing"},
      {du_simulate, policy + R"(,"seeds":0)", "request.seeds: must be a whole number from 1 to 1000, got 0"},
      {du_simulate, policy + R"(,"durations":{"podStopSeconds":86400})",
       "request.durations.podStopSeconds: must be a whole number from 0 to 86399, got 86400"},
      {du_simulate, policy + R"(,"durations":{"podStop":1})", "request.durations: unknown member \"podStop\""},
      {du_simulate, policy + R"(,"durations":{"jitterPercent":91})", "request.durations.jitterPercent: "},
      {du_preflight, policy + R"(,"seeds":1)", "request: unknown member \"seeds\""},
      {du_preflight, R"("policies":[])", "request: unknown member \"policies\""},
  };
  for (const Case& one : cases) {
    CAPTURE(one.more);
    const Reply reply = Call(one.function, OfFleet(one.more), Fleet(1));
    CHECK(reply.code == 3);
    CHECK(reply.text.starts_with(one.error));
  }
  for (const Function function : {&du_simulate, &du_preflight}) {
    const Reply reply = Call(function, OfFleet(policy), "no list");
    CHECK(reply.code == 3);
    CHECK(reply.text.starts_with("cluster: "));
  }
}

}  // namespace
