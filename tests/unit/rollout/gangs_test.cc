#include "decide/rollout/gangs.h"

#include <string>
#include <vector>

#include "support/catch.h"
#include "unit/rollout/fleet.h"

namespace driverupgrade::internal {
namespace {

Pod PodWith(const StringMap& labels, const StringMap& annotations = {}) {
  return {.ref = {.ns = "team", .name = "p"}, .labels = labels, .annotations = annotations};
}

TEST_CASE(
    "the gang of a pod is the largest group that restarts as a whole, unless an annotation on the pod names a gang") {
  struct Case {
    StringMap labels;
    StringMap annotations;
    std::string gang;
  };
  const std::vector<Case> cases = {
      {{}, {}, ""},
      {{{"app", "web"}}, {}, ""},
      {{{"jobset.sigs.k8s.io/jobset-name", "train"}}, {{"kueue.x-k8s.io/workload", "w"}}, "JobSet/team/train"},
      {{{"training.kubeflow.org/job-name", "pt"}}, {}, "TrainingJob/team/pt"},
      {{{"ray.io/cluster", "r"}}, {{"scheduling.k8s.io/group-name", "g"}}, "RayCluster/team/r"},
      {{{"volcano.sh/job-name", "v"}}, {}, "VolcanoJob/team/v"},
      {{{"leaderworkerset.sigs.k8s.io/name", "llm"}, {"leaderworkerset.sigs.k8s.io/group-index", "3"}},
       {},
       "LeaderWorkerSet/team/llm-3"},
      {{{"leaderworkerset.sigs.k8s.io/name", "llm"}}, {}, ""},
      {{{"kueue.x-k8s.io/pod-group-name", "g"}}, {}, "PodGroup/team/g"},
      {{}, {{"kueue.x-k8s.io/workload", "w"}}, "Workload/team/w"},
      {{}, {{"pod-group-name", "g"}}, "PodGroup/team/g"},
      {{{"scheduling.x-k8s.io/pod-group", "g"}}, {}, "PodGroup/team/g"},
      {{{"ray.io/cluster", "r"}}, {{"driverupgrade/gang", "mine"}}, "Gang/team/mine"},
      {{{"ray.io/cluster", "r"}}, {{"driverupgrade/gang", "none"}}, ""},
  };
  for (const Case& one : cases) {
    CAPTURE(one.gang);
    CHECK(GangOf(PodWith(one.labels, one.annotations)) == one.gang);
  }
}

TEST_CASE("the pods of an indexed Job are a gang only if they have a subdomain") {
  Pod pod = PodWith({{"batch.kubernetes.io/job-name", "mpi"}, {"batch.kubernetes.io/job-completion-index", "0"}});
  CHECK(GangOf(pod).empty());
  pod.subdomain = "mpi";
  CHECK(GangOf(pod) == "Job/team/mpi");
}

TEST_CASE("the pods of a PodGroup of Kubernetes are a gang, unless they belong to a larger gang") {
  Pod pod = PodWith({{"batch.kubernetes.io/job-name", "mpi"}, {"batch.kubernetes.io/job-completion-index", "0"}});
  pod.subdomain = "mpi";
  pod.pod_group = "workers";
  CHECK(GangOf(pod) == "PodGroup/team/workers");
  pod.labels["jobset.sigs.k8s.io/jobset-name"] = "train";
  CHECK(GangOf(pod) == "JobSet/team/train");
  pod.annotations["driverupgrade/gang"] = "none";
  CHECK(GangOf(pod).empty());
}

TEST_CASE("nodes with pods of one ComputeDomain are a gang, because they share memory") {
  const Pod pod = PodWith({});
  Node node{.name = "n", .labels = {{"resource.nvidia.com/computeDomain", "uid-1"}}};
  CHECK(GangsOn(node, {&pod}) == std::vector<std::string>{"ComputeDomain/uid-1"});
  CHECK(GangsOn(node, {}).empty());
}

void Run(Fleet& fleet, const std::string& node, std::vector<std::string> gangs) {
  fleet.node(node).pods = static_cast<int>(gangs.size());
  fleet.node(node).gangs = std::move(gangs);
}

void Assign(Fleet& fleet, const UnitOptions& options = {}) {
  AssignUnits(fleet.view.nodes, std::vector<int>(fleet.view.nodes.size(), 0), options);
}

TEST_CASE("a unit contains all waiting nodes of its gang, and a gang on a single node does not form a unit") {
  Fleet fleet(6);
  Run(fleet, "n0", {"a"});
  Run(fleet, "n2", {"a"});
  Run(fleet, "n1", {"b"});
  Run(fleet, "n3", {});
  Assign(fleet);
  CHECK(fleet.node("n0").unit == "a");
  CHECK(fleet.node("n2").unit == "a");
  CHECK(fleet.node("n1").unit.empty());
  CHECK(fleet.node("n3").unit.empty());
  CHECK(fleet.node("n3").turn < fleet.node("n1").turn);
  CHECK(fleet.node("n1").turn < fleet.node("n0").turn);
  CHECK(fleet.node("n0").turn == fleet.node("n2").turn);
  // The pods of n4 are unknown.
  CHECK(fleet.node("n0").turn < fleet.node("n4").turn);
}

TEST_CASE("a node with several gangs is in the unit of the largest gang, and does not merge units") {
  Fleet fleet(5);
  Run(fleet, "n0", {"big"});
  Run(fleet, "n1", {"big"});
  Run(fleet, "n2", {"big", "small"});
  Run(fleet, "n3", {"small"});
  Run(fleet, "n4", {"small"});
  Assign(fleet);
  for (const char* name : {"n0", "n1", "n2"}) CHECK(fleet.node(name).unit == "big");
  for (const char* name : {"n3", "n4"}) CHECK(fleet.node(name).unit == "small");
}

TEST_CASE("a unit in progress gets no further nodes, except nodes that were granted together with it") {
  Fleet fleet(4);
  fleet.node("n0").progress = NodeProgress::kUnderWay;
  fleet.node("n0").may_start = false;
  fleet.node("n0").unit = "a";
  for (const char* name : {"n1", "n2", "n3"}) Run(fleet, name, {"a"});
  fleet.node("n3").progress = NodeProgress::kUnderWay;
  fleet.node("n3").is_granted_only = true;
  Assign(fleet);
  CHECK(fleet.node("n0").unit == "a");
  CHECK(fleet.node("n1").unit == "a#2");
  CHECK(fleet.node("n2").unit == "a#2");
  CHECK(fleet.node("n3").unit == "a");
}

TEST_CASE("a gang on more nodes than may be unavailable is one unit, or several units with Split") {
  for (const TooBig too_big : {TooBig::kWait, TooBig::kSplit}) {
    Fleet fleet(5);
    for (const RolloutNode& node : fleet.view.nodes) Run(fleet, node.node->name, {"a"});
    Assign(fleet, {.too_big = too_big, .unavailable_max = 2});
    std::vector<std::string> units;
    for (const RolloutNode& node : fleet.view.nodes) units.push_back(node.unit);
    CHECK(units == (too_big == TooBig::kWait ? std::vector<std::string>(5, "a")
                                             : std::vector<std::string>{"a", "a", "a#2", "a#2", "a#3"}));
  }
}

TEST_CASE("gangs of two stages do not start together") {
  Fleet fleet(4);
  for (const RolloutNode& node : fleet.view.nodes) Run(fleet, node.node->name, {"a"});
  AssignUnits(fleet.view.nodes, {0, 0, 1, 1}, {});
  CHECK(fleet.node("n0").unit == fleet.node("n1").unit);
  CHECK(fleet.node("n2").unit == fleet.node("n3").unit);
  CHECK(fleet.node("n0").unit != fleet.node("n2").unit);
}

}  // namespace
}  // namespace driverupgrade::internal
