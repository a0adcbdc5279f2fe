/// One HTTP request to the API server and its response, as values.
///
/// Defines
///  - HttpVerb, HttpRequest, HttpResponse: the data sent and received;
///  - RequestWasNotSent, MarkRequestNotSent: whether a failed write may have been applied;
///  - EncodeRequestTarget: path and query in their wire form, for backends.
///
///     const HttpRequest request{.path = "/api/v1/nodes", .query = {{"limit", "500"}}};
///     absl::StatusOr<std::string> target = EncodeRequestTarget(request);  // "/api/v1/nodes?limit=500"
///
/// The transports in http_transport.h send the requests. Plain value types; the functions are thread-safe.
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

/// Returns "GET", "POST", "PUT", "PATCH" or "DELETE".
std::string_view ToString(HttpVerb verb);

/// One request, without the headers that the transport adds (host, credentials, Accept, User-Agent).
struct HttpRequest {
  HttpVerb verb = HttpVerb::kGet;
  /// Path below the server's own path prefix, starting with "/", already percent-encoded if a segment needs it (names
  /// of Kubernetes objects never do). Must not contain "?".
  std::string path = "/";
  /// Query parameters, sent in this order; the transport percent-encodes names and values.
  std::vector<std::pair<std::string, std::string>> query = {};
  /// Content type of `body`; not sent if `body` is empty.
  std::string content_type = "application/json";
  /// Sent unchanged; empty: no body.
  std::string body = {};
  /// Names and values of additional headers. The transport's own headers, such as Authorization, must not be among
  /// them.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// Orders header names as HTTP compares them: without regard to the case of ASCII letters.
struct HeaderNameLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

/// The server's response, with any status, including 3xx, 4xx and 5xx.
struct HttpResponse {
  int status = 0;
  /// Repeated headers are joined by ", ".
  std::map<std::string, std::string, HeaderNameLess> headers = {};
  std::string body = {};

  /// Returns the value of a header, or nullopt. The case of `name` is ignored. The value is valid as long as this
  /// object is unchanged.
  std::optional<std::string_view> Header(std::string_view name) const;
};

/// Returns true if `status` is a transport error that proves that the server has not acted on the request. For example,
/// the name was not resolved, the connection was refused, the TLS handshake failed, or the deadline passed or a stop
/// was requested before the request was started. Such a write may be repeated without reading the object first. Returns
/// false for all other errors, and for OK.
bool RequestWasNotSent(const absl::Status& status);

/// For backends: marks `status` so that RequestWasNotSent is true. The mark is a payload of the status. Copies of the
/// status retain the mark; a caller that derives a new status must mark it again. No effect on OK.
absl::Status MarkRequestNotSent(absl::Status status);

/// For backends: returns `path` and the encoded query, for example "/api/v1/pods?labelSelector=app%3Ddriver". Encodes
/// all characters of the query except the unreserved characters of RFC 3986. Errors: InvalidArgument, marked as not
/// sent, if the path does not start with "/" or contains a character that is not allowed in a path, or if content_type
/// or a header contains a control character.
[[nodiscard]] absl::StatusOr<std::string> EncodeRequestTarget(const HttpRequest& request);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_HTTP_MESSAGE_H_
