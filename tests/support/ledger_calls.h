// An AdmissionLedger whose requests are sent immediately.
#ifndef DRIVERUPGRADE_TESTS_SUPPORT_LEDGER_CALLS_H_
#define DRIVERUPGRADE_TESTS_SUPPORT_LEDGER_CALLS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "engine/ledger_sender.h"
#include "ledger/admission_ledger.h"

namespace driverupgrade::tests {

class LedgerCalls {
 public:
  LedgerCalls(std::shared_ptr<ClusterFacade> cluster, AdmissionLedger ledger)
      : cluster_(std::move(cluster)), ledger_(std::move(ledger)) {}

  absl::Status Read() {
    ledger_.Read();
    return Send();
  }
  absl::StatusOr<GrantDecision> Settle(const std::vector<NodeReading>& nodes, const std::vector<std::string>& wanted,
                                       const std::optional<std::string>& record = std::nullopt) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(GrantDecision decision, ledger_.Settle(nodes, wanted, record));
    DRIVERUPGRADE_RETURN_IF_ERROR(Send());
    return decision;
  }
  absl::Status Confirm() {
    DRIVERUPGRADE_RETURN_IF_ERROR(ledger_.Confirm());
    return Send();
  }

  const AdmissionLedger* operator->() const { return &ledger_; }

 private:
  absl::Status Send() {
    const internal::LedgerRequest* request = ledger_.Next();
    return request == nullptr ? absl::OkStatus() : ledger_.Take(internal::Send(*cluster_, {}, *request));
  }

  std::shared_ptr<ClusterFacade> cluster_;
  AdmissionLedger ledger_;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SUPPORT_LEDGER_CALLS_H_
