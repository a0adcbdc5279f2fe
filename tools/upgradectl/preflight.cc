#include "upgradectl/preflight.h"

#include <algorithm>
#include <climits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "driverupgrade/cordon_names.h"
#include "driverupgrade/upgrade_budget.h"
#include "fmt/format.h"
#include "model/node_marks.h"
#include "model/node_service.h"
#include "upgradectl/budgets.h"
#include "upgradectl/json_view.h"
#include "upgradectl/preflight_rollout.h"
#include "upgradectl/status.h"
#include "upgradectl/text.h"

namespace upgradectl {
namespace {

using driverupgrade::DaemonSet;
using driverupgrade::Node;
using driverupgrade::Pod;
using driverupgrade::PodDisruptionBudget;
using driverupgrade::UpgradePolicy;
using driverupgrade::UpgradeState;

// The kinds of obstacles: what each means is told once.
struct Kind {
  Severity severity;
  std::string_view code;
  std::string_view problem;
  std::string_view remedy;
};
constexpr Severity kError = Severity::kError;
constexpr Severity kWarning = Severity::kWarning;

// What the evacuation of one node may do with a pod.
struct Eviction {
  bool chosen = false;
  bool force = false;
  bool delete_empty_dir = false;
  absl::Duration timeout = absl::InfiniteDuration();
};

class Search {
 public:
  explicit Search(const Request& request)
      : request_(request), policy_(request.question.policy), budgets_(request.question.cluster, request.facts) {}

  std::vector<Obstacle> Run() {
    SortPods();
    CheckPolicy();
    CheckRights();
    CheckDaemonSets();
    for (const Node& node : request_.question.cluster.nodes) {
      if (IsOurs(node)) CheckNode(node);
    }
    CheckUnboundDriverPods();
    CheckBudgets();
    CheckCapacity();
    for (const EvictionWebhook& webhook : request_.facts.webhooks) {
      if (webhook.fails_closed) Add(kWebhook, fmt::format("{} ({})", webhook.configuration, webhook.name));
    }
    for (Obstacle& obstacle : FindRolloutObstacles(request_)) found_[obstacle.code] = std::move(obstacle);
    return Found();
  }

 private:
  static constexpr Kind kWebhook = {kWarning, "EvictionWebhook",
                                    "A webhook is asked about evictions, and without its answer they are refused.",
                                    "See that it answers while nodes are drained, or that failurePolicy is Ignore."};

  void Add(const Kind& kind, std::string object) {
    Obstacle& obstacle = found_[std::string(kind.code)];
    obstacle.severity = kind.severity;
    obstacle.code = kind.code;
    obstacle.problem = kind.problem;
    obstacle.remedy = kind.remedy;
    obstacle.objects.push_back(std::move(object));
  }

  std::vector<Obstacle> Found() {
    std::vector<Obstacle> obstacles;
    for (auto& [code, obstacle] : found_) {
      std::sort(obstacle.objects.begin(), obstacle.objects.end());
      obstacles.push_back(std::move(obstacle));
    }
    std::stable_sort(obstacles.begin(), obstacles.end(),
                     [](const Obstacle& a, const Obstacle& b) { return a.severity > b.severity; });
    return obstacles;
  }

  bool IsDriverPod(const Pod& pod) const {
    return pod.ref.ns == request_.place.ns && request_.question.snapshot.driver_labels.Matches(pod.labels);
  }
  bool IsOurs(const Node& node) const {
    return driver_pods_.count(node.name) > 0 || driverupgrade::internal::IsMarked(node, request_.question.identity);
  }

  void SortPods() {
    for (const Pod& pod : request_.question.cluster.pods) {
      (IsDriverPod(pod) ? driver_pods_ : other_pods_)[pod.node_name].push_back(&pod);
    }
  }

  void CheckPolicy() {
    if (request_.policy_source.empty()) {
      return Add({kWarning, "PolicyUnknown", "Nobody knows the policy, so that it is taken to have defaults.",
                  "--policy or --policy-resource."},
                 request_.place.policy ? request_.place.policy->ToString() : "policy");
    }
    const std::string& source = request_.policy_source;
    if (!policy_.auto_upgrade) {
      Add({kError, "AutoUpgradeOff", "autoUpgrade is off: nothing will be upgraded.", "Turn it on."}, source);
    }
    if (policy_.paused) {
      Add({kError, "Paused", "The policy is paused: no node will start.", "upgradectl resume."}, source);
    }
  }

  void CheckRights() {
    for (const std::string& right : request_.facts.missing_rights) {
      Add({kError, "RightMissing", "The operator may not do what it has to.", "Give it the roles of deploy/rbac."},
          right);
    }
  }

  void CheckDaemonSets() {
    bool any = false;
    for (const DaemonSet& set : request_.question.cluster.daemon_sets) {
      const bool ours = set.ns == request_.place.ns && request_.question.snapshot.driver_labels.Matches(set.labels);
      if (!ours) continue;
      any = true;
      const std::string name = set.ns + "/" + set.name;
      if (!set.on_delete) {
        Add({kError, "UpdateStrategy", "Kubernetes restarts the driver's pods by itself, under workloads.",
             "updateStrategy: {type: OnDelete}"},
            name);
      }
      if (set.observed_generation < set.generation) {
        Add({kWarning, "TemplateNotSeen", "Its controller has not seen the newest template.",
             "Is kube-controller-manager at work?"},
            name);
      }
    }
    if (!any) {
      Add({kError, "NoDaemonSet", "No DaemonSet has the driver's labels.", "--namespace and --driver-labels."},
          fmt::format("{} in {}", request_.place.labels, request_.place.ns));
    }
  }

  void CheckNode(const Node& node) {
    if (!node.unreadable.empty()) {
      return Add({kError, "NodeUnreadable", "The node cannot be read: it is left alone and holds a slot.",
                  "docs/operations.md#an-object-cannot-be-read"},
                 fmt::format("{}: {}", node.name, node.unreadable));
    }
    CheckMarks(node);
    if (!node.ready) {
      Add({kWarning, "NodeNotReady",
           "The node is not ready: it counts against maxUnavailable, and does not start.",
           "Repair it, or leave it out."},
          node.name);
    }
    if (const std::string why = driverupgrade::internal::WhyLeaving(node); !why.empty()) {
      Add({kWarning, "NodeLeaves",
           "The node is about to leave the cluster: it counts against maxUnavailable, and does not start.",
           "Nothing, unless it stays after all."},
          fmt::format("{}: {}", node.name, why));
    }
    if (const std::string why = driverupgrade::internal::WhyMachineConfig(node); !why.empty()) {
      Add({kWarning, "MachineConfig", "OpenShift is about to reboot the node: it does not start before.",
           "kubectl get machineconfigpools"},
          fmt::format("{}: {}", node.name, why));
    }
    CheckDriverPods(node);
    const auto pods = other_pods_.find(node.name);
    if (pods == other_pods_.end()) return CheckValidation(node, {});
    CheckValidation(node, pods->second);
    for (const Pod* pod : pods->second) CheckPod(*pod);
  }

  void CheckMarks(const Node& node) {
    const auto marks = driverupgrade::internal::DecodeMarks(node, request_.question.identity);
    const std::optional<UpgradeState> state = marks.State();
    if (!state) {
      Add({kError, "UnknownState", "The state label is no state: the node is left alone and holds a slot.",
           "Remove the label."},
          node.name);
    }
    if (state == UpgradeState::kFailed) {
      Add({kError, "NodeFailed", "An earlier upgrade of the node has failed: it holds a slot.",
           "Repair it, and upgradectl retry NODE."},
          node.name);
    }
    const bool rests = state == UpgradeState::kUnknown || state == UpgradeState::kDone;
    const bool ours = driverupgrade::CordonNames(node).count(request_.question.identity.Name()) > 0;
    const bool stale = marks.stage.present() || marks.failures.present() || marks.failed_revision.present() ||
                       marks.restart_pod.present() || marks.initially_unschedulable.present() || ours;
    if (rests && stale) {
      Add({kWarning, "StaleMarks", "A node at rest has annotations of an upgrade that was broken off.",
           "Remove them: docs/operations.md#on-the-node"},
          node.name);
    }
    if (marks.skip_upgrade.value()) {
      Add({kWarning, "NodeSkipped", "The node has the skip label: it keeps its old driver.", "upgradectl unskip NODE."},
          node.name);
    }
    const bool waits = state == UpgradeState::kUpgradeRequired && !ours;
    if ((rests || waits) && node.unschedulable) {
      Add({kWarning, "NodeCordoned", "The node is cordoned: it counts as unavailable, and stays cordoned.",
           "kubectl uncordon NODE, if nobody needs that."},
          node.name);
    }
    if (rests && marks.safe_load.present()) {
      Add({kWarning, "WaitsForSafeLoad", "A driver waits to be loaded: the node is upgraded in its turn.",
           "docs/operations.md#safe-load"},
          node.name);
    }
  }

  void CheckUnboundDriverPods() {
    const auto unbound = driver_pods_.find("");
    if (unbound == driver_pods_.end()) return;
    for (const Pod* pod : unbound->second) {
      if (driverupgrade::IsFinished(*pod) || pod->unscheduled_message.empty()) continue;
      const std::string node = pod->affinity_node_name.empty() ? "" : fmt::format(" for {}", pod->affinity_node_name);
      Add({kWarning, "DriverPodUnscheduled",
           "A driver pod cannot be scheduled: the node that it is for counts against maxUnavailable.",
           "Remove what the message names: taints, resources, ports, another pod."},
          fmt::format("{}{}: {}", pod->ref.ToString(), node, pod->unscheduled_message));
    }
  }

  void CheckDriverPods(const Node& node) {
    const auto pods = driver_pods_.find(node.name);
    if (pods == driver_pods_.end()) {
      return Add({kWarning, "NoDriverPod", "The node has a state label or our cordon, and no driver pod.",
                  "Do the DaemonSet's node selector and tolerations fit it? If not, the operator lifts our cordon; remove "
                  "the label of a node without it."},
                 node.name);
    }
    for (const Pod* pod : pods->second) {
      const std::string name = fmt::format("{} on {}", pod->ref.ToString(), node.name);
      if (!driverupgrade::IsDaemonSetPod(*pod)) {
        Add({kError, "DriverPodWithoutOwner", "A driver pod belongs to no DaemonSet: its node is not judged.",
             "Delete what something else made."},
            name);
      } else if (driverupgrade::RevisionHash(*pod).empty()) {
        Add({kError, "DriverPodWithoutRevision",
             "A driver pod has no controller-revision-hash: its node is not judged.",
             "Delete the pod when the node is free."},
            name);
      } else if (!driverupgrade::IsReady(*pod)) {
        Add({kWarning, "DriverPodNotReady", "A driver pod is not ready before the upgrade.", "Look at its log."}, name);
      }
    }
  }

  void CheckValidation(const Node& node, const std::vector<const Pod*>& pods) {
    const auto& selector = request_.question.machine.validation_selector;
    if (!selector) return;
    const bool found = std::any_of(pods.begin(), pods.end(), [&](const Pod* pod) {
      return selector->Matches(pod->labels) && driverupgrade::IsReady(*pod);
    });
    if (!found) {
      Add({kError, "NoValidationPod", "No validation pod is ready on the node: it would wait, and then fail.",
           "Repair the validation's DaemonSet."},
          node.name);
    }
  }

  Eviction EvictionOf(const Pod& pod) const {
    if (driverupgrade::IsDaemonSetPod(pod) || pod.mirror || driverupgrade::IsFinished(pod)) return {};
    const auto& uses_driver = request_.question.snapshot.uses_driver;
    const auto deletion = policy_.pod_deletion.value_or(driverupgrade::PodDeletionPolicy{});
    const bool uses = (uses_driver && uses_driver({}, pod).value_or(false)) ||
                      (!deletion.pod_selector.empty() && deletion.pod_selector.Matches(pod.labels));
    // Where pod deletion gives up, the drain has its turn.
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
    if (driverupgrade::ControllerOf(pod) == nullptr && !leaves_anyway && !eviction.force) {
      Add({kError, "BarePod", "No controller replaces the pod, and the policy does not let such pods go.",
           "Delete it, give it a controller, or force: true."},
          name);
    }
    if (pod.has_empty_dir && !leaves_anyway && !eviction.delete_empty_dir) {
      Add({kError, "EmptyDir", "The pod has an emptyDir, and the policy does not let such pods go.",
           "deleteEmptyDir: true, if its data may be lost; or the skip-drain label."},
          name);
    }
    CheckEnd(pod, eviction, name);
    if (!leaves_anyway) CheckBudgetsOf(pod, name);
    AddRequests(pod);
  }

  void CheckEnd(const Pod& pod, const Eviction& eviction, const std::string& name) {
    const auto facts = request_.facts.pods.find(pod.ref.ToString());
    if (facts == request_.facts.pods.end()) return;
    if (absl::Seconds(facts->second.grace_seconds) >= eviction.timeout) {
      Add({kError, "LongGrace", "The pod may take longer to end than its node has time.",
           "A longer timeoutSeconds, or a shorter terminationGracePeriodSeconds."},
          fmt::format("{}: {} of {}", name, Age(absl::Seconds(facts->second.grace_seconds)), Age(eviction.timeout)));
    }
    const bool overdue = pod.deletion_timestamp && *pod.deletion_timestamp < request_.question.at;
    if (overdue) {
      Add({kError, "DoesNotEnd", "The pod is being deleted and does not end.",
           "Its finalizers, and the node's kubelet."},
          facts->second.finalizers.empty() ? name : fmt::format("{}: {}", name, facts->second.finalizers.front()));
    }
  }

  void CheckBudgetsOf(const Pod& pod, const std::string& name) {
    const std::vector<const PodDisruptionBudget*> budgets = budgets_.Of(pod);
    if (budgets.size() > 1) {
      return Add({kError, "SeveralBudgets", "Several disruption budgets select the pod: Kubernetes never evicts it.",
                  "Change the selectors so that one is left."},
                 fmt::format("{}: {} and {}", name, budgets[0]->name, budgets[1]->name));
    }
    if (budgets.empty()) return;
    met_.insert(budgets.front());
    if (!driverupgrade::IsReady(pod) && budgets_.Refusal(pod)) {
      Add({kWarning, "UnreadyBehindBudget", "The pod is not ready, and its budget keeps it where it is.",
           "Repair the workload, or unhealthyPodEvictionPolicy: AlwaysAllow."},
          name);
    }
  }

  // Of the budgets that a drain will meet.
  void CheckBudgets() {
    for (const PodDisruptionBudget* budget : met_) {
      const std::string name = fmt::format("{}/{}: {} healthy, {} needed", budget->ns, budget->name,
                                           budget->current_healthy, budget->desired_healthy);
      if (budgets_.NeverAllows(*budget)) {
        Add({kError, "BudgetNeverAllows", "The budget needs every pod that there is: no eviction is ever allowed.",
             "One more replica, or a budget that allows one."},
            name);
      } else if (budget->disruptions_allowed <= 0) {
        Add({kWarning, "BudgetAllowsNone", "The budget allows no eviction now.", "Repair the workload's pods."}, name);
      }
    }
  }

  void AddRequests(const Pod& pod) {
    const auto facts = request_.facts.pods.find(pod.ref.ToString());
    if (facts == request_.facts.pods.end()) return;
    for (const auto& [resource, amount] : facts->second.requests) evicted_[pod.node_name][resource] += amount;
  }

  int SideBySide() const {
    driverupgrade::Tally tally;
    tally.total = static_cast<int>(driver_pods_.size());
    const auto budget = driverupgrade::ComputeBudget(tally, policy_);
    return std::min(budget.parallel_max.value_or(INT_MAX), budget.unavailable_max.value_or(INT_MAX));
  }

  Quantities FreeOf(const Node& node) const {
    const auto allocatable = request_.facts.allocatable.find(node.name);
    if (allocatable == request_.facts.allocatable.end() || node.unschedulable || !node.ready) return {};
    Quantities free = allocatable->second;
    for (const auto* pods : {&driver_pods_, &other_pods_}) {
      const auto on_node = pods->find(node.name);
      if (on_node == pods->end()) continue;
      for (const Pod* pod : on_node->second) {
        const auto facts = request_.facts.pods.find(pod->ref.ToString());
        if (facts == request_.facts.pods.end() || driverupgrade::IsFinished(*pod)) continue;
        for (const auto& [resource, amount] : facts->second.requests) free[resource] -= amount;
      }
    }
    return free;
  }

  // Whether what the busiest nodes give up fits on what the others have left. Sums, so a warning: fragments do not show.
  void CheckCapacity() {
    std::map<std::string, std::vector<std::pair<double, std::string>>> by_resource;
    for (const auto& [node, requests] : evicted_) {
      for (const auto& [resource, amount] : requests) by_resource[resource].emplace_back(amount, node);
    }
    if (by_resource.empty()) return;
    std::map<std::string, Quantities> free;
    for (const Node& node : request_.question.cluster.nodes) free[node.name] = FreeOf(node);
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
      Add({kWarning, "Capacity", "What is evicted at once does not fit on the other nodes: pods will be Pending.",
           "A lower maxParallelUpgrades, or more nodes."},
          fmt::format("{}: {:g} evicted from {} nodes, {:g} free elsewhere", resource, needed, taken.size(), left));
    }
  }

  const Request& request_;
  const UpgradePolicy& policy_;
  const Budgets budgets_;
  std::map<std::string, std::vector<const Pod*>> driver_pods_;
  std::map<std::string, std::vector<const Pod*>> other_pods_;
  std::map<std::string, Quantities> evicted_;
  std::set<const PodDisruptionBudget*> met_;
  std::map<std::string, Obstacle> found_;
};

}  // namespace

std::string_view ToString(Severity severity) { return severity == Severity::kError ? "error" : "warning"; }

std::vector<Obstacle> FindObstacles(const Request& request) { return Search(request).Run(); }

std::string FormatObstacles(const std::vector<Obstacle>& obstacles, const Screen& screen) {
  constexpr std::size_t kShown = 5;
  if (obstacles.empty()) return "nothing is in the way\n";
  std::string text;
  for (const Obstacle& obstacle : obstacles) {
    const Colour colour = obstacle.severity == Severity::kError ? Colour::kRed : Colour::kYellow;
    text += fmt::format("{} {}: {}\n  do: {}\n", Paint(ToString(obstacle.severity), colour, screen), obstacle.code,
                        obstacle.problem, obstacle.remedy);
    for (std::size_t i = 0; i < std::min(obstacle.objects.size(), kShown); ++i) {
      text += "  - " + Printable(obstacle.objects[i]) + "\n";
    }
    if (obstacle.objects.size() > kShown) text += fmt::format("  - and {} more\n", obstacle.objects.size() - kShown);
  }
  return text;
}

std::string FormatObstaclesJson(const std::vector<Obstacle>& obstacles) {
  json::Document document(json::kArrayType);
  auto& allocator = document.GetAllocator();
  const auto text = [&](std::string_view value) { return json::Value(std::string(value), allocator); };
  for (const Obstacle& obstacle : obstacles) {
    json::Value row(json::kObjectType);
    row.AddMember("severity", text(ToString(obstacle.severity)), allocator);
    row.AddMember("code", text(obstacle.code), allocator);
    row.AddMember("problem", text(obstacle.problem), allocator);
    row.AddMember("remedy", text(obstacle.remedy), allocator);
    json::Value objects(json::kArrayType);
    for (const std::string& object : obstacle.objects) objects.PushBack(text(object), allocator);
    row.AddMember("objects", objects, allocator);
    document.PushBack(row, allocator);
  }
  return ToPrettyJson(document);
}

}  // namespace upgradectl
