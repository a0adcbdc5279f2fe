#include "upgradectl/furnish.h"

#include <set>
#include <string>
#include <utility>

#include "driverupgrade/driver_identity.h"

namespace upgradectl {
namespace {

using driverupgrade::Node;
using driverupgrade::Pod;
using driverupgrade::testing::FakeCluster;

constexpr std::string_view kHasDriver = "upgradectl/has-driver";
constexpr std::string_view kOldHash = "old";
constexpr std::string_view kNewHash = "new";

bool IsOfDriver(const Request& request, const Pod& pod) {
  return pod.ref.ns == request.place.ns && request.question.snapshot.driver_labels.Matches(pod.labels);
}

std::set<std::string> NodesWithDriver(const Request& request) {
  std::set<std::string> nodes;
  for (const Pod& pod : request.question.cluster.pods) {
    if (IsOfDriver(request, pod) && !pod.node_name.empty()) nodes.insert(pod.node_name);
  }
  return nodes;
}

void FurnishBudgets(const Request& request, FakeCluster& cluster) {
  for (const driverupgrade::PodDisruptionBudget& budget : request.question.cluster.pod_disruption_budgets) {
    cluster.AddDisruptionBudget(
        {.ns = budget.ns, .name = budget.name, .selector = budget.selector, .min_available = budget.desired_healthy});
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

void Furnish(const Request& request, const Durations& durations, Jitter& jitter, FakeCluster& cluster) {
  const std::set<std::string> nodes = NodesWithDriver(request);
  for (const Node& node : request.question.cluster.nodes) {
    if (nodes.contains(node.name) && node.unreadable.empty()) FurnishNode(request, node, cluster);
  }
  const std::string ns = request.place.ns;
  cluster.AddDaemonSet({.ns = ns,
                        .name = std::string(kDriverSet),
                        .labels = {{"app", std::string(kDriverSet)}},
                        .node_selector = {{std::string(kHasDriver), "true"}},
                        .hash = std::string(kOldHash),
                        .behavior = {.stop_delay = durations.driver_stop}});
  // Before the pods: a budget that comes later looks at each of them.
  FurnishBudgets(request, cluster);
  for (const Pod& pod : request.question.cluster.pods) {
    if (nodes.contains(pod.node_name)) FurnishPod(request, pod, durations, jitter, cluster);
  }
  cluster.SetTemplate(ns, std::string(kDriverSet), std::string(kNewHash));
}

}  // namespace upgradectl
