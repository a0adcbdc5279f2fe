#include "decide/admission/upgrade_budget.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <variant>

#include "decide/attempt_log.h"
#include "decide/marks_of_view.h"
#include "decide/rollout/failures.h"
#include "driverupgrade/upgrade_state.h"
#include "fmt/format.h"
#include "model/cordon.h"
#include "model/node_service.h"

namespace driverupgrade {
namespace {

using internal::NodeMarks;

constexpr int kNoLimit = std::numeric_limits<int>::max();

// Returns true if an administrator had cordoned the node before the upgrade, and has not uncordoned it since. Such a
// node needs no slot. If an administrator uncordons such a node and the engine cordons it again, the engine owns the
// new cordon (dep-F8). Setting that cordon does not start an upgrade, so the node still needs no slot.
bool IsOutsideSlots(const NodeMarks& marks, const std::optional<UpgradeState>& state) {
  if (!internal::WasInitiallyUnschedulable(marks)) return false;
  return marks.unschedulable || !state || !TraitsOf(*state).holds_cordon;
}

bool HoldsSlot(const Node& node, const NodeMarks& marks, const DriverIdentity& identity, const NodeRules& rules) {
  const std::optional<UpgradeState> state = marks.State();
  if (state && !IsInProgress(*state)) return false;
  if (state == UpgradeState::kFailed && !rules.failed_hold_slots) return false;  // counted separately (dep-F2)
  if (internal::IsGivenBack(marks, identity)) return false;
  if (rules.cordoned_nodes == CordonedNodes::kProceed && IsOutsideSlots(marks, state)) return false;
  // A cordoned node in uncordon-required may only be waiting for another driver to lift its cordon (dep-F8).
  const bool waits = state == UpgradeState::kUncordonRequired && node.unschedulable;
  return !waits || !internal::DriverThatNeedsCordon(node, identity);
}

// A percentage is rounded down, because the limit exists to contain damage. One failure is always allowed.
int FailureLimit(const CountOrPercent& limit, int total) {
  if (const Count* count = std::get_if<Count>(&limit)) return count->value;
  const Percent* percent = std::get_if<Percent>(&limit);
  const std::int64_t hundredths = percent == nullptr ? 0 : std::int64_t{percent->value} * total;
  return std::max(1, static_cast<int>(hundredths / 100));
}

// A node whose devices are isolated counts as unavailable: it is schedulable, but pods that need a device cannot run on
// it.
bool IsUnavailable(const Node& node, const NodeMarks& marks) {
  const std::optional<UpgradeState> state = marks.State();
  return marks.isolated_devices.present() || !node.unreadable.empty() || node.unschedulable || !node.ready ||
         !internal::WhyLeaving(node).empty() || (state && TraitsOf(*state).holds_cordon);
}

// A node with a driver pod does not lack one, even if a pod of another DaemonSet waits for the node: after a DaemonSet has
// been deleted and its pods orphaned, the pods of its successor cannot be scheduled next to them.
bool LacksDriverPod(const NodeView& view, const NodeRules& rules) {
  return rules.on_unscheduled_pods == OnUnscheduledPods::kCountUnavailable && !view.unscheduled_driver_pods.empty() &&
         std::all_of(view.driver_pods.begin(), view.driver_pods.end(), IsFinished);
}

std::string WhyUnavailable(const NodeView& view, const DriverIdentity& identity, const NodeRules& rules) {
  const Node& node = view.node;
  if (!node.unreadable.empty()) return "cannot be read";
  if (!node.ready) return "NotReady";
  if (std::string why = internal::WhyLeaving(node); !why.empty()) return why;
  const internal::MarksOfView marks(view, identity);
  const std::optional<UpgradeState> state = marks->State();
  if (state == UpgradeState::kFailed) return "its upgrade failed";
  if (state && IsInProgress(*state)) return "its upgrade is in progress";
  if (LacksDriverPod(view, rules)) {
    const std::string& message = view.unscheduled_driver_pods.front().unscheduled_message;
    return message.empty() ? "its driver pod is not scheduled yet"
                           : fmt::format("its driver pod cannot be scheduled: {}", message);
  }
  if (!node.unschedulable) return "its upgrade is about to start";
  const internal::Cordon cordon = internal::ReadCordon(node, identity);
  return cordon.kind == internal::CordonKind::kAdministrator ? "cordoned by an administrator"
                                                             : "cordoned for an upgrade";
}

// 100 % is not a limit. If it were, no uncordoned node could start while all nodes are unavailable, for example
// NotReady.
bool IsLimit(const CountOrPercent& max) {
  const Percent* percent = std::get_if<Percent>(&max);
  return percent == nullptr || percent->value < 100;
}

// Compares before subtracting, so that a very negative limit, which Validate rejects, cannot cause an overflow.
int Left(int limit, int used) { return used < limit ? limit - used : 0; }

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  total += other.total;
  pending += other.pending;
  in_progress += other.in_progress;
  failed += other.failed;
  failed_reloads += other.failed_reloads;
  done += other.done;
  not_ready += other.not_ready;
  slots += other.slots;
  unavailable += other.unavailable;
  devices_isolated += other.devices_isolated;
  for (std::size_t i = 0; i < by_state.size(); ++i) by_state[i] += other.by_state[i];
  for (std::size_t i = 0; i < failed_by_class.size(); ++i) failed_by_class[i] += other.failed_by_class[i];
  return *this;
}

Tally& Tally::operator-=(const Tally& other) {
  total -= other.total;
  pending -= other.pending;
  in_progress -= other.in_progress;
  failed -= other.failed;
  failed_reloads -= other.failed_reloads;
  done -= other.done;
  not_ready -= other.not_ready;
  slots -= other.slots;
  unavailable -= other.unavailable;
  devices_isolated -= other.devices_isolated;
  for (std::size_t i = 0; i < by_state.size(); ++i) by_state[i] -= other.by_state[i];
  for (std::size_t i = 0; i < failed_by_class.size(); ++i) failed_by_class[i] -= other.failed_by_class[i];
  return *this;
}

int Tally::Moving() const {
  const int without_state = total - std::accumulate(by_state.begin(), by_state.end(), 0);
  return in_progress - failed - without_state;
}

Tally internal::TallyOf(const NodeView& view, const DriverIdentity& identity, const NodeRules& rules) {
  return TallyByMarks(view, *MarksOfView(view, identity), identity, rules);
}

Tally internal::TallyByMarks(const NodeView& view, const NodeMarks& marks, const DriverIdentity& identity,
                             const NodeRules& rules) {
  const std::optional<UpgradeState> state = marks.State();
  const bool is_done = state == UpgradeState::kDone;
  const bool runs = !is_done || UnreadyDriverPod(view) == nullptr;
  Tally tally{
      .total = 1,
      .pending = state == UpgradeState::kUpgradeRequired,
      .in_progress = !state || IsInProgress(*state),
      .failed = state == UpgradeState::kFailed,
      .done = is_done && runs,
      .not_ready = !runs,
      .slots = HoldsSlot(view.node, marks, identity, rules),
      .unavailable = IsUnavailable(view.node, marks) || LacksDriverPod(view, rules),
  };
  tally.failed_reloads = tally.failed > 0 && marks.reload_only.present();
  tally.devices_isolated = tally.in_progress > 0 && marks.isolated_devices.present();
  if (state) tally.by_state[static_cast<std::size_t>(*state)] = 1;
  if (const auto& name = marks.failure_class.value(); name && tally.failed > tally.failed_reloads) {
    const std::optional<FailureClass> failure = internal::ParseFailureClass(*name);
    if (failure) tally.failed_by_class[static_cast<std::size_t>(*failure)] = 1;
  }
  if (view.attempts.patch && !internal::IsSettled(*view.attempts.patch, view.node)) {
    for (const PatchNodeParams& patch : view.attempts.patch->possible) {
      tally = WithPatch(tally, view, patch, identity, rules);
    }
  }
  return tally;
}

const Pod* internal::UnreadyDriverPod(const NodeView& view) {
  const DriverPodsOfView marks(view);
  for (std::size_t i = 0; i < view.driver_pods.size(); ++i) {
    if (!marks[i].ready) return &view.driver_pods[i];
  }
  return view.driver_pods.empty() && !view.unscheduled_driver_pods.empty() ? &view.unscheduled_driver_pods.front()
                                                                           : nullptr;
}

bool internal::IsOutOfUse(const NodeView& view, const NodeRules& rules) {
  return !view.node.ready || !WhyLeaving(view.node).empty() || LacksDriverPod(view, rules);
}

std::string internal::UnavailableNode(const NodeView& view, const DriverIdentity& identity, const NodeRules& rules) {
  return fmt::format("{} ({})", view.node.name, WhyUnavailable(view, identity, rules));
}

Tally internal::WithPatch(Tally tally, const NodeView& view, const PatchNodeParams& patch,
                          const DriverIdentity& identity, const NodeRules& rules) {
  const Node after = Patched(view.node, patch);
  const NodeMarks marks = internal::DecodeMarks(after, identity, internal::DriverRuns(view));
  tally.slots = std::max<int>(tally.slots, HoldsSlot(after, marks, identity, rules));
  tally.unavailable = std::max<int>(tally.unavailable, IsUnavailable(after, marks));
  return tally;
}

int UpgradeBudget::ParallelFree() const {
  const int own = parallel_max ? Left(*parallel_max, parallel_used) : kNoLimit;
  if (!shared) return own;
  return shared->used_elsewhere ? std::min(own, Left(shared->max, parallel_used + *shared->used_elsewhere)) : 0;
}

int UpgradeBudget::Headroom() const { return unavailable_max ? Left(*unavailable_max, unavailable) : kNoLimit; }

UpgradeBudget internal::ComputeBudget(const Tally& tally, const AdmissionLimits& limits,
                                      const std::optional<SharedSlots>& shared) {
  UpgradeBudget budget{.total = tally.total,
                       .parallel_max = limits.max_parallel,
                       .parallel_used = tally.slots,
                       .shared = shared,
                       .unavailable = tally.unavailable,
                       .failed = tally.failed - tally.failed_reloads};
  if (limits.max_unavailable && IsLimit(*limits.max_unavailable))
    budget.unavailable_max = ScaledLimit(*limits.max_unavailable, tally.total);
  if (limits.max_failures) budget.failures_max = FailureLimit(*limits.max_failures, tally.total);
  budget.failed_class =
      internal::ExhaustedBudget(limits.failures_by_class, tally.failed_by_class, tally.total).value_or("");
  return budget;
}

}  // namespace driverupgrade
