#include "observe/gang_events.h"

#include <optional>

#include "decide/rollout/gangs.h"
#include "fmt/format.h"
#include "observe/event_message.h"

namespace driverupgrade::internal {
namespace {

std::string MessageOf(const std::optional<absl::Time>& until) {
  if (!until) return "The driver upgrade waits for this pod to finish";
  return fmt::format(
      "The driver upgrade interrupts the job of this pod at {}, or as soon as all its pods have the annotation {}=true",
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", *until, absl::UTCTimeZone()), kMayStopAnnotation);
}

}  // namespace

std::vector<RecordEventParams> GangEvents::Follow(const Plan& plan,
                                                  const std::function<const NodeView*(const std::string&)>& view_of,
                                                  absl::Time now) {
  for (const std::string& node : plan.ungated) told_.erase(node);
  std::vector<RecordEventParams> news;
  for (const NodeGate& waits : plan.gates) {
    if (waits.gate.reason != GateReason::kGangRuns) {
      told_.erase(waits.node);
      continue;
    }
    const NodeView* view = view_of(waits.node);
    if (view == nullptr || !view->pods) continue;
    for (const Pod& pod : *view->pods) {
      if (GangOf(pod).empty() || IsFinished(pod) || !told_[waits.node].insert(pod.ref.uid).second) continue;
      news.push_back({.node_name = waits.node,
                      .node_uid = view->node.uid,
                      .pod = pod.ref,
                      .reason = reason_,
                      .message = CutEventMessage(MessageOf(waits.gate.not_before)),
                      .time = now});
    }
  }
  return news;
}

}  // namespace driverupgrade::internal
