// Interprets an HTTP response of the API server as an absl::Status or as the result of an eviction.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_REST_CLUSTER_STATUS_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_REST_CLUSTER_STATUS_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/kubernetes/http_message.h"
#include "driverupgrade/wire/kubernetes_json.h"

namespace driverupgrade::internal {

inline bool IsSuccess(const HttpResponse& response) { return response.status >= 200 && response.status < 300; }

// Returns the failure that an unsuccessful `response` reports. `attempted` has the form "patch node gpu-7".
absl::Status FailureOf(std::string_view attempted, HttpVerb verb, const HttpResponse& response);

// Same as FailureOf for a watch, except that 410 results in OutOfRange (api-A16).
absl::Status WatchFailureOf(std::string_view attempted, const HttpResponse& response);
// Same as FailureOf, for the error that ended an accepted watch. An error without a code is treated as a server error
// (500).
absl::Status WatchFailureOf(std::string_view attempted, const ApiStatus& error);

// Returns a transport's `status` with `attempted` in front of the message. Keeps the code and the payloads.
absl::Status TransportFailure(std::string_view attempted, const absl::Status& status);

// Returns how long the server asked the client to wait, or zero if the server did not specify a time. `status`
// must come from one of the functions above.
absl::Duration RetryAfterOf(const absl::Status& status);

// Returns the error for a successful response whose body has an unexpected format.
absl::Status NotUnderstood(std::string_view attempted, const absl::Status& parse_error);

// Returns true if the response to a failed delete or eviction shows that no object with the requested UID exists: a
// 404, or a conflict about the UID (E16).
bool SaysGone(const HttpResponse& response);

// Returns true if a failed patch shows that the object has another UID. The server compares the resource version first,
// so a re-created object normally leads to a 409. If only the UID differs, the server rejects the changed UID with 422.
bool SaysOtherUid(const HttpResponse& response);

// Implements the table of E26. For responses that do not concern the pod or its budgets, returns the same errors as
// FailureOf.
absl::StatusOr<EvictionAnswer> EvictionAnswerOf(std::string_view attempted, const HttpResponse& response);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_REST_CLUSTER_STATUS_H_
