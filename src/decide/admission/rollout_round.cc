#include "decide/admission/rollout_round.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/backoff.h"
#include "decide/admission/limits_room.h"
#include "decide/admission/rollout_node.h"
#include "decide/rollout/assign_stages.h"
#include "decide/rollout/gangs.h"
#include "decide/rollout/order.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/node_marks.h"

namespace driverupgrade::internal {
namespace {

bool WantsAny(const DaemonSet& daemon_set, const std::vector<RolloutNode>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const RolloutNode& node) { return Wants(daemon_set, *node.node); });
}

// Returns the driver DaemonSets that the rollout covers.
std::vector<const DriverDaemonSet*> DaemonSetsOf(const DriverFacts& driver, bool shares_driver,
                                                 const std::vector<RolloutNode>& nodes) {
  std::vector<const DriverDaemonSet*> all;
  std::vector<const DriverDaemonSet*> wanting;
  for (const auto& [uid, daemon_set] : driver.daemon_sets) {
    all.push_back(&daemon_set);
    if (shares_driver && WantsAny(daemon_set.daemon_set, nodes)) wanting.push_back(&daemon_set);
  }
  return wanting.empty() ? all : wanting;
}

// Returns the target revisions; empty if the target revision of any DaemonSet is unknown.
std::set<std::string> RevisionsOf(const std::vector<const DriverDaemonSet*>& daemon_sets) {
  std::set<std::string> revisions;
  for (const DriverDaemonSet* daemon_set : daemon_sets) {
    if (!daemon_set->wanted_revision) return {};
    revisions.insert(*daemon_set->wanted_revision);
  }
  return revisions;
}

std::optional<std::string> RevisionOf(const std::set<std::string>& revisions) {
  if (revisions.empty()) return std::nullopt;
  if (revisions.size() == 1) return *revisions.begin();
  return fmt::format("{:016x}", Hash(fmt::format("{}", fmt::join(revisions, ",")), 0));
}

std::set<std::string> ApprovalsOf(const DriverFacts& driver, const DriverIdentity& identity) {
  std::set<std::string> approvals;
  for (const auto& [uid, daemon_set] : driver.daemon_sets)
    approvals.merge(ApprovalsOn(daemon_set.daemon_set, identity));
  return approvals;
}

// Returns the DaemonSet to name in approval commands, although an approval on any of the driver's DaemonSets counts.
const DaemonSet& FirstDaemonSet(const DriverFacts& driver) {
  const auto first =
      std::min_element(driver.daemon_sets.begin(), driver.daemon_sets.end(), [](const auto& a, const auto& b) {
        return std::tie(a.second.daemon_set.ns, a.second.daemon_set.name) <
               std::tie(b.second.daemon_set.ns, b.second.daemon_set.name);
      });
  return first->second.daemon_set;
}

std::string_view StageName(const RolloutPolicy& policy, std::size_t stage) {
  return stage < policy.stages.size() ? std::string_view(policy.stages[stage].name) : kLastStage;
}

std::vector<RolloutStageStatus> StagesOf(const RolloutPolicy& policy, const RolloutCensus& census,
                                         const std::vector<RolloutNode>& nodes) {
  const std::vector<StageCount>& counts = census.counts();
  const std::vector<LeftOutNodes> left_out = census.LeftOutByStage(nodes);
  std::vector<RolloutStageStatus> statuses;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    RolloutStageStatus& status = statuses.emplace_back();
    status.name = StageName(policy, i);
    status.nodes = counts[i].nodes;
    status.under_way = counts[i].under_way;
    status.done = counts[i].done - counts[i].out_of_use;
    status.failed = counts[i].failed;
    status.left_out = left_out[i].count;
    status.why_left_out = Describe(left_out[i], counts[i].nodes);
  }
  return statuses;
}

// Returns true if the units must be formed again; if not, `node` keeps the unit of `before`.
bool KeepUnit(const RolloutNode& before, RolloutNode& node) {
  if (before.may_start != node.may_start || before.progress != node.progress || before.pods != node.pods ||
      before.gangs != node.gangs || before.may_stop != node.may_stop ||
      before.is_granted_only != node.is_granted_only || before.reloading != node.reloading) {
    return true;
  }
  if (!AwaitsStart(node)) return before.unit != node.unit;
  node.unit = before.unit;
  node.turn = before.turn;
  return false;
}

}  // namespace

auto RolloutMembers::ShareFor(const KeptVerdict& verdict, const GrantShare& share) -> Share {
  const bool by_state = verdict.holds_slot;
  Share made{.asks = verdict.candidate.has_value(),
             .holds_slot = by_state || share.counts,
             .holds_slot_without = by_state || (share.counts && !share.first)};
  if (made.asks) made.candidate = *verdict.candidate;
  return made;
}

void RolloutMembers::Add(const NodeView& view, const KeptVerdict& verdict, const GrantShare& share,
                         const RolloutInput& input) {
  view_.nodes.push_back(MakeRolloutNode(view, verdict, share, input));
  shares_.push_back(ShareFor(verdict, share));
}

void RolloutMembers::Change(std::size_t i, const NodeView& view, const KeptVerdict& verdict, const GrantShare& share,
                            const RolloutInput& input) {
  RolloutNode node = MakeRolloutNode(view, verdict, share, input);
  const bool is_left_out = node.progress == NodeProgress::kLeftOut;
  RolloutNode& before = view_.nodes[i];
  stale_ |= is_left_out != (before.progress == NodeProgress::kLeftOut);
  stale_ |= before.rollout_labels != node.rollout_labels;
  if (GangsStartTogether(input.rules.policy)) units_stale_ |= KeepUnit(before, node);
  if (!stale_ && !units_stale_) census_.Change(i, before, node);
  before = std::move(node);
  shares_[i] = ShareFor(verdict, share);
}

void RolloutMembers::Settle(const RolloutPolicy& policy, std::optional<int> unavailable_max) {
  if (GangsStartTogether(policy)) units_stale_ |= unavailable_max != unavailable_max_;
  if (!stale_ && !units_stale_) return;
  std::vector<int> stages = stale_ ? AssignStages(view_.nodes, policy) : census_.stages();
  stale_ = units_stale_ = false;
  unavailable_max_ = unavailable_max;
  if (GangsStartTogether(policy)) {
    AssignUnits(
        view_.nodes, stages,
        {.too_big = policy.gangs->too_big, .unavailable_max = unavailable_max, .has_order = !policy.order.empty()});
  }
  stages_ = std::make_shared<const std::vector<int>>(stages);
  census_ = RolloutCensus(policy, view_.nodes, std::move(stages));
}

const ParsedRecord& RolloutMembers::ReadRecord(const std::optional<std::string>& text) {
  if (text != record_text_) {
    record_ = ParseRecord(text);
    record_text_ = text;
  }
  return record_;
}

// Runs one round over a set of members.
class RolloutRounds {
 public:
  RolloutRounds(const RolloutInput& input, RolloutMembers& members, const Sums& sums, std::size_t elsewhere)
      : input_(input),
        policy_(input.rules.policy),
        shares_(members.shares_),
        view_(members.view_),
        census_(members.census_),
        read_(members.ReadRecord(input.facts.record)) {
    budgets_ = sums.Against(input.limits, input.shared_slots, input.unavailable_nodes);
    members.Settle(policy_, RoomForUnits());
    budgets_ = CountGroups(std::move(budgets_), elsewhere);
    if (input.grants_max) budgets_.ledger = {.max = *input.grants_max, .kept = sums.kept};
    view_.revisions = RevisionsOf(DaemonSetsOf(input.driver, input.facts.shares_driver, view_.nodes));
    view_.revision = RevisionOf(view_.revisions);
    view_.approvals = ApprovalsOf(input.driver, input.machine.identity());
    view_.sick = input.facts.sick;
    view_.took = input.facts.took;
  }

  RolloutRound Run() {
    RolloutStep step = AdvanceRollout(read_.record, view_, census_, input_.rules, input_.now);
    const StartTime start = StartTimeAt(policy_, input_.now, NodeTakes(step.record, policy_));
    RolloutRound round{.budget = budgets_.all, .pod_interest = PodInterest(step)};
    Decide(start, budgets_, step, round);
    if (GangsStartTogether(policy_)) NoteUncordoned(round);
    Report(step, start, round);
    return round;
  }

 private:
  // If groups start together, counts a slot for each group instead of for each node.
  Budgets CountGroups(Budgets budgets, std::size_t elsewhere) const {
    if (!StartsTogether(policy_)) return budgets;
    const std::vector<std::size_t>& group_of = census_.group_of();
    std::vector<bool> all(group_of.size());
    std::vector<bool> without(group_of.size());
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      if (shares_[i].holds_slot) all[group_of[i]] = true;
      if (shares_[i].holds_slot_without) without[group_of[i]] = true;
    }
    budgets.all.parallel_used = static_cast<int>(std::count(all.begin(), all.end(), true) + elsewhere);
    budgets.granted.parallel_used = static_cast<int>(std::count(without.begin(), without.end(), true) + elsewhere);
    return budgets;
  }

  void NoteUncordoned(RolloutRound& round) const {
    round.uncordoned_units = UncordonedOf(view_.nodes);
    for (const RolloutDecision& decision : round.decisions) {
      const RolloutNode& node = view_.nodes[decision.index];
      if (decision.gate != nullptr || decision.reload_only || node.unit.empty()) continue;
      round.uncordoned_units.emplace(node.unit, node.node->name);
    }
    for (std::size_t i = 0; i < view_.nodes.size(); ++i) {
      if (view_.nodes[i].is_granted_only && !view_.nodes[i].pods) round.of_unknown_units.push_back(i);
    }
  }

  // Returns RolloutRound::pod_interest, sorted by node name.
  std::vector<std::size_t> PodInterest(const RolloutStep& step) const {
    const bool orders_by_pods = OrdersByPods(policy_);
    const bool has_gangs = GangsStartTogether(policy_);
    const bool is_last = step.open == static_cast<int>(policy_.stages.size());
    const bool awaits_pods = policy_.health && policy_.health->pod_selector && !is_last;
    std::vector<std::size_t> interest;
    if (!orders_by_pods && !awaits_pods) return interest;
    const std::vector<int>& stages = census_.stages();
    for (std::size_t i = 0; i < view_.nodes.size(); ++i) {
      const RolloutNode& node = view_.nodes[i];
      const bool waits = node.may_start || (has_gangs && node.progress == NodeProgress::kWaiting);
      const bool may_be_next = (waits && (stages[i] <= step.open || node.out_of_service)) ||
                               (has_gangs && (node.is_granted_only || node.reloads));
      const bool soaks = node.progress == NodeProgress::kDone && stages[i] == step.open;
      if ((orders_by_pods && may_be_next) || (awaits_pods && soaks)) interest.push_back(i);
    }
    return interest;
  }

  RoomOfGroups RoomOf(const UpgradeBudget& all) const {
    RoomOfGroups room{.unavailable_max = all.unavailable_max, .grants_max = input_.grants_max};
    if (!StartsTogether(policy_)) return room;
    for (const RolloutNode& node : view_.nodes) {
      if (node.lasts_from > input_.now) continue;
      ++room.unavailable_for_long;
      room.granted_for_long += node.progress == NodeProgress::kUnderWay;
    }
    return room;
  }
  static absl::Time NextGangWait(const std::deque<Gate>& gates) {
    absl::Time next = absl::InfiniteFuture();
    for (const Gate& gate : gates) {
      if (gate.reason == GateReason::kGangRuns) next = std::min(next, gate.not_before.value_or(next));
    }
    return next;
  }
  // Returns the time at which the next node counts as lost.
  absl::Time NextLoss() const {
    absl::Time next = absl::InfiniteFuture();
    if (!StartsTogether(policy_)) return next;
    for (const RolloutNode& node : view_.nodes) {
      if (node.lasts_from > input_.now) next = std::min(next, node.lasts_from);
    }
    return next;
  }

  void Decide(const StartTime& start, const Budgets& budgets, RolloutStep& step, RolloutRound& round) {
    LimitsRoom room(Limits::Of(budgets, input_.limits.paused), RoomOf(budgets.all),
                    [&](std::size_t i) -> const Candidate& { return shares_[i].candidate; });
    RolloutAnswers answers = AdmitNodes(input_.rules, view_, census_, step, start, input_.now, room);
    int place = 0;
    round.decisions.reserve(answers.nodes.size());
    for (const auto& [index, gate, reload_only] : answers.nodes) {
      round.decisions.push_back(
          {.index = index, .gate = gate, .place = gate == nullptr ? 0 : ++place, .reload_only = reload_only});
    }
    round.gates = std::move(answers.gates);
    step.record.gang_waits = std::move(answers.gang_waits);
    // Sets the next time at which a waiting node may be allowed to start.
    if (place == 0) return;
    round.wake_at = step.wake_at;
    if (const absl::Time next = std::min({start.until, NextLoss(), NextGangWait(round.gates)});
        next != absl::InfiniteFuture()) {
      round.wake_at = std::min(next, round.wake_at.value_or(absl::InfiniteFuture()));
    }
  }

  void Report(const RolloutStep& step, const StartTime& start, RolloutRound& round) const {
    RolloutStatus& status = round.status;
    status.revision = view_.revision.value_or("");
    if (read_.record.revision == status.revision) status.began = read_.record.began;
    status.stages = StagesOf(policy_, census_, view_.nodes);
    status.open = step.open;
    if (step.open < static_cast<int>(policy_.stages.size())) status.next = step.closed;
    status.halted = step.halted;
    if (step.returns) status.rollback = policy_.rollback;
    if (GangsStartTogether(policy_)) status.gangs = Gangs(status.revision);
    if (!start.open) status.closed = WindowGate(start, step.record, policy_);
    // While the revision is unknown, nothing is recorded, and measured durations are kept until the revision is known.
    const bool is_stored = step.record == read_.record && read_.error.empty() && input_.facts.record;
    if (view_.revision && !is_stored) {
      if (std::string text = FormatRecord(step.record); text != input_.facts.record) status.record = std::move(text);
    }
    if (step.halted) {
      round.findings.push_back(
          {.code = FindingCode::kRollout, .message = fmt::format("the rollout is halted: {}", step.halted->detail)});
    }
    if (AwaitsApproval(step)) {
      const std::string approval =
          fmt::format("{}@{}", StageName(policy_, static_cast<std::size_t>(step.open)), status.revision);
      round.findings.push_back({.code = FindingCode::kRollout,
                                .message = fmt::format("{}: {}", step.closed.detail,
                                                       ApprovalCommand(FirstDaemonSet(input_.driver),
                                                                       input_.machine.identity(), approval))});
    }
    for (std::string& missing : census_.matches().Missing(policy_)) {
      round.findings.push_back({.code = FindingCode::kSelectsNothing, .message = std::move(missing)});
    }
    if (!read_.error.empty()) {
      round.findings.push_back(
          {.code = FindingCode::kRollout, .message = fmt::format("the record of the rollout: {}", read_.error)});
    }
  }

  // Returns the number of nodes that upgrades can make unavailable at the same time, after subtracting nodes that are
  // unavailable indefinitely.
  std::optional<int> RoomForUnits() const {
    if (!GangsStartTogether(policy_) || !budgets_.all.unavailable_max) return std::nullopt;
    const auto lost = std::count_if(view_.nodes.begin(), view_.nodes.end(),
                                    [&](const RolloutNode& node) { return node.lasts_from <= input_.now; });
    return std::max(1, *budgets_.all.unavailable_max - static_cast<int>(lost));
  }

  RolloutGangs Gangs(const std::string& revision) const {
    RolloutGangs gangs = CountGangs(view_.nodes, AtOnce());
    if (const GangsInterrupted& so_far = input_.facts.gangs_interrupted; so_far.revision == revision) {
      for (const auto& [interruptions, number] : so_far.by_interruptions) {
        gangs.interrupted += number;
        gangs.caused += interruptions * number;
      }
      gangs.by_interruptions = so_far.by_interruptions;
    }
    return gangs;
  }

  // Returns the number of nodes that can be in progress at the same time, ignoring gangs.
  std::optional<int> AtOnce() const {
    std::optional<int> most = budgets_.all.parallel_max;
    if (const auto& unavailable = budgets_.all.unavailable_max) {
      most = std::min(most.value_or(*unavailable), *unavailable);
    }
    return most && *most > 0 ? most : std::nullopt;
  }

  // Returns true if the rollout needs an approval. An approval is needed only if a later stage has unfinished nodes.
  bool AwaitsApproval(const RolloutStep& step) const {
    if (step.halted || step.closed.reason != GateReason::kApproval) return false;
    const std::vector<StageCount>& counts = census_.counts();
    return std::any_of(counts.begin() + step.open + 1, counts.end(),
                       [](const StageCount& stage) { return stage.done + stage.failed < stage.nodes; });
  }

  const RolloutInput& input_;
  const RolloutPolicy& policy_;
  Budgets budgets_;
  const std::vector<RolloutMembers::Share>& shares_;
  RolloutView& view_;
  RolloutCensus& census_;
  const ParsedRecord& read_;
};

RolloutRound AdmitByRollout(const RolloutInput& input, RolloutMembers& members, const Sums& sums,
                            std::size_t elsewhere) {
  return RolloutRounds(input, members, sums, elsewhere).Run();
}

}  // namespace driverupgrade::internal
