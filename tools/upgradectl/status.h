// Determines the progress of a rollout from the cluster's objects, and formats the result.
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
  /// True if, according to upgradectl's own pass, the node waits only for the next pass of an operator.
  bool moves = false;
  /// Revision of the driver pod; empty if there is no pod.
  std::string revision = {};
  std::string pod = {};
  bool pod_ready = false;
  bool cordoned = false;
  bool ready = true;
  /// Cause of the failure, from the annotation on a failed node; empty if the annotation is not set.
  std::string failure_cause = {};
  /// Failure of the operator's last request for the node, if nothing else explains why the node stays in its state.
  /// Empty if no request failed, or if the operator was not queried.
  std::string request_failure = {};
};

enum class Phase : std::uint8_t { kDone, kUnderWay, kFailed };
std::string_view ToString(Phase phase);

/// Estimate of the remaining time, from the durations of the nodes that are done.
struct Remaining {
  absl::Duration low = {};
  absl::Duration middle = {};
  absl::Duration high = {};
  /// Number of nodes on which the estimate is based.
  int measured = 0;
};

/// A pass that the operator reports.
struct OperatorPass {
  absl::Duration age = {};
  /// Empty if the pass succeeded.
  std::string error = {};
};

struct RolloutStatus {
  std::string driver = {};
  /// Source of the policy. Empty if the policy is unknown; fields that depend on the policy are then not shown.
  std::string policy_source = {};
  /// Lease of the operator that reports the policy; nullopt for other sources.
  std::optional<LeaseFact> policy_reporter = std::nullopt;
  absl::Time at = absl::UnixEpoch();
  Phase phase = Phase::kDone;
  bool frozen = false;
  bool paused = false;
  driverupgrade::Tally totals = {};
  driverupgrade::UpgradeBudget budget = {};
  /// nullopt if the policy has no rollout.
  std::optional<driverupgrade::RolloutStatus> rollout = std::nullopt;
  /// Start of this rollout, from its record. If there is no record, the time at which the first node was cordoned, if
  /// Events still show it.
  std::optional<absl::Time> began = std::nullopt;
  std::optional<Remaining> remaining = std::nullopt;
  std::optional<LeaseFact> leader = std::nullopt;
  /// Result of OperatorTrouble.
  std::string operator_trouble = {};
  /// The operator's last pass; nullopt if the result of upgradectl's own pass is shown.
  std::optional<OperatorPass> operator_pass = std::nullopt;
  /// Reason why the operator's own view is missing; empty if the view is shown, or was not requested.
  std::string view_trouble = {};
  /// Version of the Deployment to which the leader's pod belongs; empty if unknown.
  std::string leader_version = {};
  std::vector<NodeStatus> nodes = {};
  std::vector<driverupgrade::Finding> findings = {};
  std::vector<std::string> notes = {};
};

/// Converts the operator's view to a report, in the form of the result of a pass.
driverupgrade::whatif::Report ReportOf(const OperatorView& view);

/// `report` is the result for the request's question, or the result of ReportOf for the request's view.
RolloutStatus StatusOf(const Request& request, const driverupgrade::whatif::Report& report);

/// Returns true if no node will make progress on its own: all nodes are done, or some have failed and all others wait
/// for an administrator. If no node has failed, waiting for an administrator is expected, so the rollout has not ended.
bool HasEnded(const RolloutStatus& status);

/// Returns the finding NoDaemonSet if the cluster has neither a node nor a DaemonSet of the driver.
std::optional<driverupgrade::Finding> NoDriverAtAll(const Request& request, const driverupgrade::Tally& totals);

/// Returns a message that reports a missing rollout record, with the expected location.
std::string NoRecord(const Request& request);

/// Returns the gate of a node. Unlike a plan, considers how the server would respond to evictions.
std::optional<driverupgrade::Gate> TrueGate(const Request& request, const driverupgrade::whatif::NodeReport& report);

/// Returns the first lines of the output, which report that no operator is running, that the operator's view is
/// missing, or that the operator's last pass failed. Usually empty.
std::string FormatWarnings(const RolloutStatus& status, const Screen& screen);

/// `wide` adds times, pods and driver revisions.
std::string FormatStatus(const RolloutStatus& status, bool wide, const Screen& screen);
/// tools/upgradectl/README.md lists the members.
std::string FormatStatusJson(const RolloutStatus& status);
std::string FormatStatusYaml(const RolloutStatus& status);

/// Returns a string such as "3 gangs, 2 groups of nodes that start together: 3 interruptions; ordered by name there
/// would be 7; so far 2 interruptions of 2 gangs". Returns an empty string if there are no gangs.
std::string GangsText(const driverupgrade::RolloutStatus& rollout);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_STATUS_H_
