// Training jobs whose pods run only together (Mode::kGangs). Checks the invariant for these jobs: a rollout interrupts
// each job only once.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "fmt/format.h"
#include "simulation/world/actors.h"
#include "testing/gang_controller.h"

namespace driverupgrade::testing::internal {
namespace {

constexpr char kJobLabel[] = "jobset.sigs.k8s.io/jobset-name";
// Maximum time that the evictions of a unit wait for the cordons of its nodes (ADR 0022), minus a margin for clock skew
// and latency.
constexpr absl::Duration kHold = absl::Seconds(110);

class Gangs final : public Actor {
 public:
  explicit Gangs(World& world)
      : Actor(world, "jobs"), jobs_(world.cluster, static_cast<std::uint32_t>(world.seed)), hash_(world.hash) {
    for (int number = 0; number < world_.setup.nodes;) {
      const int size = std::min(random_.Between(1, world_.setup.largest_gang), world_.setup.nodes - number);
      if (random_.Percent(80)) AddJob(number, size);
      number += size;
    }
  }

  bool acts_when_calm() const override { return true; }

  // Must not call the cluster, because the cluster is locked.
  void See(const Change& change) override {
    if (change.node.after != nullptr) NoteNode(*change.node.after);
    if (change.node.after == nullptr && change.node.before != nullptr) seen_.erase(change.node.before->name);
    const Pod* before = change.pod.before;
    if (before == nullptr || before->deletion_timestamp || !before->labels.contains(kJobLabel)) return;
    const bool goes = change.pod.after == nullptr || change.pod.after->deletion_timestamp;
    if (goes && change.actor == testing::Actor::kClient) JudgeEviction(before->node_name, before->labels.at(kJobLabel));
  }

 private:
  struct Job {
    std::string name = {};
    // Nodes on which the job runs or last ran.
    std::set<std::string> nodes = {};
    bool runs = true;
    // Number of interruptions that have been checked.
    int seen = 0;
    // Number of interruptions before this revision of the driver.
    int interruptions = 0;
    // Number of interruptions that this revision of the driver may cause.
    int allowed = 0;
  };

  absl::Duration Pause() override { return random_.Between(absl::Seconds(1), absl::Seconds(5)); }

  void Act() override {
    if (hash_ != world_.hash) StartRevision();
    jobs_.Step();
    for (Job& job : all_) Judge(job);
  }

  void AddJob(int first, int size) {
    Job& job = all_.emplace_back();
    job.name = fmt::format("job-{}", all_.size());
    std::vector<Pod> pods;
    for (int i = 0; i < size; ++i) {
      const std::string node = world_.NodeName(first + i);
      job.nodes.insert(node);
      pods.push_back(PodBuilder(kWorkloadNs, fmt::format("{}-{}", job.name, i))
                         .OnNode(node)
                         .WithLabel(kJobLabel, job.name)
                         .Build());
    }
    jobs_.Add(job.name, std::move(pods), {.stop_delay = absl::Seconds(random_.Between(1, 20))});
  }

  // Allows one interruption of each job, or two if the job is stopped or a unit of the job is already in progress: that
  // unit still interrupts the job, which may then restart on nodes that are outdated under the new revision.
  void StartRevision() {
    hash_ = world_.hash;
    for (Job& job : all_) {
      const bool is_under_way = std::any_of(job.nodes.begin(), job.nodes.end(), [&](const std::string& node) {
        return !seen_[node].unit.empty() || seen_[node].cordoned;
      });
      job.interruptions = jobs_.interruptions(job.name);
      job.allowed = is_under_way || !job.runs ? 2 : 1;
    }
  }

  void Judge(Job& job) {
    const int interruptions = jobs_.interruptions(job.name);
    if (interruptions > job.interruptions + job.allowed) {
      world_.checker->Fail("I23", fmt::format("{} was interrupted {} times at {} (limit {})", job.name,
                                              interruptions - job.interruptions, hash_, job.allowed));
    }
    const std::set<std::string> nodes = jobs_.NodesOf(job.name);
    // A job can stop and start again within one step.
    const bool was_interrupted = std::exchange(job.seen, interruptions) < interruptions;
    const bool restarts = (was_interrupted || !job.runs) && !nodes.empty();
    if (was_interrupted) world_.CameBy(Mode::kGangs);
    job.runs = !nodes.empty();
    if (!restarts) return;
    // A job is safe only on upgraded nodes. The nodes for which the job was interrupted are cordoned or upgraded,
    // unless the hold has expired (JudgeEviction).
    const bool is_exposed = std::any_of(
        nodes.begin(), nodes.end(), [&](const std::string& node) { return !job.nodes.contains(node) && IsOld(node); });
    if (is_exposed) Excuse(job);
    job.nodes = nodes;
  }

  void Excuse(Job& job) {
    ++job.allowed;
    ++world_.result.interruptions_excused;
  }

  bool IsOld(const std::string& node) const {
    const std::vector<Pod> pods = world_.cluster->pods_on(node);
    return std::any_of(pods.begin(), pods.end(), [&](const Pod& pod) {
      return world_.driver_labels.Matches(pod.labels) && RevisionHash(pod) != world_.hash;
    });
  }

  struct SeenNode {
    std::string unit = {};
    bool cordoned = false;
  };

  void NoteNode(const Node& node) {
    const auto unit = node.annotations.find(world_.identity.UnitAnnotation());
    SeenNode& seen = seen_[node.name];
    seen = {.unit = unit == node.annotations.end() ? "" : unit->second, .cordoned = node.unschedulable};
    if (!seen.unit.empty() && seen.cordoned) cordoned_since_.try_emplace(seen.unit, world_.Now());
    std::erase_if(cordoned_since_, [&](const auto& since) {
      return std::none_of(seen_.begin(), seen_.end(), [&](const auto& one) { return one.second.unit == since.first; });
    });
  }

  // B-8: the scheduler could restart an evicted pod of a unit on a node of the unit that is not cordoned.
  void JudgeEviction(const std::string& node, const std::string& name) {
    const std::string& unit = seen_[node].unit;
    if (unit.empty()) return;
    const auto since = cordoned_since_.find(unit);
    const bool was_held = since != cordoned_since_.end() && world_.Now() >= since->second + kHold;
    const auto open = std::find_if(seen_.begin(), seen_.end(),
                                   [&](const auto& one) { return one.second.unit == unit && !one.second.cordoned; });
    if (open != seen_.end() && !was_held) {
      world_.checker->Fail("I23", fmt::format("a pod of {} was evicted from {}, while {} of its unit was not cordoned",
                                              name, node, open->first));
    }
    for (Job& job : all_) {
      if (job.name == name && (open != seen_.end() || (was_held && HasOpenNode(job)))) Excuse(job);
    }
  }

  // Returns whether any node of the job is not cordoned. Checks the nodes of the job instead of the unit: if the
  // request that cordons a node was lost, the node does not have the unit's mark either.
  bool HasOpenNode(const Job& job) {
    return std::any_of(job.nodes.begin(), job.nodes.end(),
                       [&](const std::string& node) { return !seen_[node].cordoned; });
  }

  GangController jobs_;
  std::string hash_;
  std::vector<Job> all_;
  std::map<std::string, SeenNode> seen_;
  std::map<std::string, absl::Time> cordoned_since_;  // by the first node of the unit
};

}  // namespace

std::unique_ptr<Actor> MakeGangs(World& world) { return std::make_unique<Gangs>(world); }

}  // namespace driverupgrade::testing::internal
