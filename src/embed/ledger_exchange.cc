#include "embed/ledger_exchange.h"

#include <string>
#include <variant>
#include <vector>

#include "kubernetes/rest_answer.h"
#include "kubernetes/rest_cluster_status.h"
#include "wire/uid_list.h"

namespace driverupgrade::internal {
namespace {

absl::StatusOr<RestRequest> Encode(const RestEncoder& encoder, const LedgerRequest& request) {
  if (const auto* nodes = std::get_if<ListNodesParams>(&request)) return EncodeCollection("list", SelectionOf(*nodes));
  if (const auto* created = std::get_if<ConfigMap>(&request)) return encoder.Encode(CreateConfigMapParams{*created});
  if (const auto* patch = std::get_if<PatchConfigMapParams>(&request)) return encoder.Encode(*patch);
  return encoder.Encode(*std::get_if<GetConfigMapParams>(&request));
}

absl::StatusOr<ConfigMap> Decoded(const LedgerRequest& request, const RestRequest& rest,
                                  const absl::StatusOr<HttpResponse>& response) {
  if (!response.ok()) return TransportFailure(rest.attempted, response.status());
  return std::holds_alternative<PatchConfigMapParams>(request) ? DecodeChange<ConfigMap>(rest, *response)
                                                               : DecodeObject<ConfigMap>(rest, *response);
}

absl::StatusOr<std::vector<std::string>> DecodedUids(const RestRequest& rest,
                                                     const absl::StatusOr<HttpResponse>& response) {
  if (!response.ok()) return TransportFailure(rest.attempted, response.status());
  if (!IsSuccess(*response)) return FailureOf(rest, *response);
  absl::StatusOr<UidList> list = ParseNodeUids(response->body);
  if (!list.ok()) return NotUnderstood(rest.attempted, list.status());
  if (!list->continue_token.empty())
    return absl::UnavailableError("the list of nodes is incomplete: more pages follow");
  return std::move(list->uids);
}

}  // namespace

LedgerSteps* LedgerExchange::FindPending() const {
  for (auto& [owner, ledger] : ledgers_) {
    if (ledger.Next() != nullptr) return &ledger;
  }
  return nullptr;
}

bool LedgerExchange::Announce() {
  if (announced_ || !IsPending()) return false;
  announced_ = true;
  return true;
}

const HttpRequest* LedgerExchange::Next(const RestEncoder& encoder, absl::Time now) {
  while (!asked_) {
    LedgerSteps* const ledger = FindPending();
    announced_ = ledger != nullptr;
    if (ledger == nullptr) return nullptr;
    const LedgerRequest request = *ledger->Next();
    absl::StatusOr<RestRequest> rest = Encode(encoder, request);
    if (rest.ok()) {
      asked_ = Asked{.ledger = ledger, .request = request, .rest = *std::move(rest)};
    } else if (std::holds_alternative<ListNodesParams>(request)) {
      ledger->TakeUids(rest.status());
    } else {
      ledger->Take(rest.status(), now);
    }
  }
  return &asked_->rest.http;
}

void LedgerExchange::Answer(const absl::StatusOr<HttpResponse>& response, absl::Time now) {
  const Asked asked = *std::exchange(asked_, std::nullopt);
  if (std::holds_alternative<ListNodesParams>(asked.request)) {
    asked.ledger->TakeUids(DecodedUids(asked.rest, response));
  } else {
    const absl::StatusOr<ConfigMap> answer = Decoded(asked.request, asked.rest, response);
    asked.ledger->Take(answer, now);
    for (auto& [owner, ledger] : ledgers_) {
      if (answer.ok() && &ledger != asked.ledger) ledger.Saw(*answer);
    }
  }
  announced_ = IsPending();
}

}  // namespace driverupgrade::internal
