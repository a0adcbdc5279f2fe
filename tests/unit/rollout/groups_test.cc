#include "decide/rollout/groups.h"

#include <map>
#include <string>
#include <utility>

#include "support/catch.h"
#include "unit/rollout/fleet.h"

namespace driverupgrade::internal {
namespace {

// Returns a fleet of racks a and b with three nodes each, and one node without a rack.
Fleet Racks() {
  Fleet fleet;
  for (const char* rack : {"a", "b"}) {
    for (int i = 0; i < 3; ++i) fleet.Add(rack + std::to_string(i), {{"rack", rack}});
  }
  fleet.Add("alone");
  return fleet;
}

GroupLimit LimitOf(const Fleet& fleet, const NodeGroups& groups) {
  GroupTallies tallies = TallyGroups(fleet.view.nodes, groups, [](std::size_t) { return true; });
  std::map<std::size_t, std::string> failed;
  for (const RolloutNode& node : fleet.view.nodes) {
    if (node.progress == NodeProgress::kFailed) {
      failed.emplace(tallies.NumberOf(GroupOf(*node.node, groups)), node.node->name);
    }
  }
  return GroupLimit(groups, std::move(tallies), std::move(failed));
}

TEST_CASE("a node without the label is its own group, and nodes with an empty label form one group") {
  const NodeGroups groups{.by = "rack"};
  CHECK(GroupOf({.name = "n", .labels = {{"rack", "a"}}}, groups) ==
        GroupOf({.name = "m", .labels = {{"rack", "a"}}}, groups));
  CHECK(GroupOf({.name = "n"}, groups) != GroupOf({.name = "m"}, groups));
  CHECK(GroupOf({.name = "n", .labels = {{"rack", ""}}}, groups) ==
        GroupOf({.name = "m", .labels = {{"rack", ""}}}, groups));
  CHECK(GroupOf({.name = "a"}, groups) != GroupOf({.name = "m", .labels = {{"rack", "a"}}}, groups));
}

TEST_CASE("Together: a group waits until all its waiting nodes can start") {
  const NodeGroups groups{.by = "rack", .mode = GroupMode::kTogether};
  Fleet fleet = Racks();
  CHECK_FALSE(LimitOf(fleet, groups).Refusal("=a"));
  fleet.node("a1").may_start = false;
  CHECK(LimitOf(fleet, groups).Refusal("=a") == "the nodes of rack=a start together: 2 of 3 that wait can start");
  CHECK_FALSE(LimitOf(fleet, groups).Refusal("=b"));
  fleet.Set("a1", NodeProgress::kLeftOut);
  CHECK_FALSE(LimitOf(fleet, groups).Refusal("=a"));
  fleet.Set("a1", NodeProgress::kDone);
  CHECK_FALSE(LimitOf(fleet, groups).Refusal("=a"));
}

TEST_CASE("Together: the remaining nodes of a group that has started may start separately") {
  Fleet fleet = Racks();
  fleet.Set("a0", NodeProgress::kUnderWay);
  fleet.node("a1").may_start = false;
  CHECK_FALSE(LimitOf(fleet, {.by = "rack"}).Refusal("=a"));
}

TEST_CASE("OneAtATime: no second group starts while one is in progress, or has waiting or failed nodes") {
  const NodeGroups groups{.by = "rack", .mode = GroupMode::kOneAtATime};
  Fleet fleet = Racks();
  CHECK_FALSE(LimitOf(fleet, groups).Refusal("=b"));
  fleet.Set("b0", NodeProgress::kUnderWay);
  CHECK(LimitOf(fleet, groups).Refusal("=a") == "one group at a time: 0 of 3 nodes of rack=b are done");
  CHECK(LimitOf(fleet, groups).Refusal("alone"));
  CHECK_FALSE(LimitOf(fleet, groups).Refusal("=b"));
  fleet.Set("b0", NodeProgress::kDone);
  CHECK(LimitOf(fleet, groups).Refusal("=a"));
  fleet.Set("b1", NodeProgress::kFailed);
  fleet.Set("b2", NodeProgress::kLeftOut);
  CHECK(LimitOf(fleet, groups).Refusal("=a") ==
        "one group at a time: 1 of 2 nodes of rack=b are done, node b1 has failed");
  CHECK_FALSE(LimitOf(fleet, groups).Refusal("=b"));
  // Node b1 has been repaired, or is left out.
  fleet.Set("b1", GENERATE(NodeProgress::kDone, NodeProgress::kLeftOut));
  CHECK_FALSE(LimitOf(fleet, groups).Refusal("=a"));
  CHECK_FALSE(LimitOf(fleet, groups).Refusal("alone"));
}

TEST_CASE("OneAtATime: the first group that starts in a round excludes the others") {
  GroupLimit limit = LimitOf(Racks(), {.by = "rack", .mode = GroupMode::kOneAtATime});
  limit.Take("alone", 1);
  CHECK(limit.Refusal("=a") == "one group at a time: 0 of 1 nodes of node alone are done");
}

TEST_CASE("OneAtATime: if several groups were interrupted, one of them continues") {
  const NodeGroups groups{.by = "rack", .mode = GroupMode::kOneAtATime};
  Fleet fleet = Racks();
  fleet.Set("a0", NodeProgress::kDone);
  fleet.Set("b0", NodeProgress::kDone);
  CHECK_FALSE(LimitOf(fleet, groups).Refusal("=a"));
  CHECK(LimitOf(fleet, groups).Refusal("=b"));
  fleet.Set("b1", NodeProgress::kUnderWay);
  CHECK(LimitOf(fleet, groups).Refusal("=a"));
  CHECK_FALSE(LimitOf(fleet, groups).Refusal("=b"));
}

TEST_CASE("Spread: the nodes in progress are limited per group, and a percentage is rounded up") {
  Fleet fleet = Racks();
  fleet.Set("a0", NodeProgress::kUnderWay);
  CHECK(LimitOf(fleet, {.by = "rack", .mode = GroupMode::kSpread}).Refusal("=a") ==
        "groups.maxPerGroup: 1 of 1 nodes of rack=a are in progress");
  CHECK_FALSE(LimitOf(fleet, {.by = "rack", .mode = GroupMode::kSpread}).Refusal("=b"));
  const NodeGroups third{.by = "rack", .mode = GroupMode::kSpread, .max_per_group = Percent{34}};
  CHECK_FALSE(LimitOf(fleet, third).Refusal("=a"));
  GroupLimit limit = LimitOf(fleet, third);
  limit.Take("=a", 1);
  CHECK(limit.Refusal("=a"));
}

}  // namespace
}  // namespace driverupgrade::internal
