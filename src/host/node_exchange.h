// The requests of one node's plan as HTTP requests, for a host that sends them itself.
#ifndef DRIVERUPGRADE_SRC_HOST_NODE_EXCHANGE_H_
#define DRIVERUPGRADE_SRC_HOST_NODE_EXCHANGE_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/http_message.h"
#include "kubernetes/rest_request.h"
#include "write/node_requests.h"

namespace driverupgrade::internal {

// What stands for an HTTP status if there is none.
inline constexpr int kNoAnswer = -1;  // the request may have been sent
inline constexpr int kNotSent = -2;   // it was surely not

// An answer as a host tells of it. A number that is no HTTP status is kNoAnswer. `retry_after_seconds`: 0 or less for none.
absl::StatusOr<HttpResponse> ResponseOf(int status, int retry_after_seconds, std::string body);

// Neither sends nor waits. Which request follows which answer is what NodeRequests says, as for the threaded executor.
//
//     while (const HttpRequest* request = exchange.Next(now)) exchange.Answer(Send(*request), now);
//     under_way.End(exchange.requests(), log);
class NodeExchange {
 public:
  // `encoder` outlives this object.
  NodeExchange(const RestEncoder& encoder, NodeRequests requests) : encoder_(encoder), requests_(std::move(requests)) {}

  // The same until it is answered; nullptr: nothing is left. `now` counts as the time of sending when it is asked first.
  const HttpRequest* Next(absl::Time now);
  bool IsAsked() const { return asked_.has_value(); }
  // To Next(), which has been asked and has a request.
  void Answer(const absl::StatusOr<HttpResponse>& response, absl::Time now);

  const NodeRequests& requests() const { return requests_; }

 private:
  const RestEncoder& encoder_;
  NodeRequests requests_;
  std::optional<RestRequest> asked_ = {};
  absl::Time asked_at_ = absl::InfinitePast();
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_HOST_NODE_EXCHANGE_H_
