// Isolates only the devices of a node, not the whole node (UpgradePolicy::isolation).
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "decide/attempt_log.h"
#include "decide/devices/claims.h"
#include "decide/devices/rules.h"
#include "decide/gate_subject.h"
#include "decide/transitions/walk.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

// Time that the node waits after its driver has become ready, even if all devices are published, because a plugin
// publishes devices in several steps.
constexpr absl::Duration kPublishing = absl::Seconds(5);

// Plans the calls that are due. Returns the time at which the next call is due. Replaces `detail` with the message of a
// failed call.
absl::Time PlanCalls(Walk& walk, std::vector<DeviceCall> calls, std::string& detail) {
  absl::Time next = absl::InfiniteFuture();
  for (DeviceCall& call : calls) {
    absl::Time due = absl::InfinitePast();
    const auto attempt = walk.view.attempts.devices.find(call.object.name);
    if (attempt != walk.view.attempts.devices.end()) {
      due = internal::NextDeviceCallDue(attempt->second, call);
      if (!attempt->second.message.empty()) detail = attempt->second.message;
    }
    if (due > walk.in.now) {
      next = std::min(next, due);
    } else {
      walk.verdict.plan.devices.push_back(std::move(call));
    }
  }
  return next;
}

Progress WaitForRules(Walk& walk, internal::RuleStep step) {
  const absl::Time due = PlanCalls(walk, std::move(step.calls), step.detail);
  return walk.Wait(GateReason::kDevicesTainted, std::move(step.detail), std::min(due, step.due));
}

void CordonBecause(Walk& walk, const std::string& why) {
  walk.Note(FindingCode::kDevicesNotIsolated, fmt::format("the node is cordoned instead of its devices: {}", why));
  walk.Event(true, fmt::format("Cordoned the node instead of its devices: {}", why));
  walk.CordonInstead();
}

// Returns true if listing the devices failed for a reason that may be temporary. Returns false if the cluster does not
// serve the DRA kinds.
bool MayBeKnownSoon(const NodeView& view) {
  return !view.devices && !view.devices_status.ok() && !absl::IsNotFound(view.devices_status);
}

// Returns true if the mark is already stored on the node. Rules are created only after the mark has been stored, so
// that no rule is forgotten.
bool IsMarked(const Walk& walk) { return walk.before().isolated_devices.present() && walk.IsolatesDevices(); }

// Returns why evictions from the node would never end: the node stays schedulable, and the taint stops only pods that
// claim a device. A pod that uses the driver without a claim may return.
std::string WhyEvictedInVain(const Walk& walk) {
  const std::optional<PodDeletionPolicy> policy = PodDeletion(walk.in);
  if (!policy || !walk.view.pods) return "";
  const std::set<std::string> holders = internal::HolderUids(walk.view, walk.in.policy.isolation.device_drivers);
  for (const Pod* pod : walk.pods.SelectForDeletion(walk.view, *policy, walk.drains).evict) {
    if (holders.contains(pod->ref.uid) || walk.view.unread_claims.contains(pod->ref)) continue;
    return fmt::format("pod {} uses the driver without a claim", pod->ref.ToString());
  }
  return "";
}

// Reads the pods of the node, because only the pods show whether other schedulers use the node.
std::optional<Progress> CheckBeforeEvictions(Walk& walk) {
  if (walk.ReadPods() == nullptr) return walk.WaitForPods(absl::InfiniteFuture());
  if (const std::string why = internal::WhyNotDevices(walk.view, walk.in.policy.isolation); !why.empty()) {
    CordonBecause(walk, why);
  }
  return std::nullopt;
}

}  // namespace

std::string WhyUnfitForDevices(const Walk& walk) {
  const IsolationPolicy& policy = walk.in.policy.isolation;
  if (policy.scope == IsolationScope::kNode || walk.view.node.unschedulable) return "";
  if (policy.scope == IsolationScope::kAuto && !MayBeKnownSoon(walk.view)) return "";
  const std::string why = internal::WhyNotDevices(walk.view, policy);
  return why.empty() ? "" : fmt::format("its devices cannot be isolated: {}", why);
}

void ChooseScope(Walk& walk) {
  const IsolationPolicy& policy = walk.in.policy.isolation;
  walk.Remove(&NodeMarks::isolated_devices);
  if (policy.scope == IsolationScope::kNode || walk.view.node.unschedulable) return;
  if (const std::string why = internal::WhyNotDevices(walk.view, policy); !why.empty()) return CordonBecause(walk, why);
  walk.Write(&NodeMarks::isolated_devices, internal::DeviceCount(walk.view, policy));
}

bool DevicesAreOpen(const Walk& walk) {
  const std::optional<UpgradeState> read = walk.before().State();
  return walk.IsolatesDevices() && !(IsMarked(walk) && read && TraitsOf(*read).holds_cordon);
}

std::optional<Progress> HoldDevices(Walk& walk) {
  if (!IsMarked(walk) || !TraitsOf(walk.state()).holds_cordon) return std::nullopt;
  if (!walk.view.devices || !walk.view.devices->has_rules) {
    std::string why = internal::WhyNotDevices(walk.view, walk.in.policy.isolation);
    if (MayBeKnownSoon(walk.view)) {
      return walk.Wait(GateReason::kDevicesTainted, std::move(why), NextRead(walk.in.now));
    }
    CordonBecause(walk, why);
    return std::nullopt;
  }
  if (walk.state() == UpgradeState::kCordonRequired) {
    if (const auto stopped = CheckBeforeEvictions(walk)) return stopped;
    if (!walk.IsolatesDevices()) return std::nullopt;
  }
  if (const std::string why = WhyEvictedInVain(walk); !why.empty()) {
    CordonBecause(walk, why);
    return std::nullopt;
  }
  internal::RuleStep step =
      internal::IsolateDevices(walk.view, walk.in.identity, walk.in.policy.isolation, walk.in.now);
  if (step.done) return std::nullopt;
  if (step.failure.empty()) return WaitForRules(walk, std::move(step));
  CordonBecause(walk, step.failure);
  return std::nullopt;
}

// Does nothing while the node has the mark, because the upgrade itself removes the rules when it finishes.
void RemoveOldRules(Walk& walk) {
  if (walk.before().isolated_devices.present() || walk.admitted) return;
  internal::RuleStep step = internal::ReleaseDevices(walk.view, walk.in.identity, walk.in.now);
  walk.WakeAt(std::min(step.due, PlanCalls(walk, std::move(step.calls), step.detail)));
}

std::optional<Progress> ReleaseRules(Walk& walk) {
  internal::RuleStep step = internal::ReleaseDevices(walk.view, walk.in.identity, walk.in.now);
  if (step.done) return std::nullopt;
  // RemoveOldRules has already planned the calls.
  if (!walk.before().isolated_devices.present()) step.calls.clear();
  return WaitForRules(walk, std::move(step));
}

std::optional<Gate> WhyDevicesInUse(Walk& walk, absl::Time& due) {
  if (!walk.view.unread_claims.empty()) {
    const auto& [pod, claim] = *walk.view.unread_claims.begin();
    // If another driver allocated the claim, no object of the node changes when the claim is read.
    due = NextRead(walk.in.now);
    return Gate{.reason = GateReason::kDevicesInUse,
                .detail = fmt::format("{} has claim {}, which has not been read yet", pod.ToString(), claim),
                .subject = PodSubject(pod)};
  }
  if (!IsMarked(walk) || !walk.view.devices || !walk.view.pods) return std::nullopt;
  std::optional<Gate> gate;
  for (const internal::UnboundHolder& holder :
       internal::UnboundHolders(walk.view, walk.in.identity, walk.in.policy.isolation)) {
    if (!gate) {
      gate = Gate{.reason = GateReason::kDevicesInUse,
                  .detail = fmt::format("{} holds a device, and is not bound yet", holder.pod.ToString()),
                  .subject = PodSubject(holder.pod)};
    }
    if (!holder.late) continue;
    const auto attempt = walk.view.attempts.pods.find(holder.pod.uid);
    const bool tried = attempt != walk.view.attempts.pods.end();
    const absl::Time next = tried ? internal::NextPodRequestDue(attempt->second, holder.pod.uid) : walk.in.now;
    if (next <= walk.in.now) walk.verdict.plan.evict.push_back(holder.pod);
    due = std::min(due, next <= walk.in.now ? absl::InfiniteFuture() : next);
  }
  return gate;
}

void CountPods(Walk& walk) {
  NodePlan& plan = walk.verdict.plan;
  if (!walk.IsolatesDevices() || !walk.view.devices) return;
  const std::set<std::string> late =
      internal::LateHolderUids(walk.view, walk.in.identity, walk.in.policy.isolation.device_drivers);
  for (const PodRef& pod : plan.evict) {
    if (late.contains(pod.uid)) plan.late_holders.push_back(pod.uid);
  }
  const bool replaces = std::any_of(plan.remove.begin(), plan.remove.end(), [&](const PodRef& pod) {
    return std::any_of(walk.view.driver_pods.begin(), walk.view.driver_pods.end(),
                       [&](const Pod& driver_pod) { return driver_pod.ref == pod; });
  });
  if (!replaces || !walk.view.pods) return;
  plan.pods_kept = static_cast<int>(std::count_if(walk.view.pods->begin(), walk.view.pods->end(), [](const Pod& pod) {
    return !IsFinished(pod) && !pod.deletion_timestamp && !IsDaemonSetPod(pod);
  }));
}

std::string WhyDevicesMissing(const Walk& walk, absl::Time& due) {
  const std::optional<int>& before = walk.after().isolated_devices.value();
  if (!walk.IsolatesDevices()) return "";
  std::string why = internal::WhyNotPublished(walk.view, walk.in.policy.isolation, before.value_or(0));
  if (!why.empty()) return why;
  for (const Pod& pod : walk.view.driver_pods) {
    const absl::Time settled = pod.ready_since.value_or(absl::InfinitePast()) + kPublishing;
    if (settled <= walk.in.now) continue;
    due = settled;
    why = "the driver is ready; its devices may still change";
  }
  return why;
}

}  // namespace driverupgrade
