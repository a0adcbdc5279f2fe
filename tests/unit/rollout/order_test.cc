#include "decide/rollout/order.h"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.h"
#include "unit/rollout/fleet.h"

namespace driverupgrade::internal {
namespace {

std::vector<std::string> InOrder(const Fleet& fleet, const std::vector<RolloutOrder>& order) {
  std::vector<RolloutNode> nodes = fleet.view.nodes;
  std::sort(nodes.begin(), nodes.end(),
            [&](const RolloutNode& a, const RolloutNode& b) { return SortKey(a, order) < SortKey(b, order); });
  std::vector<std::string> names;
  for (const RolloutNode& node : nodes) names.push_back(node.node->name);
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("without an order, nodes are sorted by name") {
  Fleet fleet;
  for (const char* name : {"c", "a", "b", "a-1"}) fleet.Add(name);
  CHECK(InOrder(fleet, {}) == Names{"a", "a-1", "b", "c"});
  CHECK(InOrder(fleet, {{.by = OrderBy::kName}}) == Names{"a", "a-1", "b", "c"});
}

TEST_CASE("idle nodes come first, then the nodes with the fewest pods, and nodes with unknown pods last") {
  Fleet fleet;
  fleet.Add("many").pods = 12;
  fleet.Add("unknown");
  fleet.Add("few").pods = 9;
  fleet.Add("idle").pods = 0;
  CHECK(InOrder(fleet, {{.by = OrderBy::kFewestPods}}) == Names{"idle", "few", "many", "unknown"});
  CHECK(InOrder(fleet, {{.by = OrderBy::kIdle}}) == Names{"idle", "few", "many", "unknown"});
  fleet.node("few").pods = 100;
  CHECK(InOrder(fleet, {{.by = OrderBy::kIdle}}) == Names{"idle", "few", "many", "unknown"});
  CHECK(InOrder(fleet, {{.by = OrderBy::kIdle}, {.by = OrderBy::kFewestPods}}) ==
        Names{"idle", "many", "few", "unknown"});
}

TEST_CASE("larger priorities come first, and an invalid priority counts as 0") {
  Fleet fleet;
  fleet.Add("nine", {{"p", "9"}});
  fleet.Add("ten", {{"p", "10"}});
  fleet.Add("none");
  fleet.Add("high", {{"p", "high"}});
  fleet.Add("huge", {{"p", "999999999999999999999"}});
  fleet.Add("one", {{"p", "1"}});
  CHECK(InOrder(fleet, {{.by = OrderBy::kLabel, .label = "p"}}) == Names{"ten", "nine", "one", "high", "huge", "none"});
}

TEST_CASE("nodes are ordered by zone, with nodes without a zone last, and then by the next criterion") {
  Fleet fleet;
  fleet.Add("a", {{"zone", "z-1"}}).pods = 5;
  fleet.Add("b", {{"zone", "z"}}).pods = 5;
  fleet.Add("c", {{"zone", "z"}}).pods = 1;
  fleet.Add("d").pods = 0;
  fleet.Add("e", {{"zone", "z"}}).pods = 1;
  CHECK(InOrder(fleet, {{.by = OrderBy::kTopology, .label = "zone"}, {.by = OrderBy::kFewestPods}}) ==
        Names{"c", "e", "b", "a", "d"});
}

}  // namespace
}  // namespace driverupgrade::internal
