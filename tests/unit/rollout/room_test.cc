#include "decide/rollout/room.h"

#include <string>
#include <vector>

#include "support/catch.h"
#include "unit/rollout/fleet.h"

namespace driverupgrade::internal {
namespace {

using Names = std::vector<std::string>;

// Returns a fleet of cliques a and b with three nodes each, and clique c with one node.
Fleet Cliques() {
  Fleet fleet;
  for (const char* name : {"a0", "a1", "a2", "b0", "b1", "b2", "c0"}) {
    fleet.Add(name, {{"clique", std::string(1, name[0])}});
  }
  return fleet;
}

RolloutRules Together() { return RulesOf({.groups = NodeGroups{.by = "clique"}}, {}); }

std::vector<Gate> Gates(const Fleet& fleet, const RolloutRules& rules, const RolloutStep& step,
                        const StartTime& start = {}, const Numbers& left = {}) {
  NumbersRoom room(left);
  std::vector<Gate> gates;
  for (const auto& verdict : AdmitNodes(rules, fleet.view, fleet.Stages(rules), step, start, room)) {
    if (verdict.gate) gates.push_back(*verdict.gate);
  }
  return gates;
}

TEST_CASE("a rollout with default settings starts as many nodes as the limits allow, in the order of their names") {
  const RolloutRules rules = RulesOf({}, {});
  CHECK(Fleet(4).Started({}, rules) == Names{"n0", "n1", "n2", "n3"});
  CHECK(Fleet(4).Started({}, rules, {.slots = 2}) == Names{"n0", "n1"});
  CHECK(Fleet(4).Started({}, rules, {.headroom = 3}) == Names{"n0", "n1", "n2"});
}

TEST_CASE("a group that starts together gets headroom for all its nodes, or waits") {
  const Fleet fleet = Cliques();
  CHECK(fleet.Started({}, Together(), {.slots = 1}) == Names{"a0", "a1", "a2"});
  CHECK(fleet.Started({}, Together(), {.slots = 2}) == Names{"a0", "a1", "a2", "b0", "b1", "b2"});
  CHECK(fleet.Started({}, Together(), {.headroom = 3}) == Names{"a0", "a1", "a2"});
}

TEST_CASE("headroom is reserved for a large group, but not for a group that never fits") {
  const Fleet fleet = Cliques();
  CHECK(fleet.Started({}, Together(), {.headroom = 4, .headroom_max = 4}) == Names{"a0", "a1", "a2"});
  // No node in progress could free headroom, so the nodes that fit start.
  CHECK(fleet.Started({}, Together(), {.headroom = 2, .headroom_max = 5}) == Names{"c0"});
  CHECK(fleet.Started({}, Together(), {.headroom = 2, .headroom_max = 2}) == Names{"c0"});
}

TEST_CASE("the remaining nodes of a group that has started need no further slot") {
  Fleet fleet = Cliques();
  fleet.Set("a0", NodeProgress::kUnderWay);
  CHECK(fleet.Started({}, Together(), {.slots = 0}) == Names{"a1", "a2"});
  CHECK(SlotsUsed(Together(), fleet.view, fleet.Stages(Together())) == std::vector<int>{1});
}

TEST_CASE("each part of a rollout can be the reason for a wait, and a halt comes first") {
  const Fleet fleet(1);
  const RolloutRules rules = RulesOf({.stages = {{.name = "none", .nodes = LabelSelector::Parse("x").value()}}}, {});
  const absl::Time next = absl::FromUnixSeconds(1'800'000'000);
  const StartTime shut{.open = false, .until = next};
  const RolloutStep step{.closed = {.reason = GateReason::kApproval, .detail = "approve"}};
  RolloutStep halted = step;
  halted.halted = Gate{.reason = GateReason::kHalted, .detail = "sick"};
  CHECK(Gates(fleet, rules, halted, shut) == std::vector{*halted.halted});
  CHECK(Gates(fleet, rules, step, shut) ==
        std::vector{Gate{.reason = GateReason::kWindow, .detail = "no window is open", .not_before = next}});
  CHECK(Gates(fleet, rules, step, {.open = false, .until = next, .too_late = true}) ==
        std::vector{Gate{.reason = GateReason::kWindow,
                         .detail = "the node would not be done before the window closes",
                         .not_before = next}});
  const ClosedDays days{.first = absl::CivilDay(2026, 12, 24), .last = absl::CivilDay(2027, 1, 2)};
  CHECK(Gates(fleet, rules, step, {.open = false, .until = next, .closed = days}) ==
        std::vector{
            Gate{.reason = GateReason::kWindow, .detail = "closed days: 2026-12-24/2027-01-02", .not_before = next}});
  CHECK(Gates(fleet, rules, step) == std::vector{step.closed});
  CHECK(Gates(fleet, RulesOf({}, {}), {}, {}, {.slots = 0}) ==
        std::vector{Gate{.reason = GateReason::kMaxParallel, .detail = "no slot is free"}});
}

TEST_CASE("maxParallel of a stage counts only the nodes of this stage") {
  Fleet fleet(6);
  const RolloutRules rules = RulesOf({.stages = {{.name = "some", .nodes = Count{4}, .max_parallel = 2}}}, {});
  const Names some = fleet.In(0, rules);
  const RolloutStep all{.open = 1};
  CHECK(fleet.Started(all, rules).size() == 4);
  fleet.Set(some[0], NodeProgress::kUnderWay);
  CHECK(fleet.Started(all, rules).size() == 3);
  CHECK(fleet.Started({}, rules).size() == 1);
}

TEST_CASE("a node that was admitted earlier comes first, and counts toward its group and stage") {
  Fleet fleet = Cliques();
  fleet.Set("b1", NodeProgress::kUnderWay);
  fleet.node("b1").may_start = true;
  const RolloutRules one_group = RulesOf({.groups = NodeGroups{.by = "clique", .mode = GroupMode::kOneAtATime}}, {});
  CHECK(fleet.Started({}, one_group) == Names{"b1", "b0", "b2"});
  const RolloutRules spread = RulesOf({.groups = NodeGroups{.by = "clique", .mode = GroupMode::kSpread}}, {});
  CHECK(fleet.Started({}, spread) == Names{"b1", "a0", "c0"});
  const StartTime shut{.open = false};
  CHECK(fleet.Started({}, spread, {}, shut).empty());
}

// Makes the node wait for its driver to be loaded.
RolloutNode& Reload(RolloutNode& node, bool has_failed = false) {
  node.reloads = true;
  node.reload_failed = node.out_of_service = has_failed;
  return node;
}

TEST_CASE(
    "a node whose driver waits to be loaded is upgraded if the rollout allows it, and otherwise loads its driver") {
  Fleet fleet(2);
  Reload(fleet.node("n1"));
  const RolloutRules rules = RulesOf({.stages = {{.name = "first", .nodes = Count{1}}}}, {});
  CHECK(fleet.Started({}, rules) == Names{"n0", "n1*"});
  CHECK(fleet.Started({.open = 1}, rules) == Names{"n0", "n1"});
  CHECK(fleet.Started({}, rules, {.slots = 1}) == Names{"n0"});
  CHECK(fleet.Started({}, rules, {}, {.open = false}) == Names{"n1*"});
  RolloutStep halted;
  halted.halted = Gate{.reason = GateReason::kHalted, .detail = "sick"};
  CHECK(fleet.Started(halted, rules) == Names{"n1*"});
}

TEST_CASE("a grant for a reload admits neither the upgrade of the node nor other nodes of its group") {
  Fleet fleet = Cliques();
  RolloutNode& granted = Reload(fleet.node("b1"));
  granted.progress = NodeProgress::kUnderWay;
  granted.reloading = true;
  fleet.Set("a0", NodeProgress::kDone);
  const RolloutRules one_group = RulesOf({.groups = NodeGroups{.by = "clique", .mode = GroupMode::kOneAtATime}}, {});
  CHECK(fleet.Started({}, one_group) == Names{"a1", "a2", "b1*"});
  fleet.node("b0").may_start = false;
  CHECK(fleet.Started({}, Together()) == Names{"a1", "a2", "b1*", "c0"});
}

TEST_CASE("a node that could not load its driver is upgraded ahead of its stage only if it uses up maxUnavailable") {
  Fleet fleet(2);
  Reload(fleet.node("n1"), /*has_failed=*/true);
  const RolloutRules rules = RulesOf({.stages = {{.name = "first", .nodes = Count{1}}}}, {});
  CHECK(fleet.Started({}, rules) == Names{"n0", "n1*"});
  fleet.Set("n0", NodeProgress::kDone);
  CHECK(fleet.Started({}, rules) == Names{"n1*"});
  CHECK(fleet.Started({.open = 1}, rules) == Names{"n1"});
}

TEST_CASE("the operator's own node comes last") {
  Fleet fleet(3);
  fleet.node("n0").own_node = true;
  CHECK(fleet.Started({}, RulesOf({}, {})) == Names{"n1", "n2", "n0"});
}

TEST_CASE("OneAtATime starts all nodes of one group before the next group") {
  const RolloutRules rules = RulesOf({.groups = NodeGroups{.by = "clique", .mode = GroupMode::kOneAtATime}}, {});
  CHECK(Cliques().Started({}, rules) == Names{"a0", "a1", "a2"});
}

}  // namespace
}  // namespace driverupgrade::internal
