#include "kubernetes/rest_answer.h"

namespace driverupgrade::internal {

absl::Status DecodeDelete(const RestRequest& request, const HttpResponse& response) {
  if (IsSuccess(response) || SaysGone(response)) return absl::OkStatus();
  return FailureOf(request, response);
}

absl::Status Decode(const PatchEventParams&, const RestRequest& request, const HttpResponse& response) {
  return IsSuccess(response) ? absl::OkStatus() : FailureOf(request, response);
}

absl::Status Decode(const CreateEventParams&, const RestRequest& request, const HttpResponse& response) {
  if (IsSuccess(response)) return absl::OkStatus();
  absl::Status failure = FailureOf(request, response);
  return absl::IsAlreadyExists(failure) ? absl::OkStatus() : failure;
}

}  // namespace driverupgrade::internal
