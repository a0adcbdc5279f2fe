#include "whatif/preflight/preflight.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "model/cordon_names.h"
#include "model/node_marks.h"
#include "model/node_service.h"
#include "whatif/preflight/preflight_pods.h"
#include "whatif/preflight/preflight_rollout.h"

namespace driverupgrade::whatif {
namespace {

using enum Severity;

class Search {
 public:
  explicit Search(const Situation& situation)
      : situation_(situation), policy_(situation.question.policy), pods_(SortPods(situation.question)) {}

  std::vector<Obstacle> Run() {
    CheckPolicy();
    CheckRights();
    CheckDaemonSets();
    std::vector<const Node*> readable;
    for (const Node& node : situation_.question.cluster.nodes) {
      if (!IsOurs(node)) continue;
      CheckNode(node);
      if (node.unreadable.empty()) readable.push_back(&node);
    }
    CheckUnboundDriverPods();
    FindPodObstacles(situation_, pods_, readable, obstacles_);
    for (const EvictionWebhook& webhook : situation_.facts.webhooks) {
      if (webhook.fails_closed) Add(kWebhook, fmt::format("{} ({})", webhook.configuration, webhook.name));
    }
    FindRolloutObstacles(situation_, obstacles_);
    return obstacles_.Take();
  }

 private:
  static constexpr ObstacleKind kWebhook = {
      kWarning, "EvictionWebhook",
      "The API server sends evictions to a webhook, and refuses them if the webhook does not respond.",
      "Make sure that it responds while nodes are drained, or set failurePolicy to Ignore."};

  void Add(const ObstacleKind& kind, std::string object) { obstacles_.Add(kind, std::move(object)); }

  bool IsOurs(const Node& node) const {
    return pods_.driver.count(node.name) > 0 || internal::IsMarked(node, situation_.question.identity);
  }

  void CheckPolicy() {
    const std::string& source = situation_.policy_name;
    if (!situation_.knows_policy) {
      return Add({kWarning, "PolicyUnknown", "The policy is not known: preflight uses the default values.",
                  "Set --policy or --policy-resource."},
                 source);
    }
    if (!policy_.auto_upgrade) {
      Add({kError, "AutoUpgradeOff", "autoUpgrade is off: no node will be upgraded.", "Set autoUpgrade to true."},
          source);
    }
    if (policy_.paused) {
      Add({kError, "Paused", "The policy is paused: no node will start.", "Run upgradectl resume."}, source);
    }
  }

  void CheckRights() {
    for (const std::string& right : situation_.facts.missing_rights) {
      Add({kError, "RightMissing", "The operator lacks a permission that it needs.",
           "Bind its ServiceAccount to the roles in deploy/rbac."},
          right);
    }
  }

  std::vector<const DaemonSet*> OurDaemonSets() const {
    const auto& snapshot = situation_.question.snapshot;
    std::vector<const DaemonSet*> ours;
    for (const DaemonSet& set : situation_.question.cluster.daemon_sets) {
      if (set.ns == snapshot.ns && snapshot.driver_labels.Matches(set.labels)) ours.push_back(&set);
    }
    return ours;
  }

  void CheckDaemonSets() {
    const std::vector<const DaemonSet*> ours = OurDaemonSets();
    for (const DaemonSet* one : ours) {
      const DaemonSet& set = *one;
      const std::string name = set.ns + "/" + set.name;
      if (!set.on_delete) {
        Add({kError, "UpdateStrategy", "Kubernetes replaces the driver's pods on its own, while workloads use them.",
             "Set updateStrategy: {type: OnDelete}."},
            name);
      }
      if (set.observed_generation < set.generation) {
        Add({kWarning, "TemplateNotSeen", "The DaemonSet's controller has not observed the newest template.",
             "Check that kube-controller-manager is running."},
            name);
      }
    }
    if (ours.empty()) {
      Add({kError, "NoDaemonSet", "No DaemonSet has the driver's labels.", "Check --namespace and --driver-labels."},
          fmt::format("{} in {}", situation_.question.snapshot.driver_labels.ToString(),
                      situation_.question.snapshot.ns));
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
      Add({kWarning, "NodeNotReady", "The node is not ready: it counts against maxUnavailable, and does not start.",
           "Repair it, or skip it."},
          node.name);
    }
    if (const std::string taint = internal::TaintAgainstAll(OurDaemonSets(), node); !taint.empty()) {
      Add({kWarning, "NodeTainted",
           "The driver's DaemonSet does not tolerate a taint of the node, and could not replace the driver pod: the "
           "node "
           "does not start.",
           "Remove the taint, or add a toleration to the DaemonSet."},
          fmt::format("{}: {}", node.name, taint));
    }
    if (const std::string why = internal::WhyLeaving(node); !why.empty()) {
      Add({kWarning, "NodeLeaves",
           "The node is about to leave the cluster: it counts against maxUnavailable, and does not start.",
           "No action is needed, unless the node stays after all."},
          fmt::format("{}: {}", node.name, why));
    }
    if (const std::string why = internal::WhyDegraded(node); !why.empty()) {
      Add({kWarning, "NodeDegraded",
           "OpenShift's Machine Config Operator cannot apply its config to the node: it does not start, and stages "
           "continue without it.",
           "Repair it: its annotation machineconfiguration.openshift.io/reason contains the cause."},
          fmt::format("{}: {}", node.name, why));
    } else if (const std::string why = internal::WhyMachineConfig(node); !why.empty()) {
      Add({kWarning, "MachineConfig", "OpenShift is about to reboot the node: it does not start before the reboot.",
           "kubectl get machineconfigpools"},
          fmt::format("{}: {}", node.name, why));
    }
    CheckDriverPods(node);
    const auto pods = pods_.others.find(node.name);
    CheckValidation(node, pods == pods_.others.end() ? std::vector<const Pod*>() : pods->second);
  }

  void CheckMarks(const Node& node) {
    const auto marks = internal::DecodeMarks(node, situation_.question.identity);
    const std::optional<UpgradeState> state = marks.State();
    if (!state) {
      Add({kError, "UnknownState",
           "The state label has an invalid value: the engine leaves the node alone, and the node holds a slot.",
           "Remove the label."},
          node.name);
    }
    if (state == UpgradeState::kFailed) {
      Add({kError, "NodeFailed", "An earlier upgrade of the node failed: the node holds a slot.",
           "Repair it, then run upgradectl retry NODE."},
          node.name);
    }
    const bool rests = state == UpgradeState::kUnknown || state == UpgradeState::kDone;
    const bool ours = internal::CordonNames(node).count(situation_.question.identity.Name()) > 0;
    const bool stale = marks.stage.present() || marks.failures.present() || marks.failed_revision.present() ||
                       marks.restart_pod.present() || marks.initially_unschedulable.present() || ours;
    if (rests && stale) {
      Add({kWarning, "StaleMarks", "An idle node has annotations of an interrupted upgrade.",
           "Remove them: docs/operations.md#on-the-node"},
          node.name);
    }
    if (marks.skip_upgrade.value()) {
      Add({kWarning, "NodeSkipped", "The node has the skip label: it keeps its old driver.",
           "To upgrade it, run upgradectl unskip NODE."},
          node.name);
    }
    const bool waits = state == UpgradeState::kUpgradeRequired && !ours;
    if ((rests || waits) && node.unschedulable) {
      Add({kWarning, "NodeCordoned", "The node is cordoned: it counts as unavailable, and stays cordoned.",
           "If the cordon is not needed, run kubectl uncordon NODE."},
          node.name);
    }
    if (rests && marks.safe_load.present()) {
      Add({kWarning, "WaitsForSafeLoad", "A driver waits to be loaded: the node is upgraded when its turn comes.",
           "docs/operations.md#safe-load"},
          node.name);
    }
  }

  void CheckUnboundDriverPods() {
    const auto unbound = pods_.driver.find("");
    if (unbound == pods_.driver.end()) return;
    for (const Pod* pod : unbound->second) {
      if (IsFinished(*pod) || pod->unscheduled_message.empty()) continue;
      if (WaitsForOrphan(*pod)) continue;
      const std::string node = pod->affinity_node_name.empty() ? "" : fmt::format(" for {}", pod->affinity_node_name);
      Add({kWarning, "DriverPodUnscheduled",
           "A driver pod cannot be scheduled: its node counts against maxUnavailable if it has no other driver pod.",
           "Remove the cause in the message, such as a taint, missing resources, an occupied port or another pod."},
          fmt::format("{}{}: {}", pod->ref.ToString(), node, pod->unscheduled_message));
    }
  }

  // Returns true if the node of the unbound driver pod has an orphaned driver pod, which an upgrade replaces.
  bool WaitsForOrphan(const Pod& unbound) const {
    const auto bound = pods_.driver.find(unbound.affinity_node_name);
    return !unbound.affinity_node_name.empty() && bound != pods_.driver.end() &&
           std::any_of(bound->second.begin(), bound->second.end(),
                       [](const Pod* pod) { return ControllerOf(*pod) == nullptr; });
  }

  void CheckDriverPods(const Node& node) {
    const auto pods = pods_.driver.find(node.name);
    if (pods == pods_.driver.end()) {
      return Add({kWarning, "NoDriverPod", "The node has a state label or the operator's cordon, but no driver pod.",
                  "Check that the DaemonSet's node selector and tolerations match the node. If they must not, the "
                  "operator releases the node after ten minutes; remove the label of a node that is done."},
                 node.name);
    }
    for (const Pod* pod : pods->second) {
      const std::string name = fmt::format("{} on {}", pod->ref.ToString(), node.name);
      if (!IsDaemonSetPod(*pod) && ControllerOf(*pod) != nullptr) {
        Add({kError, "DriverPodWithoutOwner", "A driver pod does not belong to a DaemonSet: its node is not evaluated.",
             "Delete the pod, which another client created."},
            name);
      } else if (!IsDaemonSetPod(*pod)) {
        Add({kWarning, "DriverPodWithoutOwner",
             "A driver pod belongs to no DaemonSet, so it is replaced only if an upgrade of its node is requested.",
             "Request the upgrade with upgradectl request. Do not delete the pod while workloads use the driver."},
            name);
      } else if (RevisionHash(*pod).empty()) {
        Add({kError, "DriverPodWithoutRevision",
             "A driver pod has no controller-revision-hash: its node is not evaluated.",
             "Delete the pod when no workload uses the driver."},
            name);
      } else if (!IsReady(*pod)) {
        Add({kWarning, "DriverPodNotReady", "A driver pod is not ready before the upgrade.", "Check its log."}, name);
      }
    }
  }

  void CheckValidation(const Node& node, const std::vector<const Pod*>& pods) {
    const auto& selector = situation_.question.machine.validation_selector;
    if (!selector) return;
    const bool found = std::any_of(pods.begin(), pods.end(),
                                   [&](const Pod* pod) { return selector->Matches(pod->labels) && IsReady(*pod); });
    if (!found) {
      Add({kError, "NoValidationPod", "No validation pod is ready on the node: its upgrade would wait, and then fail.",
           "Repair the validation DaemonSet."},
          node.name);
    }
  }

  const Situation& situation_;
  const UpgradePolicy& policy_;
  const SortedPods pods_;
  ObstacleList obstacles_;
};

}  // namespace

std::vector<Obstacle> FindObstacles(const Situation& situation) { return Search(situation).Run(); }

}  // namespace driverupgrade::whatif
