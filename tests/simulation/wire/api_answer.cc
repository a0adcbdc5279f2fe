#include "simulation/wire/api_answer.h"

#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "fmt/format.h"
#include "wire/json_writer.h"

namespace driverupgrade::tests {
namespace {

using internal::JsonWriter;

struct Details {
  int retry_after = 0;
  std::string cause = {};
  std::string cause_message = {};
  std::string cause_field = {};
};

void WriteStatus(JsonWriter& writer, int code, std::string_view reason, std::string_view message,
                 const Details& details) {
  writer.Member("kind", "Status");
  writer.Member("apiVersion", "v1");
  writer.ObjectMember("metadata", [] {});
  writer.Member("status", code < 300 ? "Success" : "Failure");
  writer.MemberIfAny("message", message);
  writer.MemberIfAny("reason", reason);
  writer.ObjectMember("details", [&] {
    if (details.retry_after > 0) writer.Member("retryAfterSeconds", details.retry_after);
    if (details.cause.empty()) return;
    writer.ArrayMember("causes", [&] {
      writer.Object([&] {
        writer.Member("reason", details.cause);
        writer.Member("message", details.cause_message);
        writer.MemberIfAny("field", details.cause_field);
      });
    });
  });
  writer.Member("code", code);
}

HttpResponse Failure(int code, std::string_view reason, std::string_view message, const Details& details = {}) {
  JsonWriter writer;
  writer.Object([&] { WriteStatus(writer, code, reason, message, details); });
  HttpResponse response{.status = code, .body = writer.Take()};
  if (details.retry_after > 0) response.headers["Retry-After"] = std::to_string(details.retry_after);
  return response;
}

struct Meaning {
  int code = 500;
  const char* reason = "InternalError";
};

Meaning MeaningOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument: return {422, "Invalid"};
    case absl::StatusCode::kUnauthenticated: return {401, "Unauthorized"};
    case absl::StatusCode::kPermissionDenied: return {403, "Forbidden"};
    case absl::StatusCode::kNotFound: return {404, "NotFound"};
    case absl::StatusCode::kUnimplemented: return {415, "UnsupportedMediaType"};
    case absl::StatusCode::kAborted: return {409, "Conflict"};
    case absl::StatusCode::kAlreadyExists: return {409, "AlreadyExists"};
    case absl::StatusCode::kOutOfRange: return {410, "Expired"};
    case absl::StatusCode::kResourceExhausted: return {429, "TooManyRequests"};
    default: return {};
  }
}

// Returns the number at the start of the text, or 0 if the text does not start with one.
int CodeIn(std::string_view text) {
  int code = 0;
  for (const char c : text.substr(0, 3)) {
    if (c < '0' || c > '9') return 0;
    code = 10 * code + (c - '0');
  }
  return code >= 300 ? code : 0;
}

// Returns a response without a Status object, as proxies and the server's own throttling send it.
HttpResponse WithoutStatus(int code, const Draw& draw) {
  switch (draw(3)) {
    case 0: return {.status = code, .body = "<html><head><title>Bad Gateway</title></head></html>\n"};
    case 1: return {.status = code};
    default: return {.status = code, .body = "please try again later\n"};
  }
}

}  // namespace

HttpResponse Success(std::string body, int code) { return {.status = code, .body = std::move(body)}; }

std::string WithOtherOwners(std::string objects) {
  constexpr std::string_view kOwners = R"("ownerReferences":[)";
  constexpr std::string_view kOther = R"({"apiVersion":"v1","kind":"ConfigMap","name":"other","uid":"other"})";
  for (std::size_t at = objects.find(kOwners); at != std::string::npos; at = objects.find(kOwners, at)) {
    at += kOwners.size();
    objects.insert(objects.find(']', at), fmt::format(",{}", kOther));
    objects.insert(at, fmt::format("{},", kOther));
  }
  return objects;
}

HttpResponse Done(int code) { return Failure(code, "", ""); }

absl::StatusOr<HttpResponse> AnswerOf(const absl::Status& status, const Draw& draw) {
  const std::string message(status.message());
  Meaning meaning = MeaningOf(status);
  const int said = CodeIn(message);
  if (said == 0 && meaning.code == 500) {
    return message == "connection refused" ? MarkRequestNotSent(status) : status;
  }
  if (said != 0) meaning.code = said;
  if (meaning.code == 503) meaning.reason = "ServiceUnavailable";
  if (meaning.code == 504) meaning.reason = "Timeout";
  const bool overloaded = meaning.code >= 500 || meaning.code == 429;
  if ((overloaded && draw(3) == 0) || (meaning.code == 410 && draw(8) == 0)) return WithoutStatus(meaning.code, draw);
  HttpResponse response =
      Failure(meaning.code, meaning.reason, message, {.retry_after = overloaded ? draw(4) * 10 : 0});
  if (overloaded && draw(8) == 0) response.headers["Retry-After"] = "Fri, 31 Dec 1999 23:59:59 GMT";
  return response;
}

HttpResponse AnswerOf(const EvictionAnswer& answer, const Draw& draw) {
  if (answer.gone) {
    return GoneAnswer(answer.message.find("UID in the precondition") != std::string::npos, answer.message);
  }
  const auto seconds = static_cast<int>(absl::ToInt64Seconds(answer.retry_after));
  switch (answer.refusal) {
    case Refusal::kNone: return Done(201);
    case Refusal::kDisruptionBudget: {
      const std::size_t cause = answer.message.find("The disruption budget ");
      return Failure(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.",
                     {.retry_after = seconds,
                      .cause = "DisruptionBudget",
                      .cause_message = cause == std::string::npos ? answer.message : answer.message.substr(cause)});
    }
    case Refusal::kThrottled: {
      HttpResponse response = Failure(429, "TooManyRequests", answer.message, {.retry_after = seconds});
      // If the server refuses a request before processing it, the response contains only headers and plain text.
      if (draw(2) == 0) response.body = "Too many requests, please try again later.\n";
      return response;
    }
    case Refusal::kSeveralBudgets: return Failure(500, "", answer.message);
    case Refusal::kNamespaceTerminating:
      return Failure(403, "Forbidden", answer.message,
                     {.cause = "NamespaceTerminating", .cause_message = "namespace is being terminated"});
    case Refusal::kOther: break;
  }
  return Failure(500, "InternalError", "no such answer");
}

HttpResponse GoneAnswer(bool other_uid, const std::string& message) {
  return other_uid ? Failure(409, "Conflict", message) : Failure(404, "NotFound", message);
}

HttpResponse OtherUidAnswer(const std::string& message) {
  return Failure(422, "Invalid", message,
                 {.cause = "FieldValueInvalid", .cause_message = "field is immutable", .cause_field = "metadata.uid"});
}

std::string ErrorLine(int code, const std::string& reason, const std::string& message) {
  JsonWriter writer;
  writer.Object([&] {
    writer.Member("type", "ERROR");
    writer.ObjectMember("object", [&] { WriteStatus(writer, code, reason, message, {}); });
  });
  return writer.Take();
}

}  // namespace driverupgrade::tests
