#include "upgradectl/furnish.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "decide/rollout/record.h"
#include "driverupgrade/driver_identity.h"
#include "upgradectl/gangs.h"
#include "upgradectl/json_view.h"

namespace upgradectl {
namespace {

using driverupgrade::ControllerRevision;
using driverupgrade::Node;
using driverupgrade::Pod;
using driverupgrade::testing::FakeCluster;

constexpr std::string_view kHasDriver = "upgradectl/has-driver";
constexpr std::string_view kOldHash = "old";
constexpr std::string_view kNewHash = "new";

bool IsOfDriver(const Request& request, const Pod& pod) {
  return pod.ref.ns == request.place.ns && request.question.snapshot.driver_labels.Matches(pod.labels);
}

std::set<std::string, std::less<>> NodesWithDriver(const Request& request) {
  std::set<std::string, std::less<>> nodes;
  for (const Pod& pod : request.question.cluster.pods) {
    if (IsOfDriver(request, pod) && !NodeOf(pod).empty()) nodes.insert(NodeOf(pod));
  }
  return nodes;
}

// A driver pod that cannot be scheduled now cannot be scheduled later either: nothing in the simulation makes room.
void FurnishFullNodes(const Request& request, FakeCluster& cluster) {
  for (const Pod& pod : request.question.cluster.pods) {
    if (!IsOfDriver(request, pod) || !pod.node_name.empty() || pod.unscheduled_message.empty()) continue;
    cluster.SetNodeFull(NodeOf(pod), pod.unscheduled_message);
  }
}

// The pod template of a revision as JSON; empty if its data is not known.
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

// The revision with this hash of the pod's DaemonSet.
const ControllerRevision* RevisionOf(const Request& request, const Pod& pod, std::string_view hash) {
  const driverupgrade::OwnerReference* owner = driverupgrade::ControllerOf(pod);
  if (owner == nullptr) return nullptr;
  for (const ControllerRevision& revision : request.question.cluster.controller_revisions) {
    if (revision.owner_uid == owner->uid && HasHash(revision, hash)) return &revision;
  }
  return nullptr;
}

const ControllerRevision* NewestFor(const Request& request, const Pod& pod) {
  const driverupgrade::OwnerReference* owner = driverupgrade::ControllerOf(pod);
  const ControllerRevision* newest = nullptr;
  if (owner == nullptr) return newest;
  for (const ControllerRevision& revision : request.question.cluster.controller_revisions) {
    if (revision.owner_uid != owner->uid) continue;
    if (newest == nullptr || newest->revision < revision.revision) newest = &revision;
  }
  return newest;
}

bool IsWanted(const Request& request, const std::string& hash) {
  return std::any_of(request.question.cluster.pods.begin(), request.question.cluster.pods.end(), [&](const Pod& pod) {
    const ControllerRevision* newest = IsOfDriver(request, pod) ? NewestFor(request, pod) : nullptr;
    return newest != nullptr && HasHash(*newest, hash);
  });
}

struct Templates {
  std::string running = {};
  std::string wanted = {};
};

// Both are empty if all pods are up to date: the revision that comes next is not known.
Templates TemplatesOf(const Request& request) {
  std::map<std::pair<std::string, std::string>, int> pods;
  for (const Pod& pod : request.question.cluster.pods) {
    if (!IsOfDriver(request, pod)) continue;
    const ControllerRevision* running = RevisionOf(request, pod, driverupgrade::RevisionHash(pod));
    const ControllerRevision* wanted = NewestFor(request, pod);
    if (running != nullptr && running != wanted) ++pods[{TemplateOf(*running), TemplateOf(*wanted)}];
  }
  const auto most =
      std::max_element(pods.begin(), pods.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == pods.end() || most->first.first.empty() || most->first.second.empty()) return {};
  return {.running = most->first.first, .wanted = most->first.second};
}

void FurnishBudgets(const Request& request, FakeCluster& cluster) {
  for (const driverupgrade::PodDisruptionBudget& budget : request.question.cluster.pod_disruption_budgets) {
    const auto always = request.facts.always_allow_unhealthy.find(budget.ns + "/" + budget.name);
    cluster.AddDisruptionBudget(
        {.ns = budget.ns,
         .name = budget.name,
         .selector = budget.selector,
         .min_available = budget.desired_healthy,
         .always_allow_unhealthy = always != request.facts.always_allow_unhealthy.end() && always->second});
  }
}

void FurnishNode(const Request& request, Node node, FakeCluster& cluster) {
  const std::string& prefix = request.question.identity.KeyPrefix();
  const bool skipped = node.labels.count(request.question.identity.SkipUpgradeLabel()) > 0;
  const auto is_ours = [&](const auto& entry) { return std::string_view(entry.first).starts_with(prefix); };
  std::erase_if(node.labels, is_ours);
  // A cordon of an upgrade goes with its marks, an administrator's stays.
  if (node.annotations.erase(std::string(driverupgrade::kCordonedByAnnotation)) > 0) node.unschedulable = false;
  std::erase_if(node.annotations, is_ours);
  if (skipped) node.labels[request.question.identity.SkipUpgradeLabel()] = "true";
  node.labels[std::string(kHasDriver)] = "true";
  cluster.AddNode(std::move(node));
}

// A terminating pod is soon gone, unless a finalizer has held it beyond its grace period.
void FurnishPod(const Request& request, Pod pod, const Durations& durations, Jitter& jitter, FakeCluster& cluster) {
  const bool stays = IsOfDriver(request, pod) || driverupgrade::IsDaemonSetPod(pod) || driverupgrade::IsFinished(pod);
  const bool held = pod.deletion_timestamp && *pod.deletion_timestamp < request.question.at && !pod.finalizers.empty();
  const bool leaves = pod.deletion_timestamp && !held;
  if (stays || !pod.unreadable.empty() || leaves) return;
  const absl::Duration start = jitter(durations.pod_start);
  const absl::Duration stop = jitter(durations.pod_stop);
  cluster.AddPod(std::move(pod), {.start_delay = start, .stop_delay = held ? absl::InfiniteDuration() : stop});
}

}  // namespace

absl::Duration Jitter::operator()(absl::Duration duration) {
  std::uniform_real_distribution<double> share(-part, part);
  return duration * (1 + share(random));
}

void Furnish(const Request& request, const Durations& durations, Jitter& jitter, FakeCluster& cluster,
             driverupgrade::testing::GangController& gangs) {
  const auto nodes = NodesWithDriver(request);
  for (const Node& node : request.question.cluster.nodes) {
    if (nodes.contains(node.name) && node.unreadable.empty()) FurnishNode(request, node, cluster);
  }
  FurnishFullNodes(request, cluster);
  const std::string ns = request.place.ns;
  const Templates templates = TemplatesOf(request);
  cluster.AddDaemonSet({.ns = ns,
                        .name = std::string(kDriverSet),
                        .labels = {{"app", std::string(kDriverSet)}},
                        .node_selector = {{std::string(kHasDriver), "true"}},
                        .hash = std::string(kOldHash),
                        .template_json = templates.running,
                        .behavior = {.stop_delay = durations.driver_stop}});
  // Before the pods: a budget that comes later looks at each of them.
  FurnishBudgets(request, cluster);
  const std::map<std::string, std::vector<Pod>> gang_pods = PodsOfGangs(request, nodes);
  std::set<std::string> of_gangs;
  for (const auto& [gang, pods] : gang_pods) {
    for (const Pod& pod : pods) of_gangs.insert(pod.ref.uid);
    gangs.Add(gang, pods, {.start_delay = jitter(durations.pod_start), .stop_delay = jitter(durations.pod_stop)});
  }
  for (const Pod& pod : request.question.cluster.pods) {
    if (!nodes.contains(pod.node_name) || of_gangs.contains(pod.ref.uid)) continue;
    FurnishPod(request, pod, durations, jitter, cluster);
  }
  cluster.SetTemplate(ns, std::string(kDriverSet), std::string(kNewHash), templates.wanted);
}

bool SeedRecord(const Request& request, FakeCluster& cluster) {
  const std::optional<std::string>& record = request.question.rollout_record;
  if (!record || record->empty()) return false;
  const driverupgrade::internal::RolloutRecord stored = driverupgrade::internal::ParseRecord(*record).record;
  const driverupgrade::internal::RolloutRecord seeded{
      .revision = IsWanted(request, stored.revision) ? std::string(kNewHash) : stored.revision,
      .durations = stored.durations};
  const driverupgrade::ConfigMap ledger{.ns = request.place.ns,
                                        .name = std::string(kLedger),
                                        .data = {{RecordKey(request.question.identity), FormatRecord(seeded)}}};
  return cluster.CreateConfigMap({}, ledger).ok();
}

}  // namespace upgradectl
