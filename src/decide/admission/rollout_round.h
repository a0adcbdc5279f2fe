// Who starts by a policy with `rollout`: what StateMachine::Step and IncrementalPlanner do alike.
//
//     RolloutMembers members;
//     for (...) members.Add(*view, verdict, share, input);
//     RolloutRound round = AdmitByRollout(input, members, sums, elsewhere);
//     members.Change(i, *view, verdict, share, input);     // and the next round
//
// Pure. The first round costs O(N log N) of all nodes. A later one costs O(C log N) for what has changed and a few
// nanoseconds for each node that waits; O(N) if an order goes by pods or a stage awaits chosen ones, and the first again if
// the stages are assigned anew.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_ROUND_H_
#define DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_ROUND_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "decide/admission/grants.h"
#include "decide/admission/limits.h"
#include "decide/rollout/census.h"
#include "decide/rollout/room.h"
#include "decide/rollout/stages.h"
#include "decide/step_parts.h"
#include "decide/verdict.h"
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
  // UpgradeBudget::unavailable_nodes.
  std::vector<std::string> unavailable_nodes = {};
  // See Budgets::LedgerRoom::max.
  std::optional<std::size_t> grants_max = std::nullopt;
};

// The nodes as a rollout sees them, in order of their names. The views outlive this, or are changed first.
class RolloutMembers {
 public:
  // One more, before the first round.
  void Add(const NodeView& view, const KeptVerdict& verdict, const GrantShare& share, const RolloutInput& input);
  // Its view or its verdict may be another; the stages stay as they are, unless it is left out now or was.
  void Change(std::size_t i, const NodeView& view, const KeptVerdict& verdict, const GrantShare& share,
              const RolloutInput& input);
  // Labels have changed by which the next round has to assign stages and groups.
  void LabelsChanged() { stale_ = true; }
  // The stages of the nodes, as of the last round.
  const std::shared_ptr<const std::vector<int>>& stages() const { return stages_; }
  // Returns the unit of the node (RolloutNode::unit), as of the last round.
  const std::string& UnitOf(std::size_t i) const { return view_.nodes[i].unit; }
  // Returns the group of the node (GroupOf).
  std::string GroupOf(std::size_t i, const NodeGroups& groups) const {
    return internal::GroupOf(view_.nodes[i], groups);
  }

 private:
  friend class RolloutRounds;
  struct Share {
    // What it is without `asks` means nothing.
    Candidate candidate = {};
    // It waits for a slot.
    bool asks = false;
    // By its state, or by a grant.
    bool holds_slot = false;
    // And by more than the grant that it is admitted by.
    bool holds_slot_without = false;
  };
  static Share ShareFor(const KeptVerdict& verdict, const GrantShare& share);
  // Assigns the stages, and the units of gangs, if need be.
  void Settle(const RolloutPolicy& policy, std::optional<int> unavailable_max);

  RolloutView view_;
  std::vector<Share> shares_;
  bool stale_ = true;
  bool units_stale_ = true;
  std::optional<int> unavailable_max_ = std::nullopt;  // when the units were formed
  RolloutCensus census_;
  std::shared_ptr<const std::vector<int>> stages_ = nullptr;
};

struct RolloutDecision {
  // In the order of RolloutMembers.
  std::size_t index = 0;
  // In RolloutRound::gates, or RolloutAnswer::kStarts.
  int gate = RolloutAnswer::kStarts;
  // In the queue, from 1; 0 for who starts.
  int place = 0;
};

struct RolloutRound {
  // In the order of admission.
  std::vector<RolloutDecision> decisions = {};
  std::vector<Gate> gates = {};
  RolloutStatus status = {};
  UpgradeBudget budget = {};
  std::vector<Finding> findings = {};
  // The nodes whose pods the next round has to know, by their indexes: those that wait in an order that goes by pods,
  // and the upgraded ones of a stage that is not done before chosen pods are ready.
  std::vector<std::size_t> pod_interest = {};
  // A node of each unit that is not cordoned yet, although others may be: no pod of the unit is evicted before all are.
  std::map<std::string, std::string> uncordoned_units = {};
  // Nodes that have started, as far as the ledger knows, and whose pods are not known, so that their unit is not either.
  std::vector<std::size_t> of_unknown_units = {};
  std::optional<absl::Time> wake_at = std::nullopt;
};

// `sums`: over all nodes, grants of nodes elsewhere included; `elsewhere` are these.
RolloutRound AdmitByRollout(const RolloutInput& input, RolloutMembers& members, const Sums& sums,
                            std::size_t elsewhere);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_ROUND_H_
