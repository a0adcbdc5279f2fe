#include "write/refusal_event.h"

#include <string_view>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "observe/event_message.h"

namespace driverupgrade::internal {
namespace {

// Returns true if the server would refuse the request again as long as the state of the cluster stays the same. Returns
// false for errors of a busy or failing server, because an Event would add to the server's load.
bool IsRefusedForGood(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status);
}

// Returns the text that the Go library would use (§5.5).
std::string TextOfRefusedPatch(const NodePlan& plan, std::string_view why) {
  if (!plan.path.empty()) {
    return fmt::format("Failed to update node state label to {}, {}", ToLabelValue(plan.to()), why);
  }
  if (plan.patch->unschedulable.value_or(false)) return fmt::format("Failed to cordon the node, {}", why);
  if (plan.patch->annotations.empty()) return fmt::format("Failed to update the node, {}", why);
  const auto& [key, value] = *plan.patch->annotations.begin();
  return fmt::format("Failed to update node annotation to {}={}: {}", key, value.value_or("null"), why);
}

}  // namespace

std::optional<RecordEventParams> EventOfRefusal(const NodeRequests& sent, const std::string& reason, absl::Time now) {
  const NodePlan& plan = sent.plan();
  const NodeOutcome& outcome = sent.outcome();
  if (!IsRefusedForGood(outcome.status)) return std::nullopt;
  RecordEventParams event{
      .node_name = plan.node, .node_uid = plan.uid, .type = EventType::kWarning, .reason = reason, .time = now};
  if (plan.patch && !outcome.patched) {
    event.message = CutEventMessage(TextOfRefusedPatch(plan, Message(outcome.status)));
  } else if (sent.undeleted()) {
    event.pod = sent.undeleted();
    event.message =
        CutEventMessage(fmt::format("Failed to delete the pod for the driver upgrade, {}", Message(outcome.status)));
  } else {
    return std::nullopt;  // gates report refused evictions and NodeMaintenance calls
  }
  return event;
}

}  // namespace driverupgrade::internal
