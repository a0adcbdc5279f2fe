#include "whatif/simulation/furnish.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "decide/rollout/record.h"
#include "driverupgrade/driver_identity.h"
#include "model/node_marks.h"
#include "whatif/gang_pods.h"
#include "whatif/json_view.h"

namespace driverupgrade::whatif {
namespace {

using testing::FakeCluster;

constexpr std::string_view kHasDriver = "driverupgrade/has-driver";
constexpr std::string_view kOldHash = "old";
constexpr std::string_view kNewHash = "new";

bool IsOfDriver(const Situation& situation, const Pod& pod) {
  return pod.ref.ns == situation.question.snapshot.ns && situation.question.snapshot.driver_labels.Matches(pod.labels);
}

std::set<std::string, std::less<>> NodesWithDriver(const Situation& situation) {
  std::set<std::string, std::less<>> nodes;
  for (const Pod& pod : situation.question.cluster.pods) {
    if (IsOfDriver(situation, pod) && !NodeOf(pod).empty()) nodes.insert(NodeOf(pod));
  }
  return nodes;
}

// If a driver pod currently cannot be scheduled on a node without another driver pod, marks the node as full for the
// whole simulation, because nothing in the simulation frees capacity.
void FurnishFullNodes(const Situation& situation, FakeCluster& cluster) {
  std::set<std::string, std::less<>> served;
  for (const Pod& pod : situation.question.cluster.pods) {
    if (IsOfDriver(situation, pod)) served.insert(pod.node_name);
  }
  for (const Pod& pod : situation.question.cluster.pods) {
    if (!IsOfDriver(situation, pod) || !pod.node_name.empty() || pod.unscheduled_message.empty()) continue;
    if (!served.contains(NodeOf(pod))) cluster.SetNodeFull(NodeOf(pod), pod.unscheduled_message);
  }
}

// Returns the pod template of a revision as JSON; empty if the data of the revision is not known.
std::string TemplateOf(const ControllerRevision& revision) {
  json::Document data;
  data.Parse<json::kParseIterativeFlag>(revision.data.data(), revision.data.size());
  if (data.HasParseError()) return "";
  const json::Value* found = Find(data, {"spec", "template"});
  return found == nullptr ? "" : Compact(*found);
}

bool HasHash(const ControllerRevision& revision, std::string_view hash) {
  const auto found = revision.labels.find("controller-revision-hash");
  return found != revision.labels.end() && found->second == hash;
}

// Returns the revision of the pod's DaemonSet with this hash.
const ControllerRevision* RevisionOf(const Situation& situation, const Pod& pod, std::string_view hash) {
  const OwnerReference* owner = ControllerOf(pod);
  if (owner == nullptr) return nullptr;
  for (const ControllerRevision& revision : situation.question.cluster.controller_revisions) {
    if (revision.owner_uid == owner->uid && HasHash(revision, hash)) return &revision;
  }
  return nullptr;
}

const ControllerRevision* NewestFor(const Situation& situation, const Pod& pod) {
  const OwnerReference* owner = ControllerOf(pod);
  const ControllerRevision* newest = nullptr;
  if (owner == nullptr) return newest;
  for (const ControllerRevision& revision : situation.question.cluster.controller_revisions) {
    if (revision.owner_uid != owner->uid) continue;
    if (newest == nullptr || newest->revision < revision.revision) newest = &revision;
  }
  return newest;
}

bool IsWanted(const Situation& situation, const std::string& hash) {
  return std::any_of(
      situation.question.cluster.pods.begin(), situation.question.cluster.pods.end(), [&](const Pod& pod) {
        const ControllerRevision* newest = IsOfDriver(situation, pod) ? NewestFor(situation, pod) : nullptr;
        return newest != nullptr && HasHash(*newest, hash);
      });
}

struct Templates {
  std::string running = {};
  std::string wanted = {};
};

// Both templates are empty if all pods are up to date, because the next revision is not known.
Templates TemplatesOf(const Situation& situation) {
  std::map<std::pair<std::string, std::string>, int> pods;
  for (const Pod& pod : situation.question.cluster.pods) {
    if (!IsOfDriver(situation, pod)) continue;
    const ControllerRevision* running = RevisionOf(situation, pod, RevisionHash(pod));
    const ControllerRevision* wanted = NewestFor(situation, pod);
    if (running != nullptr && running != wanted) ++pods[{TemplateOf(*running), TemplateOf(*wanted)}];
  }
  const auto most =
      std::max_element(pods.begin(), pods.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == pods.end() || most->first.first.empty() || most->first.second.empty()) return {};
  return {.running = most->first.first, .wanted = most->first.second};
}

void FurnishBudgets(const Situation& situation, FakeCluster& cluster) {
  for (const PodDisruptionBudget& budget : situation.question.cluster.pod_disruption_budgets) {
    const auto always = situation.facts.always_allow_unhealthy.find(budget.ns + "/" + budget.name);
    cluster.AddDisruptionBudget(
        {.ns = budget.ns,
         .name = budget.name,
         .selector = budget.selector,
         .min_available = budget.desired_healthy,
         .always_allow_unhealthy = always != situation.facts.always_allow_unhealthy.end() && always->second});
  }
}

void FurnishNode(const Situation& situation, Node node, FakeCluster& cluster) {
  internal::RemoveMarks(node, situation.question.identity);
  node.labels[std::string(kHasDriver)] = "true";
  cluster.AddNode(std::move(node));
}

// Claims are added before their pods, because several pods can share a claim.
void FurnishDevices(const Situation& situation, const std::set<std::string, std::less<>>& nodes,
                    const SimulatedDevices& devices, FakeCluster& cluster) {
  for (const std::string& node : nodes) devices.Publish(node, cluster);
  std::set<std::pair<std::string, std::string>> added;
  for (const Pod& pod : situation.question.cluster.pods) {
    if (!nodes.contains(pod.node_name)) continue;
    for (testing::ResourceClaimSpec& claim : devices.ClaimsOf(pod)) {
      if (added.emplace(claim.ns, claim.name).second) cluster.AddResourceClaim(std::move(claim));
    }
  }
}

// Adds a pod that can be read and needs an eviction. Skips terminating pods, unless a finalizer has kept a pod beyond
// its grace period. Such a pod is added as a pod that never stops.
void FurnishPod(const Situation& situation, Pod pod, const Durations& durations, Jitter& jitter, FakeCluster& cluster) {
  const bool stays = IsOfDriver(situation, pod) || IsDaemonSetPod(pod) || IsFinished(pod);
  const bool held =
      pod.deletion_timestamp && *pod.deletion_timestamp < situation.question.at && !pod.finalizers.empty();
  const bool leaves = pod.deletion_timestamp && !held;
  if (stays || !pod.unreadable.empty() || leaves) return;
  const absl::Duration start = jitter(durations.pod_start);
  const absl::Duration stop = jitter(durations.pod_stop);
  cluster.AddPod(std::move(pod), {.start_delay = start, .stop_delay = held ? absl::InfiniteDuration() : stop});
}

// Returns the tolerations of all DaemonSets of the driver; nullopt if any of them are unknown.
std::optional<std::vector<Toleration>> TolerationsOf(const Situation& situation) {
  const auto& snapshot = situation.question.snapshot;
  std::vector<Toleration> all;
  for (const DaemonSet& set : situation.question.cluster.daemon_sets) {
    if (set.ns != snapshot.ns || !snapshot.driver_labels.Matches(set.labels)) continue;
    if (!set.tolerations) return std::nullopt;
    all.insert(all.end(), set.tolerations->begin(), set.tolerations->end());
  }
  return all;
}

}  // namespace

absl::Duration Jitter::operator()(absl::Duration duration) {
  std::uniform_real_distribution<double> share(-part, part);
  return duration * (1 + share(random));
}

void Furnish(const Situation& situation, const Durations& durations, const SimulatedDevices& devices, Jitter& jitter,
             FakeCluster& cluster, testing::GangController& gangs) {
  const auto nodes = NodesWithDriver(situation);
  for (const Node& node : situation.question.cluster.nodes) {
    if (nodes.contains(node.name) && node.unreadable.empty()) FurnishNode(situation, node, cluster);
  }
  FurnishFullNodes(situation, cluster);
  const std::string ns = situation.question.snapshot.ns;
  const Templates templates = TemplatesOf(situation);
  cluster.AddDaemonSet({.ns = ns,
                        .name = std::string(kDriverSet),
                        .labels = {{"app", std::string(kDriverSet)}},
                        .node_selector = {{std::string(kHasDriver), "true"}},
                        .tolerations = TolerationsOf(situation),
                        .hash = std::string(kOldHash),
                        .template_json = templates.running,
                        .behavior = {.stop_delay = durations.driver_stop}});
  // Budgets are added before the pods, because adding a budget later would examine every pod again.
  FurnishBudgets(situation, cluster);
  FurnishDevices(situation, nodes, devices, cluster);
  std::set<std::string> of_gangs;
  for (auto& [gang, pods] : PodsOfGangs(situation, nodes)) {
    std::vector<testing::ResourceClaimSpec> claims;
    for (Pod& pod : pods) {
      of_gangs.insert(pod.ref.uid);
      // Drops claims that are not simulated, because a restarted pod would wait for them indefinitely.
      const std::vector<testing::ResourceClaimSpec> own = devices.ClaimsOf(pod);
      pod.resource_claims.clear();
      for (const testing::ResourceClaimSpec& claim : own) pod.resource_claims.push_back(claim.name);
      claims.insert(claims.end(), own.begin(), own.end());
    }
    gangs.Add(gang, pods, {.start_delay = jitter(durations.pod_start), .stop_delay = jitter(durations.pod_stop)},
              claims);
  }
  for (Pod pod : situation.question.cluster.pods) {
    if (!nodes.contains(pod.node_name) || of_gangs.contains(pod.ref.uid)) continue;
    devices.DropUnknownClaims(pod);
    FurnishPod(situation, std::move(pod), durations, jitter, cluster);
  }
  cluster.SetTemplate(ns, std::string(kDriverSet), std::string(kNewHash), templates.wanted);
}

bool SeedRecord(const Situation& situation, FakeCluster& cluster) {
  const std::optional<std::string>& record = situation.question.rollout_record;
  if (!record || record->empty()) return false;
  const internal::RolloutRecord stored = internal::ParseRecord(*record).record;
  const internal::RolloutRecord seeded{
      .revision = IsWanted(situation, stored.revision) ? std::string(kNewHash) : stored.revision,
      .durations = stored.durations};
  const ConfigMap ledger{.ns = situation.question.snapshot.ns,
                         .name = std::string(kLedger),
                         .data = {{RecordKey(situation.question.identity), FormatRecord(seeded)}}};
  return cluster.CreateConfigMap({}, ledger).ok();
}

}  // namespace driverupgrade::whatif
