#include "whatif/preflight/preflight_pods.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "decide/admission/upgrade_budget.h"
#include "driverupgrade/plan.h"
#include "fmt/format.h"
#include "whatif/age.h"
#include "whatif/budgets.h"

namespace driverupgrade::whatif {
namespace {

using enum Severity;

// Describes how an evacuation treats one pod.
struct Eviction {
  bool chosen = false;
  bool force = false;
  bool delete_empty_dir = false;
  absl::Duration timeout = absl::InfiniteDuration();
};

class PodSearch {
 public:
  PodSearch(const Situation& situation, const SortedPods& pods, ObstacleList& obstacles)
      : situation_(situation),
        policy_(situation.question.policy),
        pods_(pods),
        obstacles_(obstacles),
        budgets_(situation.question.cluster, situation.facts) {}

  void Run(const std::vector<const Node*>& nodes) {
    for (const Node* node : nodes) {
      const auto pods = pods_.others.find(node->name);
      if (pods == pods_.others.end()) continue;
      for (const Pod* pod : pods->second) CheckPod(*pod);
    }
    CheckBudgets();
    CheckCapacity();
  }

 private:
  Eviction EvictionOf(const Pod& pod) const {
    if (IsDaemonSetPod(pod) || pod.mirror || IsFinished(pod)) return {};
    const auto& uses_driver = situation_.question.snapshot.uses_driver;
    const auto deletion = policy_.pod_deletion.value_or(PodDeletionPolicy{});
    const bool uses = (uses_driver && uses_driver({}, pod).value_or(false)) ||
                      (!deletion.pod_selector.empty() && deletion.pod_selector.Matches(pod.labels));
    // If pod deletion fails, the drain follows.
    const bool drained = policy_.drain && policy_.drain->pod_selector.Matches(pod.labels);
    if (drained) {
      return {.chosen = true,
              .force = policy_.drain->force || (uses && deletion.force),
              .delete_empty_dir = policy_.drain->delete_empty_dir || (uses && deletion.delete_empty_dir),
              .timeout = policy_.drain->timeout};
    }
    return {.chosen = uses,
            .force = deletion.force,
            .delete_empty_dir = deletion.delete_empty_dir,
            .timeout = deletion.timeout};
  }

  void CheckPod(const Pod& pod) {
    const Eviction eviction = EvictionOf(pod);
    if (!eviction.chosen) return;
    const std::string name = fmt::format("{} on {}", pod.ref.ToString(), pod.node_name);
    const bool leaves_anyway = pod.deletion_timestamp.has_value();
    if (ControllerOf(pod) == nullptr && !leaves_anyway && !eviction.force) {
      obstacles_.Add(
          {kError, "BarePod", "No controller replaces the pod, and the policy does not allow evicting such pods.",
           "Delete it, give it a controller, or set force: true."},
          name);
    }
    if (pod.has_empty_dir && !leaves_anyway && !eviction.delete_empty_dir) {
      obstacles_.Add({kError, "EmptyDir", "The pod has an emptyDir, and the policy does not allow evicting such pods.",
                      "If its data may be lost, set deleteEmptyDir: true; otherwise set the skip-drain label."},
                     name);
    }
    if (pod.tolerates_cordon_since && ControllerOf(pod) != nullptr) {
      obstacles_.Add({kWarning, "ToleratesCordon",
                      "The pod tolerates the cordon, so its replacement may be scheduled onto the same node.",
                      "Remove its toleration of node.kubernetes.io/unschedulable."},
                     name);
    }
    CheckEnd(pod, eviction, name);
    if (!leaves_anyway) CheckBudgetsOf(pod, name);
    AddRequests(pod);
  }

  void CheckEnd(const Pod& pod, const Eviction& eviction, const std::string& name) {
    const auto facts = situation_.facts.pods.find(pod.ref.ToString());
    if (facts == situation_.facts.pods.end()) return;
    if (absl::Seconds(facts->second.grace_seconds) >= eviction.timeout) {
      obstacles_.Add(
          {kError, "LongGrace", "The pod may take longer to terminate than the timeout of the eviction.",
           "Raise timeoutSeconds, or lower terminationGracePeriodSeconds."},
          fmt::format("{}: {} of {}", name, Age(absl::Seconds(facts->second.grace_seconds)), Age(eviction.timeout)));
    }
    const bool overdue = pod.deletion_timestamp && *pod.deletion_timestamp < situation_.question.at;
    if (overdue) {
      obstacles_.Add(
          {kError, "DoesNotEnd", "The pod is being deleted but does not terminate.",
           "Check its finalizers and the node's kubelet."},
          facts->second.finalizers.empty() ? name : fmt::format("{}: {}", name, facts->second.finalizers.front()));
    }
  }

  void CheckBudgetsOf(const Pod& pod, const std::string& name) {
    const std::vector<const PodDisruptionBudget*> budgets = budgets_.Of(pod);
    if (budgets.size() > 1) {
      return obstacles_.Add(
          {kError, "SeveralBudgets", "Several disruption budgets select the pod: Kubernetes never evicts it.",
           "Change the selectors so that only one budget selects it."},
          fmt::format("{}: {} and {}", name, budgets[0]->name, budgets[1]->name));
    }
    if (budgets.empty()) return;
    met_.insert(budgets.front());
    if (!IsReady(pod) && budgets_.Refusal(pod)) {
      obstacles_.Add(
          {kWarning, "UnreadyBehindBudget", "The pod is not ready, and its budget does not allow its eviction.",
           "Repair the workload, or set unhealthyPodEvictionPolicy: AlwaysAllow."},
          name);
    }
  }

  // Checks the budgets of the pods that would be evicted.
  void CheckBudgets() {
    for (const PodDisruptionBudget* budget : met_) {
      const std::string name = fmt::format("{}/{}: {} healthy, {} needed", budget->ns, budget->name,
                                           budget->current_healthy, budget->desired_healthy);
      if (budgets_.NeverAllows(*budget)) {
        obstacles_.Add(
            {kError, "BudgetNeverAllows", "The budget requires all existing pods: it never allows an eviction.",
             "Add a replica, or change the budget to allow a disruption."},
            name);
      } else if (budget->disruptions_allowed <= 0) {
        obstacles_.Add(
            {kWarning, "BudgetAllowsNone", "The budget allows no eviction now.", "Repair the workload's pods."}, name);
      }
    }
  }

  void AddRequests(const Pod& pod) {
    const auto facts = situation_.facts.pods.find(pod.ref.ToString());
    if (facts == situation_.facts.pods.end()) return;
    for (const auto& [resource, amount] : facts->second.requests) evicted_[pod.node_name][resource] += amount;
  }

  int SideBySide() const {
    Tally tally;
    tally.total = static_cast<int>(pods_.driver.size());
    const auto budget = internal::ComputeBudget(tally, policy_);
    return std::min(budget.parallel_max.value_or(INT_MAX), budget.unavailable_max.value_or(INT_MAX));
  }

  Quantities FreeOf(const Node& node) const {
    const auto allocatable = situation_.facts.allocatable.find(node.name);
    if (allocatable == situation_.facts.allocatable.end() || node.unschedulable || !node.ready) return {};
    Quantities free = allocatable->second;
    for (const auto* pods : {&pods_.driver, &pods_.others}) {
      const auto on_node = pods->find(node.name);
      if (on_node == pods->end()) continue;
      for (const Pod* pod : on_node->second) {
        const auto facts = situation_.facts.pods.find(pod->ref.ToString());
        if (facts == situation_.facts.pods.end() || IsFinished(*pod)) continue;
        for (const auto& [resource, amount] : facts->second.requests) free[resource] -= amount;
      }
    }
    return free;
  }

  // Checks whether the pods of the nodes with the largest requests fit on the other nodes. Compares only the sums of
  // the requests and of the free resources: if the free resources are fragmented, pods may be Pending without a
  // warning.
  void CheckCapacity() {
    std::map<std::string, std::vector<std::pair<double, std::string>>> by_resource;
    for (const auto& [node, requests] : evicted_) {
      for (const auto& [resource, amount] : requests) by_resource[resource].emplace_back(amount, node);
    }
    if (by_resource.empty()) return;
    std::map<std::string, Quantities> free;
    for (const Node& node : situation_.question.cluster.nodes) free[node.name] = FreeOf(node);
    const std::size_t side_by_side = static_cast<std::size_t>(std::max(1, SideBySide()));
    for (auto& [resource, nodes] : by_resource) {
      std::sort(nodes.rbegin(), nodes.rend());
      std::set<std::string> taken;
      double needed = 0;
      for (std::size_t i = 0; i < std::min(side_by_side, nodes.size()); ++i) {
        needed += nodes[i].first;
        taken.insert(nodes[i].second);
      }
      double left = 0;
      for (const auto& [node, quantities] : free) {
        const auto amount = quantities.find(resource);
        if (taken.count(node) == 0 && amount != quantities.end()) left += std::max(0.0, amount->second);
      }
      if (needed <= left) continue;
      obstacles_.Add({kWarning, "Capacity",
                      "The pods that are evicted at the same time do not fit on the other nodes: some will be Pending.",
                      "Lower maxParallelUpgrades, or add nodes."},
                     fmt::format("{}: {} evicted from {} nodes, {} free elsewhere", resource, absl::StrCat(needed),
                                 taken.size(), absl::StrCat(left)));
    }
  }

  const Situation& situation_;
  const UpgradePolicy& policy_;
  const SortedPods& pods_;
  ObstacleList& obstacles_;
  const Budgets budgets_;
  std::map<std::string, Quantities> evicted_;
  std::set<const PodDisruptionBudget*> met_;
};

}  // namespace

SortedPods SortPods(const Question& question) {
  SortedPods sorted;
  for (const Pod& pod : question.cluster.pods) {
    const bool is_driver = pod.ref.ns == question.snapshot.ns && question.snapshot.driver_labels.Matches(pod.labels);
    (is_driver ? sorted.driver : sorted.others)[pod.node_name].push_back(&pod);
  }
  return sorted;
}

void FindPodObstacles(const Situation& situation, const SortedPods& pods, const std::vector<const Node*>& nodes,
                      ObstacleList& obstacles) {
  PodSearch(situation, pods, obstacles).Run(nodes);
}

}  // namespace driverupgrade::whatif
