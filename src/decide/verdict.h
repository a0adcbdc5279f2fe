// What StateMachine::Judge finds about one node.
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

// What a node that waits asks of the limits. Whoever keeps one knows of which node.
struct Candidate {
  // A slot of maxParallel. An administrator's cordoned node asks none while such nodes proceed.
  bool needs_slot = true;
  // That fewer nodes than maxUnavailable are unavailable. A node that is cordoned already does not ask.
  bool needs_headroom = true;
  // It will be one more unavailable node. A node that is not ready is counted already.
  bool takes_headroom = true;
  // The operator runs on it: last of all.
  bool own_node = false;
  // It has a grant for the version that was read: it goes first, and what it takes is counted already. Judge knows of
  // no grants; the planners fill this in.
  bool has_grant = false;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

// What one node asks for, judged by itself.
struct Verdict {
  // Empty (no patch, no pods) if there is nothing to do.
  NodePlan plan = {};
  // Why the node goes no further than plan.to(); nullopt for a node that is done.
  std::optional<Gate> gate = std::nullopt;
  // Set if the node would start with a slot; judge it again with `admitted`.
  std::optional<Candidate> candidate = std::nullopt;
  Tally tally = {};
  std::vector<Finding> findings = {};
  // The verdict depends on the node's pods.
  bool pod_interest = false;
  // When the verdict may change although the cluster does not. With nothing planned it is the same at any time before.
  std::optional<absl::Time> wake_at = std::nullopt;
};

}  // namespace internal

using internal::Candidate;
using internal::Verdict;

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_VERDICT_H_
