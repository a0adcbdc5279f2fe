// Tests training jobs on a real control plane: the real scheduler places their restarted pods on any node with room.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "audit_log.h"
#include "json.h"
#include "operator_program.h"
#include "policies.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::string_view kPolicy = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec:
  driver:
    upgradePolicy:
      autoUpgrade: true
      maxParallelUpgrades: 0
      maxUnavailable: $UNAVAILABLE_MAX
      drain: {enable: true, force: true, timeoutSeconds: 60}
      rollout: {$ROLLOUT}
)";

constexpr std::string_view kTogether = "gangs: {mode: Together}";

// Starts a job with a pod on each of two nodes. Only the job's first pods have its label, so the rollout does not treat
// their replacements as part of the job.
void StartJob(const World& world, const std::string& job, const std::string& first, const std::string& second) {
  for (const std::string& node : {first, second}) {
    Workload work;
    work.name = job + "-on-" + node;
    work.node = node;
    world.Deploy(work);
    world.control_plane().admin().Must({"label", "pods", "--namespace=" + world.workload_ns(),
                                        "--selector=app=" + work.name, "jobset.sigs.k8s.io/jobset-name=" + job});
  }
}

// Returns when the node was cordoned, as a string that sorts chronologically.
std::string CordonedAt(const std::vector<AuditedRequest>& requests, const std::string& node) {
  const auto cordon = std::find_if(requests.begin(), requests.end(), [&](const AuditedRequest& request) {
    return request.node && request.node->name == node && request.node->unschedulable;
  });
  return cordon == requests.end() ? "never" : cordon->answered;
}

std::string FirstEvictionOf(const std::vector<AuditedRequest>& requests, const std::string& job) {
  std::string first = "never";
  for (const AuditedRequest& request : requests) {
    if (request.resource == "pods/eviction" && request.name.starts_with(job + "-"))
      first = std::min(first, request.received);
  }
  return first;
}

TEST_CASE("B-8: no pod of a job is evicted before both of the job's nodes are cordoned, and idle nodes go first",
          "[gangs]") {
  World world(ControlPlane::Shared(), "gangs", 6);
  world.DeployDriver();
  const std::vector<std::string>& nodes = world.nodes();
  StartJob(world, "train", nodes[0], nodes[3]);
  StartJob(world, "tune", nodes[1], nodes[4]);
  const Policies policy(world.control_plane(),
                        Substitute(std::string(kPolicy), {{"$UNAVAILABLE_MAX", "2"}, {"$ROLLOUT", kTogether}}));
  AuditLog audit(world.control_plane().audit_log());
  world.ChangeDriver("driver:2");
  OperatorProgram gpu_operator(world.control_plane(), "gpu_operator", world.control_plane().operator_kubeconfig(),
                               {"--cluster-policy", "--ledger", "--namespace", world.driver_ns(), "--driver-labels",
                                "app=driver", "--validation-selector", ""});
  const bool done = Eventually(kRolloutLimit, [&] {
    const auto now = world.Nodes();
    return std::all_of(now.begin(), now.end(), [](const auto& node) {
      return node.second.state == "upgrade-done" && !node.second.unschedulable;
    });
  });
  INFO(gpu_operator.Log());
  REQUIRE(done);
  const std::vector<AuditedRequest>& requests = audit.Read();
  const auto cordoned = [&](std::size_t node) { return CordonedAt(requests, nodes[node]); };
  CHECK(std::max(cordoned(0), cordoned(3)) < FirstEvictionOf(requests, "train"));
  CHECK(std::max(cordoned(1), cordoned(4)) < FirstEvictionOf(requests, "tune"));
  CHECK(std::max(cordoned(2), cordoned(5)) < std::min({cordoned(0), cordoned(1), cordoned(3), cordoned(4)}));
}

// Imitates a controller of jobs that can run only as a whole, such as JobSets. When one pod of a job stops, the job's
// other pods are deleted. When all of them are gone, the job starts again on any free nodes. Each pod takes all GPUs of
// a node.
class Jobs {
 public:
  explicit Jobs(const World& world) : world_(world) {}

  // Starts a job whose first pods run on `nodes`. The scheduler chooses the nodes of later pods.
  void Start(const std::vector<std::string>& nodes) {
    const std::string name = "job-" + std::to_string(jobs_.size());
    jobs_[name] = {.size = nodes.size()};
    Create(name, nodes);
  }

  bool AllRun() {
    const std::map<std::string, Pods> pods = Read();
    return std::all_of(jobs_.begin(), jobs_.end(), [&](const auto& job) {
      const auto found = pods.find(job.first);
      return found != pods.end() && found->second.running == job.second.size;
    });
  }

  // Deletes the remaining pods of interrupted jobs, and restarts jobs whose pods have all been deleted. Must be called
  // often during the rollout.
  void Step() {
    const std::map<std::string, Pods> pods = Read();
    for (auto& [name, job] : jobs_) {
      const auto found = pods.find(name);
      const Pods now = found == pods.end() ? Pods() : found->second;
      if (!job.stops && now.alive < job.size) {
        job.stops = true;
        ++interruptions_;
        world_.control_plane().admin().Must({"delete", "pods", "--namespace=" + world_.workload_ns(),
                                             std::string("--selector=") + kJobLabel + "=" + name, "--wait=false"});
      } else if (job.stops && now.all == 0) {
        job.stops = false;
        ++job.restarts;
        Create(name, std::vector<std::string>(job.size));
      }
    }
  }

  int interruptions() const { return interruptions_; }

 private:
  static constexpr char kJobLabel[] = "jobset.sigs.k8s.io/jobset-name";
  struct Job {
    std::size_t size = 0;
    int restarts = 0;
    bool stops = false;
  };
  struct Pods {
    std::size_t all = 0;
    std::size_t alive = 0;
    std::size_t running = 0;
  };

  void Create(const std::string& job, const std::vector<std::string>& nodes) const {
    std::string manifest;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string where = nodes[i].empty() ? "" : ", kubernetes.io/hostname: " + nodes[i];
      manifest += Substitute(R"(
---
apiVersion: v1
kind: Pod
metadata:
  name: $JOB-$INDEX-$RESTART
  namespace: $NAMESPACE
  labels: {$LABEL: $JOB}
spec:
  terminationGracePeriodSeconds: 1
  nodeSelector: {driverupgrade.test/world: $WORLD$WHERE}
  containers: [{name: work, image: "work:1", resources: {limits: {nvidia.com/gpu: 8}}}]
)",
                             {{"$JOB", job},
                              {"$INDEX", std::to_string(i)},
                              {"$RESTART", std::to_string(jobs_.at(job).restarts)},
                              {"$NAMESPACE", world_.workload_ns()},
                              {"$LABEL", kJobLabel},
                              {"$WORLD", world_.selector().substr(world_.selector().find('=') + 1)},
                              {"$WHERE", where}});
    }
    world_.control_plane().admin().Create(manifest);
  }

  std::map<std::string, Pods> Read() const {
    std::map<std::string, Pods> pods;
    const rapidjson::Document list = world_.control_plane().admin().Get(
        {"pods", "--namespace=" + world_.workload_ns(), std::string("--selector=") + kJobLabel});
    for (const rapidjson::Value& pod : Items(list, {"items"})) {
      Pods& of_job = pods[TextMap(pod, {"metadata", "labels"}).at(kJobLabel)];
      ++of_job.all;
      const bool is_alive = Text(pod, {"metadata", "deletionTimestamp"}).empty();
      of_job.alive += is_alive;
      of_job.running += is_alive && Text(pod, {"status", "phase"}) == "Running";
    }
    return pods;
  }

  const World& world_;
  std::map<std::string, Job> jobs_;
  int interruptions_ = 0;
};

// Upgrades 32 nodes. Five jobs occupy 8, 8, 4, 4 and 2 of them. Returns the total number of interruptions of these
// jobs.
int InterruptionsOf(const std::string& name, std::string_view unavailable_max, std::string_view rollout) {
  World world(ControlPlane::Shared(), name, 32);
  world.DeployDriver();
  Jobs jobs(world);
  std::size_t next = 0;
  for (const std::size_t size : {8, 8, 4, 4, 2}) {
    std::vector<std::string> nodes;
    // Neighboring nodes run pods of different jobs.
    for (std::size_t i = 0; i < size; ++i) nodes.push_back(world.nodes()[7 * next++ % world.nodes().size()]);
    jobs.Start(nodes);
  }
  REQUIRE(Eventually(kRolloutLimit, [&] { return jobs.AllRun(); }));
  const Policies policy(world.control_plane(), Substitute(std::string(kPolicy), {{"$UNAVAILABLE_MAX", unavailable_max},
                                                                                 {"$ROLLOUT", rollout}}));
  world.ChangeDriver("driver:2");
  OperatorProgram gpu_operator(world.control_plane(), "gpu_operator", world.control_plane().operator_kubeconfig(),
                               {"--cluster-policy", "--ledger", "--namespace", world.driver_ns(), "--driver-labels",
                                "app=driver", "--validation-selector", ""});
  const bool done = Eventually(3 * kRolloutLimit, [&] {
    jobs.Step();
    const auto now = world.Nodes();
    return std::all_of(now.begin(), now.end(), [](const auto& node) {
      return node.second.state == "upgrade-done" && !node.second.unschedulable;
    });
  });
  INFO(gpu_operator.Log());
  REQUIRE(done);
  REQUIRE(Eventually(kRolloutLimit, [&] {
    jobs.Step();
    return jobs.AllRun();
  }));
  return jobs.interruptions();
}

// If nodes start in name order, a limit of 8 stops most jobs at the same time, and the jobs wait for each other's
// nodes. With a limit of 2 the jobs restart earlier and are interrupted more often.
TEST_CASE(
    "B-21: each of five jobs on 32 nodes is interrupted once, but more often if nodes start in the order of names",
    "[gangs]") {
  const int together = InterruptionsOf("jobs", "8", kTogether);
  const int by_name = InterruptionsOf("names", "8", "order: [Name]");
  const int by_few = InterruptionsOf("few", "2", "order: [Name]");
  std::cout << "interruptions of five jobs: " << together << " as gangs, " << by_name << " by name, " << by_few
            << " by name with two nodes at a time\n";
  CHECK(together == 5);
  CHECK(by_few > together);
}

}  // namespace
}  // namespace driverupgrade::e2e
