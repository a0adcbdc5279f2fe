#include "whatif/simulation/rollout_recorder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "driverupgrade/gate.h"
#include "fmt/format.h"
#include "model/node_marks.h"

namespace driverupgrade::whatif {
namespace {

// Returns true if the pod counts as available. Same rule as for disruption budgets: the pod must be ready and not
// terminating. Pods of DaemonSets do not count, because they stay on their node.
bool IsAtWork(const Pod* pod) {
  return pod != nullptr && !IsDaemonSetPod(*pod) && IsReady(*pod) && !pod->deletion_timestamp;
}

int IsPassing(GateReason reason) { return TraitsOf(reason).ends_rollout ? 0 : 1; }

// Returns false for gates that cannot cause a failure: the rollout itself, or time alone, opens them.
bool CanFail(GateReason reason) {
  const GateOpener opener = TraitsOf(reason).opener;
  return opener != GateOpener::kRollout && opener != GateOpener::kClock;
}

}  // namespace

void RolloutRecorder::CountKept(const std::vector<Pod>& pods) {
  counts_kept_ = true;
  for (const Pod& pod : pods) {
    if (IsAtWork(&pod)) ++pods_on_[pod.node_name];
  }
}

void RolloutRecorder::FollowPods(const testing::Change& change) {
  const auto& [before, after] = change.pod;
  pods_missing_ += (IsAtWork(before) ? 1 : 0) - (IsAtWork(after) ? 1 : 0);
  pods_peak_ = std::max(pods_peak_, pods_missing_);
  if (counts_kept_ && IsAtWork(before)) --pods_on_[before->node_name];
  if (counts_kept_ && IsAtWork(after)) ++pods_on_[after->node_name];
  const bool is_stopped = before != nullptr && !before->deletion_timestamp &&
                          (after == nullptr || after->deletion_timestamp) && change.actor == testing::Actor::kClient;
  if (!is_stopped) return;
  // A simulation has no DaemonSet other than the driver's.
  if (IsDaemonSetPod(*before)) {
    if (counts_kept_) kept_on_[before->node_name] = pods_on_[before->node_name];
  } else {
    ++evicted_;
  }
}

void RolloutRecorder::Follow(const testing::Change& change) {
  FollowPods(change);
  if (change.node.after == nullptr) return;
  const Node& node = *change.node.after;
  const bool was_cordoned = change.node.before != nullptr && change.node.before->unschedulable;
  if (node.unschedulable && !was_cordoned) cordoned_.insert(node.name);
  const bool unavailable = node.unschedulable || !node.ready;
  if (unavailable ? unavailable_.insert(node.name).second : unavailable_.erase(node.name) > 0) {
    peak_ = std::max(peak_, static_cast<int>(unavailable_.size()));
  }
  const auto state = internal::StateOf(node, identity_);
  if (state) Enter(node.name, *state, change.time - began_);
}

void RolloutRecorder::Enter(const std::string& node, UpgradeState state, absl::Duration at) {
  std::vector<Span>& spans = histories_[node].spans;
  if (!spans.empty() && spans.back().state == state) return;
  if (!spans.empty()) spans.back().end = at;
  spans.push_back({.state = state, .begin = at, .end = at});
  last_change_ = at;
}

void RolloutRecorder::Hold(const NodeGate& gate, bool closed, absl::Time now) {
  const GateReason reason = gate.gate.reason;
  const auto [found, is_new] = held_.try_emplace(gate.node);
  Held& held = found->second;
  if (!is_new && held.reason == reason && held.closed == closed) return;
  const bool opened = !is_new && held.closed && !closed;
  if (opened && (!held.in_window || held.in_window->gate != reason)) {
    held.in_window = {.gate = reason, .why = gate.gate.detail, .since = now - began_};
  }
  held.closed = closed;
  if (!is_new && held.reason == reason) return;
  if (!is_new) passing_ -= IsPassing(held.reason);
  passing_ += IsPassing(reason);
  held.reason = reason;
  held.since = now - began_;
  histories_[gate.node].notes.push_back(
      {.at = now - began_, .text = fmt::format("{}: {}", ToString(gate.gate.reason), gate.gate.detail)});
}

void RolloutRecorder::Unhold(const std::string& node) {
  const auto held = held_.find(node);
  if (held == held_.end()) return;
  passing_ -= IsPassing(held->second.reason);
  held_.erase(held);
}

bool RolloutRecorder::MayBeOver(const Tally& totals) const {
  return passing_ == 0 && totals.InState(UpgradeState::kDone) + static_cast<int>(held_.size()) >= totals.total;
}

void RolloutRecorder::Fail(const NodePlan& plan, std::string subject, absl::Time now) {
  const auto held = held_.find(plan.node);
  const bool was_held = held != held_.end() && CanFail(held->second.reason);
  failures_[plan.node] = {.gate = was_held ? held->second.reason : GateReason::kFailed,
                          .failed = true,
                          .subject = was_held ? std::move(subject) : "",
                          .why = plan.reason,
                          .since = now - began_};
}

Blocked RolloutRecorder::WhyBlocked(const NodeGate& gate) const {
  const auto failure = failures_.find(gate.node);
  if (gate.state == UpgradeState::kFailed && failure != failures_.end()) return failure->second;
  const auto held = held_.find(gate.node);
  const bool is_held = held != held_.end();
  if (is_held && held->second.closed && gate.gate.reason == GateReason::kWindow && held->second.in_window) {
    return *held->second.in_window;
  }
  return {.gate = gate.gate.reason,
          .failed = gate.state == UpgradeState::kFailed,
          .why = gate.gate.detail,
          .since = is_held ? held->second.since : last_change_};
}

void RolloutRecorder::Finish(Rollout& rollout) {
  rollout.unavailable_peak = peak_;
  rollout.pods_unavailable_peak = pods_peak_;
  rollout.nodes_cordoned = static_cast<int>(cordoned_.size());
  rollout.pods_evicted = evicted_;
  for (const auto& [node, pods] : kept_on_) rollout.pods_kept += pods;
  for (auto& [name, history] : histories_) {
    if (history.spans.empty()) continue;
    history.name = name;
    history.spans.back().end = rollout.makespan;
    rollout.timeline.push_back(std::move(history));
  }
}

}  // namespace driverupgrade::whatif
