// The maintenance operator's state machine (upstream-behaviour.md §4.1, M0-M10).

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "testing/fake_cluster_expressions.h"
#include "testing/fake_cluster_maintenance.h"
#include "testing/fake_cluster_model.h"

namespace driverupgrade::testing::internal {
namespace {

// Added to every drain's selector, because the operator never evicts its own pod.
constexpr char kNotTheOperator[] = "app.kubernetes.io/component!=maintenance-operator-controller-manager";

// The decision about a pod. The operator applies kubectl's filters in the same order as kubectl (drain-D10).
enum class Verdict : std::uint8_t { kDelete, kSpare, kError };

Verdict Judge(const Pod& pod, const MaintenanceDrain& drain) {
  const bool finished = IsFinished(pod);
  if (IsDaemonSetPod(pod) && !finished) return Verdict::kSpare;
  if (pod.mirror) return Verdict::kSpare;
  if (pod.has_empty_dir && !finished && !drain.delete_empty_dir) return Verdict::kError;
  if (ControllerOf(pod) == nullptr && !finished && !drain.force) return Verdict::kError;
  const std::vector<std::string>& filters = drain.resource_name_filters;
  if (!filters.empty() && !MatchesAny(filters, pod.resource_names)) return Verdict::kSpare;
  return Verdict::kDelete;
}

}  // namespace

void Model::RunMaintenanceOperator(const MaintenanceOperatorOptions& options) {
  StopMaintenanceOperator();
  maintenance_operator_ = options;
  std::map<std::int64_t, MaintenanceRecord*> by_age;
  for (auto& [key, record] : maintenances_) by_age.emplace(record.number, &record);
  for (const auto& [number, record] : by_age) WakeMaintenance(*record, options.step_delay);
}

void Model::StopMaintenanceOperator() {
  maintenance_operator_.reset();
  for (auto& [key, record] : maintenances_) {
    record.next_step = absl::InfiniteFuture();
    // The operator keeps drain requests only in memory.
    record.drain_start.reset();
  }
}

void Model::WakeMaintenance(MaintenanceRecord& record, absl::Duration delay) {
  const absl::Time time = now_ + std::max(delay, absl::ZeroDuration());
  if (time >= record.next_step) return;
  record.next_step = time;
  Queue(delay, {.kind = EffectKind::kStepMaintenance, .key = KeyOf(record.object), .uid = record.object.uid});
}

void Model::WakePendingMaintenances() {
  if (!maintenance_operator_.has_value()) return;
  std::map<std::int64_t, MaintenanceRecord*> by_age;
  for (auto& [key, record] : maintenances_) {
    if (ReasonOf(record.object) == kPending) by_age.emplace(record.number, &record);
  }
  for (const auto& [number, record] : by_age) WakeMaintenance(*record, maintenance_operator_->step_delay);
}

void Model::StepMaintenance(const Effect& effect) {
  auto found = maintenances_.find(effect.key);
  if (!maintenance_operator_.has_value() || found == maintenances_.end()) return;
  MaintenanceRecord& record = found->second;
  // Ignores a wake-up whose step has already been carried out.
  if (record.object.uid != effect.uid || record.next_step != now_) return;
  record.next_step = absl::InfiniteFuture();
  const Node* node = FindNode(record.object.node_name);
  if (node == nullptr) return DropFinalizer(record);  // M0
  EditMaintenance(Actor::kCluster, record, [&](NodeMaintenance& object) { object.node_uid = node->uid; });
  if (record.object.deletion_timestamp.has_value()) return StepDeletion(record, *node);
  const std::string reason = ReasonOf(record.object);
  if (reason.empty()) {
    SetReason(record, kPending);  // M1
  } else if (reason == kPending) {
    if (MaySchedule(record)) SetReason(record, kScheduled);  // M2
  } else if (reason == kScheduled) {
    record.has_finalizer = true;  // M3
    EditMaintenance(
        Actor::kCluster, record, [](NodeMaintenance&) {}, /*metadata_changed=*/true);
    SetReason(record, kCordon);
  } else if (reason == kCordon) {
    StepCordon(record, *node);
  } else if (reason == kWait) {
    StepWait(record);
  } else if (reason == kDraining) {
    StepDraining(record);
  } else if (reason == kReady || reason == kRequestorFailed) {  // M7
    if (!record.ready_stamped) {
      record.ready_stamped = true;
      EditMaintenance(
          Actor::kCluster, record, [](NodeMaintenance&) {}, /*metadata_changed=*/true);
    }
    SetReason(record, HasFailed(record.object) ? kRequestorFailed : kReady);
  }
}

// M8-M10: waits for additional requestors, lifts the cordon and releases the object.
void Model::StepDeletion(MaintenanceRecord& record, const Node& node) {
  const std::string reason = ReasonOf(record.object);
  const bool is_ready = reason == kReady || reason == kRequestorFailed;
  if (is_ready && !record.object.additional_requestors.empty()) return;
  if (record.object.cordon && record.initially_unschedulable == false) {
    EditNode(Actor::kCluster, std::string(node.name), [](Node& edited) { edited.unschedulable = false; });
  }
  DropFinalizer(record);
}

// M4: cordons the node, unless the object does not request a cordon or the node was already cordoned.
void Model::StepCordon(MaintenanceRecord& record, const Node& node) {
  if (record.object.cordon) {
    if (!record.initially_unschedulable.has_value()) {
      record.initially_unschedulable = node.unschedulable;
      EditMaintenance(
          Actor::kCluster, record, [](NodeMaintenance&) {}, /*metadata_changed=*/true);
    }
    if (record.initially_unschedulable == false) {
      EditNode(Actor::kCluster, std::string(node.name), [](Node& edited) { edited.unschedulable = true; });
    }
  }
  SetReason(record, kWait);
}

// M5: waits until the pods have finished, or until the timeout.
void Model::StepWait(MaintenanceRecord& record) {
  const std::optional<MaintenanceWait>& wait = record.object.wait_for_pod_completion;
  if (!wait.has_value()) return SetReason(record, kDraining);
  if (!record.wait_start.has_value()) {
    record.wait_start = now_;
    EditMaintenance(
        Actor::kCluster, record, [](NodeMaintenance&) {}, /*metadata_changed=*/true);
  }
  const bool is_late = wait->timeout > absl::ZeroDuration() && now_ - *record.wait_start >= wait->timeout;
  const absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(wait->pod_selector);
  const bool is_done =
      selector.ok() && ListPods({.label_selector = *selector, .node_name = record.object.node_name}).empty();
  if (is_late || is_done) return SetReason(record, kDraining);
  WakeMaintenance(record, maintenance_operator_->poll_interval);
}

// M6: evicts the pods, and starts the drain again after the timeout.
void Model::StepDraining(MaintenanceRecord& record) {
  const std::optional<MaintenanceDrain>& drain = record.object.drain;
  if (!drain.has_value()) return SetReason(record, kReady);
  WakeMaintenance(record, maintenance_operator_->poll_interval);
  const std::optional<std::vector<PodRef>> pods = PodsToDrain(record.object);
  if (!pods.has_value()) return;
  const bool is_new = !record.drain_start.has_value();
  if (is_new) {
    record.drain_start = now_;
    record.drain_pods = *pods;
  }
  std::erase_if(record.drain_pods, [&](const PodRef& ref) {
    const Pod* pod = FindPod({ref.ns, ref.name});
    return pod == nullptr || pod->ref.uid != ref.uid;
  });
  if (!is_new && record.drain_pods.empty()) return SetReason(record, kReady);
  if (drain->timeout > absl::ZeroDuration() && now_ - *record.drain_start >= drain->timeout) {
    record.drain_start.reset();
    return;
  }
  for (const PodRef& ref : record.drain_pods) {
    const Pod* pod = FindPod({ref.ns, ref.name});
    if (pod == nullptr || pod->deletion_timestamp.has_value()) continue;
    // The result does not matter, because the operator retries.
    EvictPod(Actor::kCluster, ref).IgnoreError();
  }
}

// Returns the pods that the drain must evict. Returns nullopt if the drain cannot start, because a pod must not be
// deleted or the selector is invalid.
std::optional<std::vector<PodRef>> Model::PodsToDrain(const NodeMaintenance& object) const {
  const std::string& own = object.drain->pod_selector;
  const absl::StatusOr<LabelSelector> selector =
      LabelSelector::Parse(own.empty() ? kNotTheOperator : fmt::format("{},{}", kNotTheOperator, own));
  if (!selector.ok()) return std::nullopt;
  std::vector<PodRef> result;
  for (const Pod& pod : ListPods({.label_selector = *selector, .node_name = object.node_name})) {
    const Verdict verdict = Judge(pod, *object.drain);
    if (verdict == Verdict::kError) return std::nullopt;
    if (verdict == Verdict::kDelete) result.push_back(pod.ref);
  }
  return result;
}

void Model::SetReason(MaintenanceRecord& record, std::string_view reason) {
  EditMaintenance(Actor::kCluster, record, [&](NodeMaintenance& object) {
    auto found = std::find_if(object.conditions.begin(), object.conditions.end(),
                              [](const Condition& condition) { return condition.type == kReadyCondition; });
    if (found == object.conditions.end()) {
      found = object.conditions.insert(object.conditions.end(), {.type = kReadyCondition});
    }
    const std::string status = reason == kReady ? "True" : "False";
    if (found->status != status) found->last_transition_time = now_;
    if (found->status == status && found->reason == reason) return;
    found->status = status;
    found->reason = std::string(reason);
    found->observed_generation = record.generation;
  });
}

void Model::DropFinalizer(MaintenanceRecord& record) {
  if (record.object.deletion_timestamp.has_value()) {
    return EraseMaintenance(Actor::kCluster, KeyOf(record.object));
  }
  if (!record.has_finalizer) return;
  record.has_finalizer = false;
  EditMaintenance(
      Actor::kCluster, record, [](NodeMaintenance&) {}, /*metadata_changed=*/true);
}

// Returns true if the object may leave Pending. Implements §4.3, but does not rank the requests. A node takes a slot if
// one of its objects is past Pending. At most one of its objects can be past Pending.
bool Model::MaySchedule(const MaintenanceRecord& record) const {
  std::set<std::string> busy;
  for (const auto& [key, other] : maintenances_) {
    if (IsPastPending(other.object) && nodes_.count(other.object.node_name) > 0) busy.insert(other.object.node_name);
  }
  if (busy.count(record.object.node_name) > 0) return false;
  const std::optional<int>& parallel = maintenance_operator_->parallel;
  return !parallel.has_value() || static_cast<int>(busy.size()) < *parallel;
}

}  // namespace driverupgrade::testing::internal
