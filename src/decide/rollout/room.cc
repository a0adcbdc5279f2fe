#include "decide/rollout/room.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "decide/rollout/groups.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "policy/window_codec.h"

namespace driverupgrade::internal {
namespace {

// Decides which nodes start. A null gate means that the node starts.
class Admission {
 public:
  Admission(const RolloutRules& rules, const RolloutView& view, RolloutCensus& census, const RolloutStep& step,
            const StartTime& start, absl::Time now, RolloutRoom& room, RolloutAnswers& answers)
      : policy_(rules.policy),
        view_(view),
        step_(step),
        now_(now),
        room_(room),
        gates_(answers.gates),
        gang_waits_(answers.gang_waits),
        used_(census.SlotsUsed()) {
    nobody_ = Say(Closed(view));
    if (nobody_ == nullptr) nobody_ = Say(Nobody(start));
    if (nobody_ == nullptr) later_ = Say(step.closed);
    for (const StageCount& stage : census.counts()) is_any_under_way_ |= stage.under_way + stage.reloading > 0;
    by_stage_.resize(used_.size());
    const std::optional<NodeGroups> by = GroupsOf(policy_);
    if (!by) return;
    const GroupTallies& groups = census.Groups(view.nodes, step.open);
    groups_.emplace(*by, groups, census.FailedByGroup(view.nodes), census.LeftOutByGroup(view.nodes), step.last_group);
    by_group_.resize(groups.tallies.size());
  }

  const Gate* Refusal(const WaitingUnit& unit) {
    if (nobody_ != nullptr) return nobody_;
    if (unit.stage > step_.open && !(unit.out_of_service && !AnyReloads(unit))) return later_;
    // The unit is already counted in its stage and its group.
    if (unit.admitted_before) return NoRoom(unit);
    if (const Gate* gate = NotByGroup(unit)) return gate;
    if (const Gate* gate = Say(room_.NeverFits(unit.nodes))) return gate;
    if (is_kept_free_ && !unit.is_rest) return kept_free_;
    if (const Gate* gate = NotByStage(unit)) return gate;
    const Gate* gate = NoRoom(unit);
    if (gate == nullptr) return GangRuns(unit);
    if (unit.nodes.size() == 1 || !is_any_under_way_) return gate;
    if (gate->reason != GateReason::kMaxUnavailable && gate->reason != GateReason::kLedger) return gate;
    if (is_kept_free_ || !room_.FitsLater(unit.nodes)) return gate;
    is_kept_free_ = true;
    kept_free_ = Say(
        Gate{.reason = GateReason::kGroup, .detail = "earlier nodes in the queue start together and wait for room"});
    return gate;
  }

  // Starts a node of a refused unit if it can load the driver that it has.
  bool StartReload(std::size_t i) {
    if (!view_.nodes[i].reloads || !view_.revision || !room_.MayReload(i)) return false;
    room_.Take({i}, /*takes_slot=*/true);
    ++takes_;
    is_any_under_way_ = true;
    return true;
  }

  // Keeps the recorded waits of gangs whose nodes still wait. Keeps all waits while the pods of any waiting node are
  // unknown, because the gang of that node is then unknown, too. A clock that was set back does not extend a wait.
  void KeepWaits(const RolloutCensus& census, const std::vector<std::size_t>& waiting) {
    if (step_.record.gang_waits.empty()) return;
    const bool all = std::any_of(view_.nodes.begin(), view_.nodes.end(),
                                 [](const RolloutNode& node) { return AwaitsStart(node) && !node.pods; });
    std::set<std::string> keys;
    for (const std::size_t number : waiting) keys.insert(WaitKey(census.unit(number)));
    for (const auto& [key, began] : step_.record.gang_waits) {
      if (all || keys.contains(key)) gang_waits_.emplace(key, std::min(began, now_));
    }
  }

  // Returns true if nodes may start in general, but there is no node in progress that would free room.
  bool IsIdle() const { return nobody_ == nullptr && !is_any_under_way_; }

  // Same as Refusal, but ignores earlier stages and groups.
  const Gate* RefusalAlone(const WaitingUnit& unit) {
    const Gate* gate = NotByStage(unit);
    return gate == nullptr ? NoRoom(unit) : gate;
  }

  void Take(const WaitingUnit& unit) {
    room_.Take(unit.nodes, TakesSlot(unit));
    ++takes_;
    is_any_under_way_ = true;
    if (unit.admitted_before) return;
    used_[static_cast<std::size_t>(unit.stage)] += TakesSlotOfStage(unit);
    if (groups_) groups_->Take(unit.group, static_cast<int>(unit.nodes.size()));
  }

 private:
  bool AnyReloads(const WaitingUnit& unit) const {
    return std::any_of(unit.nodes.begin(), unit.nodes.end(), [&](std::size_t i) { return view_.nodes[i].reloads; });
  }

  // Returns the unit's gang, without the unit's number; empty if the unit has no gang.
  std::string WaitKey(const WaitingUnit& unit) const {
    const RolloutNode& first = view_.nodes[unit.nodes.front()];
    if (!first.unit.empty()) return GangOfUnit(first.unit);
    return first.gangs.empty() ? "" : first.gangs.front();
  }

  // A result, and the number of units that had started when it was computed.
  struct Answer {
    int takes = -1;
    const Gate* gate = nullptr;
  };
  // Returns the result in `answer`. First computes it again with `ask` if a unit has started since it was computed. All
  // units of a kind share the result.
  template <typename Ask>
  const Gate* Remembered(Answer& answer, const Ask& ask) {
    if (answer.takes != takes_) answer = {.takes = takes_, .gate = Say(ask())};
    return answer.gate;
  }

  const Gate* Say(std::optional<Gate> gate) { return gate ? &gates_.emplace_back(*std::move(gate)) : nullptr; }

  std::optional<Gate> Closed(const RolloutView& view) const {
    // If the revision is unknown, no record allows a start.
    return view.revision ? room_.Closed() : step_.closed;
  }

  // Returns why no node may be upgraded.
  std::optional<Gate> Nobody(const StartTime& start) const {
    if (step_.halted) return step_.halted;
    if (!start.open) return WindowGate(start, step_.record, policy_);
    return std::nullopt;
  }

  bool TakesSlot(const WaitingUnit& unit) const { return !StartsTogether(policy_) || !groups_->HoldsSlot(unit.group); }
  bool TakesSlotOfStage(const WaitingUnit& unit) const {
    return !StartsTogether(policy_) || !groups_->IsUnderWay(unit.group);
  }

  const Gate* NotByGroup(const WaitingUnit& unit) {
    if (!groups_) return nullptr;
    return Remembered(by_group_[unit.group], [&]() -> std::optional<Gate> {
      auto why = groups_->Refusal(unit.group);
      if (!why) return std::nullopt;
      return Gate{.reason = GateReason::kGroup, .detail = *std::move(why)};
    });
  }

  // The wait of a gang starts when no other gate keeps its nodes from starting, and continues even if another gate
  // closes later.
  const Gate* GangRuns(const WaitingUnit& unit) {
    if (!GangsStartTogether(policy_)) return nullptr;
    std::vector<const RolloutNode*> nodes;
    for (const std::size_t i : unit.nodes) nodes.push_back(&view_.nodes[i]);
    const std::string key = WaitKey(unit);
    const auto before = gang_waits_.find(key);
    const absl::Time began =
        before == gang_waits_.end() ? absl::FromUnixSeconds(absl::ToUnixSeconds(now_)) : before->second;
    const std::optional<absl::Time> end = GangWaitEnds(*policy_.gangs, nodes, began);
    if (!end) return nullptr;
    // Keeps the entry until the unit has started, because the start may still be withheld.
    gang_waits_.emplace(key, began);
    if (*end <= now_) return nullptr;
    Gate gate{.reason = GateReason::kGangRuns,
              .detail = fmt::format("{} may finish first", fmt::join(nodes.front()->gangs, " and "))};
    if (*end != absl::InfiniteFuture()) gate.not_before = *end;
    return Say(std::move(gate));
  }

  std::optional<int> LimitOfStage(const WaitingUnit& unit) const {
    const auto stage = static_cast<std::size_t>(unit.stage);
    return stage == policy_.stages.size() ? std::nullopt : policy_.stages[stage].max_parallel;
  }

  const Gate* NotByStage(const WaitingUnit& unit) {
    const auto stage = static_cast<std::size_t>(unit.stage);
    const std::optional<int> limit = LimitOfStage(unit);
    if (!limit || used_[stage] + TakesSlotOfStage(unit) <= *limit) return nullptr;
    return Remembered(by_stage_[stage], [&] {
      return std::optional(Gate{.reason = GateReason::kMaxParallel,
                                .detail = fmt::format("maxParallel of stage {}: {} of {} slots are taken",
                                                      policy_.stages[stage].name, used_[stage], *limit),
                                .subject = GateSubject(GateSubjectKind::kStage, "", policy_.stages[stage].name),
                                .count = GateCount{.used = used_[stage], .limit = *limit}});
    });
  }

  const Gate* NoRoom(const WaitingUnit& unit) {
    const bool takes_slot = TakesSlot(unit);
    const auto ask = [&] { return room_.Refusal(unit.nodes, takes_slot); };
    const auto kind = unit.nodes.size() == 1 && takes_slot ? room_.KindOf(unit.nodes.front()) : std::nullopt;
    return kind ? Remembered(by_kind_[*kind], ask) : Say(ask());
  }

  const RolloutPolicy& policy_;
  const RolloutView& view_;
  const RolloutStep& step_;
  const absl::Time now_;
  RolloutRoom& room_;
  std::deque<Gate>& gates_;
  GangWaits& gang_waits_;
  std::vector<int> used_;
  std::optional<GroupLimit> groups_;
  bool is_any_under_way_ = false;
  bool is_kept_free_ = false;
  int takes_ = 0;
  const Gate* nobody_ = nullptr;
  const Gate* later_ = nullptr;
  const Gate* kept_free_ = nullptr;
  std::vector<Answer> by_stage_;
  std::vector<Answer> by_group_;
  std::array<Answer, RolloutRoom::kKinds> by_kind_;
};

// Starts one node that an earlier upgrade left cordoned. Such a node counts against maxUnavailable while it waits. If no
// node is in progress, the nodes for which it waits may therefore be waiting for its share of maxUnavailable. A node that
// can load the driver that it has frees its share without an upgrade, unless this has failed.
void StartOneOutOfService(const RolloutView& view, const RolloutCensus& census, Admission& admission,
                          RolloutAnswers& answers) {
  const bool lacks_headroom = std::any_of(answers.nodes.begin(), answers.nodes.end(), [](const RolloutAnswer& answer) {
    return answer.gate != nullptr && answer.gate->reason == GateReason::kMaxUnavailable;
  });
  for (RolloutAnswer& answer : answers.nodes) {
    if (answer.gate == nullptr || answer.gate->reason == GateReason::kGangRuns) continue;
    const RolloutNode& node = view.nodes[answer.index];
    if (!node.out_of_service || (node.reloads && !(node.reload_failed && lacks_headroom))) continue;
    WaitingUnit alone = census.unit(census.UnitOf(answer.index));
    alone.nodes = {answer.index};
    if (admission.RefusalAlone(alone) != nullptr) continue;
    admission.Take(alone);
    answer.gate = nullptr;
    return;
  }
}

std::string WhyNoWindow(const StartTime& start, const RolloutRecord& record, const RolloutPolicy& policy) {
  if (start.longest == absl::ZeroDuration()) return "no window opens in more than a year";
  const absl::Duration takes = NodeTakes(record, policy);
  return fmt::format("no window is long enough: a node takes {} ({}), the longest window is {}",
                     absl::FormatDuration(takes), record.durations.Quantile(95) ? "measured" : "expected",
                     absl::FormatDuration(start.longest));
}

}  // namespace

Gate WindowGate(const StartTime& start, const RolloutRecord& record, const RolloutPolicy& policy) {
  if (start.until == absl::InfiniteFuture()) {
    return {.reason = GateReason::kNoWindow, .detail = WhyNoWindow(start, record, policy)};
  }
  std::string why = start.too_late ? "the node would not be done before the window closes" : "no window is open";
  if (start.closed)
    why = fmt::format("{}: {}", start.closed->first == start.closed->last ? "a closed day" : "closed days",
                      FormatClosedDays(*start.closed));
  return {.reason = GateReason::kWindow, .detail = std::move(why), .not_before = start.until};
}

RolloutAnswers AdmitNodes(const RolloutRules& rules, const RolloutView& view, RolloutCensus& census,
                          const RolloutStep& step, const StartTime& start, absl::Time now, RolloutRoom& room) {
  RolloutAnswers answers;
  const std::vector<std::size_t>& waiting = census.Waiting(view.nodes);
  answers.nodes.reserve(waiting.size());
  Admission admission(rules, view, census, step, start, now, room, answers);
  admission.KeepWaits(census, waiting);
  for (const std::size_t number : waiting) {
    const WaitingUnit& unit = census.unit(number);
    const Gate* gate = admission.Refusal(unit);
    if (gate == nullptr) admission.Take(unit);
    for (const std::size_t i : unit.nodes) {
      const bool reload_only = gate != nullptr && !view.nodes[i].reload_failed && admission.StartReload(i);
      answers.nodes.push_back({.index = i, .gate = reload_only ? nullptr : gate, .reload_only = reload_only});
    }
  }
  if (admission.IsIdle()) StartOneOutOfService(view, census, admission, answers);
  for (RolloutAnswer& answer : answers.nodes) {
    if (answer.gate == nullptr || !view.nodes[answer.index].reload_failed) continue;
    answer.reload_only = admission.StartReload(answer.index);
    if (answer.reload_only) answer.gate = nullptr;
  }
  return answers;
}

}  // namespace driverupgrade::internal
