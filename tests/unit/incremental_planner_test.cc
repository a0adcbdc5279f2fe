// Tests the cost and the reports of IncrementalPlanner. tests/property/incremental_property_test.cc tests that the
// planner agrees with Step.
#include "decide/incremental_planner.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using internal::IncrementalPlanner;
using internal::PlanUpdate;

/// Nodes with outdated driver pods, on which every request takes effect immediately.
class Fleet {
 public:
  explicit Fleet(int nodes, UpgradePolicy policy) : policy_(std::move(policy)) {
    for (int i = 0; i < nodes; ++i) {
      NodeUnderTest node;
      node.view.node.name = fmt::format("n{:05}", i);
      node.view.node.uid = node.view.node.name + "-uid";
      views_[node.view.node.name] = node.view;
    }
    planner.SetPolicy(policy_);
    planner.SetDriver(std::make_shared<const DriverFacts>(Facts("new")), {});
    for (const auto& [name, view] : views_) planner.Update(std::make_shared<const NodeView>(view));
  }

  void Apply(const Plan& plan) {
    for (const NodePlan& node : plan.nodes) Apply(node);
    for (const std::string& name : planner.pod_interest()) {
      NodeView& view = views_.at(name);
      if (!view.node.unschedulable || view.pods) continue;
      view.pods.emplace();
      planner.Update(std::make_shared<const NodeView>(view));
    }
  }
  NodeView& view(const std::string& name) { return views_.at(name); }
  const std::map<std::string, NodeView>& views() const { return views_; }

  IncrementalPlanner planner{StateMachine(Gpu(), {})};

 private:
  void Apply(const NodePlan& plan) {
    NodeView& view = views_.at(plan.node);
    if (plan.patch) {
      view.node = Patched(view.node, *plan.patch);
      view.node.resource_version = std::to_string(std::stoi(view.node.resource_version) + 1);
    }
    if (!plan.remove.empty()) view.driver_pods = {DriverPod("new", "driver-2").Build()};
    planner.Update(std::make_shared<const NodeView>(view));
  }

  UpgradePolicy policy_;
  std::map<std::string, NodeView> views_;
};

UpgradePolicy Parallel(int max) {
  return {.auto_upgrade = true, .max_parallel = max, .drain = DrainPolicy{.timeout = absl::Seconds(300)}};
}

// Runs passes until no work is left, but at most 1,000 passes. Returns the number of passes.
int RollOut(Fleet& fleet) {
  absl::Time now = kNow;
  for (int passes = 0; passes < 1'000; ++passes) {
    const PlanUpdate update = fleet.planner.Advance(now);
    if (update.plan.nodes.empty() && fleet.planner.pod_interest().empty()) return passes;
    fleet.Apply(update.plan);
    now += absl::Milliseconds(100);
  }
  return 1'000;
}

TEST_CASE(
    "arch-A10: a rollout over 10,000 nodes evaluates each node only a few times, regardless of the number of passes") {
  constexpr int kNodes = 10'000;
  // One evaluation for each step of a node (new, waiting, admitted, draining, pods read, driver replaced, done), and
  // one spare.
  constexpr int kJudgementsPerNode = 8;
  Fleet fleet(kNodes, Parallel(100));
  const int passes = RollOut(fleet);
  CHECK(fleet.planner.Publish()->Full().totals.done == kNodes);
  CHECK(fleet.planner.Publish()->Full().gates.empty());
  CHECK(passes > 200);
  CHECK(passes < 1'000);
  INFO("judgements per node: " << static_cast<double>(fleet.planner.judgements()) / kNodes);
  CHECK(fleet.planner.judgements() <= kNodes * kJudgementsPerNode);
}

// Meant for ThreadSanitizer, which would report a race on any data that planners share.
TEST_CASE("arch-A8: planners on separate threads share no data") {
  constexpr int kThreads = 4;
  std::array<std::uint64_t, kThreads> judgements = {};
  std::array<int, kThreads> done = {};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        Fleet fleet(200, Parallel(10));
        RollOut(fleet);
        judgements[static_cast<std::size_t>(i)] = fleet.planner.judgements();
        done[static_cast<std::size_t>(i)] = fleet.planner.Publish()->Full().totals.done;
      });
    }
  }
  CHECK(std::count(done.begin(), done.end(), 200) == kThreads);
  CHECK(std::count(judgements.begin(), judgements.end(), judgements[0]) == kThreads);
}

TEST_CASE(
    "arch-A10: if Advance may evaluate only seven nodes, no node starts until repeated calls have covered all nodes") {
  Fleet whole(50, Parallel(2));
  Fleet pieces(50, Parallel(2));
  constexpr internal::AdvanceLimits kSeven{.judged = 7, .told = 7};
  int advances = 0;
  for (bool finished = false; !finished; ++advances) {
    const std::uint64_t before = pieces.planner.judgements();
    const Plan plan = pieces.planner.Advance(kNow, kSeven).plan;
    finished = plan.finished;
    CHECK(std::none_of(plan.nodes.begin(), plan.nodes.end(),
                       [&](const NodePlan& node) { return node.needs_grant && !plan.finished; }));
    if (finished) break;
    CHECK(pieces.planner.judgements() - before <=
          7 + static_cast<std::uint64_t>(7 * advances));  // the second term: nodes that act are evaluated again
    CHECK(plan.totals == Tally{});
    REQUIRE(advances < 10);
  }
  CHECK(advances == 7);
  static_cast<void>(whole.planner.Advance(kNow));
  CHECK(pieces.planner.Publish()->Full() == whole.planner.Publish()->Full());
}

TEST_CASE("arch-A10: in the middle of a round, a change that affects all nodes starts another round") {
  Fleet fleet(50, Parallel(2));
  static_cast<void>(fleet.planner.Advance(kNow));
  fleet.planner.SetActiveSince(kNow - absl::Hours(1));
  CHECK(!fleet.planner.Advance(kNow, {.judged = 30}).plan.finished);
  fleet.planner.SetActiveSince(kNow - absl::Hours(2));
  CHECK(!fleet.planner.Advance(kNow, {.judged = 30}).plan.finished);
  CHECK(fleet.planner.Advance(kNow, {.judged = 30}).plan.finished);
}

TEST_CASE(
    "arch-A10: a plan reports a limited number of gates, and requests the next call until all gates are reported") {
  Fleet fleet(50, Parallel(2));
  fleet.Apply(fleet.planner.Advance(kNow).plan);
  static_cast<void>(fleet.planner.Advance(kNow));
  UpgradePolicy paused = Parallel(2);
  paused.paused = true;
  fleet.planner.SetPolicy(paused);
  std::set<std::string> told;
  for (int i = 0; i < 4; ++i) {
    const Plan plan = fleet.planner.Advance(kNow, {.told = 15}).plan;
    CHECK(plan.finished);
    CHECK(plan.gates.size() <= 15);
    for (const NodeGate& gate : plan.gates) {
      CHECK(gate.gate.reason == GateReason::kPaused);
      CHECK(told.insert(gate.node).second);
    }
    CHECK((plan.wake_at == kNow) == (told.size() < 48));
  }
  CHECK(told.size() == 48);
}

TEST_CASE("arch-A10: a pass without changes or due nodes evaluates and reports nothing") {
  Fleet fleet(50, Parallel(0));
  fleet.Apply(fleet.planner.Advance(kNow).plan);
  REQUIRE(fleet.planner.Advance(kNow).plan.nodes.empty());
  const std::uint64_t before = fleet.planner.judgements();
  fleet.planner.SetPolicy(Parallel(0));
  fleet.planner.SetDriver(std::make_shared<const DriverFacts>(Facts("new")), {});
  fleet.planner.SetActiveSince(absl::InfinitePast());
  fleet.planner.Update(std::make_shared<const NodeView>(fleet.view("n00007")));
  const PlanUpdate update = fleet.planner.Advance(kNow + absl::Hours(1));
  CHECK(fleet.planner.judgements() == before);
  CHECK(update.plan.gates.empty());
  CHECK(update.ungated.empty());
}

TEST_CASE("arch-A10: after limits change, only the nodes that start are evaluated") {
  UpgradePolicy policy = Parallel(1);
  policy.paused = true;
  policy.failure_policy = FailurePolicy{.max_failures = Count{1}};
  Fleet fleet(50, policy);
  fleet.Apply(fleet.planner.Advance(kNow).plan);
  REQUIRE(fleet.planner.Advance(kNow).plan.nodes.empty());
  const std::uint64_t before = fleet.planner.judgements();
  const auto change = [&] {
    fleet.planner.SetPolicy(policy);
    return fleet.planner.Advance(kNow).plan;
  };
  policy.max_parallel = 9;
  policy.max_unavailable = Count{7};
  policy.failure_policy->max_failures = Count{3};
  const Plan paused = change();
  CHECK(paused.budget.unavailable_max == 7);
  CHECK(paused.gates.empty());
  CHECK(fleet.planner.judgements() == before);
  policy.paused = false;
  const Plan started = change();
  CHECK(started.nodes.size() == 7);
  CHECK(std::count_if(started.gates.begin(), started.gates.end(),
                      [](const NodeGate& node) { return node.gate.reason == GateReason::kMaxUnavailable; }) == 43);
  CHECK(fleet.planner.Publish()->Explain("n00049")->reason == GateReason::kMaxUnavailable);
  CHECK(fleet.planner.judgements() == before + 7);
  // Without a failurePolicy, failed nodes hold their slots. Removing the failurePolicy therefore changes a rule, not a
  // limit.
  policy.failure_policy.reset();
  (void)change();
  CHECK(fleet.planner.judgements() >= before + 7 + 50);
}

TEST_CASE("arch-A10: after grants change, only the nodes of these grants are evaluated again") {
  Fleet fleet(50, Parallel(0));
  fleet.Apply(fleet.planner.Advance(kNow).plan);
  REQUIRE(fleet.planner.Advance(kNow).plan.nodes.empty());
  const std::uint64_t before = fleet.planner.judgements();
  const std::string version = fleet.view("n00007").node.resource_version;
  const Grants grants = {{"n00007-uid", version}, {"n00008-uid", "1"}, {"elsewhere", "5"}};
  fleet.planner.SetGrants(grants);
  const Plan plan = fleet.planner.Advance(kNow).plan;
  CHECK(fleet.planner.judgements() == before + 2);
  // Node n00008 has changed since its grant, and therefore holds no slot.
  CHECK(plan.totals.slots == 2);
  CHECK(plan.readings ==
        std::vector<NodeReading>{{"n00007-uid", version}, {"n00008-uid", version}, {"elsewhere", "5"}});
  fleet.planner.SetGrants(grants);
  CHECK(fleet.planner.Advance(kNow).plan.totals == plan.totals);
  CHECK(fleet.planner.judgements() == before + 2);
  fleet.planner.SetGrants({});
  CHECK(fleet.planner.Advance(kNow).plan.totals.slots == 0);
  CHECK(fleet.planner.judgements() == before + 4);
}

TEST_CASE("arch-A12: a node whose start is withheld waits, and the next pass plans the start again") {
  Fleet fleet(3, Parallel(1));
  const Plan first = fleet.planner.Advance(kNow).plan;
  REQUIRE(first.nodes.front().needs_grant);
  CHECK_FALSE(first.nodes.back().needs_grant);
  const Gate gate{.reason = GateReason::kLedger, .detail = "no grant", .not_before = kNow + absl::Seconds(1)};
  const PlanUpdate update = fleet.planner.Withhold({{"n00000", gate}, {"nobody", gate}});
  CHECK(update.plan.nodes.size() == 2);
  CHECK(update.plan.gates == std::vector<NodeGate>{{"n00000", UpgradeState::kUnknown, gate}});
  CHECK(update.plan.wake_at == gate.not_before);
  CHECK(fleet.planner.Publish()->Explain("n00000") == gate);
  CHECK(fleet.planner.Advance(kNow).plan.nodes == first.nodes);
}

TEST_CASE("arch-A10: a plan that was not executed is repeated by the next pass") {
  Fleet fleet(3, Parallel(1));
  const Plan first = fleet.planner.Advance(kNow).plan;
  REQUIRE(first.nodes.size() == 3);
  CHECK(fleet.planner.Advance(kNow).plan.nodes == first.nodes);
}

TEST_CASE(
    "W5: a node with unscheduled driver pods is unavailable once, and the gates of waiting nodes give the reason") {
  UpgradePolicy policy = Parallel(5);
  policy.max_unavailable = Count{2};
  Fleet fleet(4, policy);
  Pod unscheduled = DriverPod("new", "unbound").OnNode("").Build();
  unscheduled.affinity_node_name = "n00003";
  unscheduled.unscheduled_message = "no room";
  NodeView view = fleet.view("n00003");
  view.unscheduled_driver_pods = {unscheduled, unscheduled};
  view.node.labels[Gpu().SkipUpgradeLabel()] = "true";
  SECTION("unless the node has another driver pod, such as an orphan (gpu-operator#2518)") {
    view.driver_pods.front().owners.clear();
    fleet.planner.Update(std::make_shared<const NodeView>(view));
    const Plan plan = fleet.planner.Advance(kNow).plan;
    CHECK(plan.totals.unavailable == 0);
    CHECK(plan.findings.empty());
    return;
  }
  view.driver_pods.clear();
  fleet.planner.Update(std::make_shared<const NodeView>(view));
  Plan plan = fleet.planner.Advance(kNow).plan;
  CHECK(plan.totals.unavailable == 1);
  plan = fleet.planner.Advance(kNow).plan;
  CHECK(
      fleet.planner.Publish()->Explain("n00001")->detail ==
      "maxUnavailable: 2 of 2 nodes are unavailable: n00003 (its driver pod cannot be scheduled: no room) and 1 more; "
      "place 1 in the queue");
  view.node.ready = false;
  fleet.planner.Update(std::make_shared<const NodeView>(view));
  CHECK(fleet.planner.Advance(kNow).plan.totals.unavailable == 1);
}

TEST_CASE("arch-A10: a gate is reported once, and only Explain returns the node's place in the queue") {
  Fleet fleet(3, Parallel(0));
  PlanUpdate update = fleet.planner.Advance(kNow);
  REQUIRE(update.plan.gates.size() == 3);
  CHECK(update.plan.gates[1].gate.detail == "maxParallelUpgrades: 0 of 0 slots are taken");
  CHECK(fleet.planner.Publish()->Explain("n00001")->detail ==
        "maxParallelUpgrades: 0 of 0 slots are taken; place 2 in the queue");
  fleet.Apply(update.plan);

  SECTION("a node is deleted: its wait ends, and the others move up") {
    fleet.planner.Remove("n00000");
    update = fleet.planner.Advance(kNow);
    CHECK(update.plan.gates.empty());
    CHECK(update.ungated == std::vector<std::string>{"n00000"});
    CHECK_FALSE(fleet.planner.Publish()->Explain("n00000"));
    CHECK(fleet.planner.Publish()->Explain("n00001")->detail.find("place 1 ") != std::string::npos);
  }
  SECTION("the reason changes: all gates are reported again, once") {
    UpgradePolicy paused = Parallel(0);
    paused.paused = true;
    fleet.planner.SetPolicy(paused);
    CHECK(fleet.planner.Advance(kNow).plan.gates.size() == 3);
    CHECK(fleet.planner.Advance(kNow).plan.gates.empty());
  }
  SECTION("a node that has not been evaluated yet has no gate") {
    NodeUnderTest other;
    fleet.planner.Update(std::make_shared<const NodeView>(other.view));
    CHECK_FALSE(fleet.planner.Publish()->Explain("n1"));
    CHECK(fleet.planner.Publish()->Full().totals.total == 3);
  }
}

TEST_CASE("arch-A10: if the report of a gate was not delivered, the next plan reports the gate or its end again") {
  Fleet fleet(2, Parallel(1));
  const auto tells = [&] {
    fleet.view("n00001").node.resource_version += "0";
    fleet.planner.Update(std::make_shared<const NodeView>(fleet.view("n00001")));
    const std::vector<NodeGate> gates = fleet.planner.Advance(kNow).plan.gates;
    return std::any_of(gates.begin(), gates.end(), [](const NodeGate& gate) { return gate.node == "n00001"; });
  };
  REQUIRE(tells());
  CHECK_FALSE(tells());
  fleet.planner.NotTold("n00001");
  CHECK(tells());
  CHECK_FALSE(tells());
  // A client that received the gate earlier may still show the gate.
  fleet.planner.NotTold("n00001");
  fleet.planner.Remove("n00001");
  CHECK(fleet.planner.Advance(kNow).ungated == std::vector<std::string>{"n00001"});
}

// Returns a policy in which nodes with the label pool=canary form the first stage, and all other nodes wait for this
// stage.
UpgradePolicy Canaries() {
  UpgradePolicy policy = Parallel(10);
  policy.rollout = RolloutPolicy{.stages = {{.name = "canary", .nodes = Selector("pool=canary")}}};
  return policy;
}

// Returns true if the plan takes the node beyond upgrade-required.
bool Starts(const PlanUpdate& update, const std::string& name) {
  return std::any_of(update.plan.nodes.begin(), update.plan.nodes.end(), [&](const NodePlan& node) {
    return node.node == name && node.path.back() != UpgradeState::kUpgradeRequired;
  });
}

std::optional<GateReason> Told(const PlanUpdate& update, const std::string& name) {
  for (const NodeGate& gate : update.plan.gates) {
    if (gate.node == name) return gate.gate.reason;
  }
  return std::nullopt;
}

TEST_CASE("ADR 0013: a node whose labels change moves to the stage that now selects it") {
  Fleet fleet(3, Canaries());
  const auto label = [&](const std::string& name) {
    fleet.view(name).node.labels["pool"] = "canary";
    fleet.view(name).node.resource_version += "0";
    fleet.planner.Update(std::make_shared<const NodeView>(fleet.view(name)));
  };
  label("n00000");
  const PlanUpdate first = fleet.planner.Advance(kNow);
  CHECK(Starts(first, "n00000"));
  CHECK(Told(first, "n00001") == GateReason::kStage);
  label("n00001");
  CHECK(Starts(fleet.planner.Advance(kNow), "n00001"));
}

TEST_CASE("ADR 0013: a new reason for a wait is reported, even if the node is unchanged") {
  Fleet fleet(2, Canaries());
  fleet.view("n00000").node.labels["pool"] = "canary";
  fleet.planner.Update(std::make_shared<const NodeView>(fleet.view("n00000")));
  const PlanUpdate first = fleet.planner.Advance(kNow);
  CHECK(Told(first, "n00001") == GateReason::kStage);
  fleet.Apply(first.plan);
  fleet.Apply(fleet.planner.Advance(kNow).plan);
  CHECK_FALSE(Told(fleet.planner.Advance(kNow), "n00001"));
  fleet.planner.SetRollout({.record = first.plan.rollout->record, .sick = "the fabric is down"});
  CHECK(Told(fleet.planner.Advance(kNow), "n00001") == GateReason::kHalted);
  CHECK_FALSE(Told(fleet.planner.Advance(kNow), "n00001"));
}

TEST_CASE("ADR 0013: if one node of a group that starts together is withheld, no node of the group starts") {
  UpgradePolicy racks = Parallel(10);
  racks.rollout = RolloutPolicy{.groups = NodeGroups{.by = "rack", .mode = GroupMode::kTogether}};
  Fleet fleet(3, racks);
  for (const auto& [name, rack] :
       std::map<std::string, std::string>{{"n00000", "a"}, {"n00001", "a"}, {"n00002", "b"}}) {
    fleet.view(name).node.labels["rack"] = rack;
    fleet.planner.Update(std::make_shared<const NodeView>(fleet.view(name)));
  }
  const PlanUpdate planned = fleet.planner.Advance(kNow);
  REQUIRE(Starts(planned, "n00001"));
  const PlanUpdate update = fleet.planner.Withhold({{"n00000", {.reason = GateReason::kLedger}}});
  CHECK(Told(update, "n00000") == GateReason::kLedger);
  CHECK(Told(update, "n00001") == GateReason::kGroup);
  CHECK_FALSE(Told(update, "n00002"));
}

TEST_CASE("A node that starts to wait again between two rounds has no gate until the next round") {
  UpgradePolicy racks = Parallel(10);
  racks.rollout = RolloutPolicy{.groups = NodeGroups{.by = "rack", .mode = GroupMode::kTogether}};
  Fleet fleet(3, racks);
  for (const std::string name : {"n00000", "n00001"}) {
    fleet.view(name).node.labels["rack"] = "a";
    fleet.planner.Update(std::make_shared<const NodeView>(fleet.view(name)));
  }
  Plan plan = fleet.planner.Advance(kNow).plan;
  std::erase_if(plan.nodes, [](const NodePlan& node) { return node.node != "n00000"; });
  REQUIRE(plan.nodes.size() == 1);
  fleet.Apply(plan);
  // Views of other nodes are missing, so Advance does not start a round.
  REQUIRE_FALSE(fleet.planner.Advance(kNow, {.has_all_views = false}).plan.finished);
  const PlanUpdate update = fleet.planner.Withhold({{"n00000", {.reason = GateReason::kGroup}}});
  CHECK(Told(update, "n00000") == GateReason::kGroup);
  CHECK_FALSE(Told(update, "n00001"));
  CHECK_FALSE(fleet.planner.Publish()->Explain("n00001"));
}

TEST_CASE("A verdict is not reused if the time is set back to before it was computed") {
  Fleet fleet(50, Parallel(0));
  fleet.Apply(fleet.planner.Advance(kNow).plan);
  REQUIRE(fleet.planner.Advance(kNow).plan.nodes.empty());
  const std::uint64_t before = fleet.planner.judgements();
  for (int i = 0; i < 2; ++i) {
    CHECK(fleet.planner.Advance(kNow - absl::Hours(1)).plan.nodes.empty());
    CHECK(fleet.planner.judgements() == before + 50);
  }
}

}  // namespace
}  // namespace driverupgrade::tests
