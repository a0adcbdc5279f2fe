// The engine for a host that reads and sends by itself: what UpgradeEngine does with threads and a facade, as steps.
#ifndef DRIVERUPGRADE_SRC_HOST_HOST_ENGINE_H_
#define DRIVERUPGRADE_SRC_HOST_HOST_ENGINE_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/attempt_log.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/kubernetes/http_message.h"
#include "driverupgrade/node_outcome.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/upgrade_policy.h"
#include "host/host_hooks.h"
#include "host/ledger_exchange.h"
#include "host/node_exchange.h"
#include "host/part.h"
#include "read/node_views.h"
#include "read/object_store.h"
#include "write/nodes_under_way.h"

namespace driverupgrade::internal {

struct HostOptions {
  StateMachineOptions machine = {};
  ViewScope scope = {};
  std::string field_manager = "driverupgrade";
  // Without it, a policy with a rollout is refused.
  std::optional<AdmissionLedger> ledger = std::nullopt;
};

// What a pass found.
struct HostPass {
  // `nodes` are those whose requests begin now.
  Plan plan = {};
  std::vector<std::string> wanted_pods = {};
  // Of all parts.
  std::set<std::string> pod_interest = {};
  // The ledger has requests, which Next(kLedger) returns.
  bool ledger_begins = false;
};

struct Settled {
  std::vector<NodeOutcome> outcomes = {};
  std::vector<RecordEventParams> events = {};
};

struct ManagedNode {
  std::string name = {};
  std::string uid = {};
  std::string state_label = {};
  std::vector<std::string> driver_pods = {};
};

// Stands for the ledger where requests are named by nodes.
inline constexpr std::string_view kLedger = "";

// Neither reads nor sends, and has neither clock nor thread. Not thread-safe.
class HostEngine {
 public:
  HostEngine(const DriverIdentity& identity, HostOptions options);

  ObjectStore& objects() { return store_; }
  // What the host says of the pods that it puts. A node's answers replace those before.
  void SetPodAnswers(const std::string& node, PodAnswers answers) { hooks_.SetPods(node, std::move(answers)); }
  // What changed is looked at. Nodes come with their names in order.
  std::vector<ManagedNode> Read(absl::Time now);
  std::vector<HostQuestion> Questions() const { return hooks_.Questions(); }
  void Tell(const std::string& id, absl::StatusOr<bool> answer);

  // Makes one pass over the nodes that `policy` is for; nullopt: all. Errors: as for Validate; FailedPrecondition for a rollout
  // without a ledger, and for a second policy with a ledger, which has one record; Unavailable until every kind has been put.
  absl::StatusOr<HostPass> Apply(const std::optional<std::set<std::string>>& nodes, const UpgradePolicy& policy,
                                 absl::Time now);
  // See StateMachine::Release. Errors: as Apply, and Unavailable for what may be ours and cannot be read.
  absl::StatusOr<HostPass> Release(const std::optional<std::set<std::string>>& nodes, absl::Time now);

  // `node`: or kLedger. nullptr: nothing is left, or nothing was begun.
  const HttpRequest* Next(const std::string& node, absl::Time now);
  // Returns whether the ledger's request is a list of nodes, of which the metadata are enough.
  bool LedgerAsksForMetadata() const { return ledger_ && ledger_->AsksForMetadata(); }
  // To the request that Next has given. Whether there may be another one. Errors: FailedPrecondition if there is none.
  absl::StatusOr<bool> Answer(const std::string& node, const absl::StatusOr<HttpResponse>& response, absl::Time now);
  Settled Settle();

  std::optional<Gate> Explain(const std::string& node) const;
  // Of all parts together.
  Plan Everything() const;

 private:
  // A question to which the host's answer was an error.
  struct Unanswered {
    int failures = 0;
    absl::Time ask_again = absl::InfiniteFuture();
  };

  void NoteTime(absl::Time now);
  void NoteChanges();
  void NoteAnswer(const NodeView& view);
  void Refresh(const std::string& node);
  void Forget(const std::string& node);
  Part& PartFor(const std::optional<std::set<std::string>>& nodes);
  // Makes `nodes` those of the part.
  void Assign(Part& part, const std::optional<std::set<std::string>>& nodes);
  std::vector<Finding> FindingsOf(const Part& part) const;
  std::string UidOf(const std::string& node) const;
  void Move(const std::string& node, Part& part);
  void SetGuests(Part& part);
  // Nodes whose pods are needed and not known; those that wait for them are added to `withheld`.
  std::vector<std::string> WantedPods(const Part& part, std::set<std::string>& withheld) const;
  std::set<std::string> PodInterest() const;
  // The ledger has the record of one rollout, so one part uses it. Errors: FailedPrecondition if `part` is another part.
  absl::Status CheckLedgerPart(const Part& part) const;
  bool UsesLedger(const Part& part) const { return ledger_ && !part.nodes.empty(); }
  void SetLedgerFacts(Part& part, const UpgradePolicy& policy, absl::Time now);
  // Holds back what must not start now: nodes of a group without known pods, and nodes that the ledger does not let start.
  void Withhold(Part& part, const UpgradePolicy& policy, const std::set<std::string>& withheld, absl::Time now,
                Plan& plan);
  // Removes the plans of nodes that are in `withheld` or have requests in progress.
  void LeaveOut(const std::set<std::string>& withheld, Plan& plan) const;
  HostPass Begin(Plan plan, const std::set<std::string>& withheld, absl::Time now);
  void EndIfOver(const std::string& node, absl::Time now);

  const StateMachine machine_;
  const ViewScope scope_;
  const RestEncoder encoder_;
  ObjectStore store_{1};
  HostHooks hooks_;
  NodeViews views_;
  DriverParts driver_;
  AttemptLog log_;
  NodesUnderWay under_way_;
  std::map<std::string, NodeExchange> exchanges_;  // by node in progress
  std::optional<LedgerExchange> ledger_;
  std::map<std::string, std::shared_ptr<const NodeView>> managed_;  // by name
  std::map<std::string, std::vector<Finding>> findings_;            // by node
  std::set<std::string> touched_;
  std::map<std::string, Unanswered> unanswered_;  // by node
  std::vector<std::unique_ptr<Part>> parts_;
  std::map<std::string, Part*> part_of_;  // by node
  std::map<std::string, Part*> left_;     // by node that has left it with its driver pod, and may come back
  std::vector<NodeOutcome> outcomes_;
  std::vector<RecordEventParams> events_;
  absl::Time now_ = absl::InfinitePast();
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_HOST_HOST_ENGINE_H_
