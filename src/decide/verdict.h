// Defines the result of StateMachine::Judge for one node.
#ifndef DRIVERUPGRADE_SRC_DECIDE_VERDICT_H_
#define DRIVERUPGRADE_SRC_DECIDE_VERDICT_H_

#include <compare>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/state_machine.h"

namespace driverupgrade {
namespace internal {

// The requirements of a waiting node that are checked against the limits. The node name is stored separately.
struct Candidate {
  // True if the node needs a slot of maxParallelUpgrades. A node that an administrator has cordoned needs no slot if
  // the policy allows such nodes to proceed.
  bool needs_slot = true;
  // True if the node can start only while fewer nodes than maxUnavailable are unavailable. A node that is already
  // cordoned does not need headroom.
  bool needs_headroom = true;
  // True if the start makes one more node unavailable. A node that is NotReady already counts as unavailable.
  bool takes_headroom = true;
  // True if the operator runs on this node. The node then starts last.
  bool own_node = false;
  // True if the node has a grant for the version that was read. The node then starts first, and its share is already
  // counted. Set by the planners, because Judge does not use the grants.
  bool has_grant = false;
  // True if the node starts only to load the driver that it has, so that failures of the new driver do not keep it from
  // starting. Set by the planners.
  bool reloads = false;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

// The verdict on one node, independent of the other nodes.
struct Verdict {
  // Empty (no patch, no pods) if no action is planned.
  NodePlan plan = {};
  // Reason why the node does not advance beyond plan.to(); nullopt if the node is done.
  std::optional<Gate> gate = std::nullopt;
  // Set if the node would start if it were admitted. If the node is admitted, it must be evaluated again with
  // `admitted`.
  std::optional<Candidate> candidate = std::nullopt;
  Tally tally = {};
  std::vector<Finding> findings = {};
  // True if the verdict depends on the pods of the node.
  bool pod_interest = false;
  // Time at which the verdict can change even if the cluster does not change. Before that time, a verdict without
  // planned actions stays the same.
  std::optional<absl::Time> wake_at = std::nullopt;
};

}  // namespace internal

using internal::Candidate;
using internal::Verdict;

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_VERDICT_H_
