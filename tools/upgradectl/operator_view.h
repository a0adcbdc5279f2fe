// What the leading operator itself has found: the document of its rollout (docs/rollout.schema.json), as values.
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

/// A node, with what the operator remembers of it.
struct NodeView {
  driverupgrade::NodeStatus status = {};
  /// Since when the operator has seen its gate.
  std::optional<absl::Time> gate_since = std::nullopt;
  /// The last ones, oldest first.
  std::vector<TransitionSeen> transitions = {};
  std::vector<FailedRequest> failed_requests = {};
};

struct OperatorView {
  /// When the operator gave it, by its clock.
  absl::Time at = {};
  bool leads = false;
  std::optional<absl::Time> last_pass = std::nullopt;
  /// The error of the last pass; empty if it succeeded.
  std::string last_error = {};
  /// Without `nodes`. Of several pools, limits and rollout are left out.
  driverupgrade::FleetStatus fleet = {};
  std::vector<NodeView> nodes = {};

  /// nullptr: the operator does not know the node.
  const NodeView* Find(std::string_view node) const;
};

/// `pool`: the name of one policy; empty: all. Errors: InvalidArgument for what is no such document, or has values that a newer operator
/// has introduced; NotFound if it has no such pool.
[[nodiscard]] absl::StatusOr<OperatorView> ParseOperatorView(std::string_view document, const std::string& pool);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_VIEW_H_
