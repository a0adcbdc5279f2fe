// Interprets an HTTP response of the API server: as an absl::Status, and as the result of an eviction.
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

// Returns the failure that an unsuccessful `response` reports. `attempted`: "patch node gpu-7".
absl::Status FailureOf(std::string_view attempted, HttpVerb verb, const HttpResponse& response);

// Same for a watch, for which 410 is OutOfRange (api-A16).
absl::Status WatchFailureOf(std::string_view attempted, const HttpResponse& response);
// Same for the error that ended an accepted watch. An error without a code is the server's own, like 500.
absl::Status WatchFailureOf(std::string_view attempted, const ApiStatus& error);

// Returns `status` of a transport, prefixed with the attempted operation. Keeps the code and the payloads.
absl::Status TransportFailure(std::string_view attempted, const absl::Status& status);

// Returns the time that the server asked the client to wait, from a failure of the functions above; zero if the server
// did not specify a time.
absl::Duration RetryAfterOf(const absl::Status& status);

// Returns the error for a success whose body has an unexpected format.
absl::Status NotUnderstood(std::string_view attempted, const absl::Status& parse_error);

// Returns true if a failed delete or eviction shows that the object, or the named incarnation of it, no longer exists:
// 404, or a conflict about the UID (E16).
bool SaysGone(const HttpResponse& response);

// Returns true if a failed patch shows that the object has another UID. The resource version is compared first, so a
// re-created object normally leads to a 409; if only the UID differs, the server rejects its change with 422.
bool SaysOtherUid(const HttpResponse& response);

// Implements the table of E26. Errors: same as FailureOf, for responses that are not about the pod or its budgets.
absl::StatusOr<EvictionAnswer> EvictionAnswerOf(std::string_view attempted, const HttpResponse& response);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_REST_CLUSTER_STATUS_H_
