// The ledger's part of a pass: what is known of the grants before it is planned, and what of the plan may be sent
// (ADR 0005).
#ifndef DRIVERUPGRADE_SRC_RUN_LEDGER_PASS_H_
#define DRIVERUPGRADE_SRC_RUN_LEDGER_PASS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "run/admission_ledger.h"
#include "run/node_durations.h"

namespace driverupgrade::internal {

// Whether the plan takes the node out of upgrade-required, with a grant or without: a node that is cordoned by an
// administrator, or that a maintenance operator is asked for, needs none.
bool Starts(const NodePlan& node);

// Not thread-safe.
class LedgerPass {
 public:
  // `cluster` answers consistently: no cache. `call_timeout`: for each call, within the deadline of the context.
  LedgerPass(AdmissionLedger ledger, std::shared_ptr<ClusterReader> cluster, std::shared_ptr<Clock> clock,
             absl::Duration call_timeout);

  // Before the nodes are listed. Where it fails nobody is started in this pass; all else goes on.
  void Begin(const CallContext& context);
  const Grants& grants() const { return ledger_.grants(); }
  std::size_t grants_max() const { return ledger_.grants_max(); }
  // Of any plan, be it finished or not: what has failed is not measured.
  void NoteFailures(const Plan& plan);
  // Of the rollout: see RolloutFacts::record.
  const std::optional<std::string>& record() const { return ledger_.record(); }

  // What became of nodes, for the durations in the record. `unbroken_since`: since when this process has made passes by
  // a policy with a rollout without a break.
  void NoteOutcomes(const std::vector<NodeOutcome>& outcomes, const DriverIdentity& identity,
                    absl::Time unbroken_since) {
    durations_.Note(outcomes, identity, unbroken_since, clock_->Now());
  }
  // See RolloutFacts::took; they are given until a record with them is stored.
  const std::vector<absl::Duration>& took() {
    told_ = durations_.took().size();
    return durations_.took();
  }

  // The cluster was set back, so that UIDs and versions may come again: reads anew. A NodeSeen for every node follows.
  void Forget(const CallContext& context);

  // What a cache has under `name` now; nullptr: nothing. Called for every change.
  void NodeSeen(const std::string& name, const Node* node);
  // The grants to plan by, for who reads from a cache; `managed`: UIDs by name. One whose node the cache does not have
  // stays, as the cache may lag: it goes when the cache has had the node, or when a list says that there is none.
  Grants Standing(const CallContext& context, const std::map<std::string, std::string>& managed);

  // Gives back, renews and adds grants, and stores the record of a rollout, by one compare-and-set at most. Which nodes of
  // `plan` must not be started now, and why. With a rollout no node is started before it is known that nobody has changed
  // the record since it was read.
  std::map<std::string, Gate> Settle(const CallContext& context, const Plan& plan);
  // Adds to `plan` what is wrong with the ledger, and when to come back for it.
  void Report(Plan& plan) const;

 private:
  struct SeenNode {
    std::string name;
    std::string resource_version;
  };

  void LookForUnseen(const CallContext& context);
  void SettleGrants(const CallContext& context, const Plan& plan);
  void Note(const absl::Status& status);
  bool MayStart(const NodePlan& node) const;
  Gate WhyNot(const NodePlan& node) const;
  CallContext Bounded(const CallContext& context) const;

  AdmissionLedger ledger_;
  const std::shared_ptr<ClusterReader> cluster_;
  const std::shared_ptr<Clock> clock_;
  const absl::Duration call_timeout_;

  // Of the last call; after a failure nothing is asked before `retry_at_`.
  absl::Status status_ = absl::OkStatus();
  int failures_ = 0;
  absl::Time retry_at_ = absl::InfinitePast();
  bool record_stored_ = false;  // in this pass
  NodeDurations durations_;
  std::size_t told_ = 0;  // of them, in the record that is to be stored
  std::string nonsense_;  // as read: what is stored next has none

  // With a cache.
  std::map<std::string, SeenNode> seen_;     // by UID
  std::map<std::string, std::string> uids_;  // by name
  std::set<std::string> gone_;               // UIDs that have grants yet
  bool any_unseen_ = false;
  absl::Time next_look_ = absl::InfinitePast();
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_RUN_LEDGER_PASS_H_
