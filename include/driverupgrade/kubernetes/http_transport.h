/// The seam below RestCluster: one HTTP request to the API server, or one stream of lines from it.
///
/// Defines
///  - LineSink: takes the lines of a stream (a watch), one call per line;
///  - HttpTransport: the abstract class that a backend implements (cpprest_transport.h is the default one,
///    curl_transport.h the other);
///  - TransportOptions: the limits and times that these backends take;
///  - MakeRetryingTransport, MakeRateLimitedTransport, MakeMeteredTransport and their options: decorators.
/// What is sent and what comes back are values, in http_message.h.
///
/// Example (tests/unit/kubernetes/http_transport_test.cc):
///
///     absl::StatusOr<HttpResponse> answer = transport.Send(
///         {.deadline = absl::Now() + absl::Seconds(10)},
///         {.verb = HttpVerb::kGet, .path = "/api/v1/nodes", .query = {{"limit", "500"}}});
///     if (answer.ok() && answer->status == 200) Use(answer->body);
///
/// A transport knows the server, the credentials and TLS; it knows nothing of Kubernetes objects. It neither
/// retries (MakeRetryingTransport does), nor follows redirects, nor interprets a status code but one: a request that is
/// answered 401 is sent once more if there is a new token by then. Where a server echoes a credential, the library's
/// backends give on `[redacted]` (SECURITY.md). It is meant to be shared: all methods may be called from many threads
/// at once. It must outlive the calls made on it. See also kube_config.h.
#ifndef DRIVERUPGRADE_KUBERNETES_HTTP_TRANSPORT_H_
#define DRIVERUPGRADE_KUBERNETES_HTTP_TRANSPORT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/abseil_abi.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/http_message.h"

namespace driverupgrade {

class RequestMeter;

/// Takes the lines of one Stream call.
///
/// All calls come from inside Stream, on the thread that called it, one at a time; none comes after Stream
/// returned. While a call runs no more is read from the connection (back-pressure), and other calls on the
/// transport go on. It is therefore allowed to block, and to use the transport.
class LineSink {
 public:
  virtual ~LineSink() = default;

  /// The server accepted the request (2xx); `head` has an empty body. Called once, before the first line, and
  /// only if there is one or the stream stays open. Does nothing by default.
  virtual void OnOpen(const HttpResponse& head);

  /// One complete line, without its end ("\n" or "\r\n"); never empty (empty lines are skipped). `line` is
  /// valid during the call only. Returns false to end the stream. Must not throw.
  virtual bool OnLine(std::string_view line) = 0;
};

/// Sends requests to one server. Abstract, blocking, thread-safe.
///
/// Errors of both operations. Each text says what was attempted, where and why, and holds no credential, no
/// query and no body.
///  - DeadlineExceeded: no complete answer by `context.deadline`, or within a limit of the transport's own.
///  - Cancelled: a stop was requested. The call returns soon after, also when the server is silent.
///  - Unavailable: no connection, or it broke before the answer was complete.
///  - Unauthenticated: TLS refused one side by the other's certificate, or there is no usable token.
///  Repeating the request at once is useless: wait for a change, or for an administrator.
///  - OutOfRange: the body, or a line, is over the transport's limit.
///  - InvalidArgument: the request cannot be sent as it is (control characters and the like).
///  - Internal: a defect of the backend, or an exception from the sink.
/// An HTTP status, whatever it is, is not an error.
///
/// *May a failed write have been applied?* Unless RequestWasNotSent(status), it may: the connection can break
/// after the server has acted. The codes Unauthenticated and InvalidArgument from here imply
/// RequestWasNotSent. A backend may send a request twice when the server closes an idle connection while the
/// request is on its way (cpprestsdk does), so a create answered by 409 may be one's own, and every patch
/// should carry a resourceVersion.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;

  /// Sends `request` and returns the whole answer. Redirects are returned (status 3xx), not followed.
  [[nodiscard]] virtual absl::StatusOr<HttpResponse> Send(const CallContext& context, const HttpRequest& request) = 0;

  /// Sends `request` and gives each line of a 2xx answer to `sink` as it comes.
  ///
  /// Returns, in case of a 2xx answer, its head with an empty body when the server ended the stream cleanly
  /// or the sink returned false (which of them, the sink knows); otherwise the whole answer with its error
  /// body, and `sink` was never called. Errors: as above; lines given to the sink before an error are
  /// complete and valid, and a last line without an end is dropped. `context.deadline` bounds the whole
  /// stream.
  [[nodiscard]] virtual absl::StatusOr<HttpResponse> Stream(const CallContext& context, const HttpRequest& request,
                                                            LineSink& sink) = 0;
};

/// Limits and times of a backend, which MakeCpprestTransport and MakeCurlTransport take.
struct TransportOptions {
  /// Longest time for one Send, from call to last byte, when the context's deadline is later. The API
  /// server's own limit is 60 s.
  absl::Duration request_timeout = absl::Seconds(60);
  /// A stream on which nothing has come for so long is taken for dead (Unavailable). Should be longer than
  /// the longest silence of a healthy watch: the minute between bookmarks. A shorter one costs a new watch each time.
  absl::Duration stream_idle_timeout = absl::Minutes(3);
  /// Bytes of one response body of Send. A body of another status than 2xx is bounded by the same number in
  /// Stream.
  std::size_t body_size_max = std::size_t{64} << 20;
  /// Bytes of one line of Stream.
  std::size_t line_size_max = std::size_t{4} << 20;
  /// Bytes of the names and values of one answer's headers. The API server sends less than one KiB.
  std::size_t header_size_max = std::size_t{64} << 10;
  /// How long a token from KubeConfig::token_file is used before the file is read again. After a 401
  /// it is read at once. When it cannot be used, the last good token is kept.
  absl::Duration token_refresh = absl::Seconds(50);
  /// How long a credential plugin (KubeConfig::exec) may run. Calls wait for it, also beyond their deadlines.
  absl::Duration exec_timeout = absl::Seconds(30);
  /// The library's own name and version when empty. Visible ASCII and spaces only.
  std::string user_agent = {};
  /// Trust the system's certificate authorities when KubeConfig::ca_pem is empty. Refused otherwise: a
  /// cluster has an authority of its own, and whoever else can sign for its name would get the token.
  bool trust_system_roots = false;
};

// Three decorators: one repeats what may be repeated, one spaces requests out, one counts and times them.
//
//     auto transport = MakeRetryingTransport(MakeRateLimitedTransport(backend, {.requests_per_second = 50, .burst = 100}));
//     auto cluster = MakeRestCluster(transport);
//
// In this order a repetition pays for its slot as any other request. All are thread-safe if what they decorate is, which
// must not be null, and hold a share of it. A call that waits here ends by its deadline or its stop.

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

#endif  // DRIVERUPGRADE_KUBERNETES_HTTP_TRANSPORT_H_
