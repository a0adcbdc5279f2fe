#include "decide/rollout/room.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "decide/rollout/groups.h"
#include "decide/rollout/order.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

bool StartsTogether(const RolloutPolicy& policy) {
  return policy.groups && policy.groups->mode == GroupMode::kTogether;
}

// What is asked as one: a node, or all nodes of a group that wait.
struct Unit {
  std::string key = {};
  std::string group = {};
  int stage = 0;
  std::vector<std::size_t> nodes = {};
  bool admitted_before = false;
  bool own_node = false;
  bool out_of_service = true;
};

bool GoesBefore(const Unit& a, const Unit& b) {
  return std::tuple(!a.admitted_before, a.own_node, std::string_view(a.key)) <
         std::tuple(!b.admitted_before, b.own_node, std::string_view(b.key));
}

std::vector<Unit> UnitsInOrder(const RolloutRules& rules, const RolloutView& view, const std::vector<int>& stages) {
  const RolloutPolicy& policy = rules.policy;
  const bool together = StartsTogether(policy);
  std::vector<Unit> units;
  std::map<std::string, std::size_t> by_group;
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const RolloutNode& node = view.nodes[i];
    if (!node.may_start) continue;
    std::string key = SortKey(node, policy.order);
    std::string group = policy.groups ? GroupOf(*node.node, *policy.groups) : "";
    const std::size_t at = together ? by_group.try_emplace(group, units.size()).first->second : units.size();
    if (at == units.size()) units.emplace_back();
    Unit& unit = units[at];
    if (unit.nodes.empty() || key < unit.key) unit.key = std::move(key);
    unit.group = std::move(group);
    unit.stage = stages[i];
    unit.nodes.push_back(i);
    unit.admitted_before |= node.progress == NodeProgress::kUnderWay;
    unit.own_node |= node.own_node;
    unit.out_of_service &= node.out_of_service;
  }
  std::sort(units.begin(), units.end(), GoesBefore);
  return units;
}

// While nodes are started.
class Admission {
 public:
  Admission(const RolloutRules& rules, const RolloutView& view, const std::vector<int>& stages, const RolloutStep& step,
            const StartTime& start, RolloutRoom& room)
      : policy_(rules.policy), step_(step), start_(start), room_(room), used_(SlotsUsed(rules, view, stages)) {
    is_any_under_way_ = std::any_of(view.nodes.begin(), view.nodes.end(),
                                    [](const RolloutNode& node) { return node.progress == NodeProgress::kUnderWay; });
    if (!policy_.groups) return;
    groups_.emplace(*policy_.groups,
                    TallyGroups(view.nodes, *policy_.groups, [&](std::size_t i) { return stages[i] <= step.open; }));
  }

  std::optional<Gate> Refusal(const Unit& unit) {
    if (auto closed = room_.Closed()) return closed;
    if (step_.halted) return step_.halted;
    if (!start_.open) return WindowGate(start_);
    if (unit.stage > step_.open && !unit.out_of_service) return step_.closed;
    // It has its place in its stage and its group.
    if (unit.admitted_before) return room_.Refusal(unit.nodes, TakesSlot(unit));
    if (groups_) {
      if (auto why = groups_->Refusal(unit.group)) return Gate{.reason = GateReason::kGroup, .detail = *why};
    }
    return NoRoom(unit);
  }

  void Take(const Unit& unit) {
    const bool takes_slot = TakesSlot(unit);
    room_.Take(unit.nodes, takes_slot);
    is_any_under_way_ = true;
    if (unit.admitted_before) return;
    used_[static_cast<std::size_t>(unit.stage)] += takes_slot;
    if (groups_) groups_->Take(unit.group, static_cast<int>(unit.nodes.size()));
  }

 private:
  bool TakesSlot(const Unit& unit) const { return !StartsTogether(policy_) || !groups_->IsUnderWay(unit.group); }

  std::optional<Gate> NoRoom(const Unit& unit) {
    if (auto never = room_.NeverFits(unit.nodes)) return never;
    if (is_kept_free_) {
      return Gate{.reason = GateReason::kGroup, .detail = "nodes before it start together and wait for room"};
    }
    const bool takes_slot = TakesSlot(unit);
    const auto stage = static_cast<std::size_t>(unit.stage);
    if (stage < policy_.stages.size() && policy_.stages[stage].max_parallel &&
        used_[stage] + takes_slot > *policy_.stages[stage].max_parallel) {
      return Gate{.reason = GateReason::kMaxParallel,
                  .detail = fmt::format("maxParallel of stage {}: {} of {} slots are taken", policy_.stages[stage].name,
                                        used_[stage], *policy_.stages[stage].max_parallel)};
    }
    std::optional<Gate> refusal = room_.Refusal(unit.nodes, takes_slot);
    const bool lacks_headroom = refusal && refusal->reason == GateReason::kMaxUnavailable;
    is_kept_free_ = lacks_headroom && unit.nodes.size() > 1 && is_any_under_way_;
    return refusal;
  }

  const RolloutPolicy& policy_;
  const RolloutStep& step_;
  const StartTime& start_;
  RolloutRoom& room_;
  std::vector<int> used_;
  std::optional<GroupLimit> groups_;
  bool is_any_under_way_ = false;
  bool is_kept_free_ = false;
};

}  // namespace

Gate WindowGate(const StartTime& start) {
  const bool has_next = start.until != absl::InfiniteFuture();
  return {.reason = GateReason::kWindow,
          .detail = start.too_late ? "the node would not be done before the window closes" : "no window is open",
          .not_before = has_next ? std::optional(start.until) : std::nullopt};
}

std::vector<int> SlotsUsed(const RolloutRules& rules, const RolloutView& view, const std::vector<int>& stages) {
  const RolloutPolicy& policy = rules.policy;
  std::vector<int> used(policy.stages.size() + 1);
  std::set<std::string> groups;
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    if (view.nodes[i].progress != NodeProgress::kUnderWay) continue;
    if (StartsTogether(policy) && !groups.insert(GroupOf(*view.nodes[i].node, *policy.groups)).second) continue;
    ++used[static_cast<std::size_t>(stages[i])];
  }
  return used;
}

std::vector<RolloutVerdict> AdmitNodes(const RolloutRules& rules, const RolloutView& view,
                                       const std::vector<int>& stages, const RolloutStep& step, const StartTime& start,
                                       RolloutRoom& room) {
  Admission admission(rules, view, stages, step, start, room);
  std::vector<RolloutVerdict> verdicts;
  for (const Unit& unit : UnitsInOrder(rules, view, stages)) {
    const std::optional<Gate> gate = admission.Refusal(unit);
    if (!gate) admission.Take(unit);
    for (const std::size_t i : unit.nodes) {
      verdicts.push_back({.node = view.nodes[i].node->name, .index = i, .gate = gate});
    }
  }
  return verdicts;
}

}  // namespace driverupgrade::internal
