/// One HTTP request to the API server and its answer, as values.
///
/// Defines
///  - HttpVerb, HttpRequest, HttpResponse: what is sent and what comes back;
///  - RequestWasNotSent, MarkRequestNotSent: whether a failed write can have been applied;
///  - EncodeRequestTarget: path and query as they go on the wire, for backends.
///
///     const HttpRequest request{.path = "/api/v1/nodes", .query = {{"limit", "500"}}};
///     absl::StatusOr<std::string> target = EncodeRequestTarget(request);  // "/api/v1/nodes?limit=500"
///
/// http_transport.h sends them. Values, copied like any others; the functions are thread-safe.
#ifndef DRIVERUPGRADE_KUBERNETES_HTTP_MESSAGE_H_
#define DRIVERUPGRADE_KUBERNETES_HTTP_MESSAGE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/abseil_abi.h"

namespace driverupgrade {

enum class HttpVerb { kGet, kPost, kPut, kPatch, kDelete };

/// "GET", "POST", "PUT", "PATCH" or "DELETE".
std::string_view ToString(HttpVerb verb);

/// One request, without what the transport itself adds (host, credentials, Accept, User-Agent).
struct HttpRequest {
  HttpVerb verb = HttpVerb::kGet;
  /// Below the server's own path prefix, starting with "/", already percent-encoded where a segment needs it
  /// (names of Kubernetes objects never do). No "?" in it.
  std::string path = "/";
  /// Sent in this order; names and values are percent-encoded by the transport.
  std::vector<std::pair<std::string, std::string>> query = {};
  /// Of `body`; not sent when `body` is empty.
  std::string content_type = "application/json";
  /// Sent as it is; empty for none.
  std::string body = {};
  /// Names and values of more headers. The transport's own, such as Authorization, must not be among them.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// Orders header names as HTTP compares them: ASCII letters without regard to case.
struct HeaderNameLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

/// What the server answered. Any status, 4xx and 5xx and 3xx included.
struct HttpResponse {
  int status = 0;
  /// Repeated headers are joined by ", ".
  std::map<std::string, std::string, HeaderNameLess> headers = {};
  std::string body = {};

  /// The value of a header, or nullopt; `name` in any case. Valid as long as this object is unchanged.
  std::optional<std::string_view> Header(std::string_view name) const;
};

/// True if `status` is an error of a transport that proves that the server has not acted on the request: name
/// not resolved, connection refused, TLS handshake failed, deadline over or stop requested before it began.
/// Such a write may be repeated without reading first. False for everything else, and for OK.
bool RequestWasNotSent(const absl::Status& status);

/// For backends: marks `status` so that RequestWasNotSent is true. The mark is a payload, which copies keep;
/// a caller who makes a new status out of it must mark that again. No effect on OK.
absl::Status MarkRequestNotSent(absl::Status status);

/// For backends: `path` and encoded query, e.g. "/api/v1/pods?labelSelector=app%3Ddriver". All but RFC 3986
/// unreserved characters of the query are encoded. Errors: InvalidArgument, marked as not sent. The path does not start
/// with "/", or has a character that is not allowed in a path; or content_type or a header has a control character.
[[nodiscard]] absl::StatusOr<std::string> EncodeRequestTarget(const HttpRequest& request);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_HTTP_MESSAGE_H_
