#include "decide/rollout/stages.h"

#include <string>
#include <vector>

#include "support/catch.h"
#include "unit/rollout/fleet.h"

namespace driverupgrade::internal {
namespace {

using Names = std::vector<std::string>;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

RolloutStage Canary() { return {.name = "canary", .nodes = Count{2}, .soak = absl::Hours(1)}; }
RolloutRules Rules(std::vector<RolloutStage> stages) { return RulesOf({.stages = std::move(stages)}, {}); }

// Steps until nothing changes, as if the record of each step were stored.
RolloutStep Settled(const Fleet& fleet, RolloutRecord record, const RolloutRules& rules, absl::Time now = kNow) {
  RolloutStep step = fleet.Advance(record, rules, now);
  while (step.record != record) {
    record = step.record;
    step = fleet.Advance(record, rules, now);
  }
  return step;
}

void Finish(Fleet& fleet, const Names& names) {
  for (const std::string& name : names) fleet.Set(name, NodeProgress::kDone);
}

TEST_CASE("stages select nodes by number, percentage, and selector, and the remaining nodes are the last stage") {
  Fleet fleet(20);
  fleet.Add("pool-a", {{"pool", "canary"}});
  fleet.Add("pool-b", {{"pool", "canary"}});
  const RolloutRules rules = Rules({{.name = "pool", .nodes = LabelSelector::Parse("pool=canary").value()},
                                    {.name = "two", .nodes = Count{2}},
                                    {.name = "some", .nodes = Percent{10}}});
  CHECK(fleet.In(0, rules) == Names{"pool-a", "pool-b"});
  CHECK(fleet.In(1, rules).size() == 2);
  CHECK(fleet.In(2, rules).size() == 3);
  CHECK(fleet.In(3, rules).size() == 15);
}

TEST_CASE(
    "the order of the list does not affect the nodes of a stage, and an added node replaces at most a few of them") {
  Fleet fleet(50);
  const RolloutRules rules = Rules({{.name = "some", .nodes = Count{10}}});
  const Names before = fleet.In(0, rules);
  std::reverse(fleet.view.nodes.begin(), fleet.view.nodes.end());
  Names reversed = fleet.In(0, rules);
  std::reverse(reversed.begin(), reversed.end());
  CHECK(reversed == before);
  std::reverse(fleet.view.nodes.begin(), fleet.view.nodes.end());
  fleet.Add("n50");
  Names common;
  const Names after = fleet.In(0, rules);
  std::set_intersection(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(common));
  CHECK(common.size() >= 9);
  // A stage does not consist of the first nodes by name, because nodes with similar names are often in one rack.
  CHECK(before != Names{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"});
}

TEST_CASE("a node that is left out is not a canary") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  const Names before = fleet.In(0, rules);
  fleet.Set(before[0], NodeProgress::kLeftOut);
  const Names after = fleet.In(0, rules);
  CHECK(after.size() == 2);
  CHECK(std::find(after.begin(), after.end(), before[0]) == after.end());
}

TEST_CASE("all nodes of a group that starts together are in one stage") {
  Fleet fleet;
  for (int i = 0; i < 12; ++i) fleet.Add("n" + std::to_string(i), {{"clique", std::to_string(i / 4)}});
  const RolloutRules rules = RulesOf({.stages = {Canary()}, .groups = NodeGroups{.by = "clique"}}, {});
  CHECK(fleet.In(0, rules).size() == 4);
  CHECK(fleet.In(1, rules).size() == 8);
}

TEST_CASE("the first stage may start immediately, and the next stage waits until the first one is done") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  const RolloutStep first = fleet.Advance({}, rules, kNow);
  CHECK(first.open == 0);
  CHECK_FALSE(first.halted);
  CHECK(first.record.revision == "r1");
  CHECK(first.record.stage == "canary");
  CHECK(first.closed == Gate{.reason = GateReason::kStage,
                             .detail = "stage canary: 0 of 2 nodes have ended, 0 failed",
                             .subject = GateSubject(GateSubjectKind::kStage, "", "canary"),
                             .count = GateCount{.used = 0, .limit = 2}});
  fleet.Set(fleet.In(0, rules)[0], NodeProgress::kDone);
  fleet.Set(fleet.In(0, rules)[1], NodeProgress::kUnderWay);
  CHECK(Settled(fleet, {}, rules).closed.detail == "stage canary: 1 of 2 nodes have ended, 0 failed");
}

TEST_CASE("a stage soaks once it is done, and the next stage starts once the end of the soak is stored") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  Finish(fleet, fleet.In(0, rules));
  const RolloutStep done = Settled(fleet, {}, rules);
  CHECK(done.closed ==
        Gate{.reason = GateReason::kSoak, .detail = "stage canary soaks for 1h", .not_before = kNow + absl::Hours(1)});
  CHECK(done.wake_at == kNow + absl::Hours(1));
  CHECK(fleet.Advance(done.record, rules, kNow + absl::Minutes(59)).open == 0);
  const RolloutStep soaked = fleet.Advance(done.record, rules, kNow + absl::Hours(1));
  CHECK(soaked.record.stage == kLastStage);
  // The new stage is not stored yet, so another replica might not know that it is open.
  CHECK(soaked.open == 0);
  CHECK(soaked.closed.detail == "the stage is about to start");
  CHECK(fleet.Advance(soaked.record, rules, kNow + absl::Hours(1)).open == 1);
}

TEST_CASE("a soak never ends early by a fraction of a second") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  Finish(fleet, fleet.In(0, rules));
  const absl::Time now = kNow + absl::Milliseconds(900);
  const RolloutStep done = Settled(fleet, {}, rules, now);
  CHECK(done.wake_at >= now + absl::Hours(1));
}

TEST_CASE("the soak restarts if a canary is no longer done") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  Finish(fleet, fleet.In(0, rules));
  const RolloutStep done = Settled(fleet, {}, rules);
  fleet.Set(fleet.In(0, rules)[0], NodeProgress::kUnderWay);
  const RolloutStep again = Settled(fleet, done.record, rules, kNow + absl::Minutes(30));
  CHECK_FALSE(again.record.soak_since);
  Finish(fleet, fleet.In(0, rules));
  CHECK(Settled(fleet, again.record, rules, kNow + absl::Minutes(40)).wake_at == kNow + absl::Minutes(100));
}

TEST_CASE("W37: the record contains the time at which its revision was first recorded") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  RolloutRecord record = Settled(fleet, {}, rules).record;
  CHECK(record.began == kNow);
  CHECK(Settled(fleet, record, rules, kNow + absl::Hours(3)).record.began == kNow);
  record.revision = "older";
  CHECK(Settled(fleet, record, rules, kNow + absl::Hours(3)).record.began == kNow + absl::Hours(3));
}

TEST_CASE("without a record the rollout starts at its first stage, with a new soak") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  Finish(fleet, fleet.In(0, rules));
  const RolloutStep lost = Settled(fleet, {}, rules, kNow + absl::Hours(5));
  CHECK(lost.open == 0);
  CHECK(lost.wake_at == kNow + absl::Hours(6));
}

TEST_CASE("a soak that starts in the future is restarted, unless clock differences can explain the time") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  Finish(fleet, fleet.In(0, rules));
  RolloutRecord record = Settled(fleet, {}, rules).record;
  record.soak_since = kNow + absl::Seconds(30);
  CHECK(Settled(fleet, record, rules).record.soak_since == kNow + absl::Seconds(30));
  record.soak_since = kNow + absl::Hours(10);
  CHECK(Settled(fleet, record, rules).record.soak_since == kNow);
}

TEST_CASE("a stage that requires approval waits for an approval with its name and the revision") {
  Fleet fleet(5);
  RolloutStage stage = Canary();
  stage.soak = absl::ZeroDuration();
  stage.approval = Approval::kManual;
  const RolloutRules rules = Rules({stage});
  Finish(fleet, fleet.In(0, rules));
  const RolloutStep waits = Settled(fleet, {}, rules);
  CHECK(waits.closed == Gate{.reason = GateReason::kApproval,
                             .detail = "stage canary waits for the approval canary@r1",
                             .subject = GateSubject(GateSubjectKind::kApproval, "", "canary@r1")});
  for (const char* wrong : {"canary", "canary@r2", "rest@r1", "true", "canary@r11", "@"}) {
    fleet.view.approvals = {wrong};
    CHECK(Settled(fleet, waits.record, rules).open == 0);
  }
  fleet.view.approvals = {"canary@r1", "other@r1"};
  CHECK(Settled(fleet, waits.record, rules).open == 1);
}

TEST_CASE("a new revision or changed stages restart the rollout at the first stage") {
  Fleet fleet(5);
  RolloutStage stage = Canary();
  stage.soak = absl::ZeroDuration();
  const RolloutRules rules = Rules({stage});
  Finish(fleet, fleet.In(0, rules));
  const RolloutRecord last = Settled(fleet, {}, rules).record;
  REQUIRE(last.stage == kLastStage);
  SECTION("another revision") {
    fleet.view.revision = "r2";
    for (const std::string& name : fleet.In(0, rules)) fleet.Set(name, NodeProgress::kWaiting);
    CHECK(fleet.Advance(last, rules, kNow).open == 0);
    CHECK(Settled(fleet, last, rules).record.stage == "canary");
  }
  SECTION("other stages") {
    stage.nodes = Count{4};
    const RolloutRules more = Rules({stage});
    CHECK(fleet.Advance(last, more, kNow).open == 0);
    CHECK(Settled(fleet, last, more).record.stage == "canary");
  }
  SECTION("changed windows do not restart the rollout") {
    RolloutPolicy policy = rules.policy;
    policy.windows = {{}};
    CHECK(fleet.Advance(last, RulesOf(policy, {}), kNow).open == 1);
  }
  SECTION("an unknown revision starts no node of a later stage, and changes nothing") {
    fleet.view.revision.reset();
    CHECK(fleet.Advance(last, rules, kNow).open == 0);
    CHECK(fleet.Advance(last, rules, kNow).record == last);
  }
}

TEST_CASE("if the soak time of a soaking stage changes, the new time counts from the start of the soak") {
  Fleet fleet(5);
  RolloutStage stage = Canary();
  Finish(fleet, fleet.In(0, Rules({stage})));
  const RolloutRecord soaks = Settled(fleet, {}, Rules({stage})).record;
  stage.soak = absl::Minutes(20);
  CHECK(Settled(fleet, soaks, Rules({stage}), kNow + absl::Minutes(19)).wake_at == kNow + absl::Minutes(20));
  CHECK(Settled(fleet, soaks, Rules({stage}), kNow + absl::Minutes(20)).open == 1);
}

TEST_CASE("a stage is not done while one of its nodes is unhealthy, and the soak of the stage restarts") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  const std::string canary = fleet.In(0, rules)[1];
  Finish(fleet, fleet.In(0, rules));
  const RolloutRecord soaks = Settled(fleet, {}, rules).record;
  fleet.node(canary).unwell = "pod monitoring/dcgm-1 is not ready";
  const RolloutStep waits = Settled(fleet, soaks, rules);
  CHECK_FALSE(waits.halted);
  CHECK_FALSE(waits.record.soak_since);
  CHECK(waits.closed.detail ==
        "stage canary: 1 of 2 nodes have ended, 0 failed; node " + canary + ": pod monitoring/dcgm-1 is not ready");
}

TEST_CASE("a soak continues while pods have not been read, but ends only once they have been read") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  const Names canaries = fleet.In(0, rules);
  Finish(fleet, canaries);
  const RolloutRecord soaks = Settled(fleet, {}, rules).record;
  fleet.node(canaries[0]).unwell = "its pods have not been read";
  fleet.node(canaries[0]).is_unread = true;
  const absl::Time end = kNow + absl::Hours(1);
  const RolloutStep waits = Settled(fleet, soaks, rules, end);
  CHECK(waits.record.soak_since == soaks.soak_since);
  CHECK(waits.open == 0);
  SECTION("they are well") {
    fleet.node(canaries[0]).unwell.clear();
    fleet.node(canaries[0]).is_unread = false;
    CHECK(Settled(fleet, waits.record, rules, end).open == 1);
  }
  SECTION("another node is known not to be healthy") {
    fleet.node(canaries[1]).unwell = "pod monitoring/dcgm-1 is not ready";
    CHECK_FALSE(Settled(fleet, waits.record, rules, end).record.soak_since);
  }
}

TEST_CASE("the expected time of a node is the measured time, or the policy's estimate before there are measurements") {
  RolloutRecord record;
  const RolloutPolicy policy{.expected_node_duration = absl::Minutes(10)};
  CHECK(NodeTakes(record, policy) == absl::Minutes(10));
  for (int i = 0; i < 5; ++i) record.durations.Add(absl::Minutes(2));
  CHECK(NodeTakes(record, policy) < absl::Minutes(3));
  CHECK(NodeTakes({}, {}) == absl::ZeroDuration());
}

TEST_CASE("a stage without nodes blocks the next stage") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({{.name = "pool", .nodes = LabelSelector::Parse("pool=cannary").value()}});
  const RolloutStep step = Settled(fleet, {}, rules);
  CHECK(step.open == 0);
  CHECK(step.closed.detail == "stage pool has no node");
}

TEST_CASE("a sick node halts the rollout until a new approval is given, even if the node recovers") {
  Fleet fleet(5);
  RolloutStage stage = Canary();
  stage.soak = absl::ZeroDuration();
  const RolloutRules rules = Rules({stage});
  Finish(fleet, fleet.In(0, rules));
  const std::string canary = fleet.In(0, rules)[0];
  fleet.node(canary).sick = "GpuHealthy=False";
  fleet.view.approvals = {"canary@r1"};
  RolloutStep halted = fleet.Advance({}, rules, kNow);
  REQUIRE(halted.halted);
  CHECK(halted.halted->detail ==
        "node " + canary + " of stage canary is sick: GpuHealthy=False; to continue, approve canary@r1");
  // The node is healthy again, and the approval was given before the halt, so the rollout stays halted.
  fleet.node(canary).sick.clear();
  halted = Settled(fleet, halted.record, rules);
  CHECK(halted.halted);
  fleet.view.approvals.clear();
  halted = Settled(fleet, halted.record, rules);
  CHECK(halted.halted);
  fleet.view.approvals = {"canary@r1"};
  // The rollout stays halted until the new record is stored.
  CHECK(fleet.Advance(halted.record, rules, kNow).halted);
  const RolloutStep lifted = Settled(fleet, halted.record, rules);
  CHECK_FALSE(lifted.halted);
  CHECK(lifted.open == 1);
}

TEST_CASE("a waived node does not halt the rollout again, but another node does") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  Finish(fleet, fleet.In(0, rules));
  fleet.node(fleet.In(0, rules)[0]).sick = "sick";
  const RolloutStep halted = Settled(fleet, {}, rules);
  REQUIRE(halted.halted);
  fleet.view.approvals = {"canary@r1"};
  const RolloutStep lifted = Settled(fleet, halted.record, rules);
  CHECK_FALSE(lifted.halted);
  CHECK(lifted.record.soak_since == kNow);
  fleet.node(fleet.In(0, rules)[1]).sick = "sick";
  CHECK(Settled(fleet, lifted.record, rules).halted);
}

TEST_CASE("a new revision or a changed policy lifts a halt") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  Finish(fleet, fleet.In(0, rules));
  fleet.node(fleet.In(0, rules)[0]).sick = "sick";
  const RolloutStep halted = Settled(fleet, {}, rules);
  fleet.node(fleet.In(0, rules)[0]).sick.clear();
  REQUIRE(Settled(fleet, halted.record, rules).halted);
  SECTION("another revision") {
    fleet.view.revision = "r2";
    CHECK_FALSE(Settled(fleet, halted.record, rules).halted);
  }
  SECTION("another policy") {
    RolloutPolicy policy = rules.policy;
    policy.stages[0].soak += absl::Minutes(1);
    CHECK_FALSE(Settled(fleet, halted.record, RulesOf(policy, {})).halted);
    CHECK_FALSE(Settled(fleet, halted.record, RulesOf(rules.policy, {{FailureClass::kNodeLost, Count{1}}})).halted);
  }
  SECTION("a node that is still sick halts the rollout even after a change of the policy") {
    fleet.node(fleet.In(0, rules)[1]).sick = "sick";
    RolloutPolicy policy = rules.policy;
    policy.stages[0].soak += absl::Minutes(1);
    CHECK(Settled(fleet, halted.record, RulesOf(policy, {})).halted);
  }
}

TEST_CASE("a failure above the limit of a stage halts the rollout, and failures within the limit do not block it") {
  Fleet fleet(10);
  RolloutStage stage{.name = "some", .nodes = Count{4}, .max_failures = Count{1}};
  const RolloutRules rules = Rules({stage});
  const Names some = fleet.In(0, rules);
  Finish(fleet, some);
  fleet.Set(some[0], NodeProgress::kFailed);
  CHECK(Settled(fleet, {}, rules).open == 1);
  fleet.Set(some[1], NodeProgress::kFailed);
  const RolloutStep halted = Settled(fleet, {}, rules);
  REQUIRE(halted.halted);
  CHECK(halted.record.halt->reason == "stage some: 2 nodes failed (limit 1), first: " + some[0]);
  SECTION("a percentage is relative to the number of nodes in the stage, and is rounded down") {
    stage.max_failures = Percent{49};
    CHECK(Settled(fleet, {}, Rules({stage})).halted);
    stage.max_failures = Percent{50};
    CHECK_FALSE(Settled(fleet, {}, Rules({stage})).halted);
  }
  SECTION("without a limit a failure does not halt, and the stage is not done") {
    stage.max_failures.reset();
    const RolloutStep waits = Settled(fleet, {}, Rules({stage}));
    CHECK_FALSE(waits.halted);
    CHECK(waits.open == 0);
  }
}

TEST_CASE("a sick node halts the rollout only while another node is waiting or in progress") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  Finish(fleet, {"n0", "n1", "n2", "n3", "n4"});
  fleet.Set("n3", NodeProgress::kFailed);
  fleet.node(fleet.In(0, rules)[0]).sick = "GpuHealthy=False";
  fleet.view.sick = GENERATE("", "alert DriverErrors fires");
  const RolloutStep over = Settled(fleet, {}, rules);
  CHECK_FALSE(over.halted);
  CHECK_FALSE(over.record.halt);
  fleet.Set("n3", GENERATE(NodeProgress::kWaiting, NodeProgress::kUnderWay));
  CHECK(Settled(fleet, over.record, rules).halted);
}

TEST_CASE("with several DaemonSets, a halt stays in effect while one of its revisions is a target") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  Finish(fleet, fleet.In(0, rules));
  fleet.view.revisions = {"a2", "b2"};
  fleet.view.revision = "a2 and b2";
  fleet.node(fleet.In(0, rules)[0]).sick = "sick";
  const RolloutRecord halted = Settled(fleet, {}, rules).record;
  REQUIRE(halted.halt);
  fleet.node(fleet.In(0, rules)[0]).sick.clear();
  // A DaemonSet for another kernel is created, or one of the two DaemonSets is deleted.
  fleet.view.revisions = GENERATE(std::set<std::string>{"a2", "b2", "c1"}, std::set<std::string>{"b2"});
  fleet.view.revision = GENERATE("a2, b2 and c1", "b2");
  const RolloutStep still = Settled(fleet, halted, rules);
  CHECK(still.halted);
  CHECK(ParseRecord(FormatRecord(still.record)).record == still.record);
  fleet.view.revisions = {"a3", "b3"};
  fleet.view.revision = "a3 and b3";
  CHECK_FALSE(Settled(fleet, still.record, rules).halted);
}

// All releases must compute the same fingerprints, so that installing another release neither lifts a halt nor restarts
// a rollout. A new policy field must be written only if it is set (FieldWriter), or it would change the fingerprints.
TEST_CASE("the fingerprints of a policy are stable") {
  const RolloutRules none = RulesOf({}, {});
  CHECK(none.fingerprint == "90339c1c6ef24195");
  CHECK(none.stages_fingerprint == "90339c1c6ef24195");
  RolloutStage stage = Canary();
  stage.max_parallel = 1;
  stage.max_failures = Count{0};
  stage.approval = Approval::kManual;
  const RolloutRules full =
      RulesOf({.stages = {stage, {.name = "pool", .nodes = LabelSelector::Parse("pool=early").value()}},
               .order = {{.by = OrderBy::kIdle}, {.by = OrderBy::kLabel, .label = "priority"}},
               .groups = NodeGroups{.by = "rack", .mode = GroupMode::kSpread, .max_per_group = Percent{25}},
               .windows = {{.days = {absl::Weekday::saturday}, .start = absl::Hours(22)}},
               .closed = {{.first = absl::CivilDay(2026, 12, 24), .last = absl::CivilDay(2027, 1, 2)}},
               .finish_by = true,
               .expected_node_duration = absl::Minutes(10),
               .health = RolloutHealth{.node_conditions = {{.type = "GpuHealthy", .status = "False"}},
                                       .pod_selector = LabelSelector::Parse("app=dcgm").value(),
                                       .max_driver_restarts = 2}},
              {{FailureClass::kDriverCrash, Count{1}}});
  CHECK(full.fingerprint == "66f3e12c04d3b154");
  CHECK(full.whole_fingerprint == "5187209c9e85bd7e");
  CHECK(full.stages_fingerprint == "2787feaf8fd9aba8");
}

TEST_CASE("W18: a halt that was recorded by an earlier release stays in effect") {
  Fleet fleet(5);
  RolloutRules rules = Rules({Canary()});
  rules.policy.order = {{.by = OrderBy::kIdle}};
  rules = RulesOf(rules.policy, {});
  Finish(fleet, fleet.In(0, rules));
  fleet.node(fleet.In(0, rules)[0]).sick = "sick";
  RolloutRecord record = Settled(fleet, {}, rules).record;
  fleet.node(fleet.In(0, rules)[0]).sick.clear();
  REQUIRE(record.halt);
  record.halt->policy = rules.whole_fingerprint;
  const RolloutStep step = Settled(fleet, record, rules);
  CHECK(step.halted);
  CHECK(step.record.halt->policy == rules.fingerprint);
}

TEST_CASE("W8: if a node of the soaking stage is out of use, the soak ends, and after a minute the rollout is halted") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  const Names canaries = fleet.In(0, rules);
  Finish(fleet, canaries);
  RolloutStep step = Settled(fleet, {}, rules);
  REQUIRE(step.record.soak_since);
  RolloutNode& canary = fleet.node(canaries[0]);
  canary.out_of_use = true;
  canary.unwell = "NotReady since then";
  canary.out_of_use_since = kNow;
  step = Settled(fleet, step.record, rules, kNow + absl::Seconds(59));
  CHECK_FALSE(step.record.soak_since);
  CHECK_FALSE(step.halted);
  CHECK(step.closed.detail ==
        "stage canary: 1 of 2 nodes have ended, 0 failed; node " + canaries[0] + ": NotReady since then");
  CHECK(step.wake_at == kNow + absl::Seconds(60));
  const RolloutStep halted = Settled(fleet, step.record, rules, kNow + absl::Seconds(60));
  REQUIRE(halted.halted);
  CHECK(halted.halted->detail == "node " + canaries[0] +
                                     " of stage canary is sick: NotReady since then, for more than 1m; to continue, "
                                     "approve canary@r1");

  SECTION("an approval accepts the stage despite the node") {
    fleet.view.approvals = {"canary@r1"};
    const RolloutStep approved = Settled(fleet, halted.record, rules, kNow + absl::Seconds(61));
    CHECK_FALSE(approved.halted);
    CHECK(approved.record.soak_since);
  }
  SECTION("the policy can set the time after which the rollout is halted") {
    RolloutPolicy patient = rules.policy;
    patient.health = RolloutHealth{.unwell_max = absl::Minutes(5)};
    CHECK_FALSE(Settled(fleet, step.record, RulesOf(patient, {}), kNow + absl::Seconds(299)).halted);
    CHECK(Settled(fleet, step.record, RulesOf(patient, {}), kNow + absl::Seconds(300)).halted);
  }
  SECTION("a driver that is still starting ends the soak, but does not halt the rollout") {
    canary.out_of_use_since.reset();
    CHECK_FALSE(Settled(fleet, step.record, rules, kNow + absl::Hours(1)).halted);
  }
  SECTION("a node of the last stage is not watched") {
    const Names rest = fleet.In(1, rules);
    Finish(fleet, {rest[0], rest[1]});
    canary.out_of_use = false;
    canary.unwell.clear();
    canary.out_of_use_since.reset();
    step = Settled(fleet, step.record, rules, kNow);
    step = Settled(fleet, step.record, rules, kNow + absl::Hours(2));
    REQUIRE(step.record.stage == "rest");
    RolloutNode& other = fleet.node(rest[0]);
    other.out_of_use = true;
    other.unwell = "NotReady";
    other.out_of_use_since = kNow;
    CHECK_FALSE(Settled(fleet, step.record, rules, kNow + absl::Hours(3)).halted);
  }
}

TEST_CASE("W8: the nodes of the last group are watched, and no other group starts while a node is out of use") {
  Fleet fleet;
  fleet.Add("a1", {{"rack", "a"}});
  fleet.Add("b1", {{"rack", "b"}});
  fleet.Add("c1", {{"rack", "c"}});
  const RolloutRules rules = RulesOf({.groups = NodeGroups{.by = "rack", .mode = GroupMode::kOneAtATime}}, {});
  fleet.Set("a1", NodeProgress::kDone);
  fleet.Set("b1", NodeProgress::kUnderWay);
  RolloutStep step = Settled(fleet, {}, rules);
  CHECK(step.record.group == "=b");
  CHECK(ParseRecord(FormatRecord(step.record)).record == step.record);
  fleet.Set("b1", NodeProgress::kDone);
  for (const char* name : {"a1", "b1"}) {
    fleet.node(name).out_of_use = true;
    fleet.node(name).unwell = "NotReady";
  }
  step = Settled(fleet, step.record, rules);
  CHECK(step.last_group == "one group at a time: node b1 of the last group: NotReady");
  CHECK(fleet.Started(step, rules).empty());
  fleet.node("b1").out_of_use_since = kNow;
  CHECK(Settled(fleet, step.record, rules, kNow + absl::Minutes(1)).halted);
  // Nodes of earlier groups are not watched.
  fleet.node("b1").out_of_use = false;
  fleet.node("b1").unwell.clear();
  fleet.node("b1").out_of_use_since.reset();
  fleet.node("a1").out_of_use_since = kNow;
  step = Settled(fleet, step.record, rules, kNow + absl::Hours(1));
  CHECK_FALSE(step.halted);
  CHECK(fleet.Started(step, rules) == Names{"c1"});
}

TEST_CASE("W6: a stage continues without the nodes that are unfit to start, and its gate names the first of them") {
  Fleet fleet;
  fleet.Add("a1", {{"pool", "canary"}});
  fleet.Add("a2", {{"pool", "canary"}});
  fleet.Add("b1");
  const RolloutRules rules = Rules({{.name = "canary", .nodes = LabelSelector::Parse("pool=canary").value()}});
  Node dead = *fleet.node("a2").node;
  dead.ready = false;
  dead.ready_transition_time = kNow;
  fleet.node("a2").node = &dead;
  fleet.Set("a2", NodeProgress::kLeftOut);
  fleet.node("a2").left_out_by = GateReason::kNodeNotReady;
  RolloutStep step = Settled(fleet, {}, rules);
  CHECK(step.closed.detail ==
        "stage canary: 0 of 1 nodes have ended, 0 failed; 1 of 2 left out: a2, NotReady since 2027-01-15T08:00:00Z");
  fleet.Set("a1", NodeProgress::kDone);
  CHECK(Settled(fleet, {}, rules).open == 1);
  // None of the remaining nodes could prove that the driver works.
  fleet.Set("a1", NodeProgress::kLeftOut);
  step = Settled(fleet, {}, rules);
  CHECK(step.open == 0);
  CHECK(step.closed.detail == "stage canary has 1 node, left out: 1 unfit: a2, NotReady since 2027-01-15T08:00:00Z");
}

TEST_CASE("the operator's callback can halt the rollout") {
  Fleet fleet(5);
  fleet.view.sick = "alert DriverErrors fires";
  const RolloutStep step = fleet.Advance({}, Rules({}), kNow);
  REQUIRE(step.halted);
  CHECK(step.halted->detail == "alert DriverErrors fires; to continue, approve rest@r1");
}

TEST_CASE("a record that cannot be read halts the rollout until an approval is given") {
  Fleet fleet(5);
  const RolloutRules rules = Rules({Canary()});
  fleet.view.approvals = {"canary@r1"};
  const RolloutRecord garbage = ParseRecord("garbage").record;
  CHECK(fleet.Advance(garbage, rules, kNow).halted);
  const RolloutStep halted = Settled(fleet, garbage, rules);
  CHECK(halted.halted);
  fleet.view.approvals.clear();
  const RolloutRecord seen = Settled(fleet, halted.record, rules).record;
  fleet.view.approvals = {"canary@r1"};
  CHECK_FALSE(Settled(fleet, seen, rules).halted);
}

TEST_CASE("measured durations are kept across revisions") {
  Fleet fleet(5);
  fleet.view.took = std::vector<absl::Duration>(5, absl::Minutes(4));
  const RolloutStep step = fleet.Advance({}, Rules({}), kNow);
  fleet.view.took.clear();
  fleet.view.revision = "r2";
  CHECK(fleet.Advance(step.record, Rules({}), kNow).record.durations.Quantile(95) >= absl::Minutes(4));
}

}  // namespace
}  // namespace driverupgrade::internal
