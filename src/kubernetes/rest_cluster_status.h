// What an HTTP answer of the API server means: as an absl::Status, and as the answer to an eviction.
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

// The failure that `response`, which is no success, tells of. `attempted`: "patch node gpu-7".
absl::Status FailureOf(std::string_view attempted, HttpVerb verb, const HttpResponse& response);

// The same of a watch, for which 410 is OutOfRange (api-A16).
absl::Status WatchFailureOf(std::string_view attempted, const HttpResponse& response);
// The same of the error that an accepted watch ended with. One without a code is the server's own, as 500.
absl::Status WatchFailureOf(std::string_view attempted, const ApiStatus& error);

// `status` of a transport, with what was attempted in front. Keeps the code and the payloads.
absl::Status TransportFailure(std::string_view attempted, const absl::Status& status);

// How long the server asked to wait, in a failure of the functions above; zero if it named no time.
absl::Duration RetryAfterOf(const absl::Status& status);

// A success whose body is not what was asked for.
absl::Status NotUnderstood(std::string_view attempted, const absl::Status& parse_error);

// Whether a failed delete or eviction says that the object, or the incarnation of it that was named, is gone:
// 404, or a conflict about the UID (E16).
bool SaysGone(const HttpResponse& response);

// Whether a failed patch says that the object has another UID. The resource version is compared first, so a
// re-created object is normally a 409; where only the UID differs the server objects to changing it, by 422.
bool SaysOtherUid(const HttpResponse& response);

// The table of E26. Errors: as FailureOf, for what is not an answer about the pod or its budgets.
absl::StatusOr<EvictionAnswer> EvictionAnswerOf(std::string_view attempted, const HttpResponse& response);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_REST_CLUSTER_STATUS_H_
