// Creates random DaemonSets, driver pods and workloads.
#include <algorithm>

#include "driverupgrade/pod_manager.h"
#include "driverupgrade/testing/builders.h"
#include "fmt/format.h"
#include "property/random_cluster.h"

namespace driverupgrade::tests {
namespace {

using testing::PodBuilder;

void AddDaemonSet(SeededRandom& random, const std::string& uid, DriverFacts& facts) {
  DaemonSet daemon_set{.ns = "drivers", .name = uid, .uid = uid, .generation = 3, .observed_generation = 3};
  if (random.Chance(8)) daemon_set.observed_generation = 2;
  daemon_set.on_delete = random.Chance(90);
  std::vector<ControllerRevision> revisions;
  for (const auto& [hash, number] :
       std::initializer_list<std::pair<const char*, int>>{{"old", 1}, {kWantedRevision, 2}}) {
    if (random.Chance(4)) continue;
    revisions.push_back({.ns = "drivers", .name = uid + "-" + hash, .owner_uid = uid, .revision = number});
  }
  // The choice is drawn from a copy, so that it does not change the rest of the cluster.
  if (SeededRandom copy = random; copy.Chance(25)) daemon_set.tolerations.emplace();
  facts.daemon_sets[uid] = WantedRevision(daemon_set, revisions);
}

PodBuilder Driver(const std::string& node, const std::string& name) {
  return PodBuilder("drivers", name).WithUid(name + "-uid").OnNode(node).WithLabel("app", "driver");
}

Pod RandomDriverPod(SeededRandom& random, const std::string& node, const std::string& name) {
  const std::string owner = random.Chance(85) ? kDaemonSetUid : random.Chance(70) ? "ds2" : "somebody-else";
  const std::string hash = random.Chance(55) ? kWantedRevision : random.Chance(92) ? "old" : "";
  PodBuilder pod = Driver(node, name).OwnedByDaemonSet(owner, hash, owner);
  switch (random.Below(10)) {
    case 0: pod.NotReady(); break;
    case 1: pod.Crashing(random.Pick({1, 10, 11, 100})); break;
    case 2: pod.Terminating(kRandomNow + absl::Seconds(random.Pick({-600, -1, 0, 1, 30}))); break;
    case 3: pod.Pending(); break;
    default: break;
  }
  Pod made = pod.Build();
  if (random.Chance(8)) made.owners.clear();
  if (random.Chance(4)) made.container_statuses.clear();
  if (random.Chance(4)) made.init_container_statuses = {{.name = "init", .ready = false, .restart_count = 12}};
  return made;
}

void AddOwner(SeededRandom& random, PodBuilder& pod) {
  switch (random.Below(8)) {
    case 0: pod.OwnedByDaemonSet("agent", "h", "agent-uid"); break;
    case 1: break;
    case 2: pod.OwnedByJob("job", "job-uid").WithLabel("app", "job"); break;
    case 3: pod.OwnedByStatefulSet("db", "db-uid"); break;
    case 4:
      pod.OwnedBy(
          {.api_version = "apps.kruise.io/v1", .kind = "DaemonSet", .name = "x", .uid = "x", .controller = true});
      break;
    default: pod.OwnedByReplicaSet("web", "web-uid"); break;
  }
}

void AddCondition(SeededRandom& random, PodBuilder& pod) {
  switch (random.Below(10)) {
    case 0: pod.Succeeded(); break;
    case 1: pod.Failed(); break;
    case 2: pod.Pending(); break;
    case 3: pod.NotReady(); break;
    case 4: pod.Terminating(kRandomNow + absl::Seconds(random.Pick({-600, -1, 0, 1, 30}))); break;
    default: break;
  }
  if (random.Chance(8)) pod.Mirror();
  if (random.Chance(15)) pod.WithEmptyDir();
}

Pod RandomWorkload(SeededRandom& random, const std::string& node, int number) {
  const std::string name = fmt::format("{}-{}-{}", random.Pick({"web", "job", "trainer"}), node, number);
  PodBuilder pod(random.Pick({"team-a", "team-b", "drivers"}), name);
  pod.WithUid(name + "-uid").OnNode(node).WithLabel("app", random.Pick({"web", "job", "other"}));
  AddOwner(random, pod);
  AddCondition(random, pod);
  if (random.Chance(10)) pod.WithLabel("nvidia.com/gpu-driver-upgrade-drain.skip", "true");
  return pod.Build();
}

bool ByName(const Pod& a, const Pod& b) { return a.ref < b.ref; }

}  // namespace

DriverFacts RandomFacts(SeededRandom& random) {
  DriverFacts facts;
  if (random.Chance(96)) AddDaemonSet(random, kDaemonSetUid, facts);
  if (random.Chance(25)) AddDaemonSet(random, "ds2", facts);
  return facts;
}

std::vector<Pod> RandomDriverPods(SeededRandom& random, const std::string& node) {
  std::vector<Pod> pods;
  const int count = random.Chance(10) ? 0 : random.Chance(85) ? 1 : 2;
  for (int i = 0; i < count; ++i) pods.push_back(RandomDriverPod(random, node, fmt::format("driver-{}-{}", node, i)));
  std::sort(pods.begin(), pods.end(), ByName);
  return pods;
}

Workloads RandomWorkloads(SeededRandom& random, const std::string& node) {
  Workloads workloads;
  const int count = random.Chance(35) ? 0 : random.Between(1, 4);
  for (int i = 0; i < count; ++i) {
    workloads.pods.push_back(RandomWorkload(random, node, i));
    const PodRef& pod = workloads.pods.back().ref;
    if (random.Chance(35)) {
      workloads.using_driver.insert(pod.uid);
    } else if (random.Chance(4)) {
      workloads.hook_errors[pod.ToString()] = "resource claim not readable";
    }
  }
  if (random.Chance(40)) {
    PodBuilder validator("operators", "validator-" + node);
    validator.WithUid("validator-" + node)
        .OnNode(node)
        .WithLabel("app", "validator")
        .OwnedByDaemonSet("validator", "h", "v");
    if (random.Chance(30)) validator.NotReady();
    workloads.pods.push_back(validator.Build());
  }
  if (random.Chance(10)) {
    workloads.pods.push_back(PodBuilder("operators", "operator-0")
                                 .WithUid("operator")
                                 .OnNode(node)
                                 .OwnedByReplicaSet("operator", "o")
                                 .Build());
  }
  std::sort(workloads.pods.begin(), workloads.pods.end(), ByName);
  return workloads;
}

}  // namespace driverupgrade::tests
