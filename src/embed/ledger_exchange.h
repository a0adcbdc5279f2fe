// Returns the requests of an engine's ledgers, which share one ConfigMap, as HTTP requests for a host that sends them.
#ifndef DRIVERUPGRADE_SRC_EMBED_LEDGER_EXCHANGE_H_
#define DRIVERUPGRADE_SRC_EMBED_LEDGER_EXCHANGE_H_

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

// Neither sends requests nor waits. Returns one request at a time, so that the changes of two ledgers do not conflict.
//
//     if (exchange.Announce()) ...; // notifies the host once that there are requests
//     while (const HttpRequest* request = exchange.Next(encoder, now)) exchange.Answer(Send(*request), now);
class LedgerExchange {
 public:
  using Ledgers = std::map<std::string, LedgerSteps>;

  // `ledgers` must outlive this object, and may grow.
  explicit LedgerExchange(Ledgers& ledgers) : ledgers_(ledgers) {}

  // Returns true if there is a request of which the host has not been notified yet.
  bool Announce();
  bool IsPending() const { return FindPending() != nullptr; }
  // Returns the request to send, which stays the same until Answer is called. Returns nullptr if there is nothing to
  // send.
  const HttpRequest* Next(const RestEncoder& encoder, absl::Time now);
  bool IsAsked() const { return asked_.has_value(); }
  // Returns true if the request is a list of nodes and needs only their metadata.
  bool AsksForMetadata() const { return asked_ && std::holds_alternative<ListNodesParams>(asked_->request); }
  // Accepts the response to the request that Next() has returned.
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

#endif  // DRIVERUPGRADE_SRC_EMBED_LEDGER_EXCHANGE_H_
