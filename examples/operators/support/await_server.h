/// Waits for an API server that is overloaded, restarting, or not running yet, so that a program need not exit in these
/// cases.
///
/// Defines AwaitServer.
///
///     const absl::Status seen =
///         AwaitServer({.deadline = deadline, .stop = stop}, *clock, log, [&] { return Look(); });
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_AWAIT_SERVER_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_AWAIT_SERVER_H_

#include <functional>

#include "absl/status/status.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/observer.h"

namespace examples {

/// Calls `attempt` until it succeeds or fails with a permanent error (such as 401, 403 or 404), and returns the result
/// of the last attempt. Retries after 429, 5xx, a lost or refused connection, and a timeout. The pauses start at one
/// second and double up to thirty seconds; a longer Retry-After from the server takes precedence. Logs each new reason
/// and the end of the wait immediately. Gives up if the next attempt would come after the deadline, or if a stop is
/// requested.
absl::Status AwaitServer(const driverupgrade::CallContext& context, driverupgrade::Clock& clock,
                         const driverupgrade::LogSink& log, const std::function<absl::Status()>& attempt);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_AWAIT_SERVER_H_
