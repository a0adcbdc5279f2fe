// Runs one pass over a dump. Reports what an engine would do next in that cluster, and why the other nodes wait.
#ifndef DRIVERUPGRADE_SRC_WHATIF_WHAT_IF_H_
#define DRIVERUPGRADE_SRC_WHATIF_WHAT_IF_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/snapshot_builder.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/upgrade_policy.h"
#include "driverupgrade/wire/kubernetes_json.h"

namespace driverupgrade::whatif {

struct Question {
  DriverIdentity identity;
  SnapshotOptions snapshot = {};
  StateMachineOptions machine = {};
  UpgradePolicy policy = {};
  ClusterObjects cluster = {};
  absl::Time at = absl::UnixEpoch();
  absl::Time active_since = absl::InfinitePast();
  // Record of the rollout in the ledger; nullopt if the ledger has no record.
  std::optional<std::string> rollout_record = {};
};

struct NodeReport {
  // Contains the node's name and state even if there is nothing to do.
  NodePlan plan = {};
  std::optional<Gate> gate = {};
  std::vector<Finding> findings = {};
  // If the policy isolates devices, the reason why the node must be isolated instead of its devices. Empty if no such
  // reason is known.
  std::string why_not_devices = {};
};

struct Report {
  // Every node that has a driver pod or marks of an upgrade, by name.
  std::vector<NodeReport> nodes = {};
  // Totals before the pass.
  Tally totals = {};
  // Findings that do not concern any of `nodes`.
  std::vector<Finding> findings = {};
  // nullopt if the policy has no rollout.
  std::optional<RolloutStatus> rollout = {};
};

// Makes the snapshot include the devices of the DRA drivers that the policy names for isolation, as the operator does.
// Returns false if the policy isolates no devices.
bool FollowDevices(Question& question);

[[nodiscard]] absl::StatusOr<Report> Answer(Question question);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_WHAT_IF_H_
