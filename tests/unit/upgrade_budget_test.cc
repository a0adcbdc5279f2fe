// Tests budget arithmetic and admission (§5.3, dep-F14, dep-F18).
#include "decide/admission/upgrade_budget.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/admission.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

Tally TallyOfNode(const NodeUnderTest& node) { return internal::TallyOf(node.view, node.identity, node.policy); }

TEST_CASE("dep-F18: a node counts at most once in each total") {
  struct Row {
    const char* state;
    bool cordoned;
    Tally tally;
  };
  const auto row = GENERATE(values<Row>({
      {"", false, {.total = 1}},
      {"upgrade-done", false, {.total = 1, .done = 1}},
      {"upgrade-done", true, {.total = 1, .done = 1, .unavailable = 1}},
      {"upgrade-required", false, {.total = 1, .pending = 1}},
      {"cordon-required", false, {.total = 1, .in_progress = 1, .slots = 1, .unavailable = 1}},
      {"cordon-required", true, {.total = 1, .in_progress = 1, .slots = 1, .unavailable = 1}},
      {"drain-required", false, {.total = 1, .in_progress = 1, .slots = 1, .unavailable = 1}},
      {"drain-required", true, {.total = 1, .in_progress = 1, .slots = 1, .unavailable = 1}},
      {"node-maintenance-required", false, {.total = 1, .in_progress = 1, .slots = 1}},
      {"uncordon-required", true, {.total = 1, .in_progress = 1, .slots = 1, .unavailable = 1}},
      {"upgrade-failed", true, {.total = 1, .in_progress = 1, .failed = 1, .slots = 1, .unavailable = 1}},
      {"no-state", false, {.total = 1, .in_progress = 1, .slots = 1}},
  }));
  CAPTURE(row.state, row.cordoned);
  NodeUnderTest node(row.state);
  if (row.cordoned) node.Cordoned();
  Tally expected = row.tally;
  if (const auto state = ParseUpgradeState(row.state)) expected.by_state[static_cast<std::size_t>(*state)] = 1;
  CHECK(TallyOfNode(node) == expected);
  if (row.tally.pending == 1) CHECK(expected.InState(UpgradeState::kUpgradeRequired) == 1);
  expected += expected;
  expected -= TallyOfNode(node);
  CHECK(TallyOfNode(node) == expected);
}

TEST_CASE("dep-F14: a node that an administrator has cordoned takes no slot unless cordonedNodes is WithinBudget") {
  auto node = NodeUnderTest("drain-required").Cordoned().Annotated(Gpu().InitiallyUnschedulableAnnotation(), "true");
  CHECK(TallyOfNode(node).slots == 0);
  CHECK(TallyOfNode(node).unavailable == 1);
  node.policy.cordoned_nodes = CordonedNodes::kWithinBudget;
  CHECK(TallyOfNode(node).slots == 1);
}

TEST_CASE("W4: a node that is being deleted, or that an autoscaler has tainted for removal, is unavailable") {
  NodeUnderTest node("upgrade-required");
  CHECK(TallyOfNode(node).unavailable == 0);
  node.view.node.taints = {{.key = "nvidia.com/gpu", .effect = "NoSchedule"}};
  CHECK(TallyOfNode(node).unavailable == 0);
  for (const char* taint : {"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption"}) {
    node.view.node.taints = {{.key = taint, .effect = "NoSchedule"}};
    CHECK(TallyOfNode(node).unavailable == 1);
  }
  node.view.node.taints.clear();
  node.view.node.deletion_timestamp = absl::UnixEpoch();
  CHECK(TallyOfNode(node).unavailable == 1);
}

TEST_CASE("W7: a node in upgrade-done whose driver pod is not Ready is not done, and its label stays") {
  NodeUnderTest node("upgrade-done");
  REQUIRE(node.view.driver_pods.size() == 1);
  node.view.driver_pods[0].container_statuses = {{.name = "driver", .ready = false, .restart_count = 3}};
  const Tally tally = TallyOfNode(node);
  CHECK(tally.done == 0);
  CHECK(tally.not_ready == 1);
  CHECK(tally.InState(UpgradeState::kDone) == 1);
  node.view.unscheduled_driver_pods = std::exchange(node.view.driver_pods, {});
  CHECK(TallyOfNode(node).not_ready == 1);
  node.view.unscheduled_driver_pods.clear();
  CHECK(TallyOfNode(node).done == 1);
}

TEST_CASE("A node on which a new driver pod cannot be scheduled is unavailable, unless another driver pod serves it") {
  NodeUnderTest node("upgrade-done");
  node.view.unscheduled_driver_pods = node.view.driver_pods;
  CHECK(TallyOfNode(node).unavailable == 0);
  node.view.driver_pods[0].phase = PodPhase::kFailed;
  CHECK(TallyOfNode(node).unavailable == 1);
  node.view.driver_pods.clear();
  CHECK(TallyOfNode(node).unavailable == 1);
}

TEST_CASE("W5: a percentage of 100 % or more is not a limit") {
  Tally tally{.total = 2, .unavailable = 2};
  CHECK(internal::ComputeBudget(tally, UpgradePolicy{.max_unavailable = Percent{100}}).unavailable_max == std::nullopt);
  CHECK(internal::ComputeBudget(tally, UpgradePolicy{.max_unavailable = Percent{150}}).unavailable_max == std::nullopt);
  CHECK(internal::ComputeBudget(tally, UpgradePolicy{.max_unavailable = Percent{99}}).unavailable_max == 2);
}

TEST_CASE("A node that is not ready is unavailable") {
  NodeUnderTest node("upgrade-done");
  node.view.node.ready = false;
  CHECK(TallyOfNode(node).unavailable == 1);
}

TEST_CASE("Limits scale with the fleet and never leave a negative remainder") {
  const UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 3, .max_unavailable = Percent{25}};
  const UpgradeBudget budget = internal::ComputeBudget({.total = 10, .slots = 5, .unavailable = 4}, policy);
  CHECK(budget.unavailable_max == 3);
  CHECK(budget.ParallelFree() == 0);
  CHECK(budget.Headroom() == 0);
  CHECK(internal::ComputeBudget({.total = 10}, policy).Headroom() == 3);
  CHECK(internal::ComputeBudget({.total = 1}, policy).Headroom() == 1);
}

// Returns candidates with these names. A candidate needs a slot and headroom, unless its name ends with a mark.
// `*`: needs neither. `+`: needs only a slot. `-`: needs both, but takes no headroom.
std::vector<WaitingNode> Candidates(const std::vector<std::string_view>& names) {
  std::vector<WaitingNode> waiting;
  for (const std::string_view name : names) {
    const char mark = name.back();
    Candidate& candidate = waiting.emplace_back(WaitingNode{.node = name}).candidate;
    candidate.needs_slot = mark != '*';
    candidate.needs_headroom = mark != '*' && mark != '+';
    candidate.takes_headroom = candidate.needs_headroom && mark != '-';
  }
  return waiting;
}

std::vector<AdmissionDecision> Decide(const UpgradeBudget& budget, bool paused,
                                      const std::vector<WaitingNode>& waiting) {
  return Admit(Limits::Of({.all = budget, .granted = budget}, paused), waiting);
}

std::string Admitted(const UpgradeBudget& budget, const std::vector<WaitingNode>& waiting, bool paused = false) {
  std::string text;
  for (const AdmissionDecision& decision : Decide(budget, paused, waiting)) {
    if (decision.gate) continue;
    if (!text.empty()) text += ",";
    text += waiting[decision.index].node;
  }
  return text;
}

TEST_CASE("Nodes are admitted in the order of their names, whatever the order of the candidates") {
  const UpgradeBudget budget{.total = 4, .parallel_max = 2};
  CHECK(Admitted(budget, Candidates({"c", "a", "d", "b"})) == "a,b");
  CHECK(Admitted(budget, Candidates({"a", "b", "c", "d"})) == "a,b");
}

TEST_CASE("dep-F19: the operator's own node comes last") {
  std::vector<WaitingNode> waiting = Candidates({"a", "b", "c"});
  waiting[0].candidate.own_node = true;
  CHECK(Admitted({.total = 3, .parallel_max = 2}, waiting) == "b,c");
}

TEST_CASE("§5.3: the examples in the specification hold for admissions") {
  struct Row {
    const char* name;
    UpgradeBudget budget;
    std::vector<std::string_view> waiting;
    const char* admitted;
  };
  const auto row = GENERATE(values<Row>({
      {"no limit", {.total = 3}, {"a", "b", "c"}, "a,b,c"},
      {"3 of 5 at a time", {.total = 5, .parallel_max = 3}, {"a", "b", "c", "d", "e"}, "a,b,c"},
      {"4 at a time, 3 in progress", {.total = 5, .parallel_max = 4, .parallel_used = 3}, {"a", "b"}, "a"},
      {"half of 5, 2 of them cordoned by an administrator: those come on top",
       {.total = 5, .unavailable_max = 3, .unavailable = 2},
       {"a*", "b*", "c", "d", "e"},
       "a*,b*,c"},
      {"the same whatever their order (defect-D20)",
       {.total = 5, .unavailable_max = 3, .unavailable = 2},
       {"a", "b", "c", "d*", "e*"},
       "a,d*,e*"},
      {"3 at a time, 2 unavailable", {.total = 5, .parallel_max = 3, .unavailable_max = 2}, {"a", "b", "c"}, "a,b"},
      {"one failed node, one at a time (H2)", {.total = 3, .parallel_max = 1, .parallel_used = 1}, {"a", "b"}, ""},
      {"maxUnavailable 0 admits cordoned nodes only", {.total = 3, .unavailable_max = 0}, {"a", "b+", "c*"}, "b+,c*"},
      {"a node that is not ready takes no headroom",
       {.total = 4, .unavailable_max = 2, .unavailable = 1},
       {"a-", "b", "c"},
       "a-,b"},
      {"but needs some", {.total = 4, .unavailable_max = 1, .unavailable = 1}, {"a-", "b"}, ""},
  }));
  CAPTURE(row.name);
  CHECK(Admitted(row.budget, Candidates(row.waiting)) == row.admitted);
}

// Returns the number of nodes in a fleet that start. Each entry of `fleet` consists of a number of nodes and their
// state, which is followed by `!` if the nodes are cordoned.
int Starts(const UpgradePolicy& policy, const std::vector<std::pair<int, std::string>>& fleet) {
  ClusterSnapshot snapshot;
  snapshot.driver = std::make_shared<const DriverFacts>(Facts("new"));
  for (const auto& [count, what] : fleet) {
    const bool cordoned = what.ends_with('!');
    const std::string state = what.substr(0, what.size() - cordoned);
    for (int i = 0; i < count; ++i) {
      NodeView view = NodeUnderTest(state, state == "upgrade-required" ? "old" : "new").view;
      view.node.name = "n" + std::to_string(10 + snapshot.nodes.size());
      view.node.uid = view.node.name;
      view.node.unschedulable = cordoned;
      snapshot.nodes.push_back(std::make_shared<const NodeView>(view));
    }
  }
  const Plan plan = StateMachine(Gpu(), {}).Step(snapshot, policy, kNow);
  return static_cast<int>(std::count_if(plan.nodes.begin(), plan.nodes.end(), [](const NodePlan& node) {
    return node.from == UpgradeState::kUpgradeRequired && !node.path.empty();
  }));
}

TEST_CASE("§5.3: the slot examples in the tests of the Go library hold for fleets") {
  struct Row {
    const char* name;
    std::optional<int> parallel;
    std::optional<CountOrPercent> unavailable;
    std::vector<std::pair<int, std::string>> fleet;
    int starts;
  };
  const auto row = GENERATE(values<Row>({
      {"no limit on either", std::nullopt, std::nullopt, {{3, "upgrade-required"}}, 3},
      {"3 of 5 at a time", 3, std::nullopt, {{5, "upgrade-required"}}, 3},
      {"4 at a time, 3 about to be cordoned", 4, std::nullopt, {{3, "cordon-required"}, {2, "upgrade-required"}}, 1},
      {"all of them", std::nullopt, Percent{100}, {{5, "upgrade-required"}}, 5},
      {"half of 5, the last 2 cordoned",
       std::nullopt,
       Percent{50},
       {{3, "upgrade-required"}, {2, "upgrade-required!"}},
       3},
      {"half of 5, 2 done but cordoned", std::nullopt, Percent{50}, {{2, "upgrade-done!"}, {3, "upgrade-required"}}, 1},
      {"3 at a time, 2 unavailable", 3, Count{2}, {{5, "upgrade-required"}}, 2},
      {"4 at a time, 4 unavailable, 3 about to be cordoned",
       4,
       Count{4},
       {{3, "cordon-required"}, {2, "upgrade-required"}},
       1},
      {"2 slots too many are held",
       1,
       Count{3},
       {{6, "upgrade-done"}, {3, "upgrade-failed"}, {1, "upgrade-required"}},
       0},
      {"one failed node, one at a time (H2)", 1, std::nullopt, {{1, "upgrade-failed"}, {2, "upgrade-required"}}, 0},
      // dep-F14: with the Go library only 2 nodes start if the cordoned nodes come first.
      {"half of 5, the first 2 cordoned",
       std::nullopt,
       Percent{50},
       {{2, "upgrade-required!"}, {3, "upgrade-required"}},
       3},
  }));
  CAPTURE(row.name);
  const UpgradePolicy policy{.auto_upgrade = true, .max_parallel = row.parallel, .max_unavailable = row.unavailable};
  CHECK(Starts(policy, row.fleet) == row.starts);
}

TEST_CASE(
    "arch-A7: the gate of a node that is not admitted shows the limit, the slots taken, and the place in the queue") {
  const std::vector<AdmissionDecision> decisions =
      Decide({.total = 4, .parallel_max = 1}, /*paused=*/false, Candidates({"a", "b", "c"}));
  REQUIRE(decisions.size() == 3);
  CHECK_FALSE(decisions[0].gate);
  CHECK(decisions[1].gate->detail == "maxParallelUpgrades: 1 of 1 slots are taken; place 1 in the queue");
  CHECK(decisions[2].gate->detail == "maxParallelUpgrades: 1 of 1 slots are taken; place 2 in the queue");
  CHECK(decisions[2].gate->count == GateCount{.used = 1, .limit = 1});  // W23
  CHECK(decisions[2].gate->place == 2);
}

TEST_CASE("A limit that engines share counts the slots of all engines, and applies only to nodes that need a slot") {
  UpgradeBudget budget{.total = 9, .parallel_max = 4, .parallel_used = 1};
  budget.shared = SharedSlots{.max = 5, .used_elsewhere = 2};
  CHECK(budget.ParallelFree() == 2);
  CHECK(Admitted(budget, Candidates({"a", "b", "c", "d*"})) == "a,b,d*");
  const auto refusal = [&] {
    return Decide(budget, /*paused=*/false, Candidates({"a", "b", "c"})).back().gate->detail;
  };
  CHECK(refusal() == "the limit shared by all owners: 5 of 5 slots are taken; place 1 in the queue");
  budget.shared->used_elsewhere = 0;
  CHECK(budget.ParallelFree() == 3);
  CHECK(Admitted(budget, Candidates({"a", "b", "c", "d"})) == "a,b,c");
  budget.shared->used_elsewhere = std::nullopt;
  CHECK(budget.ParallelFree() == 0);
  CHECK(Admitted(budget, Candidates({"a", "b*"})) == "b*");
  CHECK(refusal() ==
        "the limit shared by all owners: the number of taken slots is not known yet; place 3 in the queue");
}

TEST_CASE("A paused policy admits no nodes, including cordoned nodes") {
  CHECK(Admitted({.total = 2}, Candidates({"a", "b*"}), /*paused=*/true).empty());
}

}  // namespace
}  // namespace driverupgrade::tests
