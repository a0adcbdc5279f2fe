// The result of StateMachine::Judge for one node.
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

// The needs of a waiting node that the limits check. The name of the node is kept separately.
struct Candidate {
  // Needs a slot of maxParallel. A node that an administrator has cordoned needs no slot while the policy allows such
  // nodes to proceed.
  bool needs_slot = true;
  // Can start only while fewer nodes than maxUnavailable are unavailable. Not needed by a node that is already
  // cordoned.
  bool needs_headroom = true;
  // True if the node adds to the unavailable nodes. A node that is not ready is already counted.
  bool takes_headroom = true;
  // The operator runs on this node, so it goes last.
  bool own_node = false;
  // The node has a grant for the version that was read: it goes first, and its share is already counted. Judge does not
  // know the grants; the planners set this field.
  bool has_grant = false;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

// The verdict on one node, independent of the other nodes.
struct Verdict {
  // Empty (no patch, no pods) if there is nothing to do.
  NodePlan plan = {};
  // The reason why the node does not advance beyond plan.to(); nullopt for a node that is done.
  std::optional<Gate> gate = std::nullopt;
  // Set if the node would start with a slot; judge it again with `admitted`.
  std::optional<Candidate> candidate = std::nullopt;
  Tally tally = {};
  std::vector<Finding> findings = {};
  // The verdict depends on the node's pods.
  bool pod_interest = false;
  // Time at which the verdict can change even if the cluster does not. Before that time, a verdict without planned
  // actions stays the same.
  std::optional<absl::Time> wake_at = std::nullopt;
};

}  // namespace internal

using internal::Candidate;
using internal::Verdict;

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_VERDICT_H_
