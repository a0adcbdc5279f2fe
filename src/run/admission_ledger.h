// Budgets that hold although two replicas believe that they lead, or one crashes with a write under way (ADR 0005).
//
// admission/grants.h has the decisions and their reasons.
//
//     auto ledger = AdmissionLedger::Create(cluster, identity, {.ns = "gpu-operator", .name = "driver-upgrades"});
//     // Each pass of the engine:
//     absl::Status read = ledger->Read(context);                    // 1. before the nodes are listed
//     ...                                                           // 2. list the nodes, judge, admit
//     auto decision = ledger->Settle(context, readings, admitted);  // 3. before a patch that starts a node
//     if (decision.ok()) ...                                        // 4. start decision->admitted; else nobody
//
// UpgradeEngine uses it, see EngineOptions::ledger. How an engine is to use it:
// - Read() comes before the list of nodes, as a node may have been created and granted since an older list. If it
//   fails, the pass goes on, but admits nobody.
// - Every node with a grant must be among the readings as long as it exists, with or without a driver pod or our
//   label: one that is missing is gone for the ledger. Plan::readings has those that matter.
// - For the budgets, each node's share is WithGrant(TallyOf(...)) if Counts(ledger.grants(), reading). Candidates for
//   which IsCurrent(...) go first: Candidate::has_grant. StateMachine::Step does so by ClusterSnapshot::grants.
//   Candidates that ask neither for a slot nor for headroom need no grant (dep-F14): NodePlan::needs_grant.
// - A node's plan that starts it is sent only if the node is among `admitted`, so only after the compare-and-set
//   succeeded, and its patch has the granted version as precondition: Granted(uid) == plan.resource_version. The plan
//   of any other admitted node is dropped for this pass, its pod calls and Events included (arch-A12).
// - After a conflict of the patch (409) the node is read at a newer version and asks again: Settle renews the grant.
// - Settle is called in every pass, also with nobody to admit: it gives back what has ended. Without a change it makes
//   no call.
//
// A rollout's record (ADR 0013) is one more entry of the same ConfigMap, so that whoever grants a start has shown that
// nobody has changed the record since it was read. Confirm shows the same without a change.
//
// Not thread-safe: it belongs to the thread of the passes.
#ifndef DRIVERUPGRADE_SRC_RUN_ADMISSION_LEDGER_H_
#define DRIVERUPGRADE_SRC_RUN_ADMISSION_LEDGER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "decide/admission/grants.h"
#include "driverupgrade/admission_ledger.h"
#include "driverupgrade/call_context.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"

namespace driverupgrade {

class AdmissionLedger {
 public:
  // Errors: InvalidArgument for options that cannot work; Unimplemented, naming it, if `cluster` lacks an operation.
  [[nodiscard]] static absl::StatusOr<AdmissionLedger> Create(std::shared_ptr<ClusterFacade> cluster,
                                                              const DriverIdentity& identity,
                                                              AdmissionLedgerOptions options);

  // Reads the ConfigMap if it is not known as of our own last call: at first use, and after a conflict or an answer
  // that was lost. That somebody else has changed it is found out by Settle. A missing one is an empty one.
  [[nodiscard]] absl::Status Read(const CallContext& context);

  // Gives back, renews and adds grants as DecideGrants says, and stores `record` if it is given, by one compare-and-set
  // at most. Errors:
  // FailedPrecondition unless Read succeeded; Aborted if somebody else has changed the ConfigMap; those of the call.
  // With any error nobody may be started in this pass; a grant that was stored all the same is found by the next Read,
  // counts, and is used.
  [[nodiscard]] absl::StatusOr<GrantDecision> Settle(const CallContext& context, const std::vector<NodeReading>& nodes,
                                                     const std::vector<std::string>& wanted,
                                                     const std::optional<std::string>& record = std::nullopt);

  // OK if nobody has changed the ConfigMap since it was read or stored. Errors: Aborted if somebody has, and the next
  // Read reads; those of the call.
  [[nodiscard]] absl::Status Confirm(const CallContext& context);

  // What was known is of a time that has not happened: the cluster was set back. The next Read reads.
  void Forget();

  // As last read or stored.
  const Grants& grants() const { return grants_; }
  std::size_t grants_max() const { return options_.grants_max; }
  // Of the rollout, as last read or stored; nullopt: there is none.
  const std::optional<std::string>& record() const { return record_; }
  // How often the ConfigMap has been stored.
  int stores() const { return stores_; }
  // The version of the node at which it may be started; nullopt: not at all.
  std::optional<std::string> Granted(const std::string& node_uid) const;
  // What makes no sense in the ConfigMap, for a finding; empty if all does.
  const std::string& error() const { return error_; }

 private:
  AdmissionLedger(std::shared_ptr<ClusterFacade> cluster, std::string key, AdmissionLedgerOptions options);
  // Whether the entry is stored as it is to be; an empty one is none.
  bool Has(const std::string& key, const std::string& text) const;
  absl::Status Store(const CallContext& context, std::map<std::string, std::string> entries);

  std::shared_ptr<ClusterFacade> cluster_;
  std::string key_;
  std::string record_key_;
  AdmissionLedgerOptions options_;
  bool known_ = false;
  // nullopt: it does not exist.
  std::optional<ConfigMap> stored_ = std::nullopt;
  Grants grants_ = {};
  std::optional<std::string> record_ = std::nullopt;
  int stores_ = 0;
  std::string error_ = {};
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_RUN_ADMISSION_LEDGER_H_
