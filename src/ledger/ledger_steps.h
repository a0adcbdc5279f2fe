// Decides with the ledger which nodes may start. Sends no requests itself, but returns them to the caller (ADR 0005,
// 0013, 0020).
//
//     steps.Begin(now);                                // before the nodes are read
//     ...                                              // send Next(), and pass in the response
//     planner.SetGrants(steps.Standing(is_managed, now));
//     Plan plan = planner.Advance(now);
//     auto withheld = steps.Settle(plan, now);         // nodes that must not start now, and why
//     ...                                              // if Next() has a request: send it, and settle the same or a newer plan
#ifndef DRIVERUPGRADE_SRC_LEDGER_LEDGER_STEPS_H_
#define DRIVERUPGRADE_SRC_LEDGER_LEDGER_STEPS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "ledger/admission_ledger.h"
#include "ledger/ledger_request.h"
#include "ledger/node_durations.h"

namespace driverupgrade::internal {

// Returns true if the plan moves the node out of upgrade-required, with or without a grant. A node that an
// administrator has cordoned, or that a maintenance operator evacuates, needs no grant.
bool Starts(const NodePlan& node);

// Not thread-safe.
class LedgerSteps {
 public:
  explicit LedgerSteps(AdmissionLedger ledger) : ledger_(std::move(ledger)) {}

  // Reads the ledger if its content is unknown. Until the content is known, no node starts. All other work continues.
  void Begin(absl::Time now);
  const Grants& grants() const { return ledger_.grants(); }
  std::size_t grants_max() const { return ledger_.options().grants_max; }
  // Excludes failed upgrades from the measured durations. Accepts any plan, finished or not.
  void NoteFailures(const Plan& plan);
  // Returns RolloutFacts::record, the record of the rollout.
  const std::optional<std::string>& record() const { return ledger_.record(); }

  // Uses the outcomes of nodes to measure upgrade durations for the record. `unbroken_since`: time since which this
  // process has made passes without interruption under a policy with a rollout.
  void NoteOutcomes(const std::vector<NodeOutcome>& outcomes, const DriverIdentity& identity, absl::Time unbroken_since,
                    absl::Time now) {
    durations_.Note(outcomes, identity, unbroken_since, now);
  }
  // Returns measured durations until a record that contains them is stored. See RolloutFacts::took.
  const std::vector<absl::Duration>& took() {
    told_ = durations_.took().size();
    return durations_.took();
  }

  // Drops all data, so that the ledger is read again. Must be called when the cluster was restored from a backup,
  // because UIDs and versions may then be reused. The caller must then call NodeSeen for every node.
  void Forget(absl::Time now);

  // Records the node that the cache now contains under this name. `node`: nullptr if the cache contains no such node.
  // Must be called for every change.
  void NodeSeen(const std::string& name, const Node* node);
  // Returns the grants to use for planning. `is_managed` returns true if the node with the given name is managed. The
  // result includes grants of nodes that have never been in the cache, because the cache may be outdated. A grant is
  // dropped once the node disappears from the cache, or once a list shows that the node does not exist.
  Grants Standing(const std::function<bool(const std::string&)>& is_managed, absl::Time now);
  // Accepts the UIDs of all nodes, from a list that started after the grants were known. A node that is missing from
  // the list was deleted.
  void NodesListed(const std::vector<std::string>& uids);

  // Releases, renews and adds grants, and stores the record of a rollout, with at most one compare-and-set. Returns the
  // nodes of `plan` that must not start now, with their gates. While a request is unanswered, no node starts. With a
  // rollout, nodes start only after a response has shown that the record is unchanged since it was read. Each such
  // response is valid for one plan.
  std::map<std::string, Gate> Settle(const Plan& plan, absl::Time now);
  // See AdmissionLedger::IsKnown.
  bool IsKnown() const { return ledger_.IsKnown(); }
  // Must be called if another process may have changed the record, so that earlier responses no longer count as proof
  // that the record is current.
  void Distrust() { confirmed_at_.reset(); }
  // Adds the ledger's findings to `plan`, and the time of the ledger's next step.
  void Report(Plan& plan, absl::Time now) const;

  // Returns the request to send; nullptr if there is nothing to send. At most one request for the ConfigMap is in
  // flight, but a list of nodes can be in flight at the same time.
  const LedgerRequest* Next() const;
  // These functions accept a response. They have no effect if no request of their kind is in flight.
  void TakeUids(const absl::StatusOr<std::vector<std::string>>& of_all_nodes);
  void Take(const absl::StatusOr<ConfigMap>& answer, absl::Time now);
  // See AdmissionLedger::Saw.
  void Saw(const ConfigMap& config_map) { ledger_.Saw(config_map); }

 private:
  struct SeenNode {
    std::string name;
    std::string resource_version;
  };
  // The write in progress.
  struct Storing {
    bool has_record = false;
    std::size_t told = 0;
  };

  bool IsPending() const { return ledger_.Next() != nullptr; }
  void LookForUnseen(absl::Time now);
  void SettleGrants(const Plan& plan, absl::Time now);
  void RecordStored(std::size_t told);
  void Note(const absl::Status& status, absl::Time now);
  bool MayStart(const NodePlan& node) const;
  Gate WhyNot(const NodePlan& node) const;

  AdmissionLedger ledger_;

  // Status of the last request. After a failure, the next request waits until `retry_at_`.
  absl::Status status_ = absl::OkStatus();
  int failures_ = 0;
  absl::Time retry_at_ = absl::InfinitePast();
  std::optional<Storing> storing_ = std::nullopt;
  std::optional<absl::Time> confirmed_at_ = std::nullopt;  // time of a confirmation that no plan has used yet
  bool record_stored_ = false;  // true if a record was stored after the last plan was settled
  NodeDurations durations_;
  std::size_t told_ = 0;  // number of durations in the record of the last plan
  std::string nonsense_;  // invalid lines of the ConfigMap at the last read

  // Used only with a cache.
  std::map<std::string, SeenNode> seen_;             // by UID
  std::map<std::string, std::string> uids_;          // by name
  std::set<std::string> gone_;                       // UIDs of deleted nodes that still have grants
  std::optional<std::set<std::string>> looked_for_;  // UIDs to find, while a list of nodes is in flight
  bool look_is_stale_ = false;                       // the list may have started before the restore
  LedgerRequest look_ = ListNodesParams{.on_unreadable = OnUnreadable::kMark};
  bool any_unseen_ = false;
  absl::Time next_look_ = absl::InfinitePast();
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_LEDGER_LEDGER_STEPS_H_
