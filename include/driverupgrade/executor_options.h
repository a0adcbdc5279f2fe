/// How an engine makes its requests.
///
/// Defines ExecutorOptions.
///
///     EngineOptions options{.executor = {.calls_in_flight = 8, .call_timeout = absl::Seconds(10)}};
///
/// A value.
#ifndef DRIVERUPGRADE_EXECUTOR_OPTIONS_H_
#define DRIVERUPGRADE_EXECUTOR_OPTIONS_H_

#include "absl/time/time.h"

namespace driverupgrade {

struct ExecutorOptions {
  /// Nodes worked on at once, each with one call in flight, and what is given to Submit. 1: everything in the calling
  /// thread, in the plan's order.
  int calls_in_flight = 32;
  /// For each call, within the deadline of the context.
  absl::Duration call_timeout = absl::Seconds(30);
  /// Whether to write Events. They are best effort and off the critical path.
  bool events = true;
  /// Of these: what NodePlan::events has, each as it is.
  bool transition_events = true;
  /// And: findings, gates that somebody has to act on, and requests that were refused. Limited and aggregated as
  /// client-go does it.
  bool finding_events = true;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_EXECUTOR_OPTIONS_H_
