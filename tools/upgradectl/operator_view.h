// Parses the leading operator's own view, which is the rollout document (docs/rollout.schema.json).
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_VIEW_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_VIEW_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"

namespace upgradectl {

struct FailedRequest {
  absl::Time at = {};
  std::string message = {};
};

struct TransitionSeen {
  absl::Time at = {};
  driverupgrade::UpgradeState state = driverupgrade::UpgradeState::kUnknown;
  std::string reason = {};
};

/// A node, with the operator's record of the node.
struct NodeView {
  driverupgrade::NodeStatus status = {};
  /// Time since which the operator has seen the node's gate.
  std::optional<absl::Time> gate_since = std::nullopt;
  /// Last transitions, oldest first.
  std::vector<TransitionSeen> transitions = {};
  std::vector<FailedRequest> failed_requests = {};
};

struct OperatorView {
  /// Time of the document, by the operator's clock.
  absl::Time at = {};
  bool leads = false;
  std::optional<absl::Time> last_pass = std::nullopt;
  /// The error of the last pass; empty if the pass succeeded.
  std::string last_error = {};
  /// Status of the fleet without `nodes`. For several pools, the limits and the rollout are empty.
  driverupgrade::FleetStatus fleet = {};
  std::vector<NodeView> nodes = {};

  /// Returns nullptr if the view does not contain the node.
  const NodeView* Find(std::string_view node) const;
};

/// `pool` is the name of one policy, or empty for all policies. Errors: InvalidArgument if the text is not such a
/// document, or contains values that only a newer operator uses; NotFound if the document has no such pool.
[[nodiscard]] absl::StatusOr<OperatorView> ParseOperatorView(std::string_view document, const std::string& pool);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_VIEW_H_
