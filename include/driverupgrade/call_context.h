/// What every call that may block takes first: until when, and whether it is still wanted.
///
/// Defines CallContext.
///
///     CallContext context{.deadline = clock.Now() + absl::Seconds(30), .stop = stop_source.get_token()};
///     absl::StatusOr<Node> node = cluster.GetNode(context, {.name = "gpu-7"});
///
/// A value; copy it freely. std::stop_token is thread-safe.
#ifndef DRIVERUPGRADE_CALL_CONTEXT_H_
#define DRIVERUPGRADE_CALL_CONTEXT_H_

#include <stop_token>

#include "absl/time/time.h"
#include "driverupgrade/abseil_abi.h"

namespace driverupgrade {

struct CallContext {
  /// The call returns DeadlineExceeded when it has no answer by then. Wall clock.
  absl::Time deadline = absl::InfiniteFuture();
  /// The call returns Cancelled soon after a stop is requested.
  std::stop_token stop = {};
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CALL_CONTEXT_H_
