// The requests of an engine's ledgers as HTTP requests, for a host that sends them. All of them concern one ConfigMap.
#ifndef DRIVERUPGRADE_SRC_HOST_LEDGER_EXCHANGE_H_
#define DRIVERUPGRADE_SRC_HOST_LEDGER_EXCHANGE_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/http_message.h"
#include "kubernetes/rest_request.h"
#include "ledger/ledger_steps.h"

namespace driverupgrade::internal {

// Neither sends nor waits. Gives one request at a time, so that the change of one ledger is not a conflict for another.
//
//     if (exchange.Announce()) ...;  // the host is told once that there are requests
//     while (const HttpRequest* request = exchange.Next(encoder, now)) exchange.Answer(Send(*request), now);
class LedgerExchange {
 public:
  using Ledgers = std::map<std::string, LedgerSteps>;

  // `ledgers` outlives this object, and may get more members.
  explicit LedgerExchange(Ledgers& ledgers) : ledgers_(ledgers) {}

  // Returns true if there is a request, and the host does not know that yet.
  bool Announce();
  bool IsPending() const { return FindPending() != nullptr; }
  // Returns the request to send, the same one until it is answered; nullptr if there is nothing to send.
  const HttpRequest* Next(const RestEncoder& encoder, absl::Time now);
  bool IsAsked() const { return asked_.has_value(); }
  // Returns whether the request is a list of nodes, of which the metadata are enough.
  bool AsksForMetadata() const { return asked_ && std::holds_alternative<ListNodesParams>(asked_->request); }
  // To Next(), which has been called and returned a request.
  void Answer(const absl::StatusOr<HttpResponse>& response, absl::Time now);

 private:
  struct Asked {
    LedgerSteps* ledger;
    LedgerRequest request;
    RestRequest rest;
  };

  // Returns a ledger with a request; nullptr if no ledger has a request.
  LedgerSteps* FindPending() const;

  Ledgers& ledgers_;
  bool announced_ = false;
  std::optional<Asked> asked_ = std::nullopt;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_HOST_LEDGER_EXCHANGE_H_
