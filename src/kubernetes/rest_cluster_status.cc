#include "kubernetes/rest_cluster_status.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "kubernetes/retry_after.h"
#include "base/utf8.h"

namespace driverupgrade::internal {
namespace {

// Limits on the length of server messages in error messages.
constexpr std::size_t kMessageBytesMax = 1024;
constexpr std::size_t kPlainBodyBytesMax = 200;
constexpr char kRetryAfterUrl[] = "driverupgrade.dev/retry-after-seconds";

// Returns the error body of the response, or an error body derived from the HTTP status (api-A3).
ApiStatus BodyOf(const HttpResponse& response) {
  ApiStatus body = ParseApiStatus(response.body).value_or(ApiStatus{.message = std::string()});
  const int header = ParseRetryAfter(response.Header("Retry-After").value_or("")).value_or(0);
  body.retry_after_seconds = std::clamp(body.retry_after_seconds, header, kRetryAfterSecondsMax);
  return body;
}

std::string_view ReasonOfCode(int code) {
  switch (code) {
    case 400: return "BadRequest";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "NotFound";
    case 405: return "MethodNotAllowed";
    case 409: return "Conflict";
    case 410: return "Expired";
    case 413: return "RequestEntityTooLarge";
    case 415: return "UnsupportedMediaType";
    case 422: return "Invalid";
    case 429: return "TooManyRequests";
    case 500: return "InternalError";
    case 503: return "ServiceUnavailable";
    case 504: return "Timeout";
    default: return "";
  }
}

absl::StatusCode CodeOf(HttpVerb verb, int http_status, std::string_view reason) {
  switch (http_status) {
    case 400:
    case 413:
    case 422: return absl::StatusCode::kInvalidArgument;
    case 401: return absl::StatusCode::kUnauthenticated;
    case 403: return absl::StatusCode::kPermissionDenied;
    case 404: return absl::StatusCode::kNotFound;
    case 405:
    case 415:
    case 501: return absl::StatusCode::kUnimplemented;
    case 409: {
      const bool exists = reason == "AlreadyExists" || (reason.empty() && verb == HttpVerb::kPost);
      return exists ? absl::StatusCode::kAlreadyExists : absl::StatusCode::kAborted;
    }
    case 429: return absl::StatusCode::kResourceExhausted;
    case 408:
    case 410: return absl::StatusCode::kUnavailable;
    default:
      return http_status >= 400 && http_status < 500 ? absl::StatusCode::kUnknown : absl::StatusCode::kUnavailable;
  }
}

absl::Status MakeFailure(std::string_view attempted, HttpVerb verb, const HttpResponse& response,
                         const ApiStatus& body) {
  std::string text = fmt::format("{}: {}", attempted, response.status);
  const std::string reason = EscapeForText(body.reason, kPlainBodyBytesMax);
  const std::string_view shown = reason.empty() ? ReasonOfCode(response.status) : std::string_view(reason);
  if (!shown.empty()) text += fmt::format(" {}", shown);
  std::string said = EscapeForText(body.message, kMessageBytesMax);
  if (said.empty()) said = EscapeForText(response.body, kPlainBodyBytesMax);
  if (!said.empty()) text += fmt::format(": {}", said);
  absl::Status status(CodeOf(verb, response.status, body.reason), text);
  if (body.retry_after_seconds > 0) {
    status.SetPayload(kRetryAfterUrl, absl::Cord(std::to_string(body.retry_after_seconds)));
  }
  return status;
}

// Kubernetes up to version 1.17 returns `Gone`.
bool SaysTooOld(int http_status, const ApiStatus& body) {
  return http_status == 410 || body.reason == "Expired" || body.reason == "Gone";
}

const ApiStatus::Cause* FindCause(const ApiStatus& body, std::string_view reason) {
  const auto found = std::find_if(body.causes.begin(), body.causes.end(),
                                  [&](const ApiStatus::Cause& cause) { return cause.reason == reason; });
  return found == body.causes.end() ? nullptr : &*found;
}

// Returns the name in "The disruption budget NAME needs ..." (E9, E10).
std::string BudgetName(std::string_view text) {
  constexpr std::string_view kPrefix = "The disruption budget ";
  if (!text.starts_with(kPrefix)) return {};
  text.remove_prefix(kPrefix.size());
  return EscapeForText(text.substr(0, text.find(' ')), kPlainBodyBytesMax);
}

// Returns true for a conflict about the UID. The first text is from the API server's registry (E16), and the second
// from its storage.
bool IsUidConflict(int http_status, const ApiStatus& body) {
  return http_status == 409 && (body.message.find("UID in the precondition") != std::string::npos ||
                                body.message.find("UID in precondition") != std::string::npos);
}

// Compares the message, because the error for several budgets has neither a reason nor a cause (E7).
bool IsSeveralBudgets(const HttpResponse& response) {
  return response.status == 500 && response.body.find("more than one PodDisruptionBudget") != std::string::npos;
}

// Returns true for a 403 about the budget object, not about missing permissions. The server returns this 403 if
// `disruptionsAllowed` is negative or too many disruptions are in progress (E11, E12).
bool IsBudgetForbidden(const HttpResponse& response, const ApiStatus& body) {
  return response.status == 403 && body.details_group == "policy" && body.details_kind == "poddisruptionbudget";
}

EvictionAnswer RefusedBy(const ApiStatus& body) {
  EvictionAnswer answer{.refusal = Refusal::kDisruptionBudget,
                        .message = EscapeForText(body.message, kMessageBytesMax),
                        .retry_after = absl::Seconds(body.retry_after_seconds)};
  if (const ApiStatus::Cause* cause = FindCause(body, "DisruptionBudget"); cause != nullptr) {
    answer.budget = BudgetName(cause->message);
    answer.message += answer.message.empty() ? "" : " ";
    answer.message += EscapeForText(cause->message, kMessageBytesMax);
  } else {
    answer.budget = EscapeForText(body.details_name, kPlainBodyBytesMax);
  }
  return answer;
}

}  // namespace

absl::Status FailureOf(std::string_view attempted, HttpVerb verb, const HttpResponse& response) {
  return MakeFailure(attempted, verb, response, BodyOf(response));
}

absl::Status WatchFailureOf(std::string_view attempted, const HttpResponse& response) {
  const ApiStatus body = BodyOf(response);
  absl::Status failure = MakeFailure(attempted, HttpVerb::kGet, response, body);
  return SaysTooOld(response.status, body) ? absl::OutOfRangeError(failure.message()) : failure;
}

absl::Status WatchFailureOf(std::string_view attempted, const ApiStatus& error) {
  const bool too_old = SaysTooOld(error.code, error);
  HttpResponse response{.status = error.code};
  if (response.status < 300) response.status = too_old ? 410 : 500;
  absl::Status failure = MakeFailure(attempted, HttpVerb::kGet, response, error);
  return too_old ? absl::OutOfRangeError(failure.message()) : failure;
}

absl::Status TransportFailure(std::string_view attempted, const absl::Status& status) {
  absl::Status result(status.code(), fmt::format("{}: {}", attempted, Message(status)));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  return result;
}

absl::Status NotUnderstood(std::string_view attempted, const absl::Status& parse_error) {
  return absl::UnavailableError(fmt::format("{}: cannot parse the response: {}", attempted, Message(parse_error)));
}

bool SaysGone(const HttpResponse& response) {
  return response.status == 404 || IsUidConflict(response.status, BodyOf(response));
}

bool SaysOtherUid(const HttpResponse& response) {
  if (response.status != 422) return false;
  const ApiStatus body = BodyOf(response);
  return std::any_of(body.causes.begin(), body.causes.end(),
                     [](const ApiStatus::Cause& cause) { return cause.field == "metadata.uid"; });
}

absl::StatusOr<EvictionAnswer> EvictionAnswerOf(std::string_view attempted, const HttpResponse& response) {
  if (IsSuccess(response)) return EvictionAnswer();
  const ApiStatus body = BodyOf(response);
  const auto answer = [&](Refusal refusal) {
    const std::string& said = body.message.empty() ? response.body : body.message;
    return EvictionAnswer{.refusal = refusal,
                          .message = EscapeForText(said, kMessageBytesMax),
                          .retry_after = absl::Seconds(body.retry_after_seconds)};
  };
  const bool budget = FindCause(body, "DisruptionBudget") != nullptr;
  if (response.status == 404 || IsUidConflict(response.status, body)) {
    EvictionAnswer gone = answer(Refusal::kNone);
    gone.gone = true;
    return gone;
  }
  if ((response.status == 429 || response.status == 403) && budget) return RefusedBy(body);
  if (IsBudgetForbidden(response, body)) return RefusedBy(body);
  if (response.status == 429) return answer(Refusal::kThrottled);
  if (response.status == 403 && FindCause(body, "NamespaceTerminating") != nullptr) {
    return answer(Refusal::kNamespaceTerminating);
  }
  if (IsSeveralBudgets(response)) return answer(Refusal::kSeveralBudgets);
  // Any remaining conflict concerns the budget or the pod, because an eviction does not create an object that could
  // already exist (E13).
  return MakeFailure(attempted, response.status == 409 ? HttpVerb::kPatch : HttpVerb::kPost, response, body);
}

absl::Duration RetryAfterOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kRetryAfterUrl);
  if (!payload.has_value()) return absl::ZeroDuration();
  return absl::Seconds(ParseRetryAfter(std::string(*payload)).value_or(0));
}

}  // namespace driverupgrade::internal
