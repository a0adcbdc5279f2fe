#include "decide/admission/rollout_node.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decide/attempt_log.h"
#include "decide/maintenance_requestor.h"
#include "decide/marks_of_view.h"
#include "decide/pods_in_the_way.h"
#include "decide/rollout/gangs.h"
#include "decide/rollout/health.h"
#include "decide/rollout/order.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/safe_load_manager.h"
#include "model/cordon.h"
#include "model/node_marks.h"
#include "model/node_service.h"

namespace driverupgrade::internal {
namespace {

// Time from the deletion timestamp of a driver pod until its NotReady node counts as lost. By then, the kubelet should
// have recovered from its own restart or a restart of the node's network, and removed the pod.
constexpr absl::Duration kLostAfter = absl::Minutes(1);

// Returns true if the node still has a NodeMaintenance from an earlier attempt, which occupies a slot of the
// maintenance operator (dep-F13). A NodeMaintenance that is being deleted does not count, because it frees its slot on
// its own.
bool KeepsMaintenance(const NodeView& view, const std::optional<RequestorOptions>& options) {
  if (!options || !options->enabled || !view.maintenances || view.maintenances->empty()) return false;
  const std::vector<const NodeMaintenance*> claims = MaintenanceRequestor(*options).ClaimsOn(view);
  return std::any_of(claims.begin(), claims.end(),
                     [](const NodeMaintenance* claim) { return !claim->deletion_timestamp; });
}

bool IsLeftOut(GateReason reason) { return TraitsOf(reason).is_wish || TraitsOf(reason).left_out; }

// Uses the state that the marks show, not the state in the plan, because the plan has not been carried out yet.
NodeProgress ProgressOf(const KeptVerdict& verdict, const GrantShare& share, bool keeps_maintenance,
                        bool is_of_older_revision) {
  if (verdict.candidate) return share.counts || keeps_maintenance ? NodeProgress::kUnderWay : NodeProgress::kWaiting;
  const UpgradeState from = verdict.from;
  const bool unsettled = verdict.gate && verdict.gate->reason == GateReason::kUnsettled;
  if (from == UpgradeState::kFailed && !unsettled) {
    // The node failed at an older revision or will be retried, so the node does not count as failed in the current
    // rollout.
    const bool is_to_begin = verdict.state == UpgradeState::kUpgradeRequired || is_of_older_revision;
    return is_to_begin ? NodeProgress::kWaiting : NodeProgress::kFailed;
  }
  if (verdict.holds_slot || share.counts || verdict.in_progress) return NodeProgress::kUnderWay;
  if (verdict.gate && IsLeftOut(verdict.gate->reason)) return NodeProgress::kLeftOut;
  const NodePlan* const plan = verdict.plan.get();
  const bool stays = plan == nullptr || plan->path.empty() || plan->path == std::vector{UpgradeState::kDone};
  return verdict.state == UpgradeState::kDone && stays && !verdict.gate ? NodeProgress::kDone : NodeProgress::kWaiting;
}

// Returns the node's driver pods that have the target revision of their DaemonSet.
std::vector<Pod> NewDriverPods(const NodeView& view, const DriverFacts& driver) {
  std::vector<Pod> pods;
  for (const Pod& pod : view.driver_pods) {
    const OwnerReference* owner = ControllerOf(pod);
    const auto daemon_set = owner == nullptr ? driver.daemon_sets.end() : driver.daemon_sets.find(owner->uid);
    if (daemon_set == driver.daemon_sets.end() || !daemon_set->second.wanted_revision) continue;
    if (RevisionHash(pod) == *daemon_set->second.wanted_revision) pods.push_back(pod);
  }
  return pods;
}

// Ignores the conditions and the selected pods until the node is done, because until then they describe the old driver.
NodeHealth HealthOfNode(const NodeView& view, NodeProgress progress, const DriverFacts& driver,
                        const RolloutHealth& health) {
  static const StringMap& kNone = *new StringMap();
  static const std::vector<Pod>& kNoPods = *new std::vector<Pod>();
  const bool is_done = progress == NodeProgress::kDone;
  const std::vector<Pod> driver_pods = health.max_driver_restarts ? NewDriverPods(view, driver) : kNoPods;
  NodeHealth of_node = HealthOf(is_done ? view.node.conditions : kNone, is_done && view.pods ? *view.pods : kNoPods,
                                driver_pods, health);
  if (is_done && !view.pods && health.pod_selector) of_node.unwell = "its pods have not been read";
  return of_node;
}

// Returns true if the node failed at a revision that is no longer the target. Unlike the state machine, which compares
// the revisions of driver pods, this function compares the revision in the mark, because the node may currently have no
// driver pod.
bool IsOfOlderRevision(const NodeMarks& marks, const DriverFacts& driver) {
  const std::optional<std::string>& failed = marks.failed_revision.value();
  if (!failed || failed->empty() || driver.daemon_sets.empty()) return false;
  return std::all_of(driver.daemon_sets.begin(), driver.daemon_sets.end(), [&](const auto& one) {
    return one.second.wanted_revision && *one.second.wanted_revision != *failed;
  });
}

// Returns the time from which the node counts as unavailable indefinitely. `will_end`: true if the upgrade is expected
// to finish and to make the node available again. A node that is NotReady while its driver is replaced counts as lost
// if a driver pod still exists kLostAfter after its deletion timestamp.
absl::Time LastsFrom(const NodeView& view, const NodeMarks& marks, bool will_end) {
  if (view.node.ready && !view.node.unschedulable && !marks.isolated_devices.present()) return absl::InfiniteFuture();
  if (!will_end) return absl::InfinitePast();
  absl::Time from = absl::InfiniteFuture();
  if (view.node.ready) return from;
  for (const Pod& pod : view.driver_pods) {
    if (pod.deletion_timestamp) from = std::min(from, *pod.deletion_timestamp + kLostAfter);
  }
  return from;
}

// Records whether a done node is out of use, because the node or its driver pod is not Ready. A missing driver pod
// counts as not Ready if a DaemonSet of the driver selects the node.
void NoteUse(const NodeView& view, const DriverFacts& driver, RolloutNode& node) {
  const Pod* pod = UnreadyDriverPod(view);
  const bool is_wanted = std::any_of(driver.daemon_sets.begin(), driver.daemon_sets.end(),
                                     [&](const auto& set) { return Wants(set.second.daemon_set, view.node); });
  const bool has_pod = !view.driver_pods.empty() || pod != nullptr || !is_wanted;
  if (view.node.ready && pod == nullptr && has_pod) return;
  node.out_of_use = true;
  if (!view.node.ready) {
    node.unwell = WhyNotReady(view.node);
    node.out_of_use_since = view.node.ready_transition_time;
  } else {
    node.unwell = pod == nullptr ? "it has no driver pod" : WhyPodNotReady(*pod);
  }
  if (pod != nullptr && !IsStarting(*pod) && pod->not_ready_since) {
    node.out_of_use_since = std::min(node.out_of_use_since.value_or(absl::InfiniteFuture()), *pod->not_ready_since);
  }
}

// Whether the node is in progress with an upgrade, or only to load the driver that it has. A patch in flight may have
// changed the node, so both can be true.
struct Progressing {
  bool upgrades = false;
  bool loads = false;
  void Add(const NodeMarks& marks) {
    const std::optional<UpgradeState> state = marks.State();
    if (!state || !IsInProgress(*state)) return;
    (marks.reload_only.present() ? loads : upgrades) = true;
  }
};

Progressing ProgressingOf(const NodeView& view, const NodeMarks& marks, const DriverIdentity& identity) {
  Progressing progressing;
  progressing.Add(marks);
  if (!view.attempts.patch || IsSettled(*view.attempts.patch, view.node)) return progressing;
  for (const PatchNodeParams& patch : view.attempts.patch->possible) {
    progressing.Add(DecodeMarks(Patched(view.node, patch), identity, DriverRuns(view)));
  }
  return progressing;
}

// Returns the labels that decide the stage and group of the node; nullopt if these are its current labels.
std::optional<StringMap> LabelsUnlikeNow(const Node& node, const NodeMarks& marks) {
  if (!marks.rollout_labels.value()) return std::nullopt;
  StringMap labels = RolloutLabels(node, marks);
  return labels == node.labels ? std::nullopt : std::optional(std::move(labels));
}

}  // namespace

RolloutNode MakeRolloutNode(const NodeView& view, const KeptVerdict& verdict, const GrantShare& share,
                            const RolloutInput& input) {
  const bool keeps_maintenance = verdict.candidate && KeepsMaintenance(view, input.machine.options().requestor);
  const DriverIdentity& identity = input.machine.identity();
  const auto marks = MarksOfView(view, identity);
  const bool is_of_older_revision = !marks->skip_upgrade.value() && IsOfOlderRevision(*marks, input.driver);
  RolloutNode node{.node = &view.node,
                   .rollout_labels = LabelsUnlikeNow(view.node, *marks),
                   .progress = ProgressOf(verdict, share, keeps_maintenance, is_of_older_revision),
                   .may_start = verdict.candidate.has_value()};
  if (node.progress == NodeProgress::kLeftOut) node.left_out_by = verdict.gate->reason;
  // A node that is leaving the cluster does not prove that the new driver works.
  if (node.progress == NodeProgress::kDone && !WhyLeaving(view.node).empty()) {
    node.progress = NodeProgress::kLeftOut;
    node.left_out_by = GateReason::kNodeLeaves;
  }
  const bool is_over = verdict.gate && TraitsOf(verdict.gate->reason).ends_rollout;
  const bool will_end = node.progress == NodeProgress::kUnderWay && !is_over && !WasInitiallyUnschedulable(*marks);
  node.lasts_from = LastsFrom(view, *marks, will_end);
  node.own_node = verdict.candidate && verdict.candidate->own_node;
  const bool is_evacuated = marks->isolated_devices.present() && marks->State() != UpgradeState::kCordonRequired;
  node.is_isolated = view.node.unschedulable || is_evacuated;
  node.out_of_service = keeps_maintenance || marks->isolated_devices.present() ||
                        (view.node.unschedulable && IsInCordonSet(*marks, identity));
  node.reloads = node.may_start && (SafeLoadManager::IsWaiting(*marks) || marks->reload_only.present());
  if (node.progress == NodeProgress::kUnderWay) {
    const Progressing progressing = ProgressingOf(view, *marks, identity);
    node.reloading = !progressing.upgrades && (node.may_start ? node.reloads : progressing.loads);
  }
  node.reload_failed = node.reloads && marks->reload_only.present() && marks->failures.present();
  // The state machine ignores the skip label here, because a failed node with this label can still recover.
  if (node.progress == NodeProgress::kFailed && marks->skip_upgrade.value()) {
    node.progress = NodeProgress::kLeftOut;
    node.left_out_by = GateReason::kSkipLabel;
  }
  if (const auto& health = input.rules.policy.health) {
    NodeHealth of_node = HealthOfNode(view, node.progress, input.driver, *health);
    node.sick = std::move(of_node.sick);
    node.unwell = std::move(of_node.unwell);
    node.conditions = ConditionsOn(view.node, *health);
    if (health->pod_selector && node.progress == NodeProgress::kDone && view.pods) {
      node.has_chosen_pod = std::any_of(view.pods->begin(), view.pods->end(),
                                        [&](const Pod& pod) { return health->pod_selector->Matches(pod.labels); });
    }
  }
  if (node.progress == NodeProgress::kDone && UnwellMax(input.rules.policy) > absl::ZeroDuration()) {
    NoteUse(view, input.driver, node);
  }
  node.is_unread = !node.unwell.empty() && !node.out_of_use && !view.pods;
  const std::optional<UpgradeState> state = marks->State();
  node.is_granted_only = share.granted && (!state || !IsInProgress(*state));
  const bool may_have_gang =
      GangsStartTogether(input.rules.policy) && (node.progress == NodeProgress::kWaiting || node.is_granted_only);
  if (may_have_gang || (node.may_start && OrdersByPods(input.rules.policy))) {
    if (const auto pods = PodsInTheWay(view, input.node_rules, input.machine)) {
      node.pods = static_cast<int>(pods->size());
      if (GangsStartTogether(input.rules.policy)) {
        node.gangs = GangsOn(view.node, *pods);
        node.may_stop = MayStop(view.node, *pods);
      }
    }
  }
  if (node.progress == NodeProgress::kUnderWay && !node.is_granted_only) node.unit = marks->unit.value().value_or("");
  return node;
}

}  // namespace driverupgrade::internal
