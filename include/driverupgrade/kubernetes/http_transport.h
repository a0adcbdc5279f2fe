/// The interface below RestCluster: one HTTP request to the API server, or one stream of lines from it.
///
/// Defines
///  - LineSink: receives the lines of a stream (a watch), one call per line;
///  - HttpTransport: the abstract class that a backend implements (cpprest_transport.h is the default backend,
///    curl_transport.h the other);
///  - TransportOptions: the limits and timeouts of these backends;
///  - MakeRetryingTransport, MakeRateLimitedTransport, MakeMeteredTransport and their options: decorators.
/// The data sent and received are values, in http_message.h.
///
/// Example (tests/unit/kubernetes/http_transport_test.cc):
///
///     absl::StatusOr<HttpResponse> answer = transport.Send(
///         {.deadline = absl::Now() + absl::Seconds(10)},
///         {.verb = HttpVerb::kGet, .path = "/api/v1/nodes", .query = {{"limit", "500"}}});
///     if (answer.ok() && answer->status == 200) Use(answer->body);
///
/// A transport knows the server, the credentials and TLS, but no Kubernetes objects. It neither retries
/// (MakeRetryingTransport does) nor follows redirects, and interprets only one status code: after a 401, it sends the
/// request again if a new token is available. If a server echoes a credential, the library's backends replace it with
/// `[redacted]` (SECURITY.md). A transport is meant to be shared: any number of threads may call its methods at the
/// same time. It must outlive these calls. See also kube_config.h.
#ifndef DRIVERUPGRADE_KUBERNETES_HTTP_TRANSPORT_H_
#define DRIVERUPGRADE_KUBERNETES_HTTP_TRANSPORT_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/abseil_abi.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/http_message.h"

namespace driverupgrade {

class RequestMeter;

/// Receives the lines of one Stream call.
///
/// All calls are made inside Stream, on the thread that called it, one at a time, and none after Stream has returned.
/// While a call runs, nothing more is read from the connection (back-pressure), but other calls on the transport
/// continue. A sink may therefore block, and may use the transport.
class LineSink {
 public:
  virtual ~LineSink() = default;

  /// Called once the server has accepted the request (2xx), before the first line, but not if the stream ends without a
  /// line. `head` has an empty body. Does nothing by default.
  virtual void OnOpen(const HttpResponse& head);

  /// Called for each complete line, without its terminator ("\n" or "\r\n"); empty lines are skipped. `line` is valid
  /// only during the call. Returns false to end the stream. Must not throw.
  virtual bool OnLine(std::string_view line) = 0;
};

/// Sends requests to one server. Abstract, blocking, thread-safe.
///
/// Errors of Send and Stream. Each error message names the attempted operation, its target and the reason, and contains
/// no credential, query or body.
///  - DeadlineExceeded: there was no complete response by `context.deadline`, or within one of the transport's own
///    limits.
///  - Cancelled: a stop was requested. The call returns soon after, even if the server is silent.
///  - Unavailable: there was no connection, or the connection broke before the response was complete.
///  - Unauthenticated: one side refused the other's TLS certificate, or there is no usable token. An immediate retry is
///    useless until a credential or a certificate changes.
///  - OutOfRange: the body, or a line, exceeds the transport's limit.
///  - InvalidArgument: the request cannot be sent as it is, for example because of control characters.
///  - Internal: a bug in the backend, or an exception from the sink.
/// A response is never an error, regardless of its HTTP status.
///
/// *Could a failed write have been applied?* Yes, unless RequestWasNotSent(status) is true: the connection can break
/// after the server has acted. Unauthenticated and InvalidArgument imply RequestWasNotSent. A backend may send a
/// request twice if the server closes an idle connection while the request is in transit (cpprestsdk does). A create
/// that returns 409 may therefore conflict with itself, and every patch should carry a resourceVersion.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;

  /// Sends `request` and returns the whole response. Redirects are returned (status 3xx), not followed.
  [[nodiscard]] virtual absl::StatusOr<HttpResponse> Send(const CallContext& context, const HttpRequest& request) = 0;

  /// Sends `request` and passes each line of a 2xx response to `sink` as it arrives.
  ///
  /// After a 2xx response, returns its head with an empty body once the server has ended the stream cleanly or the sink
  /// has returned false; the sink can distinguish these two cases. After any other response, returns the whole response
  /// with its error body, without ever calling `sink`. Errors: see above; lines passed to the sink before an error are
  /// complete and valid, and a last line without a terminator is dropped. `context.deadline` bounds the whole stream.
  [[nodiscard]] virtual absl::StatusOr<HttpResponse> Stream(const CallContext& context, const HttpRequest& request,
                                                            LineSink& sink) = 0;
};

/// Limits and timeouts of the backends that MakeCpprestTransport and MakeCurlTransport create.
struct TransportOptions {
  /// Maximum duration of one Send, up to the last byte, unless the context's deadline is earlier. The API server's own
  /// limit is 60 s.
  absl::Duration request_timeout = absl::Seconds(60);
  /// Time after which a silent stream is considered dead (Unavailable). Should exceed the longest silence of a healthy
  /// watch, which is the minute between bookmarks; otherwise, healthy watches are restarted.
  absl::Duration stream_idle_timeout = absl::Minutes(3);
  /// Maximum size of a response body in Send, in bytes. In Stream, the same limit applies to the body of a response
  /// with a status other than 2xx.
  std::size_t body_size_max = std::size_t{64} << 20;
  /// Maximum size of a line in Stream, in bytes.
  std::size_t line_size_max = std::size_t{4} << 20;
  /// Maximum size of all header names and values in a response, in bytes. The API server sends less than one KiB.
  std::size_t header_size_max = std::size_t{64} << 10;
  /// Time for which a token from KubeConfig::token_file is used before the file is read again. After a 401, the file is
  /// read immediately. If the file is unusable, the last good token is kept.
  absl::Duration token_refresh = absl::Seconds(50);
  /// Maximum run time of a credential plugin (KubeConfig::exec). Calls wait for it, even beyond their deadlines.
  absl::Duration exec_timeout = absl::Seconds(30);
  /// Value of the header User-Agent, visible ASCII and spaces only. Empty: the library's name and version.
  std::string user_agent = {};
  /// True to trust the system's certificate authorities if KubeConfig::ca_pem is empty. If false, such a configuration
  /// is rejected: a cluster has its own authority, and anyone else who can obtain a certificate for the server's name
  /// could steal the token.
  bool trust_system_roots = false;
};

// Three decorators: the first retries requests that may be retried, the second limits the rate of requests, and the
// third counts and times requests.
//
//     auto transport = MakeRetryingTransport(MakeRateLimitedTransport(backend, {.requests_per_second = 50, .burst = 100}));
//     auto cluster = MakeRestCluster(transport);
//
// Wrapped in this order, a retry is subject to the rate limit like any other request. The decorated transport must not
// be null. The decorators share ownership of the decorated transport, and are thread-safe if that transport is. A
// waiting call ends at its deadline, or when a stop is requested.

struct RetryOptions {
  /// Maximum number of retries of one call after refusals; same as in client-go.
  int refusal_count_max = 10;
  /// Maximum number of retries of one call after lost connections.
  int loss_count_max = 3;
  /// Pause after a lost connection.
  absl::Duration loss_pause = absl::Seconds(1);
  /// Longest Retry-After that is honored.
  absl::Duration retry_after_max = absl::Seconds(300);
  /// Null: SystemClock().
  std::shared_ptr<Clock> clock = nullptr;
};

/// Retries a request only in these cases, in which no write can take effect twice:
///  - the response is 429 with a Retry-After in whole seconds: the server has refused the request, whatever its verb.
///    Evictions are excluded, because their 429 concerns a disruption budget and is left to the caller;
///  - a GET whose response is 500 or more and has a Retry-After in whole seconds;
///  - Unavailable, and the request was not sent (RequestWasNotSent);
///  - Unavailable, and the request is a GET for which nothing has been passed to a sink.
/// All other responses and errors are returned unchanged. So is the last response once the limits in `options` are used
/// up, or if the call's deadline would pass before the next attempt.
std::shared_ptr<HttpTransport> MakeRetryingTransport(std::shared_ptr<HttpTransport> inner, RetryOptions options = {});

struct RateLimit {
  /// Average number of requests per second; zero (the default) or less: no limit. If the server uses API Priority and
  /// Fairness, it limits requests better than the client can.
  double requests_per_second = 0;
  /// Number of requests that may be sent in a burst after a pause; at least 1.
  int burst = 1;
  /// Null: SystemClock().
  std::shared_ptr<Clock> clock = nullptr;
};

/// Limits the rate of requests with a token bucket that all callers share. Streams are not counted. A request that
/// would have to wait beyond its deadline fails immediately with DeadlineExceeded, and a request that is stopped while
/// it waits fails with Cancelled. Both errors are marked as not sent.
std::shared_ptr<HttpTransport> MakeRateLimitedTransport(std::shared_ptr<HttpTransport> inner, RateLimit limit);

/// Counts and times the requests of a transport:
///
///     auto meter = std::make_shared<RequestMeter>();
///     auto cluster = MakeRestCluster(MakeMeteredTransport(*MakeCpprestTransport(config, {}), meter));
///
/// Each request is counted once, by verb, resource and code, all from closed sets. Resources are those that RestCluster
/// uses, and `other`. Codes are the HTTP statuses that Kubernetes uses, `1xx` to `5xx` for other statuses, `invalid`,
/// and the names of absl::StatusCode if there was no response. A watch is counted once it is open, and has no duration.
/// Requests and responses pass through unchanged.
///
/// Shares ownership of `next` and `meter`, which must not be null. `clock`: null for SystemClock().
std::shared_ptr<HttpTransport> MakeMeteredTransport(std::shared_ptr<HttpTransport> next,
                                                    std::shared_ptr<RequestMeter> meter,
                                                    std::shared_ptr<Clock> clock = nullptr);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_HTTP_TRANSPORT_H_
