// Ensures that budgets hold even if two replicas believe that they are the leader, or if a replica crashes during a
// write (ADR 0005). AdmissionLedger sends nothing itself, but returns its requests as values.
//
// The decisions and their reasons are in admission/grants.h.
//
//     auto ledger = AdmissionLedger::Create(identity, {.ns = "gpu-operator", .name = "driver-upgrades"});
//     // Each pass of the engine:
//     ledger->Read();                                      // 1. before the nodes are listed
//     Send(*ledger);                                       //    while (const LedgerRequest* request = ledger.Next()) ledger.Take(...)
//     ...                                                  // 2. list the nodes, evaluate, admit
//     auto decision = ledger->Settle(readings, admitted);  // 3. before a patch that starts a node
//     Send(*ledger);
//     if (...) ...                                         // 4. if that succeeded, start decision->admitted
//
// LedgerSteps uses this class. Rules for the engine:
// - Read() comes before the list of nodes, because a node may have been created and granted after an older list. If
//   Read() fails, the pass continues, but admits no node.
// - Every node with a grant must be among the readings as long as the node exists, even if it has neither a driver pod
//   nor one of the driver's labels. The ledger assumes that a missing node was deleted. Plan::readings contains the
//   relevant nodes.
// - In the budgets, a node with Counts(ledger.grants(), reading) counts as WithGrant(internal::TallyOf(...)).
//   Candidates with IsCurrent(...) are admitted first: Candidate::has_grant. StateMachine::Step does both, using
//   ClusterSnapshot::grants. Candidates that request neither a slot nor headroom need no grant (dep-F14):
//   NodePlan::needs_grant.
// - A plan that starts a node is sent only if the node is among `admitted`, and only after the compare-and-set has
//   succeeded. The granted version is the precondition of the patch: Granted(uid) == plan.resource_version. If one of
//   these conditions is not met, the node's plan is dropped for this pass, including its pod calls and Events
//   (arch-A12).
// - If the patch fails with a conflict (409), the node is read at a newer version and requests a grant again, and
//   Settle renews the grant.
// - Settle must be called in every pass, even without a candidate, because it releases grants that are no longer
//   needed. It creates a request only if something has changed.
//
// A rollout's record (ADR 0013) is another entry of the same ConfigMap. When a replica stores a grant, the
// compare-and-set proves that no other replica has changed the record since it was read; Confirm proves this without a
// write.
//
// Not thread-safe.
#ifndef DRIVERUPGRADE_SRC_LEDGER_ADMISSION_LEDGER_H_
#define DRIVERUPGRADE_SRC_LEDGER_ADMISSION_LEDGER_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "decide/admission/grants.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/engine_options.h"
#include "ledger/ledger_request.h"

namespace driverupgrade {

class AdmissionLedger {
 public:
  // Creates a ledger. Errors: InvalidArgument if the options are invalid.
  [[nodiscard]] static absl::StatusOr<AdmissionLedger> Create(const DriverIdentity& identity,
                                                              AdmissionLedgerOptions options);

  // Read, Settle and Confirm create a request if necessary. They must not be called while a request has no response.

  // Reads the ConfigMap if its content is unknown, which is the case at first use, after a conflict, and after a lost
  // response. Settle detects changes by other clients. A missing ConfigMap counts as empty.
  void Read();

  // Releases, renews and adds grants as DecideGrants decides, and stores `record` if it is set, with at most one
  // compare-and-set. Returns the decision. The decision applies once Next returns nullptr and Take has returned OK.
  // Errors: FailedPrecondition unless the ConfigMap has been read.
  [[nodiscard]] absl::StatusOr<GrantDecision> Settle(const std::vector<NodeReading>& nodes,
                                                     const std::vector<std::string>& wanted,
                                                     const std::optional<std::string>& record = std::nullopt);

  // Reads the ConfigMap to show that no other client has changed it since it was read or stored. Errors:
  // FailedPrecondition unless the ConfigMap has been read.
  [[nodiscard]] absl::Status Confirm();

  // Returns the request to send; nullptr if there is nothing to send. Returns the same request until Take accepts its
  // response.
  const internal::LedgerRequest* Next() const { return asked_ ? &asked_->request : nullptr; }
  // Returns true if Next returns a request that Read has created.
  bool IsRead() const { return asked_ && asked_->purpose == Purpose::kRead; }
  // Accepts the response to the request of Next, and returns the error of the response, if any. Errors: Aborted if
  // another client has changed the ConfigMap since it was read; FailedPrecondition if Next returns nullptr. After any
  // error, no node may start in this pass. If a grant was stored despite the error, it counts once the next Read has
  // found it.
  [[nodiscard]] absl::Status Take(const absl::StatusOr<ConfigMap>& answer);

  // Accepts the ConfigMap that another ledger of this process has just read or stored. If the entries of this ledger
  // are unchanged, this ledger bases its next request on the version of the ConfigMap. The other ledger's change then
  // does not cause a conflict. The request of Next must not have been sent yet.
  void Saw(const ConfigMap& config_map);

  // Drops all data, so that the next Read reads the ConfigMap, and ignores the response to a request in progress. Must
  // be called when the cluster was restored from a backup.
  void Forget();

  // Returns true if grants() is complete. Returns false before the first Read. After any sign that another client may
  // have changed the ConfigMap, also returns false until the ConfigMap is read again.
  bool IsKnown() const { return known_; }
  // Returns the grants that were read or stored last.
  const Grants& grants() const { return grants_; }
  // Returns the rollout's record that was read or stored last; nullopt if the ConfigMap contains no record.
  const std::optional<std::string>& record() const { return record_; }
  const AdmissionLedgerOptions& options() const { return options_; }
  // Returns the resource version at which the node may start; nullopt if the node must not start.
  std::optional<std::string> Granted(const std::string& node_uid) const;
  // Returns a description of the ConfigMap's invalid lines, for a finding; empty if all lines are valid.
  const std::string& error() const { return error_; }

 private:
  enum class Purpose { kRead, kStore, kConfirm };
  struct Asked {
    Purpose purpose;
    internal::LedgerRequest request;
    std::map<std::string, std::string> entries = {};   // to store
    Grants grants = {};                                // apply once they are stored
    std::optional<std::string> record = std::nullopt;  // applies once it is stored
    bool ignored = false;
  };

  AdmissionLedger(std::string key, AdmissionLedgerOptions options);
  GetConfigMapParams Get() const { return {.ns = options_.ns, .name = options_.name}; }
  // Returns true if the stored entry `key` has this text. An empty string stands for a missing entry.
  bool Has(const std::string& key, const std::string& text) const;
  internal::LedgerRequest StoreRequest(std::map<std::string, std::string> entries) const;
  absl::Status TakeRead(const absl::StatusOr<ConfigMap>& found);
  absl::Status TakeStored(const Asked& asked, const absl::StatusOr<ConfigMap>& written);
  absl::Status TakeConfirmed(const absl::StatusOr<ConfigMap>& found);

  std::string key_;
  std::string record_key_;
  AdmissionLedgerOptions options_;
  std::optional<Asked> asked_ = std::nullopt;
  bool known_ = false;
  // The stored ConfigMap; nullopt if it does not exist.
  std::optional<ConfigMap> stored_ = std::nullopt;
  Grants grants_ = {};
  std::optional<std::string> record_ = std::nullopt;
  std::string error_ = {};
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_LEDGER_ADMISSION_LEDGER_H_
