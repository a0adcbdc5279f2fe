#include "crash/witness.h"

#include <algorithm>

#include "fmt/format.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {

using testing::Actor;
using testing::Change;

namespace {

bool IsAdministrators(const Node& node) { return node.annotations.contains(Gpu().InitiallyUnschedulableAnnotation()); }

}  // namespace

UpgradeState StateOf(const Node& node) {
  const auto label = node.labels.find(Gpu().StateLabel());
  return ParseUpgradeState(label == node.labels.end() ? "" : label->second).value_or(UpgradeState::kUnknown);
}

bool IsDriver(const Pod& pod) {
  return pod.ref.ns == "gpu" && pod.labels.contains("app") && pod.labels.at("app") == "driver";
}

void Witness::Watch(const Change& change) {
  if (change.pod.before != nullptr || change.pod.after != nullptr) WatchPod(change);
  if (change.node.after != nullptr) WatchNode(change);
  const DaemonSet* driver = change.daemon_set.after;
  if (driver != nullptr && driver->annotations.contains(Gpu().ApprovedAnnotation())) approved_ = true;
}

void Witness::WatchNode(const Change& change) {
  const Node& after = *change.node.after;
  nodes_[after.name] = after;
  if (change.actor != Actor::kClient || change.node.before == nullptr) return;
  const Node& before = *change.node.before;
  if (before.unschedulable && !after.unschedulable && IsAdministrators(before))
    broken_ = fmt::format("I3: {} is uncordoned", after.name);
  const auto busy = std::count_if(nodes_.begin(), nodes_.end(), [](const auto& node) {
    return IsInProgress(StateOf(node.second)) && !IsAdministrators(node.second);
  });
  if (!IsInProgress(StateOf(before)) && IsInProgress(StateOf(after)) && busy > max_parallel_)
    broken_ = fmt::format("I1: {} upgrades under way, {} allowed", busy, max_parallel_);
  if (canary_.empty()) return;
  if (after.name == canary_) {
    if (StateOf(after) != UpgradeState::kDone) done_at_ = absl::InfiniteFuture();
    if (StateOf(before) != UpgradeState::kDone && StateOf(after) == UpgradeState::kDone) done_at_ = change.time;
  } else if (IsInProgress(StateOf(after)) && (change.time < done_at_ + soak_ || !approved_)) {
    broken_ = fmt::format("I20: {} starts before the first stage is done, has soaked and is approved", after.name);
  }
}

bool Witness::MustGo(const Pod& pod) const { return !isolates_devices_ || !pod.resource_claims.empty(); }

void Witness::WatchPod(const Change& change) {
  const Pod& pod = change.pod.after != nullptr ? *change.pod.after : *change.pod.before;
  const bool goes = change.pod.after == nullptr || change.pod.after->deletion_timestamp.has_value();
  const bool stood = change.pod.before != nullptr && !change.pod.before->deletion_timestamp;
  if (change.pod.after == nullptr) {
    workloads_.erase(pod.ref.uid);
  } else if (!IsDaemonSetPod(pod) && !IsFinished(pod) && MustGo(pod)) {
    workloads_[pod.ref.uid] = pod.node_name;
  } else {
    workloads_.erase(pod.ref.uid);
  }
  if (!goes || !stood || change.actor != Actor::kClient) return;
  if (!IsDriver(pod)) {
    if (!MustGo(pod)) broken_ = fmt::format("I24: {} uses no device, and was removed", pod.ref.ToString());
    return;
  }
  for (const auto& [uid, node] : workloads_) {
    if (node == pod.node_name) broken_ = fmt::format("I2: the driver of {} goes while a workload runs", node);
  }
}

}  // namespace driverupgrade::tests
