/// Three decorators of HttpTransport: one repeats what may be repeated, one spaces requests out, one counts and times them.
///
/// Defines RetryOptions, MakeRetryingTransport, RateLimit, MakeRateLimitedTransport and MakeMeteredTransport.
///
/// Example (tests/unit/kubernetes/retrying_transport_test.cc):
///
///     auto transport = MakeRetryingTransport(MakeRateLimitedTransport(backend, {.requests_per_second = 50, .burst = 100}));
///     auto cluster = MakeRestCluster(transport);
///
/// In this order a repetition pays for its slot as any other request. All are thread-safe if what they
/// decorate is, which must not be null, and hold a share of it. A call that waits here ends by its deadline or its
/// stop.
#ifndef DRIVERUPGRADE_KUBERNETES_TRANSPORT_DECORATORS_H_
#define DRIVERUPGRADE_KUBERNETES_TRANSPORT_DECORATORS_H_

#include <memory>

#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/metrics_snapshot.h"

namespace driverupgrade {

struct RetryOptions {
  /// Refusals of one call that are waited out: client-go's number.
  int refusal_count_max = 10;
  /// Lost connections of one call that are made up for.
  int loss_count_max = 3;
  /// Pause after a lost connection.
  absl::Duration loss_pause = absl::Seconds(1);
  /// The longest that a server's Retry-After is obeyed.
  absl::Duration retry_after_max = absl::Seconds(300);
  /// Null: SystemClock().
  std::shared_ptr<Clock> clock = nullptr;
};

/// Repeats a request where nothing can be done twice by it:
///  - the answer is 429 and has a Retry-After in whole seconds: the server has refused it, whatever its verb. Not an
///    eviction's: there 429 is an answer about a disruption budget, for those who asked;
///  - a GET whose answer is 500 or more and has a Retry-After in whole seconds;
///  - Unavailable, and the request was not sent (RequestWasNotSent);
///  - Unavailable, and it is a GET of which nothing has been given to a sink.
/// Everything else is returned as it is, and so is the last answer when the options' numbers are used up, or when the
/// deadline of the call would be over before the next attempt.
std::shared_ptr<HttpTransport> MakeRetryingTransport(std::shared_ptr<HttpTransport> inner, RetryOptions options = {});

struct RateLimit {
  /// 0 or less: no limit, which is the default. A server with priority and fairness does it better.
  double requests_per_second = 0;
  /// Requests that may be sent at once after a rest; at least 1.
  int burst = 1;
  /// Null: SystemClock().
  std::shared_ptr<Clock> clock = nullptr;
};

/// A token bucket for all callers together. Streams are not counted. A request whose turn would come after its
/// deadline is DeadlineExceeded at once, and one that is stopped while it waits is Cancelled, both marked as not sent.
std::shared_ptr<HttpTransport> MakeRateLimitedTransport(std::shared_ptr<HttpTransport> inner, RateLimit limit);

/// Counts and times what goes through a transport:
///
///     auto meter = std::make_shared<RequestMeter>();
///     auto cluster = MakeRestCluster(MakeMeteredTransport(*MakeCpprestTransport(config, {}), meter));
///
/// Each request counts once, by verb, resource and code, all of closed sets: resources are those that RestCluster
/// knows, and `other`; codes are HTTP statuses that Kubernetes uses, `1xx` to `5xx` for others of their class,
/// `invalid`, and the names of absl::StatusCode where there was no answer. A watch counts as soon as it is open, and
/// has no duration. Nothing is changed of what passes.
///
/// Holds shares of both, which are not null. `clock`: null for SystemClock().
std::shared_ptr<HttpTransport> MakeMeteredTransport(std::shared_ptr<HttpTransport> next,
                                                    std::shared_ptr<RequestMeter> meter,
                                                    std::shared_ptr<Clock> clock = nullptr);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_TRANSPORT_DECORATORS_H_
