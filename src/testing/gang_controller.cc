#include "testing/gang_controller.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::testing {
namespace {

// Returns a random number below `end`.
std::size_t NumberBelow(std::uint32_t end, std::mt19937& random) {
  const std::uint32_t threshold = (0 - end) % end;
  while (true) {
    const std::uint64_t product = std::uint64_t{static_cast<std::uint32_t>(random())} * end;
    if (static_cast<std::uint32_t>(product) >= threshold) return static_cast<std::size_t>(product >> 32);
  }
}

// Uses the algorithm of libstdc++'s std::shuffle for fewer than 65,536 elements. Other libraries use other algorithms,
// but a seed must produce the same simulation everywhere.
void Shuffle(std::vector<std::string>& names, std::mt19937& random) {
  std::size_t i = 1;
  if (names.size() % 2 == 0 && !names.empty()) std::swap(names[i++], names[NumberBelow(2, random)]);
  while (i < names.size()) {
    const std::size_t places = i + 1;
    const std::size_t both = NumberBelow(static_cast<std::uint32_t>(places * (places + 1)), random);
    std::swap(names[i++], names[both / (places + 1)]);
    std::swap(names[i++], names[both % (places + 1)]);
  }
}

}  // namespace

GangController::GangController(std::shared_ptr<FakeCluster> cluster, std::uint32_t seed)
    : cluster_(std::move(cluster)), random_(seed) {}

void GangController::Add(const std::string& gang, std::vector<Pod> pods, const PodBehavior& behavior,
                         const std::vector<ResourceClaimSpec>& claims) {
  Gang& made = gangs_[gang];
  made = {.pods = std::move(pods), .behavior = behavior, .runs = true};
  for (const ResourceClaimSpec& claim : claims) {
    made.claims[{claim.ns, claim.name}] = claim;
    if (claim.pod_uid.empty()) cluster_->AddResourceClaim(claim);
  }
  for (Pod& pod : made.pods) {
    AddClaims(made, pod);
    pod.owners = {
        {.api_version = "batch/v1", .kind = "Job", .name = pod.ref.name, .uid = "job-" + gang, .controller = true}};
    pod = cluster_->AddPod(pod, behavior);
  }
}

void GangController::AddClaims(const Gang& gang, Pod& pod) {
  for (const std::string& name : pod.resource_claims) {
    const auto found = gang.claims.find({pod.ref.ns, name});
    if (found == gang.claims.end() || found->second.pod_uid.empty()) continue;
    if (pod.ref.uid.empty()) pod.ref.uid = pod.ref.ToString();
    ResourceClaimSpec claim = found->second;
    claim.pod_uid = pod.ref.uid;
    cluster_->AddResourceClaim(std::move(claim));
  }
}

void GangController::Step() {
  for (auto& [name, gang] : gangs_) {
    if (gang.runs && !IsWhole(gang)) Interrupt(name, gang);
  }
  std::erase_if(waiting_, [&](const std::string& name) {
    Gang& gang = gangs_.at(name);
    Start(gang);
    return gang.runs;
  });
}

bool GangController::IsWhole(const Gang& gang) const {
  return std::all_of(gang.pods.begin(), gang.pods.end(), [&](const Pod& pod) {
    const std::optional<Pod> found = cluster_->pod(pod.ref.ns, pod.ref.name);
    return found && found->ref.uid == pod.ref.uid && !found->deletion_timestamp;
  });
}

void GangController::Interrupt(const std::string& name, Gang& gang) {
  gang.runs = false;
  ++gang.interruptions;
  for (const Pod& pod : gang.pods) cluster_->RemovePod(pod.ref.ns, pod.ref.name);
  waiting_.push_back(name);
}

void GangController::Start(Gang& gang) {
  std::map<std::string, std::string> next;  // new node by previous node
  for (const Pod& pod : gang.pods) next[pod.node_name] = "";
  std::set<std::string> avoided;
  std::vector<std::string> free = FreeNodes(avoided);
  if (free.size() < next.size()) return;
  Shuffle(free, random_);
  // Like the scheduler, uses nodes with a PreferNoSchedule taint only as a last resort.
  std::stable_partition(free.begin(), free.end(), [&](const std::string& node) { return !avoided.contains(node); });
  if (!Choose(gang, std::move(free), next)) return;
  gang.runs = true;
  ++gang.attempt;
  for (Pod& pod : gang.pods) {
    const std::string name = pod.ref.name.substr(0, pod.ref.name.find(".restart-"));
    pod.ref.name = fmt::format("{}.restart-{}", name, gang.attempt);
    pod.ref.uid.clear();
    pod.resource_version.clear();
    pod.node_name = next.at(pod.node_name);
    AddClaims(gang, pod);
    pod = cluster_->AddPod(pod, gang.behavior);
  }
}

bool GangController::Choose(const Gang& gang, std::vector<std::string> free,
                            std::map<std::string, std::string>& nodes) const {
  std::map<std::string, std::vector<DeviceRequest>> requests;  // by previous node
  for (const Pod& pod : gang.pods) {
    for (const std::string& name : pod.resource_claims) {
      const auto found = gang.claims.find({pod.ref.ns, name});
      if (found != gang.claims.end()) requests[pod.node_name].push_back(found->second.request);
    }
  }
  auto next = free.begin();
  for (auto& [before, node] : nodes) {
    const auto wanted = requests.find(before);
    const auto chosen = wanted == requests.end() ? next : std::find_if(next, free.end(), [&](const std::string& one) {
      return cluster_->CanAllocate(one, wanted->second);
    });
    if (chosen == free.end()) return false;
    node = *chosen;
    std::rotate(next, chosen, chosen + 1);
    ++next;
  }
  return true;
}

std::vector<std::string> GangController::FreeNodes(std::set<std::string>& avoided) const {
  std::set<std::string> taken;
  for (const auto& [name, gang] : gangs_) {
    for (const Pod& pod : gang.pods) {
      if (gang.runs) taken.insert(pod.node_name);
    }
  }
  std::vector<std::string> free;
  for (const Node& node : cluster_->nodes()) {
    if (!node.ready || node.unschedulable || taken.contains(node.name)) continue;
    free.push_back(node.name);
    const bool is_avoided = std::any_of(node.taints.begin(), node.taints.end(),
                                        [](const Taint& taint) { return taint.effect == "PreferNoSchedule"; });
    if (is_avoided) avoided.insert(node.name);
  }
  return free;
}

int GangController::interruptions(const std::string& gang) const {
  const auto found = gangs_.find(gang);
  return found == gangs_.end() ? 0 : found->second.interruptions;
}

int GangController::interruptions() const {
  int sum = 0;
  for (const auto& [name, gang] : gangs_) sum += gang.interruptions;
  return sum;
}

int GangController::interruptions_peak() const {
  int peak = 0;
  for (const auto& [name, gang] : gangs_) peak = std::max(peak, gang.interruptions);
  return peak;
}

std::set<std::string> GangController::NodesOf(const std::string& gang) const {
  std::set<std::string> nodes;
  const auto found = gangs_.find(gang);
  if (found == gangs_.end() || !found->second.runs) return nodes;
  for (const Pod& pod : found->second.pods) nodes.insert(pod.node_name);
  return nodes;
}

bool GangController::AllRun() const {
  return std::all_of(gangs_.begin(), gangs_.end(), [](const auto& one) { return one.second.runs; });
}

}  // namespace driverupgrade::testing
