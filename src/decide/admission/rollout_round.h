// Decides which nodes start under a policy with a `rollout`. StateMachine::Step and IncrementalPlanner share this code.
//
//     RolloutMembers members;
//     for (...) members.Add(*view, verdict, share, input);
//     RolloutRound round = AdmitByRollout(input, members, sums, elsewhere);
//     members.Change(i, *view, verdict, share, input);     // and the next round
//
// Pure. The first round costs O(N log N) for all N nodes. Each later round costs O(C log N) for the C changed nodes,
// plus a few nanoseconds for each waiting node. The cost rises to O(N) if an order uses pods or a stage waits for
// selected pods, and to O(N log N) if the stages are assigned again.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_ROUND_H_
#define DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_ROUND_H_

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "decide/admission/grants.h"
#include "decide/admission/limits.h"
#include "decide/rollout/census.h"
#include "decide/rollout/record.h"
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
  // See UpgradeBudget::unavailable_nodes.
  std::vector<std::string> unavailable_nodes = {};
  // See Budgets::LedgerRoom::max.
  std::optional<std::size_t> grants_max = std::nullopt;
};

// The nodes of a rollout, sorted by name. Each view must outlive this object, unless Change replaces the view first.
class RolloutMembers {
 public:
  // Adds a node before the first round.
  void Add(const NodeView& view, const KeptVerdict& verdict, const GrantShare& share, const RolloutInput& input);
  // Must be called if the view or the verdict of a node may have changed. The stages are assigned again only if the
  // node has just been left out of the rollout, or is no longer left out.
  void Change(std::size_t i, const NodeView& view, const KeptVerdict& verdict, const GrantShare& share,
              const RolloutInput& input);
  // Makes the next round assign stages and groups again. Must be called if labels have changed.
  void LabelsChanged() { stale_ = true; }
  // Returns the stages of the nodes as of the last round.
  const std::shared_ptr<const std::vector<int>>& stages() const { return stages_; }
  // Returns the unit of the node (RolloutNode::unit) as of the last round.
  const std::string& UnitOf(std::size_t i) const { return view_.nodes[i].unit; }
  // Returns the group of the node (GroupOf).
  std::string GroupOf(std::size_t i, const NodeGroups& groups) const {
    return internal::GroupOf(view_.nodes[i], groups);
  }

 private:
  friend class RolloutRounds;
  struct Share {
    // Requirements of the node. Meaningful only if `asks` is set.
    Candidate candidate = {};
    // True if the node waits for a slot.
    bool asks = false;
    // True if the node holds a slot because of its state or because of a grant.
    bool holds_slot = false;
    // Same as `holds_slot`, but ignores the grant if the node is admitted first because of it (GrantShare::first).
    bool holds_slot_without = false;
  };
  static Share ShareFor(const KeptVerdict& verdict, const GrantShare& share);
  // Assigns stages, and units of gangs, if necessary.
  void Settle(const RolloutPolicy& policy, std::optional<int> unavailable_max);
  // Same as ParseRecord, but parses the text only if it has changed since the last call.
  const ParsedRecord& ReadRecord(const std::optional<std::string>& text);

  RolloutView view_;
  std::vector<Share> shares_;
  bool stale_ = true;
  bool units_stale_ = true;
  std::optional<int> unavailable_max_ = std::nullopt;  // value with which the units were last formed
  RolloutCensus census_;
  std::shared_ptr<const std::vector<int>> stages_ = nullptr;
  std::optional<std::string> record_text_ = std::nullopt;
  ParsedRecord record_ = {};  // parsed from `record_text_`
};

struct RolloutDecision {
  // Index in RolloutMembers.
  std::size_t index = 0;
  // One of RolloutRound::gates; null if the node starts.
  const Gate* gate = nullptr;
  // Place in the queue, starting at 1; 0 if the node starts.
  int place = 0;
  // RolloutAnswer::reload_only.
  bool reload_only = false;
};

struct RolloutRound {
  // Decisions on the waiting nodes, in admission order.
  std::vector<RolloutDecision> decisions = {};
  std::deque<Gate> gates = {};
  RolloutStatus status = {};
  UpgradeBudget budget = {};
  std::vector<Finding> findings = {};
  // Indexes of the nodes whose pods must be known in the next round: the waiting nodes if the order uses pods, and the
  // upgraded nodes if a stage is done only when selected pods are ready.
  std::vector<std::size_t> pod_interest = {};
  // For each unit, one node that is not cordoned yet and therefore delays all evictions from nodes of the unit.
  std::map<std::string, std::string> uncordoned_units = {};
  // Indexes of the nodes with RolloutNode::is_granted_only whose units are unknown, because their pods have not been
  // read.
  std::vector<std::size_t> of_unknown_units = {};
  std::optional<absl::Time> wake_at = std::nullopt;
};

// Runs a round. `sums`: sums over all nodes, including the grants of nodes that are not members. `elsewhere`: number of
// such grants.
RolloutRound AdmitByRollout(const RolloutInput& input, RolloutMembers& members, const Sums& sums,
                            std::size_t elsewhere);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_ROUND_H_
