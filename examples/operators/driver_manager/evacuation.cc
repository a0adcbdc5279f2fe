#include "driver_manager/evacuation.h"

#include <algorithm>
#include <utility>

#include "driver_manager/status_text.h"
#include "driverupgrade/pod_manager.h"
#include "fmt/ranges.h"
#include "support/gpu_resources.h"

namespace driver_manager {
namespace {

using driverupgrade::DrainManager;
using driverupgrade::DrainPolicy;
using driverupgrade::EvictionAnswer;
using driverupgrade::EvictionRound;
using driverupgrade::LabelSelector;
using driverupgrade::Node;
using driverupgrade::NodeAttempts;
using driverupgrade::NodeView;
using driverupgrade::Pod;
using driverupgrade::PodDeletionPolicy;
using driverupgrade::PodManager;
using driverupgrade::PodRef;
using driverupgrade::PodSelection;
using driverupgrade::Severity;

constexpr absl::Duration kEvictionPoll = absl::Seconds(2);
constexpr absl::Duration kOperandPoll = absl::Seconds(5);
constexpr absl::Duration kOperandPatience = absl::Minutes(5);

absl::Status BlockedBy(const std::vector<PodSelection::Blocked>& blocked) {
  std::vector<std::string> reasons;
  for (const PodSelection::Blocked& pod : blocked) {
    reasons.push_back(fmt::format("pod {} {}", pod.pod->ref.ToString(), pod.why));
  }
  return absl::FailedPreconditionError(fmt::format("{}", fmt::join(reasons, "; ")));
}

}  // namespace

absl::Status Evacuation::EvictGpuPods() {
  return Evacuate("evict the pods that use a GPU", [this](NodeView& view) { return SelectGpuPods(view); });
}

absl::Status Evacuation::Drain() {
  const DrainPolicy policy{.force = settings_.drain_force,
                           .delete_empty_dir = settings_.delete_empty_dir,
                           .pod_selector = settings_.drain_selector};
  return Evacuate("drain the node", [policy](NodeView& view) -> absl::StatusOr<PodSelection> {
    return DrainManager().Select(*view.pods, policy);
  });
}

absl::StatusOr<PodSelection> Evacuation::SelectGpuPods(NodeView& view) {
  for (const Pod& pod : *view.pods) {
    // A finished pod does not hold a GPU, and its logs may still be needed.
    if (IsFinished(pod)) continue;
    absl::StatusOr<bool> uses = examples::AsksForGpu(pod);
    if (!*uses) uses = HoldsGpuClaim(pod);
    if (!uses.ok()) return uses.status();
    if (*uses) view.pods_using_driver.insert(pod.ref.uid);
  }
  const PodDeletionPolicy policy{.force = settings_.drain_force, .delete_empty_dir = settings_.delete_empty_dir};
  return PodManager().SelectForDeletion(view, policy, DrainManager());
}

absl::StatusOr<bool> Evacuation::HoldsGpuClaim(const Pod& pod) {
  if (!parts_.lookups.is_gpu_claim) return false;
  for (const std::string& claim : pod.resource_claims) {
    const absl::StatusOr<bool> holds = parts_.lookups.is_gpu_claim(node_.Context(), pod.ref.ns, claim);
    if (!holds.ok()) return Named(fmt::format("claims of pod {}", pod.ref.ToString()), holds.status());
    if (*holds) return true;
  }
  return false;
}

absl::Status Evacuation::CheckNoClaimHolders(bool with_pending) {
  const absl::StatusOr<std::vector<Pod>> pods = node_.Pods();
  if (!pods.ok()) return pods.status();
  std::vector<std::string> holders;
  for (const Pod& pod : *pods) {
    if (IsFinished(pod) || (!with_pending && pod.phase == driverupgrade::PodPhase::kPending)) continue;
    const absl::StatusOr<bool> holds = HoldsGpuClaim(pod);
    if (!holds.ok()) return holds.status();
    if (*holds) holders.push_back(pod.ref.ToString());
  }
  if (holders.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("pods use GPUs through resource claims: {}", fmt::join(holders, ", ")));
}

absl::StatusOr<NodeView> Evacuation::Read(const NodeAttempts& attempts) {
  absl::StatusOr<Node> node = parts_.cluster->GetNode(node_.Context(), {.name = node_.name()});
  if (!node.ok()) return node.status();
  absl::StatusOr<std::vector<Pod>> pods = node_.Pods();
  if (!pods.ok()) return pods.status();
  NodeView view{.node = *std::move(node), .pods = *std::move(pods), .attempts = attempts};
  // No pod on this node counts as lost (dep-F11), because the node's kubelet is running this program.
  view.node.ready = true;
  return view;
}

void Evacuation::Request(const PodRef& pod, NodeAttempts& attempts) {
  const absl::StatusOr<EvictionAnswer> answer = parts_.cluster->EvictPod(node_.Context(), {.pod = pod});
  const std::string text = answer.ok() ? std::string(ToString(*answer)) : std::string(answer.status().message());
  parts_.log({.message = "eviction", .fields = {{"pod", pod.ToString()}, {"answer", text}}});
  attempts.PodAnswered(pod.uid, AttemptOf(answer, parts_.clock->Now()));
}

// Reads the node once and sends the requests that are due.
absl::StatusOr<std::string> Evacuation::Look(const Select& select, NodeAttempts& attempts) {
  absl::StatusOr<NodeView> view = Read(attempts);
  if (!view.ok()) return view.status();
  const absl::StatusOr<PodSelection> selection = select(*view);
  if (!selection.ok()) return selection.status();
  if (!selection->blocked.empty()) return BlockedBy(selection->blocked);
  const absl::Time now = parts_.clock->Now();
  const EvictionRound round = DrainManager().Pace(selection->evict, *view, now);
  std::string left = round.finished ? "" : DrainManager().Remaining(selection->evict, *view, now);
  for (const PodRef& pod : round.evict) Request(pod, attempts);
  return left;
}

absl::Status Evacuation::Evacuate(std::string_view what, const Select& select) {
  parts_.log({.message = std::string(what),
              .fields = {{"node", node_.name()}, {"timeout", absl::FormatDuration(settings_.drain_timeout)}}});
  const absl::Time deadline = parts_.clock->Now() + settings_.drain_timeout;
  NodeAttempts attempts;
  while (true) {
    const absl::StatusOr<std::string> left = Look(select, attempts);
    const absl::Status& look = left.status();
    if (!look.ok() && !MayPass(look)) return Named(what, look);
    if (look.ok() && left->empty()) return absl::OkStatus();
    const absl::Time now = parts_.clock->Now();
    if (now >= deadline) {
      const std::string_view why = look.ok() ? std::string_view(*left) : Message(look);
      return absl::DeadlineExceededError(
          fmt::format("{}: not done after {}: {}", what, absl::FormatDuration(settings_.drain_timeout), why));
    }
    if (!look.ok()) {
      parts_.log({.severity = Severity::kWarning,
                  .message = "the API server returns errors",
                  .fields = {{"error", std::string(look.message())}}});
    }
    if (absl::Status slept = node_.Sleep(std::min(kEvictionPoll, deadline - now)); !slept.ok()) return slept;
  }
}

absl::Status Evacuation::AwaitGone(std::string_view what, const PodList& list) {
  const absl::Time deadline = parts_.clock->Now() + kOperandPatience;
  while (true) {
    const absl::StatusOr<std::vector<Pod>> pods = list();
    if (!pods.ok() && !MayPass(pods.status())) return Named(fmt::format("wait for {}", what), pods.status());
    if (pods.ok() && pods->empty()) return absl::OkStatus();
    const absl::Time now = parts_.clock->Now();
    if (now >= deadline) {
      const std::string why =
          pods.ok() ? pods->front().ref.ToString() + " is still there" : std::string(pods.status().message());
      return absl::DeadlineExceededError(fmt::format("wait for {} to terminate: still there after {}: {}", what,
                                                     absl::FormatDuration(kOperandPatience), why));
    }
    if (absl::Status slept = node_.Sleep(std::min(kOperandPoll, deadline - now)); !slept.ok()) return slept;
  }
}

absl::Status Evacuation::AwaitAppGone(const std::string& app) {
  const LabelSelector selector = LabelSelector::FromMatchLabels({{"app", app}});
  return AwaitGone(app, [&] { return node_.Pods(settings_.operator_namespace, selector); });
}

}  // namespace driver_manager
