#include "embed/node_exchange.h"

#include <utility>
#include <variant>

#include "fmt/format.h"
#include "kubernetes/rest_answer.h"
#include "kubernetes/rest_cluster_status.h"

namespace driverupgrade::internal {
namespace {

// Same as std::visit, but never throws. The variant always has a value.
template <typename R, typename F, typename... Ts>
R Visit(const std::variant<Ts...>& variant, R result, F visitor) {
  const auto visit = [&](const auto* value) {
    if (value != nullptr) result = visitor(*value);
  };
  (visit(std::get_if<Ts>(&variant)), ...);
  return result;
}

NodeAnswer Decoded(const NodeRequest& request, const RestRequest& asked, const absl::StatusOr<HttpResponse>& response) {
  if (!response.ok()) return {.status = TransportFailure(asked.attempted, response.status())};
  return Visit(request, NodeAnswer{}, [&](const auto& params) { return AnswerOf(Decode(params, asked, *response)); });
}

}  // namespace

absl::StatusOr<HttpResponse> ResponseOf(int status, int retry_after_seconds, std::string body) {
  if (status == kNotSent) return MarkRequestNotSent(absl::UnavailableError("the request was not sent"));
  if (status == kNoAnswer) return absl::UnavailableError("no response was received");
  if (status < 100 || status > 599) return absl::UnavailableError(fmt::format("{} is not an HTTP status", status));
  HttpResponse response{.status = status, .body = std::move(body)};
  if (retry_after_seconds > 0) response.headers["Retry-After"] = fmt::format("{}", retry_after_seconds);
  return response;
}

const HttpRequest* NodeExchange::Next(absl::Time now) {
  while (!asked_) {
    const NodeRequest* request = requests_.Next();
    if (request == nullptr) return nullptr;
    absl::StatusOr<RestRequest> encoded =
        Visit(*request, absl::StatusOr<RestRequest>(), [this](const auto& params) { return encoder_.Encode(params); });
    asked_at_ = now;
    if (encoded.ok()) {
      asked_ = *std::move(encoded);
    } else {
      requests_.Take({.status = encoded.status()}, now, now);
    }
  }
  return &asked_->http;
}

void NodeExchange::Answer(const absl::StatusOr<HttpResponse>& response, absl::Time now) {
  requests_.Take(Decoded(*requests_.Next(), *asked_, response), asked_at_, now);
  asked_.reset();
}

}  // namespace driverupgrade::internal
