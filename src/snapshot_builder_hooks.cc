// The part of SnapshotBuilder that asks the embedding operator: which pods use the driver, and which changes need no more
// than a restart.
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "driverupgrade/pod_manager.h"
#include "driverupgrade/snapshot_builder.h"
#include "fmt/format.h"
#include "internal/hook_runner.h"
#include "internal/node_state.h"
#include "internal/status_macros.h"

namespace driverupgrade::inline v1 {

void SnapshotBuilder::RunFilter(const CallContext& context, NodeView& view, std::vector<Finding>& findings,
                                std::map<std::string, Remembered>& seen) {
  if (!options_.uses_driver) return;
  for (const Pod& pod : *view.pods) {
    const auto known = remembered_.find(pod.ref.uid);
    bool uses_driver = false;
    if (known != remembered_.end() && known->second.resource_version == pod.resource_version) {
      uses_driver = known->second.uses_driver;
    } else if (const absl::StatusOr<bool> answer = hooks_->Run(
                   context, "the pod filter",
                   [filter = options_.uses_driver, pod](const CallContext& bounded) { return filter(bounded, pod); });
               answer.ok()) {
      uses_driver = *answer;
    } else {
      const std::string error(internal::Message(answer.status()));
      findings.push_back({.code = FindingCode::kHookFailed,
                          .node = view.node.name,
                          .message = fmt::format("pod filter for {}: {}", pod.ref.ToString(), error)});
      view.hook_errors[pod.ref.ToString()] = error;
      continue;
    }
    seen[pod.ref.uid] = {.resource_version = pod.resource_version, .uses_driver = uses_driver};
    if (uses_driver) view.pods_using_driver.insert(pod.ref.uid);
  }
}

// T7, T8: asked of nodes whose upgrade has not begun, about each driver pod that is out of date.
void SnapshotBuilder::CompareRevisions(const CallContext& context, const DriverFacts& driver,
                                       const std::vector<ControllerRevision>& revisions, NodeView& view,
                                       std::vector<Finding>& findings, std::map<std::string, Compared>& seen) {
  if (!options_.restart_only) return;
  const std::optional<UpgradeState> state = internal::StateOf(view.node, identity_);
  if (!state || IsInProgress(*state)) return;
  view.restart_only = !view.driver_pods.empty();
  for (const Pod& pod : view.driver_pods) {
    const absl::StatusOr<bool> answer = NeedsRestartOnly(context, pod, driver, revisions, seen);
    if (!answer.ok()) {
      view.restart_only_error =
          fmt::format("restart-only predicate for {}: {}", pod.ref.ToString(), internal::Message(answer.status()));
      findings.push_back(
          {.code = FindingCode::kHookFailed, .node = view.node.name, .message = view.restart_only_error});
    }
    view.restart_only = view.restart_only && answer.ok() && *answer;
  }
}

// A pod whose own revision is current, or not known any more, is none of the predicate's business: true, false.
absl::StatusOr<bool> SnapshotBuilder::NeedsRestartOnly(const CallContext& context, const Pod& pod,
                                                       const DriverFacts& driver,
                                                       const std::vector<ControllerRevision>& revisions,
                                                       std::map<std::string, Compared>& seen) {
  const OwnerReference* owner = ControllerOf(pod);
  const auto found = owner == nullptr ? driver.daemon_sets.end() : driver.daemon_sets.find(owner->uid);
  if (found == driver.daemon_sets.end() || !found->second.wanted_revision) return false;
  const std::string& hash = *found->second.wanted_revision;
  if (RevisionHash(pod) == hash) return true;
  const ControllerRevision* running = FindRevision(found->second.daemon_set, revisions, RevisionHash(pod));
  const ControllerRevision* wanted = FindRevision(found->second.daemon_set, revisions, hash);
  if (running == nullptr || wanted == nullptr) return false;
  const auto known = compared_.find(pod.ref.uid);
  if (known != compared_.end() && known->second.resource_version == pod.resource_version &&
      known->second.wanted == hash) {
    seen[pod.ref.uid] = known->second;
    return known->second.restart_only;
  }
  const absl::StatusOr<bool> answer =
      hooks_->Run(context, "the restart-only predicate",
                  [predicate = options_.restart_only, pod, running = *running,
                   wanted = *wanted](const CallContext& bounded) { return predicate(bounded, pod, running, wanted); });
  if (answer.ok()) {
    seen[pod.ref.uid] = {.resource_version = pod.resource_version, .wanted = hash, .restart_only = *answer};
  }
  return answer;
}

}  // namespace driverupgrade::inline v1
