// A fleet of nodes for rollout tests, with the rollout's view of these nodes.
//
//     Fleet fleet(5);                                  // n0 to n4, all waiting
//     fleet.node("n1").progress = NodeProgress::kDone;
//     RolloutStep step = fleet.Advance(record, rules, now);
#ifndef DRIVERUPGRADE_TESTS_UNIT_ROLLOUT_FLEET_H_
#define DRIVERUPGRADE_TESTS_UNIT_ROLLOUT_FLEET_H_

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "decide/rollout/assign_stages.h"
#include "decide/rollout/stages.h"
#include "decide/rollout/view.h"
#include "support/rollout_by_stages.h"

namespace driverupgrade::internal {

// Remaining capacity under the limits of a policy. INT_MAX: no limit.
struct Numbers {
  int slots = std::numeric_limits<int>::max();
  int headroom = std::numeric_limits<int>::max();
  // Headroom if no node were unavailable.
  int headroom_max = std::numeric_limits<int>::max();
  // Headroom once the nodes in progress have finished.
  int headroom_later = std::numeric_limits<int>::max();
};
class NumbersRoom final : public RolloutRoom {
 public:
  explicit NumbersRoom(const Numbers& left) : left_(left) {}
  std::optional<Gate> Closed() const override { return std::nullopt; }
  std::optional<Gate> NeverFits(const std::vector<std::size_t>& nodes) const override {
    if (static_cast<int>(nodes.size()) <= left_.headroom_max) return std::nullopt;
    return Gate{.reason = GateReason::kMaxUnavailable, .detail = "too many start together"};
  }
  bool FitsLater(const std::vector<std::size_t>& nodes) const override {
    return static_cast<int>(nodes.size()) <= left_.headroom_later;
  }
  std::optional<Gate> Refusal(const std::vector<std::size_t>& nodes, bool takes_slot) const override {
    if (takes_slot && left_.slots < 1) return Gate{.reason = GateReason::kMaxParallel, .detail = "no slot is free"};
    if (static_cast<int>(nodes.size()) <= left_.headroom) return std::nullopt;
    return Gate{.reason = GateReason::kMaxUnavailable, .detail = "too many are unavailable"};
  }
  bool MayReload(std::size_t node) const override { return !Refusal({node}, /*takes_slot=*/true); }
  void Take(const std::vector<std::size_t>& nodes, bool takes_slot) override {
    left_.slots -= takes_slot;
    left_.headroom -= static_cast<int>(nodes.size());
  }

 private:
  Numbers left_;
};

class Fleet {
 public:
  Fleet() { view.revision = "r1"; }
  explicit Fleet(int nodes) : Fleet() {
    for (int i = 0; i < nodes; ++i) Add("n" + std::to_string(i));
  }

  RolloutNode& Add(const std::string& name, const StringMap& labels = {}) {
    nodes_.push_back({.name = name, .labels = labels});
    return view.nodes.emplace_back(RolloutNode{.node = &nodes_.back(), .may_start = true});
  }
  RolloutNode& node(const std::string& name) {
    return *std::find_if(view.nodes.begin(), view.nodes.end(),
                         [&](const RolloutNode& one) { return one.node->name == name; });
  }
  void Set(const std::string& name, NodeProgress progress) {
    node(name).progress = progress;
    node(name).may_start = progress == NodeProgress::kWaiting;
  }

  std::vector<int> Stages(const RolloutRules& rules) const { return AssignStages(view.nodes, rules.policy); }
  // Returns the names of the nodes in one stage.
  std::vector<std::string> In(int stage, const RolloutRules& rules) const {
    std::vector<std::string> names;
    const std::vector<int> stages = Stages(rules);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (stages[i] == stage) names.push_back(view.nodes[i].node->name);
    }
    return names;
  }
  RolloutStep Advance(const RolloutRecord& stored, const RolloutRules& rules, absl::Time now) const {
    return AdvanceRollout(stored, view, Stages(rules), rules, now);
  }
  // Returns the names of the nodes that start now. The name of a node that only loads its driver ends with `*`.
  std::vector<std::string> Started(const RolloutStep& step, const RolloutRules& rules, const Numbers& left = {},
                                   const StartTime& start = {}) const {
    std::vector<std::string> names;
    NumbersRoom room(left);
    for (const RolloutVerdict& verdict : AdmitNodes(rules, view, Stages(rules), step, start, room)) {
      if (!verdict.gate) names.push_back(verdict.node + (verdict.reload_only ? "*" : ""));
    }
    return names;
  }

  RolloutView view;

 private:
  std::deque<Node> nodes_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_TESTS_UNIT_ROLLOUT_FLEET_H_
