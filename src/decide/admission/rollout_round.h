// Who starts by a policy with `rollout`: what StateMachine::Step and IncrementalPlanner do alike.
//
//     RolloutMembers members;
//     for (...) members.Add(*view, verdict, share, input);
//     RolloutRound round = AdmitByRollout(input, std::move(members), stages);
//
// Pure. A round costs O(N log N) of all nodes.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_ROUND_H_
#define DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_ROUND_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "decide/admission/grants.h"
#include "decide/admission/limits.h"
#include "decide/rollout/room.h"
#include "decide/rollout/stages.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

struct RolloutInput {
  const RolloutRules& rules;
  const RolloutFacts& facts;
  const DriverFacts& driver;
  const StateMachine& machine;
  const NodeRules& node_rules;
  const AdmissionLimits& limits;
  const std::optional<SharedSlots>& shared_slots;
  absl::Time now;
};

// The nodes as a rollout sees them, in order of their names. The views and verdicts outlive this.
class RolloutMembers {
 public:
  void Add(const NodeView& view, const Verdict& verdict, const GrantShare& share, const RolloutInput& input);
  const std::vector<RolloutNode>& nodes() const { return nodes_; }

 private:
  friend class RolloutRounds;
  struct Share {
    // nullptr: it does not wait for a slot.
    const Candidate* candidate = nullptr;
    // By its state, or by a grant.
    bool holds_slot = false;
    // And by more than the grant that it is admitted by.
    bool holds_slot_without = false;
  };
  std::vector<RolloutNode> nodes_;
  std::vector<Share> shares_;
};

struct RolloutDecision {
  // In the order of RolloutMembers.
  std::size_t index = 0;
  // nullopt: it starts.
  std::optional<Gate> gate = std::nullopt;
  // In the queue, from 1; 0 for who starts.
  int place = 0;
};

struct RolloutRound {
  // In the order of admission.
  std::vector<RolloutDecision> decisions = {};
  RolloutStatus status = {};
  UpgradeBudget budget = {};
  std::vector<Finding> findings = {};
  // The nodes whose pods the next round has to know, by their indexes: those that wait in an order that goes by pods,
  // and the upgraded ones of a stage that is not done before chosen pods are ready.
  std::vector<std::size_t> pod_interest = {};
  std::optional<absl::Time> wake_at = std::nullopt;
};

// `stages`: AssignStages of the members. `sums`: over all nodes, grants of nodes elsewhere and unscheduled pods
// included; `elsewhere` are the former.
RolloutRound AdmitByRollout(const RolloutInput& input, RolloutMembers members, const std::vector<int>& stages,
                            const Sums& sums, std::size_t elsewhere);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_ROUND_H_
