/// Waits for an API server that is overloaded, restarting, or not there yet: nothing that a program should end for.
///
/// Defines AwaitServer.
///
///     const absl::Status seen = AwaitServer({.deadline = deadline, .stop = stop}, *clock, log, [&] { return Look(); });
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_AWAIT_SERVER_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_AWAIT_SERVER_H_

#include <functional>

#include "absl/status/status.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/observer.h"

namespace examples {

/// Calls `attempt` until it succeeds, or fails by what no waiting mends (401, 403, 404 and the like); returns its last
/// answer. 429, 5xx, a lost or refused connection and an answer that does not come are waited out: from one second on,
/// doubling to thirty, or for the server's Retry-After if that is longer. Each new reason is logged at once, and so is
/// the end of the wait. Gives up when the next attempt would come after the deadline, and when a stop is requested.
absl::Status AwaitServer(const driverupgrade::CallContext& context, driverupgrade::Clock& clock,
                         const driverupgrade::LogSink& log, const std::function<absl::Status()>& attempt);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_AWAIT_SERVER_H_
