// Returns the requests of one node's plan as HTTP requests, for a host that sends them.
#ifndef DRIVERUPGRADE_SRC_EMBED_NODE_EXCHANGE_H_
#define DRIVERUPGRADE_SRC_EMBED_NODE_EXCHANGE_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/http_message.h"
#include "kubernetes/rest_request.h"
#include "write/node_requests.h"

namespace driverupgrade::internal {

// Values used if there is no HTTP status.
inline constexpr int kNoAnswer = -1;  // the request may have been sent
inline constexpr int kNotSent = -2;   // the request was certainly not sent

// Converts the values that a host passes in to a response. A number that is not an HTTP status counts as kNoAnswer.
// `retry_after_seconds` is the value of the Retry-After header, or zero or a negative number if the header is missing.
absl::StatusOr<HttpResponse> ResponseOf(int status, int retry_after_seconds, std::string body);

// Neither sends requests nor waits. As in PlanExecutor, NodeRequests decides which request follows a response.
//
//     while (const HttpRequest* request = exchange.Next(now)) exchange.Answer(Send(*request), now);
//     under_way.End(exchange.requests(), log);
class NodeExchange {
 public:
  // `encoder` must outlive this object.
  NodeExchange(const RestEncoder& encoder, NodeRequests requests) : encoder_(encoder), requests_(std::move(requests)) {}

  // Returns the same request until Answer is called; nullptr if no request remains. The first call for a request sets
  // its sending time.
  const HttpRequest* Next(absl::Time now);
  bool IsAsked() const { return asked_.has_value(); }
  // Accepts the response to the request that Next has returned.
  void Answer(const absl::StatusOr<HttpResponse>& response, absl::Time now);

  const NodeRequests& requests() const { return requests_; }

 private:
  const RestEncoder& encoder_;
  NodeRequests requests_;
  std::optional<RestRequest> asked_ = {};
  absl::Time asked_at_ = absl::InfinitePast();
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_EMBED_NODE_EXCHANGE_H_
