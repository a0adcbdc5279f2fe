#include "write/transition_events.h"

namespace driverupgrade::internal {

std::vector<RecordEventParams> EventsOfTransitions(const NodeRequests& sent, const std::string& reason,
                                                   absl::Time now) {
  if (!sent.Acknowledged()) return {};
  const NodePlan& plan = sent.plan();
  std::vector<RecordEventParams> events;
  for (const PlannedEvent& event : plan.events) {
    events.push_back({.node_name = plan.node,
                      .node_uid = plan.uid,
                      .type = event.warning ? EventType::kWarning : EventType::kNormal,
                      .reason = reason,
                      .message = event.message,
                      .time = now + absl::Nanoseconds(events.size())});
  }
  return events;
}

}  // namespace driverupgrade::internal
