// The states of a NodeMaintenance, encoded in its conditions (upstream-behaviour.md §4.1).
#ifndef DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_MAINTENANCE_H_
#define DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_MAINTENANCE_H_

#include <algorithm>
#include <string>
#include <string_view>

#include "testing/fake_cluster_model.h"

namespace driverupgrade::testing::internal {

inline constexpr char kReadyCondition[] = "Ready";
inline constexpr char kFailedCondition[] = "RequestorFailed";

// The reason of the condition Ready encodes the state. Without the condition, the object is in the first state.
inline constexpr char kPending[] = "Pending";
inline constexpr char kScheduled[] = "Scheduled";
inline constexpr char kCordon[] = "Cordon";
inline constexpr char kWait[] = "WaitForPodCompletion";
inline constexpr char kDraining[] = "Draining";
inline constexpr char kReady[] = "Ready";
inline constexpr char kRequestorFailed[] = "RequestorFailed";

inline Key KeyOf(const NodeMaintenance& object) { return {object.ns, object.name}; }

inline const Condition* FindCondition(const NodeMaintenance& object, std::string_view type) {
  auto found = std::find_if(object.conditions.begin(), object.conditions.end(),
                            [&](const Condition& condition) { return condition.type == type; });
  return found == object.conditions.end() ? nullptr : &*found;
}

inline std::string ReasonOf(const NodeMaintenance& object) {
  const Condition* ready = FindCondition(object, kReadyCondition);
  return ready != nullptr ? ready->reason : std::string();
}

inline bool HasFailed(const NodeMaintenance& object) {
  const Condition* failed = FindCondition(object, kFailedCondition);
  return failed != nullptr && failed->status == "True";
}

inline bool IsPastPending(const NodeMaintenance& object) {
  const std::string reason = ReasonOf(object);
  return !reason.empty() && reason != kPending;
}

inline bool IsPastCordon(const NodeMaintenance& object) {
  const std::string reason = ReasonOf(object);
  return reason == kWait || reason == kDraining || reason == kReady || reason == kRequestorFailed;
}

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_MAINTENANCE_H_
