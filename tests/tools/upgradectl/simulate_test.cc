// Tests `upgradectl simulate`, which runs the engine on a copy of the user's cluster.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

using Texts = std::vector<std::string>;

// The fleet's pods request no GPU. By default, upgradectl evicts only pods that request a GPU; with this option, the
// drain evicts all pods.
const Texts kDrained = {"--no-gpu-pods"};

json::Document Simulated(const std::string& fleet, const Texts& policies, const Texts& more = {},
                         const Texts& pods = kDrained, int exit_code = kExitDone) {
  const ScratchFile dump(fleet);
  Texts arguments = {"simulate", "--cluster", dump.path(), "-o", "json"};
  arguments.insert(arguments.end(), pods.begin(), pods.end());
  for (const std::string& policy : policies) arguments.insert(arguments.end(), {"--try", policy});
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Answer answer = RunWith(arguments);
  INFO(answer.err);
  REQUIRE(answer.exit_code == exit_code);
  json::Document document;
  document.Parse(answer.out.c_str());
  REQUIRE(document.IsArray());
  return document;
}

TEST_CASE("Two policies are compared, and a rollout takes longer if fewer nodes start at a time") {
  const ScratchFile slow("{autoUpgrade: true, maxParallelUpgrades: 1, maxUnavailable: 100%, drain: {enable: true}}");
  const ScratchFile fast("{autoUpgrade: true, maxParallelUpgrades: 4, maxUnavailable: 100%, drain: {enable: true}}");
  const json::Document answer =
      Simulated(Fleet(8), {slow.path(), fast.path()}, {"--jitter", "0", "--driver-start", "100s", "--pod-stop", "20s"});
  REQUIRE(answer.Size() == 2);
  for (const json::Value& policy : answer.GetArray()) {
    CHECK(policy["done"].GetInt() == 8);
    CHECK(policy["failed"].GetInt() == 0);
    CHECK(policy["blocked"].ObjectEmpty());
    CHECK(policy["evictions"].GetInt() >= 8);
  }
  // The first policy upgrades the eight nodes one at a time, the second policy in two rounds of four nodes. The time
  // for a node is the sum of its evacuation time and its driver's start time.
  CHECK(answer[0]["makespanSecondsMedian"].GetInt() >= 8 * 120);
  CHECK(answer[0]["makespanSecondsMedian"].GetInt() < 8 * 150);
  CHECK(answer[1]["makespanSecondsMedian"].GetInt() >= 2 * 120);
  CHECK(answer[1]["makespanSecondsMedian"].GetInt() < 2 * 150);
  CHECK(answer[0]["unavailablePeak"].GetInt() == 1);
  CHECK(answer[1]["unavailablePeak"].GetInt() == 4);
  // Each node has one web pod, and later also pods that have moved there from other nodes.
  CHECK(answer[0]["podsUnavailablePeak"].GetInt() >= 1);
  CHECK(answer[1]["podsUnavailablePeak"].GetInt() >= 4);
  CHECK(answer[1]["podsUnavailablePeak"].GetInt() <= 8);
}

TEST_CASE("With the default policy of the GPU operator, only pods that request a GPU are evicted") {
  const std::string trainer =
      R"(,{"kind":"Pod","metadata":{"namespace":"lab","name":"trainer","uid":"t","labels":{"app":"trainer"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"trainer","uid":"rs2","controller":true}]},
"spec":{"nodeName":"n0000","containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]},
"status":{"phase":"Running","containerStatuses":[{"name":"c","ready":true}]}})";
  const ScratchFile policy("autoUpgrade: true");
  const auto evictions = [&](const Texts& pods) {
    return Simulated(Fleet(1, trainer), {policy.path()}, {"--seeds", "1"}, pods)[0]["evictions"].GetInt();
  };
  CHECK(evictions({}) == 1);
  CHECK(evictions(kDrained) == 0);
}

// Returns a policy that upgrades and drains one node at a time, with this isolation scope.
ScratchFile WithScope(const std::string& scope) {
  return ScratchFile(
      "{autoUpgrade: true, maxParallelUpgrades: 1, maxUnavailable: 100%, drain: {enable: true}, isolation: {scope: " +
      scope + "}}");
}

TEST_CASE("A-1: policies that isolate nodes or devices are compared with the same devices") {
  const ScratchFile node = WithScope("Node");
  const ScratchFile devices = WithScope("Devices");
  const ScratchFile either = WithScope("Auto");
  const json::Document answer = Simulated(FleetWithDevices(3, 4, 4), {node.path(), devices.path(), either.path()});
  for (const json::Value& policy : answer.GetArray()) {
    CHECK(policy["finishes"].GetBool());
    CHECK(policy["done"].GetInt() == 3);
  }
  // A pod without a device moves to a node that is upgraded later, and is then evicted again.
  CHECK(answer[0]["nodesCordoned"].GetInt() == 3);
  CHECK(answer[0]["unavailablePeak"].GetInt() == 1);
  CHECK(answer[0]["podsEvicted"].GetInt() > 3 + 3);
  CHECK(answer[0]["podsKept"].GetInt() == 0);
  for (int i = 1; i <= 2; ++i) {
    CHECK(answer[i]["nodesCordoned"].GetInt() == 0);
    CHECK(answer[i]["unavailablePeak"].GetInt() == 0);
    CHECK(answer[i]["podsUnavailablePeak"].GetInt() == 1);
    CHECK(answer[i]["podsEvicted"].GetInt() == 3);
    CHECK(answer[i]["podsKept"].GetInt() == 3);
    // The taint needs time to take effect, and the devices must be published again.
    CHECK(answer[i]["makespanSecondsMedian"].GetInt() > answer[0]["makespanSecondsMedian"].GetInt() + 3 * 10);
  }
}

TEST_CASE("Devices are simulated only if one of the policies isolates devices") {
  const std::string fleet = FleetWithDevices(3, 4, 4);
  const ScratchFile node = WithScope("Node");
  const ScratchFile devices = WithScope("Devices");
  const json::Document alone = Simulated(fleet, {node.path()});
  CHECK_FALSE(alone[0].HasMember("podsKept"));
  const ScratchFile dump(fleet);
  const Texts arguments = {"simulate", "--cluster", dump.path(), "--no-gpu-pods", "--try", node.path()};
  Texts both = arguments;
  both.insert(both.end(), {"--try", devices.path()});
  CHECK(RunWith(arguments).out.find("pods evicted, kept") == std::string::npos);
  const Answer table = RunWith(both);
  CHECK(table.out.find("\nnodes cordoned       3") != std::string::npos);
  CHECK(table.out.find("\npods evicted, kept") != std::string::npos);
  CHECK(table.out == RunWith(both).out);
}

TEST_CASE("Without published devices, Auto cordons each node, and Devices blocks each node") {
  const ScratchFile devices = WithScope("Devices");
  const ScratchFile either = WithScope("Auto");
  const json::Document answer = Simulated(Fleet(3), {devices.path(), either.path()}, {}, kDrained, kExitFailed);
  CHECK(answer[0]["done"].GetInt() == 0);
  CHECK(answer[0]["nodesCordoned"].GetInt() == 0);
  CHECK(Text(answer[0]["obstacles"][0], {"gate"}) == "DevicesUnfit");
  CHECK(answer[1]["done"].GetInt() == 3);
  CHECK(answer[1]["nodesCordoned"].GetInt() == 3);
  // The isolation scope is Auto, so the policy still evicts only pods that use the driver, although it cordons the
  // nodes.
  CHECK(answer[1]["podsKept"].GetInt() == 3);
}

TEST_CASE("A node whose devices are isolated in the dump starts with its devices, like all other nodes") {
  const ScratchFile devices = WithScope("Devices");
  std::string fleet = FleetWithDevices(3, 4, 4);
  const std::string slice = Slice(1, 4);
  fleet.erase(fleet.find(slice), slice.size());
  CHECK(Simulated(fleet, {devices.path()}, {}, kDrained, kExitFailed)[0]["done"].GetInt() == 2);
  const std::string node = R"("name":"n0001","uid":"n1")";
  fleet.replace(fleet.find(node), node.size(),
                node + R"(,"annotations":{"nvidia.com/gpu-driver-upgrade.isolated-devices":"4"})");
  const json::Document answer = Simulated(fleet, {devices.path()});
  CHECK(answer[0]["done"].GetInt() == 3);
  CHECK(answer[0]["podsEvicted"].GetInt() == 3);
}

TEST_CASE("Pods with claims are evicted even if the dump has no devices, and restart on any node") {
  const ScratchFile either = WithScope("Auto");
  std::string more;
  for (int i = 0; i < 3; ++i) more += PodWithClaim(fmt::format("train-{}", i), i, 4, kTrainSet);
  const json::Document answer = Simulated(Fleet(3, more), {either.path()}, {"--pod-start", "1s", "--seeds", "1"});
  CHECK(answer[0]["nodesCordoned"].GetInt() == 3);
  CHECK(answer[0]["podsKept"].GetInt() == 3);
  CHECK(answer[0]["podsEvicted"].GetInt() > 3);
}

TEST_CASE("With Auto, a node is cordoned if its devices cannot be tainted separately") {
  const ScratchFile either = WithScope("Auto");
  const auto cordoned = [&](std::string fleet, const std::string& from, const std::string& to) {
    fleet.replace(fleet.find(from), from.size(), to);
    return Simulated(fleet, {either.path()}, {"--seeds", "1"})[0]["nodesCordoned"].GetInt();
  };
  const std::string fleet = FleetWithDevices(3, 4, 2);
  CHECK(cordoned(fleet, "", "") == 0);
  CHECK(cordoned(fleet, R"("pool":{"name":"n0001")", R"("pool":{"name":"rack")") == 1);
  CHECK(cordoned(fleet, R"("driver":"gpu.nvidia.com","nodeName":"n0001")",
                 R"("driver":"dra.net","nodeName":"n0001")") == 1);
  CHECK(cordoned(fleet, R"("kind":"Pod","name":"train-1","uid":"train-1","controller":true)",
                 R"("kind":"Job","name":"train-1","uid":"j","controller":true)") == 1);
  CHECK(cordoned(
            fleet, R"("name":"n0001","uid":"n1","resourceVersion":"1"}})",
            R"("name":"n0001","uid":"n1","resourceVersion":"1"},"status":{"allocatable":{"nvidia.com/gpu":"4"}}})") ==
        1);
}

TEST_CASE("Replacements of evicted pods claim the same number of devices, and wait until enough devices are free") {
  const ScratchFile devices = WithScope("Devices");
  const auto simulated = [&](int claimed, const char* member) {
    return Simulated(FleetWithDevices(2, 4, claimed), {devices.path()},
                     {"--jitter", "0", "--pod-start", "1s", "--seeds", "1"})[0][member]
        .GetInt();
  };
  // If the pod claims two devices, it moves to the second node, where two pods are evicted next.
  CHECK(simulated(2, "podsEvicted") == 1 + 2);
  CHECK(simulated(3, "podsEvicted") == 1 + 1);
  // If the pod claims three devices, it cannot start on the other node, and waits for the new driver.
  CHECK(simulated(2, "podsUnavailablePeak") == 2);
  CHECK(simulated(3, "podsUnavailablePeak") == 1);
}

TEST_CASE("A job that runs on several nodes restarts with its claims when its devices are published again") {
  const std::string job = R"("apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"llm")";
  const std::string labels = R"({"jobset.sigs.k8s.io/jobset-name":"llm"})";
  std::string more;
  for (int i = 0; i < 4; ++i) more += Slice(i, 8);
  for (int i = 0; i < 4; ++i) more += PodWithClaim(fmt::format("llm-{}", i), i, 8, job, labels);
  const std::string fleet = Fleet(4, more);
  const std::string policy = "autoUpgrade: true, maxParallelUpgrades: 0, maxUnavailable: 100%, isolation: ";
  const ScratchFile devices("{" + policy + "{scope: Devices}, rollout: {gangs: {mode: Together}}}");
  const ScratchFile by_name("{autoUpgrade: true, maxParallelUpgrades: 1, isolation: {scope: Devices}}");
  const json::Document answer = Simulated(fleet, {devices.path(), by_name.path()}, {"--seeds", "2"});
  for (const json::Value& one : answer.GetArray()) {
    CHECK(one["done"].GetInt() == 4);
    CHECK(one["gangs"].GetInt() == 1);
    CHECK(one["nodesCordoned"].GetInt() == 0);
    CHECK(one["podsKept"].GetInt() >= 4);
  }
  CHECK(answer[0]["gangInterruptions"].GetInt() == 1);
  CHECK(answer[1]["gangInterruptions"].GetInt() == 4);
}

TEST_CASE("Devices of a live cluster are read if one of the policies to compare isolates them") {
  const auto server = std::make_shared<DumpServer>(FleetWithDevices(2, 4, 4));
  const ScratchFile node = WithScope("Node");
  const ScratchFile devices = WithScope("Devices");
  Texts arguments = {"simulate", "--kubeconfig", "any", "--seeds", "1", "-o", "json", "--try", node.path()};
  const std::string slices = "/apis/resource.k8s.io/v1/resourceslices";
  const auto reads_slices = [&] {
    const Texts paths = server->paths();
    return std::find(paths.begin(), paths.end(), slices) != paths.end();
  };
  CHECK(RunIn(arguments, {.server = server}).exit_code == kExitDone);
  CHECK_FALSE(reads_slices());
  arguments.insert(arguments.end(), {"--try", devices.path()});
  const Answer answer = RunIn(arguments, {.server = server});
  CHECK(answer.exit_code == kExitDone);
  CHECK(reads_slices());
  CHECK(answer.out.find("\"podsKept\": 2") != std::string::npos);
}

TEST_CASE("A simulation without permission to read disruption budgets reports that they were not read") {
  const auto server = std::make_shared<DumpServer>(Fleet(1));
  server->Forbid("/apis/policy/v1");
  const ScratchFile policy("autoUpgrade: true");
  const Answer answer =
      RunIn({"simulate", "--kubeconfig", "any", "--policy", policy.path(), "--seeds", "1"}, {.server = server});
  CHECK(answer.exit_code == kExitDone);
  CHECK(answer.err.find("not read: list /apis/policy/v1/poddisruptionbudgets: 403: not for you\n") !=
        std::string::npos);
}

TEST_CASE("A budget that never allows an eviction also makes nodes fail in the simulation") {
  const std::string budget =
      R"(,{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{"namespace":"shop","name":"web"},
"spec":{"selector":{"matchLabels":{"app":"web"}}},"status":{"disruptionsAllowed":0,"currentHealthy":3,"desiredHealthy":3,"expectedPods":3}})";
  const ScratchFile policy("{autoUpgrade: true, drain: {enable: true, timeoutSeconds: 300}}");
  const json::Document answer = Simulated(Fleet(3, budget), {policy.path()}, {"--seeds", "1"}, kDrained, kExitFailed);
  CHECK(answer[0]["done"].GetInt() == 0);
  CHECK(answer[0]["failed"].GetInt() == 1);  // the failed node holds the only slot
  REQUIRE(answer[0]["blocked"].MemberCount() == 3);
  // The drain fails after the drain timeout of five minutes.
  const json::Value& failed = answer[0]["blocked"]["n0000"];
  CHECK(Text(failed, {"why"}).starts_with("Failed"));
  CHECK(failed["sinceSeconds"].GetInt() >= 300);
  CHECK(answer[0]["blocked"]["n0001"]["sinceSeconds"].GetInt() < 10);
}

TEST_CASE("The peak of unavailable pods matches the evacuated nodes, and stays within the disruption budget") {
  const ScratchFile policy("{autoUpgrade: true, maxParallelUpgrades: 4, maxUnavailable: 100%, drain: {enable: true}}");
  const auto peak = [&](const std::string& more) {
    return Simulated(Fleet(4, more), {policy.path()},
                     {"--jitter", "0", "--driver-start", "100s", "--pod-stop", "20s", "--seeds",
                      "1"})[0]["podsUnavailablePeak"]
        .GetInt();
  };
  CHECK(peak("") == 4);
  CHECK(peak(
            R"(,{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{"namespace":"shop","name":"web"},
"spec":{"selector":{"matchLabels":{"app":"web"}}},"status":{"disruptionsAllowed":1,"currentHealthy":4,"desiredHealthy":3,"expectedPods":4}})") ==
        1);
}

TEST_CASE("The reported API requests are the writes, the initial lists of watches, and the lists of pods") {
  const ScratchFile policy("{autoUpgrade: true, maxParallelUpgrades: 1, maxUnavailable: 100%, drain: {enable: true}}");
  const json::Document answer = Simulated(Fleet(8), {policy.path()}, {"--seeds", "1"});
  const int writes = answer[0]["writes"].GetInt();
  const int requests = answer[0]["requests"].GetInt();
  CHECK(requests >= writes + 4 + 8);
  CHECK(requests <= writes + 4 + 3 * 8);
}

TEST_CASE("All nodes are checked only when the rollout may have ended, regardless of the number of passes") {
  const ScratchFile policy("{autoUpgrade: true, maxParallelUpgrades: 10, maxUnavailable: 100%, drain: {enable: true}}");
  const json::Document answer = Simulated(Fleet(200), {policy.path()}, {"--seeds", "1"});
  CHECK(answer[0]["done"].GetInt() == 200);
  CHECK(answer[0]["passes"].GetInt() > 100);
  CHECK(answer[0]["wholePlans"].GetInt() <= 2);
}

// Simulates one rollout of four nodes. All nodes start at the same time if the policy's rollout allows it. Each node
// takes slightly more than 120 s.
json::Document Staged(const std::string& rollout, const Texts& more = {}, int exit_code = kExitDone) {
  const ScratchFile policy("{autoUpgrade: true, maxParallelUpgrades: 0, maxUnavailable: 100%, drain: {enable: true}, " +
                           ("rollout: " + rollout) + "}");
  Texts arguments = {"--jitter", "0", "--driver-start", "100s", "--pod-stop", "20s", "--seeds", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return Simulated(Fleet(4), {policy.path()}, arguments, kDrained, exit_code);
}

TEST_CASE("The stages of a simulation run in sequence, and the soak between them counts towards the duration") {
  const json::Document answer = Staged("{stages: [{name: canary, nodes: 1, soakSeconds: 3600}]}");
  CHECK(answer[0]["done"].GetInt() == 4);
  CHECK(answer[0]["unavailablePeak"].GetInt() == 3);
  CHECK(answer[0]["makespanSecondsMedian"].GetInt() >= 3600 + 2 * 120);
  CHECK(answer[0]["makespanSecondsMedian"].GetInt() < 3600 + 2 * 150);
}

TEST_CASE("A simulation starts at --at, and waits for the window of the rollout") {
  const std::string rollout = R"({windows: [{days: [Sat], start: "22:00", durationSeconds: 3600}]})";
  // 2026-01-03 is a Saturday.
  const json::Document answer = Staged(rollout, {"--at", "2026-01-03T20:00:00Z"});
  CHECK(answer[0]["done"].GetInt() == 4);
  CHECK(answer[0]["makespanSecondsMedian"].GetInt() >= 2 * 3600);
  CHECK(answer[0]["makespanSecondsMedian"].GetInt() < 2 * 3600 + 150);
}

TEST_CASE("A stage that needs an approval blocks a simulation, because no administrator approves it there") {
  const json::Document answer = Staged("{stages: [{name: canary, nodes: 1, approval: Manual}]}", {}, kExitFailed);
  CHECK(answer[0]["done"].GetInt() == 1);
  REQUIRE(answer[0]["blocked"].MemberCount() == 3);
  const std::string why = Text(answer[0]["blocked"].MemberBegin()->value, {"why"});
  CHECK(why.find("Approval: stage canary waits for the approval") != std::string::npos);
}

TEST_CASE("The same seeds yield the same rollouts, and the table has a column for each policy") {
  const ScratchFile dump(Fleet(5));
  const ScratchFile policy("{autoUpgrade: true, drain: {enable: true}}");
  const Texts arguments = {"simulate", "--cluster", dump.path(), "--try", policy.path(), "--try", policy.path()};
  const Answer first = RunWith(arguments);
  CHECK(first.exit_code == kExitDone);
  CHECK(first.out.find("takes, 90 %") != std::string::npos);
  CHECK(first.out.find(" 1 nodes, ") != std::string::npos);
  CHECK(first.out == RunWith(arguments).out);
}

// Returns pods of one kind that were created at noon and became ready the given numbers of seconds later.
std::string StartedPods(const std::string& ns, const std::string& app, const std::string& owner, const Texts& seconds) {
  std::string items;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    items += fmt::format(R"(,
{{"kind":"Pod","metadata":{{"namespace":"{0}","name":"{1}-m{2}","uid":"{1}-m{2}","labels":{{"app":"{1}"}},"creationTimestamp":"2026-01-02T12:00:00Z",
"ownerReferences":[{{"apiVersion":"apps/v1","kind":"{3}","name":"driver","uid":"ds","controller":true}}]}},
"spec":{{"nodeName":"n{2:04}"}},"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":true}}],
"conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"2026-01-02T12:00:{4}Z"}}]}}}})",
                         ns, app, i, owner, seconds[i]);
  }
  return items;
}

TEST_CASE("Times that are not set are taken from the start times of the cluster's pods") {
  const ScratchFile dump(
      Fleet(4, StartedPods("gpu-operator", "nvidia-driver-daemonset", "DaemonSet", {"07", "31", "59"}) +
                   StartedPods("shop", "web", "ReplicaSet", {"11", "12", "13", "14"})));
  const ScratchFile policy("autoUpgrade: true");
  const auto told = [&](const Texts& more) {
    Texts arguments = {"simulate", "--cluster", dump.path(), "--policy", policy.path(), "--seeds", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunWith(arguments).err;
  };
  CHECK(told({}) == "--driver-start 31s: the median of 3 pods\n--pod-start 13s: the median of 4 pods\n");
  CHECK(told({"--driver-start", "5s", "--pod-start", "1s"}).empty());
}

// Returns Events about a node that entered states at the given minutes and seconds after noon.
std::string Entered(const std::string& node, const std::vector<std::pair<std::string, std::string>>& states) {
  std::string items;
  for (const auto& [time, state] : states) {
    items += fmt::format(R"(,
{{"apiVersion":"v1","kind":"Event","metadata":{{"namespace":"default","name":"{0}.{1}"}},"involvedObject":{{"kind":"Node","name":"{0}"}},
"reason":"GPUDriverUpgrade","type":"Normal","count":1,"lastTimestamp":"2026-01-02T12:{1}Z",
"message":"Successfully updated node state label to {2}"}})",
                         node, time, state);
  }
  return items;
}

TEST_CASE("The durations of evacuations and validations are taken from the Events of an upgrade") {
  std::string events;
  const Texts drained = {"10:20", "10:30", "10:40", "15:00"};  // a budget delayed the last evacuation
  for (std::size_t i = 0; i < drained.size(); ++i) {
    events += Entered(fmt::format("n{:04}", i), {{"09:55", "pod-deletion-required"},
                                                 {"10:00", "drain-required"},
                                                 {drained[i], "pod-restart-required"},
                                                 {"20:00", "validation-required"},
                                                 {"20:45", "upgrade-done"}});
  }
  const ScratchFile dump(Fleet(4, events));
  const ScratchFile policy("autoUpgrade: true");
  const Answer answer = RunWith({"simulate", "--cluster", dump.path(), "--policy", policy.path(), "--seeds", "1"});
  CHECK(answer.err ==
        "--pod-stop 30s: the lower quartile of 4 evacuations\n--validation 45s: the median of 4 validations\n");
}

TEST_CASE("The stop time of driver pods is taken from Events and from the creation times of the new pods") {
  std::string events;
  for (int i = 0; i < 3; ++i) {
    // The driver pods were created at noon, and became ready seconds later.
    for (const auto& [time, state] : {std::pair("11:59:53", "pod-restart-required"), {"12:01:00", "upgrade-done"}}) {
      events += fmt::format(R"(,
{{"apiVersion":"v1","kind":"Event","metadata":{{"namespace":"default","name":"n{0:04}.{1}"}},"involvedObject":{{"kind":"Node","name":"n{0:04}"}},
"reason":"GPUDriverUpgrade","type":"Normal","count":1,"lastTimestamp":"2026-01-02T{1}Z",
"message":"Successfully updated node state label to {2}"}})",
                            i, time, state);
    }
  }
  const ScratchFile dump(
      Fleet(4, StartedPods("gpu-operator", "nvidia-driver-daemonset", "DaemonSet", {"31", "31", "31"}) + events));
  const ScratchFile policy("autoUpgrade: true");
  const auto told = [&](const Texts& more) {
    Texts arguments = {"simulate", "--cluster", dump.path(), "--policy", policy.path(), "--seeds", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunWith(arguments).err;
  };
  CHECK(told({}) == "--driver-start 31s: the median of 3 pods\n--driver-stop 7s: the median of 3 driver pods\n");
  CHECK(told({"--driver-stop", "1s"}) == "--driver-start 31s: the median of 3 pods\n");
}

TEST_CASE("Nodes with the driver's label but without a driver pod are reported, because they are left out") {
  const std::string without =
      R"(,{"kind":"Node","metadata":{"name":"bare","uid":"bare","resourceVersion":"1",
"labels":{"nvidia.com/gpu-driver-upgrade-state":"upgrade-done"}}})";
  const ScratchFile dump(Fleet(2, without));
  const ScratchFile policy("autoUpgrade: true");
  const Answer answer = RunWith({"simulate", "--cluster", dump.path(), "--policy", policy.path(), "--seeds", "1"});
  CHECK(answer.err ==
        "left out: 1 of the nodes with the label nvidia.com/gpu-driver-upgrade-state, because they currently have "
        "no driver pod\n");
}

TEST_CASE("Durations of only two pods are not used") {
  const ScratchFile dump(Fleet(4, StartedPods("gpu-operator", "nvidia-driver-daemonset", "DaemonSet", {"07", "31"})));
  const ScratchFile policy("autoUpgrade: true");
  CHECK(RunWith({"simulate", "--cluster", dump.path(), "--policy", policy.path(), "--seeds", "1"}).err.empty());
}

TEST_CASE("The validation of a driver adds to the time of its node") {
  const ScratchFile policy("{autoUpgrade: true, maxParallelUpgrades: 1, maxUnavailable: 100%}");
  const auto makespan = [&](const std::string& validation) {
    return Simulated(
               Fleet(4), {policy.path()},
               {"--jitter", "0", "--driver-start", "100s", "--validation", validation})[0]["makespanSecondsMedian"]
        .GetInt();
  };
  CHECK(makespan("50s") - makespan("0s") >= 4 * 50);
}

TEST_CASE("An error that prevents the simulation is reported in one line") {
  const ScratchFile dump(Fleet(1));
  const Answer answer = RunWith({"simulate", "--cluster", dump.path(), "--driver-start", "soon"});
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.err == "upgradectl: --driver-start: `soon` is not a duration such as 90s or 2m, of less than a day\n");
}

TEST_CASE("Completion and the manual page contain every verb and its options") {
  for (const std::string shell : {"bash", "zsh", "fish", "kubectl", "man"}) {
    const Answer answer = RunWith({"completion", shell});
    CAPTURE(shell);
    CHECK(answer.exit_code == kExitDone);
    for (const char* word :
         {"status", "explain", "preflight", "simulate", "pause", "allow-load", "kubeconfig", "watch"}) {
      CHECK(answer.out.find(word) != std::string::npos);
    }
  }
  CHECK(RunWith({"completion", "tcsh"}).exit_code == kExitUsage);
}

TEST_CASE("The help of each verb has an example") {
  for (const char* verb : {"status", "explain", "plan", "preflight", "simulate", "timeline", "pause", "resume", "skip",
                           "unskip", "retry", "request", "allow-load", "completion"}) {
    const Answer answer = RunWith({verb, "--help"});
    CAPTURE(verb);
    CHECK(answer.exit_code == kExitDone);
    CHECK(answer.out.find("Example:") != std::string::npos);
  }
}

}  // namespace
}  // namespace upgradectl
