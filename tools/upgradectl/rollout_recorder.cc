#include "upgradectl/rollout_recorder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "driverupgrade/gate.h"
#include "fmt/format.h"
#include "model/node_marks.h"

namespace upgradectl {
namespace {

using driverupgrade::GateReason;
using driverupgrade::Node;
using driverupgrade::Pod;
using driverupgrade::UpgradeState;

// Counts pods as a disruption budget does: ready, and not terminating. Pods of DaemonSets stay on their node.
bool IsAtWork(const Pod* pod) {
  return pod != nullptr && !driverupgrade::IsDaemonSetPod(*pod) && driverupgrade::IsReady(*pod) &&
         !pod->deletion_timestamp;
}

int IsPassing(GateReason reason) { return driverupgrade::TraitsOf(reason).ends_rollout ? 0 : 1; }

}  // namespace

void RolloutRecorder::FollowPods(const driverupgrade::testing::Versions<Pod>& pod) {
  pods_missing_ += (IsAtWork(pod.before) ? 1 : 0) - (IsAtWork(pod.after) ? 1 : 0);
  pods_peak_ = std::max(pods_peak_, pods_missing_);
}

void RolloutRecorder::Follow(const driverupgrade::testing::Change& change) {
  FollowPods(change.pod);
  if (change.node.after == nullptr) return;
  const Node& node = *change.node.after;
  const bool unavailable = node.unschedulable || !node.ready;
  if (unavailable ? unavailable_.insert(node.name).second : unavailable_.erase(node.name) > 0) {
    peak_ = std::max(peak_, static_cast<int>(unavailable_.size()));
  }
  const auto state = driverupgrade::internal::StateOf(node, request_.question.identity);
  if (state) Enter(node.name, *state, change.time - began_);
}

void RolloutRecorder::Enter(const std::string& node, UpgradeState state, absl::Duration at) {
  std::vector<Span>& spans = histories_[node].spans;
  if (!spans.empty() && spans.back().state == state) return;
  if (!spans.empty()) spans.back().end = at;
  spans.push_back({.state = state, .begin = at, .end = at});
  last_change_ = at;
}

void RolloutRecorder::Hold(const driverupgrade::NodeGate& gate, absl::Time now) {
  const auto [held, is_new] = held_.try_emplace(gate.node);
  if (!is_new && held->second.reason == gate.gate.reason) return;
  if (!is_new) passing_ -= IsPassing(held->second.reason);
  passing_ += IsPassing(gate.gate.reason);
  held->second = {.reason = gate.gate.reason, .since = now - began_};
  histories_[gate.node].notes.push_back(
      {.at = now - began_, .text = fmt::format("{}: {}", driverupgrade::ToString(gate.gate.reason), gate.gate.detail)});
}

void RolloutRecorder::Unhold(const std::string& node) {
  const auto held = held_.find(node);
  if (held == held_.end()) return;
  passing_ -= IsPassing(held->second.reason);
  held_.erase(held);
}

bool RolloutRecorder::MayBeOver(const driverupgrade::Tally& totals) const {
  return passing_ == 0 && totals.InState(UpgradeState::kDone) + static_cast<int>(held_.size()) >= totals.total;
}

absl::Duration RolloutRecorder::HeldSince(const std::string& node) const {
  const auto held = held_.find(node);
  return held == held_.end() ? last_change_ : held->second.since;
}

void RolloutRecorder::Finish(Rollout& rollout) {
  rollout.unavailable_peak = peak_;
  rollout.pods_unavailable_peak = pods_peak_;
  for (auto& [name, history] : histories_) {
    if (history.spans.empty()) continue;
    history.name = name;
    history.spans.back().end = rollout.makespan;
    rollout.timeline.push_back(std::move(history));
  }
}

}  // namespace upgradectl
