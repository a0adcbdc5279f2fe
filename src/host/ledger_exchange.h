// The ledger's requests as HTTP requests, for a host that sends them itself.
#ifndef DRIVERUPGRADE_SRC_HOST_LEDGER_EXCHANGE_H_
#define DRIVERUPGRADE_SRC_HOST_LEDGER_EXCHANGE_H_

#include <optional>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/http_message.h"
#include "kubernetes/rest_request.h"
#include "ledger/ledger_steps.h"

namespace driverupgrade::internal {

// Neither sends nor waits.
//
//     if (exchange.Announce()) ...;  // the host is told once that there are requests
//     while (const HttpRequest* request = exchange.Next(encoder, now)) exchange.Answer(Send(*request), now);
class LedgerExchange {
 public:
  // `steps` outlives this object.
  explicit LedgerExchange(LedgerSteps& steps) : steps_(steps) {}

  // Returns true if there is a request, and the host does not know that yet.
  bool Announce();
  bool IsPending() const { return steps_.Next() != nullptr; }
  // The request to send; the same until it is answered; nullptr: none.
  const HttpRequest* Next(const RestEncoder& encoder, absl::Time now);
  bool IsAsked() const { return asked_.has_value(); }
  // Returns whether the request is a list of nodes, of which the metadata are enough.
  bool AsksForMetadata() const { return asked_ && std::holds_alternative<ListNodesParams>(asked_->request); }
  // To Next(), which has been called and returned a request.
  void Answer(const absl::StatusOr<HttpResponse>& response, absl::Time now);

 private:
  struct Asked {
    LedgerRequest request;
    RestRequest rest;
  };

  void Fail(const LedgerRequest& request, const absl::Status& status, absl::Time now);

  LedgerSteps& steps_;
  bool announced_ = false;
  std::optional<Asked> asked_ = std::nullopt;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_HOST_LEDGER_EXCHANGE_H_
