// Drives a Core for a host in another language. The host reads objects and sends requests itself.
#ifndef DRIVERUPGRADE_SRC_EMBED_HOST_ENGINE_H_
#define DRIVERUPGRADE_SRC_EMBED_HOST_ENGINE_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/core.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/kubernetes/http_message.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/upgrade_policy.h"
#include "embed/host_hooks.h"
#include "embed/host_objects.h"
#include "embed/ledger_exchange.h"
#include "embed/node_exchange.h"
#include "report/node_histories.h"
#include "report/rollout_document.h"

namespace driverupgrade::internal {

struct HostOptions {
  CoreOptions core = {};
  std::string field_manager = "driverupgrade";
};

// The result of a pass.
struct HostPass {
  // Plan of the pass. Its `nodes` contains the nodes whose requests start now.
  Plan plan = {};
  std::vector<std::string> wanted_pods = {};
  // Names of the nodes, in all pools, whose pods the engine needs.
  std::set<std::string> pod_interest = {};
  // Warnings about the policy (see Warnings).
  std::vector<std::string> warnings = {};
  // Set only by Everything. See Core::Everything.
  std::vector<OwnedPart> parts = {};
  // Warnings about the policies of `parts`.
  std::map<std::string, std::vector<std::string>> warnings_by_owner = {};
  // True if the ledger has requests, which Next(kLedger) returns.
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

// Stands for the ledger in functions that identify requests by the name of their node.
inline constexpr std::string_view kLedger = "";

// Not thread-safe.
class HostEngine {
 public:
  HostEngine(const DriverIdentity& identity, HostOptions options);
  HostEngine(const HostEngine&) = delete;
  HostEngine& operator=(const HostEngine&) = delete;

  ObjectStore& objects() { return objects_.store(); }
  // Sets the host's answers about a node's pods, which replace all earlier answers about that node.
  void SetPodAnswers(const std::string& node, PodAnswers answers) { hooks_.SetPods(node, std::move(answers)); }
  // Processes all changes since the last call. Returns the nodes sorted by name.
  absl::StatusOr<std::vector<ManagedNode>> Read(absl::Time now);
  std::vector<HostQuestion> Questions() const { return hooks_.Questions(); }
  void Tell(const std::string& id, absl::StatusOr<bool> answer);

  // Runs one pass. Errors: see Core::Apply; Unavailable until the host has passed in all required kinds.
  absl::StatusOr<HostPass> Apply(const Part& part, const UpgradePolicy& policy, const PassFacts& facts, absl::Time now);
  // Errors: see Core::Release.
  absl::StatusOr<HostPass> Release(const std::optional<std::set<std::string>>& nodes, absl::Time now);

  // Returns the next request of the node, or of the ledger if `node` is kLedger; nullptr if no requests remain or no
  // requests were started.
  const HttpRequest* Next(const std::string& node, absl::Time now);
  // Returns true if the ledger's request is a list of nodes and needs only their metadata.
  bool LedgerAsksForMetadata() const { return ledger_ && ledger_->AsksForMetadata(); }
  // Accepts the response to the request that Next has returned. Returns true if another request may follow. Errors:
  // FailedPrecondition if Next has not returned a request.
  absl::StatusOr<bool> Answer(const std::string& node, const absl::StatusOr<HttpResponse>& response, absl::Time now);
  Settled Settle();

  std::optional<Gate> Explain(const std::string& node) const { return core_.Explain(node); }
  // Returns the plans of all pools together.
  HostPass Everything() const {
    CoreReport report = core_.Everything();
    return {.plan = std::move(report.plan), .parts = std::move(report.parts)};
  }
  // Returns the rollout document (docs/rollout.schema.json). `facts` contains the data that only the host knows; this
  // function fills in all other members.
  std::string Rollout(RolloutReport facts, absl::Time now);

 private:
  // Starts the requests of the plan.
  void Begin(const Plan& plan, absl::Time now);
  void EndIfOver(const std::string& node, absl::Time now);

  const RestEncoder encoder_;
  HostObjects objects_;
  HostHooks hooks_;
  Core core_;
  NodeHistories histories_;
  std::optional<absl::Time> last_pass_ = std::nullopt;
  std::map<std::string, NodeExchange> exchanges_;  // by node in progress
  std::optional<LedgerExchange> ledger_;
  std::vector<NodeOutcome> outcomes_;
  std::vector<RecordEventParams> events_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_EMBED_HOST_ENGINE_H_
