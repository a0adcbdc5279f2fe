#include "decide/rollout/gangs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// Upper limit for the number of nodes, for sort keys that are compared as strings.
constexpr std::size_t kNodesMax = 999'999'999;
constexpr std::string_view kComputeDomainLabel = "resource.nvidia.com/computeDomain";

// A label or annotation that a controller sets on the pods of a gang. If there is a second key, both must be present,
// and their values together name the gang.
struct GangKey {
  std::string_view kind;
  bool is_label = true;
  std::string_view key;
  std::string_view second = {};
};
// The widest groups come first. For example, a pod of a JobSet on Kueue restarts together with the whole JobSet.
constexpr std::array kGangKeys = {
    GangKey{.kind = "JobSet", .key = "jobset.sigs.k8s.io/jobset-name"},
    GangKey{.kind = "TrainingJob", .key = "training.kubeflow.org/job-name"},
    GangKey{.kind = "RayCluster", .key = "ray.io/cluster"},
    GangKey{.kind = "VolcanoJob", .key = "volcano.sh/job-name"},
    GangKey{.kind = "LeaderWorkerSet",
            .key = "leaderworkerset.sigs.k8s.io/name",
            .second = "leaderworkerset.sigs.k8s.io/group-index"},
    GangKey{.kind = "PodGroup", .key = "kueue.x-k8s.io/pod-group-name"},
    GangKey{.kind = "Workload", .is_label = false, .key = "kueue.x-k8s.io/workload"},
    GangKey{.kind = "PodGroup", .is_label = false, .key = "pod-group-name"},
    GangKey{.kind = "PodGroup", .is_label = false, .key = "scheduling.k8s.io/group-name"},
    GangKey{.kind = "PodGroup", .is_label = false, .key = "scheduling.volcano.sh/group-name"},
    GangKey{.kind = "PodGroup", .key = "scheduling.x-k8s.io/pod-group"},
    GangKey{.kind = "PodGroup", .key = "pod-group.scheduling.x-k8s.io/name"},
};

std::string_view ValueOf(const StringMap& map, std::string_view key) {
  const auto found = map.find(std::string(key));
  return found == map.end() ? std::string_view() : std::string_view(found->second);
}

// Returns the gang of a pod that belongs to an indexed Job with a subdomain, because such pods communicate with each
// other. Returns an empty string for other pods, which are independent tasks.
std::string IndexedJobOf(const Pod& pod) {
  const std::string_view job = ValueOf(pod.labels, "batch.kubernetes.io/job-name");
  const bool is_indexed = pod.labels.contains("batch.kubernetes.io/job-completion-index");
  return job.empty() || !is_indexed || pod.subdomain.empty() ? "" : fmt::format("Job/{}/{}", pod.ref.ns, job);
}

// Returns a name for a unit of the gang. The name differs from the names of all other units.
std::string Unused(const std::string& gang, std::set<std::string>& used) {
  std::string name = gang;
  for (int number = 2; !used.insert(name).second; ++number) name = fmt::format("{}#{}", gang, number);
  return name;
}

class Units {
 public:
  Units(std::vector<RolloutNode>& nodes, const std::vector<int>& stages, const UnitOptions& options)
      : nodes_(nodes), stages_(stages), options_(options) {}

  void Assign() {
    for (RolloutNode& node : nodes_) {
      if (AwaitsStart(node)) {
        node.unit.clear();
      } else if (!node.unit.empty()) {
        used_.insert(node.unit);
      }
    }
    JoinTorn();
    for (const auto& [gang, members] : Gangs()) Form(gang, members);
    for (RolloutNode& node : nodes_) {
      if (node.may_start && node.unit.empty()) node.turn = TurnAlone(node);
    }
  }

 private:
  using Members = std::vector<std::size_t>;

  // Nodes that have a grant but have not started join the started unit of their gang, because their grants were stored
  // together with the grants of the unit.
  void JoinTorn() {
    for (RolloutNode& node : nodes_) {
      if (!node.is_granted_only || node.reloading) continue;
      for (const std::string& gang : node.gangs) {
        const auto unit =
            std::find_if(used_.begin(), used_.end(), [&](const auto& name) { return GangOfUnit(name) == gang; });
        if (unit == used_.end()) continue;
        node.unit = *unit;
        break;
      }
    }
  }

  // Returns the waiting nodes by gang and stage. The largest gangs come first.
  std::vector<std::pair<std::string, Members>> Gangs() const {
    std::map<std::string, Members> by_gang;  // keys start with the stage, because all nodes of a unit are in one stage
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!AwaitsStart(nodes_[i]) || !nodes_[i].unit.empty()) continue;
      for (const std::string& gang : nodes_[i].gangs) by_gang[fmt::format("{:03}{}", stages_[i], gang)].push_back(i);
    }
    std::vector<std::string> keys;
    for (const auto& [key, members] : by_gang) keys.push_back(fmt::format("{:09}{}", kNodesMax - members.size(), key));
    std::sort(keys.begin(), keys.end());
    std::vector<std::pair<std::string, Members>> gangs;
    for (const std::string& key : keys) {
      Members& members = by_gang[key.substr(9)];
      gangs.emplace_back(key.substr(12), std::move(members));
    }
    return gangs;
  }

  void Form(const std::string& gang, const Members& all) {
    Members members;
    for (const std::size_t i : all) {
      if (nodes_[i].unit.empty()) members.push_back(i);
    }
    if (members.size() < 2) return;
    std::size_t size = members.size();
    const auto max = static_cast<std::size_t>(std::max(options_.unavailable_max.value_or(0), 0));
    if (options_.too_big == TooBig::kSplit && max > 0) size = std::min(size, max);
    for (std::size_t begin = 0; begin < members.size(); begin += size) {
      const std::size_t end = std::min(begin + size, members.size());
      Name(gang,
           {members.begin() + static_cast<std::ptrdiff_t>(begin), members.begin() + static_cast<std::ptrdiff_t>(end)});
    }
  }

  void Name(const std::string& gang, const Members& members) {
    const std::string unit = Unused(gang, used_);
    std::set<std::string> gangs;
    for (const std::size_t i : members) gangs.insert(nodes_[i].gangs.begin(), nodes_[i].gangs.end());
    // Units with the fewest interruptions per node come first. If the numbers are equal, larger units come first.
    const std::string turn =
        fmt::format("2{:09}{:09}{}", 1000 * gangs.size() / members.size(), kNodesMax - members.size(), unit);
    for (const std::size_t i : members) {
      nodes_[i].unit = unit;
      nodes_[i].turn = turn + '\0';
    }
  }

  // Nodes without pods to evict come first, and nodes whose pods are unknown come last.
  std::string TurnAlone(const RolloutNode& node) const {
    if (!node.pods) return "3";
    if (*node.pods == 0) return "0";
    return options_.has_order ? "1" : fmt::format("1{:010}", *node.pods);
  }

  std::vector<RolloutNode>& nodes_;
  const std::vector<int>& stages_;
  const UnitOptions& options_;
  std::set<std::string> used_;
};

}  // namespace

bool AwaitsStart(const RolloutNode& node) {
  return node.progress == NodeProgress::kWaiting || node.may_start || node.is_granted_only;
}

std::string GangOfUnit(const std::string& unit) { return unit.substr(0, unit.find('#')); }

std::string GangOf(const Pod& pod) {
  if (const std::string_view own = ValueOf(pod.annotations, kGangAnnotation); !own.empty()) {
    return own == "none" ? "" : fmt::format("Gang/{}/{}", pod.ref.ns, own);
  }
  for (const GangKey& key : kGangKeys) {
    const StringMap& map = key.is_label ? pod.labels : pod.annotations;
    const std::string_view name = ValueOf(map, key.key);
    if (name.empty()) continue;
    if (key.second.empty()) return fmt::format("{}/{}/{}", key.kind, pod.ref.ns, name);
    if (const std::string_view second = ValueOf(map, key.second); !second.empty()) {
      return fmt::format("{}/{}/{}-{}", key.kind, pod.ref.ns, name, second);
    }
  }
  if (!pod.pod_group.empty()) return fmt::format("PodGroup/{}/{}", pod.ref.ns, pod.pod_group);
  return IndexedJobOf(pod);
}

std::vector<std::string> GangsOn(const Node& node, const std::vector<const Pod*>& pods) {
  std::set<std::string> gangs;
  for (const Pod* pod : pods) gangs.insert(GangOf(*pod));
  gangs.erase("");
  const std::string_view domain = ValueOf(node.labels, kComputeDomainLabel);
  if (!domain.empty() && !pods.empty()) gangs.insert(fmt::format("ComputeDomain/{}", domain));
  return {gangs.begin(), gangs.end()};
}

bool GangsStartTogether(const RolloutPolicy& policy) { return policy.gangs.has_value(); }

bool MayStop(const Node& node, const std::vector<const Pod*>& pods) {
  const bool has_domain = !ValueOf(node.labels, kComputeDomainLabel).empty();
  return std::all_of(pods.begin(), pods.end(), [&](const Pod* pod) {
    return (!has_domain && GangOf(*pod).empty()) || ValueOf(pod->annotations, kMayStopAnnotation) == "true";
  });
}

std::optional<absl::Time> GangWaitEnds(const NodeGangs& gangs, const std::vector<const RolloutNode*>& nodes,
                                       absl::Time began) {
  if (gangs.mode == GangMode::kTogether && gangs.wait == absl::ZeroDuration()) return std::nullopt;
  const bool has_gang =
      std::any_of(nodes.begin(), nodes.end(), [](const RolloutNode* node) { return !node->gangs.empty(); });
  const bool may_stop = std::all_of(nodes.begin(), nodes.end(), [](const RolloutNode* node) { return node->may_stop; });
  if (!has_gang || may_stop) return std::nullopt;
  return gangs.wait == absl::ZeroDuration() ? absl::InfiniteFuture() : began + gangs.wait;
}

std::map<std::string, std::string> UncordonedOf(const std::vector<RolloutNode>& nodes) {
  std::map<std::string, std::string> uncordoned;
  for (const RolloutNode& node : nodes) {
    const bool has_begun = node.progress == NodeProgress::kUnderWay || node.is_granted_only;
    if (has_begun && !node.unit.empty() && !node.is_isolated) uncordoned.emplace(node.unit, node.node->name);
  }
  return uncordoned;
}

RolloutGangs CountGangs(const std::vector<RolloutNode>& nodes, std::optional<int> at_once) {
  std::set<std::string> gangs;
  std::set<std::string> units;
  std::set<std::string> interruptions;  // pairs of a gang and the unit or node that interrupts it
  std::set<std::string> by_name;
  int node_count = 0;
  for (const RolloutNode& node : nodes) {
    if (!AwaitsStart(node)) continue;
    const int wave = at_once ? node_count++ / *at_once : 0;
    if (!node.unit.empty()) units.insert(node.unit);
    const std::string& unit = node.unit.empty() ? node.node->name : node.unit;
    for (const std::string& gang : node.gangs) {
      gangs.insert(gang);
      interruptions.insert(fmt::format("{} {}", gang, unit));
      by_name.insert(fmt::format("{} {}", gang, wave));
    }
  }
  return {.gangs = static_cast<int>(gangs.size()),
          .units = static_cast<int>(units.size()),
          .interruptions = static_cast<int>(interruptions.size()),
          .by_name = static_cast<int>(by_name.size())};
}

void AssignUnits(std::vector<RolloutNode>& nodes, const std::vector<int>& stages, const UnitOptions& options) {
  Units(nodes, stages, options).Assign();
}

}  // namespace driverupgrade::internal
