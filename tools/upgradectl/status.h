// Where a rollout stands: from the objects of the cluster to lines.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_STATUS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_STATUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_state.h"
#include "upgradectl/request.h"
#include "upgradectl/table.h"
#include "whatif/age.h"
#include "whatif/what_if.h"

namespace upgradectl {

using driverupgrade::whatif::Age;

struct NodeStatus {
  std::string name = {};
  driverupgrade::UpgradeState state = driverupgrade::UpgradeState::kUnknown;
  std::optional<absl::Time> since = std::nullopt;
  std::optional<driverupgrade::Gate> gate = std::nullopt;
  /// It waits for nothing but the next pass of an operator, as far as a pass of upgradectl's own can tell.
  bool moves = false;
  /// Of the driver pod; empty without one.
  std::string revision = {};
  std::string pod = {};
  bool pod_ready = false;
  bool cordoned = false;
  bool ready = true;
  /// Cause of the failure, from the annotation on a failed node; empty without one.
  std::string failure_cause = {};
  /// The failure of the operator's last request about the node, if no other cause holds the node. Empty if no request
  /// failed, or if the operator was not queried.
  std::string request_failure = {};
};

enum class Phase : std::uint8_t { kDone, kUnderWay, kFailed };
std::string_view ToString(Phase phase);

/// How long it will take yet, by what the nodes that are done took.
struct Remaining {
  absl::Duration low = {};
  absl::Duration middle = {};
  absl::Duration high = {};
  /// How many nodes it is drawn from.
  int measured = 0;
};

/// As the operator tells it.
struct OperatorPass {
  absl::Duration age = {};
  /// Empty if the pass succeeded.
  std::string error = {};
};

struct RolloutStatus {
  std::string driver = {};
  /// Empty: nobody knows the policy, and then nothing below that comes from it is shown.
  std::string policy_source = {};
  /// Whose Lease that is; nullopt: it is from elsewhere.
  std::optional<LeaseFact> policy_reporter = std::nullopt;
  absl::Time at = absl::UnixEpoch();
  Phase phase = Phase::kDone;
  bool frozen = false;
  bool paused = false;
  driverupgrade::Tally totals = {};
  driverupgrade::UpgradeBudget budget = {};
  /// nullopt: the policy has no rollout.
  std::optional<driverupgrade::RolloutStatus> rollout = std::nullopt;
  /// When this rollout began, by its record; without a record, when its first node was cordoned, as far back as Events go.
  std::optional<absl::Time> began = std::nullopt;
  std::optional<Remaining> remaining = std::nullopt;
  std::optional<LeaseFact> leader = std::nullopt;
  /// Result of OperatorTrouble.
  std::string operator_trouble = {};
  /// The operator's last pass; nullopt: what is shown is a pass of upgradectl's own.
  std::optional<OperatorPass> operator_pass = std::nullopt;
  /// The reason why the operator's own view is missing; empty if it is shown, or was not asked for.
  std::string view_trouble = {};
  /// Of the Deployment that the leader's pod is of; empty: it cannot be told.
  std::string leader_version = {};
  std::vector<NodeStatus> nodes = {};
  std::vector<driverupgrade::Finding> findings = {};
  std::vector<std::string> notes = {};
};

/// Returns the operator's view, as if a pass of our own had found it.
driverupgrade::whatif::Report ReportOf(const OperatorView& view);

/// `report`: the answer to the request's question, or ReportOf its view.
RolloutStatus StatusOf(const Request& request, const driverupgrade::whatif::Report& report);

/// Nothing moves any more: all nodes are done; or some have failed, and nobody else moves without a person. A rollout
/// without failures that waits for a person goes on, for that person is expected.
bool HasEnded(const RolloutStatus& status);

/// Returns the finding NoDaemonSet if the cluster has neither a node nor a DaemonSet of the driver.
std::optional<driverupgrade::Finding> NoDriverAtAll(const Request& request, const driverupgrade::Tally& totals);

/// States that the record of the rollout is missing, and where it was expected.
std::string NoRecord(const Request& request);

/// The gate of a node, with what the server would answer to its evictions: the plan of a pass cannot know that.
std::optional<driverupgrade::Gate> TrueGate(const Request& request, const driverupgrade::whatif::NodeReport& report);

/// Lines that come before all else: no operator works, what is shown is not what the operator finds, its last pass failed. Usually empty.
std::string FormatWarnings(const RolloutStatus& status, const Screen& screen);

/// `wide`: with times, pods and driver revisions.
std::string FormatStatus(const RolloutStatus& status, bool wide, const Screen& screen);
/// Members are listed in tools/upgradectl/README.md.
std::string FormatStatusJson(const RolloutStatus& status);
std::string FormatStatusYaml(const RolloutStatus& status);

/// "3 gangs, 2 groups of nodes that start together: 3 interruptions; in the order of names there would be 7; so far 2 interruptions of 2 gangs".
/// Empty without gangs.
std::string GangsText(const driverupgrade::RolloutStatus& rollout);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_STATUS_H_
