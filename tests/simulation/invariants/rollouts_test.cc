// Tests the checker's rules about rollouts (I14, I20 to I22). The tests break each rule on purpose.
#include <string>
#include <utility>
#include <vector>

#include "decide/rollout/duration_sketch.h"
#include "driverupgrade/rollout_policy.h"
#include "simulation/invariants/world.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

/// A world whose policy has a rollout and no other limit, with a record of the rollout in the ledger.
struct RecordedWorld : World {
  explicit RecordedWorld(RolloutPolicy rollout)
      : World({.auto_upgrade = true,
               .max_parallel = std::nullopt,
               .drain = DrainPolicy{},
               .rollout = std::move(rollout)}) {}
  /// Creates the record. `durations` maps the index of a DurationSketch bucket to the number of nodes whose upgrade
  /// took that long.
  void Record(const std::string& stage, const std::string& more = "", const std::string& durations = "") {
    cluster->RemoveConfigMap(fleet.ns, "ledger");
    const ConfigMap ledger{.ns = fleet.ns, .name = "ledger", .data = {{kKey, Text(stage, more, durations)}}};
    REQUIRE(cluster->CreateConfigMap({}, ledger).ok());
  }
  /// Adds one node whose upgrade took `took` to the durations of the record.
  void RecordOne(absl::Duration took) {
    internal::DurationSketch sketch;
    sketch.Add(took);
    const ConfigMap ledger = *cluster->config_map(fleet.ns, "ledger");
    const std::string durations = "\"" + std::to_string(sketch.counts().begin()->first) + "\":1";
    REQUIRE(cluster
                ->PatchConfigMap({}, {.ns = ledger.ns,
                                      .name = ledger.name,
                                      .uid = ledger.uid,
                                      .resource_version = ledger.resource_version,
                                      .data = {{kKey, Text("", "", durations)}}})
                .ok());
  }

 private:
  static constexpr char kKey[] = "_rollout_nvidia.com_gpu";
  static std::string Text(const std::string& stage, const std::string& more, const std::string& durations) {
    return R"({"version":1,"revision":"rev-1","stages":"s","stage":")" + stage + R"(")" + more +
           R"(,"waived":[],"durations":{)" + durations + "}}";
  }
};

/// A world in which the first stage consists of the nodes with the canary label.
struct RolloutWorld : RecordedWorld {
  explicit RolloutWorld(RolloutStage canary, std::vector<RolloutWindow> windows = {})
      : RecordedWorld({.stages = {Named(std::move(canary))}, .windows = std::move(windows)}) {
    REQUIRE(cluster->EditNode(NodeName(0), [](Node& node) { node.labels["pool"] = "canary"; }));
  }
  static RolloutStage Named(RolloutStage stage) {
    stage.name = "canary";
    stage.nodes = LabelSelector::FromMatchLabels({{"pool", "canary"}});
    return stage;
  }
};

/// A world of two racks with two nodes each. The first rack is a stage.
struct RackWorld : RecordedWorld {
  explicit RackWorld(std::optional<NodeGroups> groups, std::optional<int> max_parallel = std::nullopt)
      : RecordedWorld({.stages = {Canary(max_parallel)}, .groups = std::move(groups)}) {
    for (std::size_t i = 0; i < 4; ++i) {
      Put(i, "upgrade-required", [&](Node& node) { node.labels["rack"] = i < 2 ? "a" : "b"; });
    }
    // The record comes from an earlier upgrade, so the checker ignores how it was written.
    Record("rest");
    // After this time, the checker assumes that every engine knows the nodes' racks.
    clock->Advance(absl::Minutes(6));
  }
  static RolloutStage Canary(std::optional<int> max_parallel = std::nullopt) {
    return {.name = "canary", .nodes = LabelSelector::FromMatchLabels({{"rack", "a"}}), .max_parallel = max_parallel};
  }
  void Begin(std::size_t i) {
    Ask(i);
    Move(i, UpgradeState::kUpgradeRequired, {UpgradeState::kCordonRequired});
  }
  /// Starts these nodes in sequence and returns the broken invariant.
  std::string After(const std::vector<std::size_t>& nodes) {
    for (const std::size_t i : nodes) Begin(i);
    return Broken();
  }
};

TEST_CASE("I22: the record contains a duration that no node took") {
  for (const auto& [told, broken] : std::vector<std::pair<absl::Duration, std::string>>{
           {absl::Minutes(5), ""}, {absl::Minutes(4), "I22"}, {absl::Minutes(8), "I22"}}) {
    INFO(absl::FormatDuration(told));
    RecordedWorld world({});
    world.Record("");
    world.Start(0);
    world.clock->Advance(absl::Minutes(5));
    world.Move(0, UpgradeState::kDrainRequired, {UpgradeState::kFailed});
    world.Start(1);
    world.clock->Advance(absl::Minutes(5));
    world.Put(1, "uncordon-required");
    world.Move(1, UpgradeState::kUncordonRequired, {UpgradeState::kDone},
               {.annotations = {{std::string(kCordonedByAnnotation), std::nullopt}}, .unschedulable = false});
    REQUIRE(world.checker->Report() == "");
    world.RecordOne(told);
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I14: an engine stores a record without a revision") {
  for (const bool by_engine : {true, false}) {
    RecordedWorld world({});
    const ConfigMap ledger{.ns = world.fleet.ns,
                           .name = "ledger",
                           .data = {{"_rollout_nvidia.com_gpu", R"({"version":1,"stage":"","durations":{}})"}}};
    REQUIRE((by_engine ? world.guarded->CreateConfigMap({}, ledger) : world.cluster->CreateConfigMap({}, ledger)).ok());
    CHECK(world.Broken() == (by_engine ? "I14" : ""));
  }
}

TEST_CASE("I22: a duration is stored once the server responds again") {
  for (const auto& [fault_after, broken] : std::vector<std::pair<std::optional<absl::Duration>, std::string>>{
           {std::nullopt, "I22"}, {absl::Minutes(9), ""}, {absl::Minutes(11), "I22"}}) {
    INFO(absl::FormatDuration(fault_after.value_or(absl::ZeroDuration())));
    RecordedWorld world({});
    world.Record("");
    world.Start(0);
    world.clock->Advance(absl::Minutes(5));
    world.Put(0, "uncordon-required");
    world.Move(0, UpgradeState::kUncordonRequired, {UpgradeState::kDone},
               {.annotations = {{std::string(kCordonedByAnnotation), std::nullopt}}, .unschedulable = false});
    world.clock->Advance(fault_after.value_or(absl::ZeroDuration()));
    if (fault_after) world.checker->NoteFault();
    world.clock->Advance(absl::Minutes(18) - fault_after.value_or(absl::ZeroDuration()));
    REQUIRE(world.checker->Report() == "");
    world.RecordOne(absl::Minutes(5));
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I20: a node starts in a stage that the record has not reached") {
  RolloutWorld early({});
  early.Record("canary");
  early.Start(0);
  CHECK(early.checker->Report() == "");
  early.Start(1);
  CHECK(early.Broken() == "I20");

  RolloutWorld unrecorded({});
  unrecorded.Start(0);
  CHECK(unrecorded.Broken() == "I20");

  // An earlier upgrade left the node cordoned.
  RolloutWorld cordoned({});
  cordoned.Put(1, "upgrade-required", [](Node& node) {
    node.unschedulable = true;
    node.annotations["driverupgrade/cordoned-by"] = "nvidia.com/gpu";
  });
  cordoned.Record("canary");
  cordoned.Move(1, UpgradeState::kUpgradeRequired, {UpgradeState::kCordonRequired});
  CHECK(cordoned.checker->Report() == "");
}

TEST_CASE("I20: a node starts while the rollout is halted") {
  RolloutWorld world({});
  world.Record("canary", R"(,"halt":{"stage":"canary","reason":"sick","policy":"p","seen":[]})");
  world.cluster->Advance(absl::Minutes(10));
  world.Start(0);
  CHECK(world.Broken() == "I20");
}

TEST_CASE("I20: a node starts while no window is open") {
  const auto start_at = [](absl::Duration begins) {
    RolloutWorld world({}, {{.start = begins, .duration = absl::Minutes(30)}});
    world.Record("canary");
    world.cluster->Advance(absl::Hours(2));
    world.Start(0);
    return world.Broken();
  };
  CHECK(start_at(absl::Hours(2) - absl::Minutes(10)) == "");
  CHECK(start_at(absl::Hours(1)) == "I20");
  CHECK(start_at(absl::Hours(3)) == "I20");
}

/// Starts a node at 02:00 on Thursday, 2026-01-01, while this rollout policy applies, and returns the broken invariant.
std::string StartAtTwo(const RolloutPolicy& rollout, const std::string& durations = "") {
  RecordedWorld world(rollout);
  world.cluster->Advance(absl::Hours(2));
  world.Record("rest", "", durations);
  world.Start(0);
  return world.Broken();
}

TEST_CASE("I20: a start is checked against the time of its request, not the time at which the label appeared") {
  const auto start_after_asking_for = [](const std::string& state) {
    RolloutWorld world({}, {{.start = absl::Hours(1), .duration = absl::Minutes(30)}});
    world.Record("canary");
    world.cluster->Advance(absl::Hours(1));
    world.Ask(0, state);
    world.cluster->Advance(absl::Hours(1));
    world.Start(0);
    return world.Broken();
  };
  // The window was open when the patch was sent, and the response was lost.
  CHECK(start_after_asking_for("cordon-required") == "");
  CHECK(start_after_asking_for("upgrade-done") == "I20");
}

TEST_CASE("I20: a node starts on a closed day") {
  const absl::CivilDay today(2026, 1, 1);
  CHECK(StartAtTwo({.closed = {{.first = today - 3, .last = today - 1}}}) == "");
  CHECK(StartAtTwo({.closed = {{.first = today + 1, .last = today + 3}}}) == "");
  CHECK(StartAtTwo({.closed = {{.first = today - 3, .last = today}}}) == "I20");
  CHECK(StartAtTwo({.closed = {{.first = today, .last = today}}}) == "I20");
  // In New York it is still the previous evening, and closed days follow the window's time zone.
  const RolloutWindow always{.duration = absl::Hours(24), .time_zone = absl::FixedTimeZone(-5 * 3600)};
  CHECK(StartAtTwo({.windows = {always}, .closed = {{.first = today, .last = today}}}) == "");
  CHECK(StartAtTwo({.windows = {always}, .closed = {{.first = today - 1, .last = today - 1}}}) == "I20");
  // The day is closed in the time zone of one window, but not in the time zone of the other window.
  const RolloutWindow also{.duration = absl::Hours(24)};
  CHECK(StartAtTwo({.windows = {always, also}, .closed = {{.first = today - 1, .last = today - 1}}}) == "");
}

TEST_CASE("I20: a node starts although it will not finish in time") {
  const auto finish_by = [](absl::Duration expected, std::vector<RolloutWindow> windows,
                            std::vector<ClosedDays> closed = {}) {
    return RolloutPolicy{.windows = std::move(windows),
                         .closed = std::move(closed),
                         .finish_by = true,
                         .expected_node_duration = expected};
  };
  // The window closes at 02:30. The checker allows for data that an engine read up to five minutes earlier.
  const RolloutWindow window{.start = absl::Hours(1), .duration = absl::Minutes(90)};
  CHECK(StartAtTwo(finish_by(absl::Minutes(29), {window})) == "");
  CHECK(StartAtTwo(finish_by(absl::Minutes(36), {window})) == "I20");
  // Another window opens before the first window closes, or exactly when it closes.
  const RolloutWindow next{.start = absl::Minutes(150), .duration = absl::Minutes(30)};
  CHECK(StartAtTwo(finish_by(absl::Minutes(59), {window, next})) == "");
  CHECK(StartAtTwo(finish_by(absl::Minutes(66), {window, next})) == "I20");
  const RolloutWindow later{.start = absl::Minutes(151), .duration = absl::Minutes(30)};
  CHECK(StartAtTwo(finish_by(absl::Minutes(36), {window, later})) == "I20");
  // A closed day limits the time as well.
  const ClosedDays tomorrow{.first = absl::CivilDay(2026, 1, 2), .last = absl::CivilDay(2026, 1, 2)};
  CHECK(StartAtTwo(finish_by(absl::Hours(21), {}, {tomorrow})) == "");
  CHECK(StartAtTwo(finish_by(absl::Hours(23), {}, {tomorrow})) == "I20");
  // Once there are enough measured durations, they replace the expected duration. Here they are longer than an hour, or
  // shorter than ten minutes.
  CHECK(StartAtTwo(finish_by(absl::Minutes(1), {window}, {}), R"("45":5)") == "I20");
  CHECK(StartAtTwo(finish_by(absl::Minutes(1), {window}, {}), R"("45":4)") == "");
  CHECK(StartAtTwo(finish_by(absl::Hours(2), {window}, {}), R"("20":5)") == "");
}

TEST_CASE("I20: a node starts although the budget of a failure class is exhausted") {
  const auto start = [](FailureBudgets budgets, const std::vector<const char*>& failures) {
    World world({.auto_upgrade = true,
                 .max_parallel = 4,
                 .failure_policy = FailurePolicy{.max_failures = Count{4}, .by_class = std::move(budgets)}});
    for (std::size_t i = 0; i < failures.size(); ++i) {
      world.Put(i, "upgrade-failed",
                [&](Node& node) { node.annotations[Gpu().FailureClassAnnotation()] = failures[i]; });
    }
    world.Ask(3);
    world.StartUnread(3);
    return world.Broken();
  };
  const FailureBudgets one_image{{FailureClass::kImagePull, Count{1}}};
  CHECK(start(one_image, {"ImagePull"}) == "I20");
  CHECK(start(one_image, {"DriverCrash", "Validation", "no class"}) == "");
  CHECK(start({{FailureClass::kNodeLost, Count{2}}}, {"NodeLost"}) == "");
  CHECK(start({{FailureClass::kNodeLost, Count{2}}}, {"NodeLost", "NodeLost"}) == "I20");
  // The cluster has four nodes.
  CHECK(start({{FailureClass::kNodeLost, Percent{75}}}, {"NodeLost", "NodeLost"}) == "");
  CHECK(start({{FailureClass::kNodeLost, Percent{50}}}, {"NodeLost", "NodeLost"}) == "I20");

  // This start was requested before the node failed.
  World asked({.auto_upgrade = true,
               .max_parallel = 4,
               .failure_policy = FailurePolicy{.max_failures = Count{4}, .by_class = one_image}});
  asked.Ask(3);
  asked.Put(0, "upgrade-failed", [](Node& node) { node.annotations[Gpu().FailureClassAnnotation()] = "ImagePull"; });
  asked.StartUnread(3);
  CHECK(asked.checker->Report() == "");
}

TEST_CASE("I14: the record moves past a stage that has not finished, has not soaked or was not approved") {
  const auto pass = [](RolloutStage canary, const std::string& state, const std::string& more,
                       const std::string& approval = "") {
    RolloutWorld world(std::move(canary));
    world.Put(0, state);
    world.cluster->EditDaemonSet(world.fleet.ns, world.fleet.daemon_set, [&](DaemonSet& daemon_set) {
      daemon_set.annotations[Gpu().ApprovedAnnotation()] = approval;
    });
    world.cluster->Advance(absl::Minutes(10));
    world.Record("canary", more);
    // A replica writes the next record, based on this record.
    ConfigMap ledger = *world.cluster->config_map(world.fleet.ns, "ledger");
    std::string& record = ledger.data["_rollout_nvidia.com_gpu"];
    record.replace(record.find(R"("stage":"canary")"), 16, R"("stage":"rest")");
    REQUIRE(world.cluster
                ->PatchConfigMap({}, {.ns = ledger.ns,
                                      .name = ledger.name,
                                      .uid = ledger.uid,
                                      .resource_version = ledger.resource_version,
                                      .data = {{"_rollout_nvidia.com_gpu", record}}})
                .ok());
    return world.Broken();
  };
  CHECK(pass({}, "upgrade-done", "") == "");
  CHECK(pass({}, "upgrade-required", "") == "I14");
  const RolloutStage soaks{.soak = absl::Minutes(5)};
  CHECK(pass(soaks, "upgrade-done", R"(,"soakSince":1767225600)") == "");
  CHECK(pass(soaks, "upgrade-done", R"(,"soakSince":1767226100)") == "I14");
  CHECK(pass(soaks, "upgrade-done", "") == "I14");
  const RolloutStage manual{.approval = Approval::kManual};
  CHECK(pass(manual, "upgrade-done", "", "canary@rev-1") == "");
  CHECK(pass(manual, "upgrade-done", "", "canary@rev-0,rest@rev-1") == "I14");
}

TEST_CASE("I14: the first record of a pass is checked against the policy with which the pass started") {
  for (const bool began_before : {false, true}) {
    RolloutWorld world({});
    UpgradePolicy policy{.auto_upgrade = true, .drain = DrainPolicy{}, .rollout = RolloutPolicy{}};
    world.checker->SetPolicy(policy);
    if (began_before) world.guarded->BeginPass();
    policy.rollout->stages = {RolloutWorld::Named({.soak = absl::Minutes(5)})};
    world.checker->SetPolicy(policy);
    if (!began_before) world.guarded->BeginPass();
    const std::string record =
        R"({"version":1,"revision":"rev-1","stages":"s","stage":"rest","waived":[],"durations":{}})";
    REQUIRE(world.guarded
                ->CreateConfigMap(
                    {}, {.ns = world.fleet.ns, .name = "ledger", .data = {{"_rollout_nvidia.com_gpu", record}}})
                .ok());
    CHECK(world.Broken() == (began_before ? "" : "I14"));
  }
}

TEST_CASE("I21: more nodes of a stage are in progress than the stage allows") {
  CHECK(RackWorld(std::nullopt, 1).After({0, 2, 3}) == "");
  CHECK(RackWorld(std::nullopt, 1).After({0, 1}) == "I21");
  CHECK(RackWorld(std::nullopt, 2).After({0, 1}) == "");
  // A group that starts together counts as one node.
  CHECK(RackWorld(NodeGroups{.by = "rack", .mode = GroupMode::kTogether}, 1).After({0, 1}) == "");
}

TEST_CASE("I21: for a while, an engine may not know that a node has moved to another group") {
  for (const auto& [since, broken] :
       std::vector<std::pair<absl::Duration, std::string>>{{absl::Minutes(4), ""}, {absl::Minutes(6), "I21"}}) {
    INFO(absl::FormatDuration(since));
    RackWorld world(std::nullopt, 1);
    world.Begin(2);
    world.Put(2, "cordon-required", [](Node& node) { node.labels["rack"] = "a"; });
    world.clock->Advance(since);
    CHECK(world.After({0}) == broken);
  }
}

TEST_CASE("I21: more nodes of a group are in progress than allowed") {
  const auto spread = [](CountOrPercent max) {
    return NodeGroups{.by = "rack", .mode = GroupMode::kSpread, .max_per_group = max};
  };
  CHECK(RackWorld(spread(Count{1})).After({0, 2}) == "");
  CHECK(RackWorld(spread(Count{1})).After({0, 2, 1}) == "I21");
  CHECK(RackWorld(spread(Percent{50})).After({0, 1}) == "I21");
  CHECK(RackWorld(spread(Percent{51})).After({0, 1}) == "");
  // A node without the label forms its own group.
  RackWorld alone(spread(Count{1}));
  for (const std::size_t i : {0, 1}) {
    REQUIRE(alone.cluster->EditNode(alone.NodeName(i), [](Node& node) { node.labels.erase("rack"); }));
  }
  CHECK(alone.After({0, 1}) == "");
}

TEST_CASE("I21: a node with a grant keeps its place in the group when another client later starts a node") {
  for (const bool granted : {false, true}) {
    RackWorld world(NodeGroups{.by = "rack", .mode = GroupMode::kSpread, .max_per_group = Count{1}});
    if (granted) {
      const ConfigMap ledger = *world.cluster->config_map(world.fleet.ns, "ledger");
      const Node node = world.NodeAt(1);
      REQUIRE(world.cluster
                  ->PatchConfigMap({}, {.ns = ledger.ns,
                                        .name = ledger.name,
                                        .uid = ledger.uid,
                                        .resource_version = ledger.resource_version,
                                        .data = {{"nvidia.com_gpu", node.uid + " " + node.resource_version}}})
                  .ok());
    }
    world.Put(0, "no-state");
    world.Begin(1);
    CHECK(world.Broken() == (granted ? "" : "I21"));
  }
}

TEST_CASE("I21: the second group starts before the first group is done") {
  const NodeGroups one{.by = "rack", .mode = GroupMode::kOneAtATime};
  CHECK(RackWorld(one).After({0, 1}) == "");
  CHECK(RackWorld(one).After({0, 2}) == "I21");
  for (const char* end : {"upgrade-done", "upgrade-failed"}) {
    RackWorld world(one);
    world.Begin(0);
    world.Put(0, end);
    CHECK(world.After({2, 3}) == "");
  }
}

TEST_CASE("I20, I21: a node whose NodeMaintenance we have not released need not wait for its stage or group") {
  enum class Claim { kNone, kKept, kAnothers, kGivenBackJustNow, kGivenBackLongAgo };
  for (const auto& [claim, waits] : std::vector<std::pair<Claim, bool>>{{Claim::kNone, true},
                                                                        {Claim::kKept, false},
                                                                        {Claim::kAnothers, true},
                                                                        {Claim::kGivenBackJustNow, false},
                                                                        {Claim::kGivenBackLongAgo, true}}) {
    for (const auto& [stage, broken] :
         std::vector<std::pair<std::string, std::string>>{{"canary", "I20"}, {"rest", "I21"}}) {
      INFO(static_cast<int>(claim) << " " << stage);
      RackWorld world(NodeGroups{.by = "rack", .mode = GroupMode::kOneAtATime});
      const UpgradePolicy policy{
          .auto_upgrade = true,
          .max_parallel = std::nullopt,
          .drain = DrainPolicy{},
          .rollout = RolloutPolicy{.stages = {RackWorld::Canary()},
                                   .groups = NodeGroups{.by = "rack", .mode = GroupMode::kOneAtATime}}};
      world.JudgeRequestor("us", policy);
      const std::string node = world.NodeName(2);
      if (claim != Claim::kNone) {
        world.cluster->AddNodeMaintenance({.ns = "default",
                                           .name = "a",
                                           .requestor_id = claim == Claim::kAnothers ? "others" : "us",
                                           .node_name = node});
      }
      // Both nodes have just been upgraded.
      for (const std::size_t i : {0, 1}) {
        for (const char* state : {"upgrade-done", "upgrade-required"}) world.Put(i, state);
      }
      world.Record(stage);
      if (claim >= Claim::kGivenBackJustNow) world.cluster->RemoveNodeMaintenance("default", "a");
      world.cluster->Advance(claim == Claim::kGivenBackLongAgo ? absl::Minutes(6) : absl::Minutes(1));
      // Starts a node of the first stage, and a node of the other rack.
      if (stage == "rest") world.Begin(0);
      world.Begin(2);
      CHECK(world.Broken() == (waits ? broken : ""));
    }
  }
}

TEST_CASE("I21: only some nodes of a group that must start together are started") {
  const NodeGroups together{.by = "rack", .mode = GroupMode::kTogether};
  // Waits long enough for all nodes to start, and returns the broken invariant.
  const auto later = [](RackWorld& world) {
    world.cluster->Advance(absl::Minutes(6));
    // The checker runs at the next change to any object.
    REQUIRE(world.cluster->EditNode(world.NodeName(3), [](Node& node) { node.labels["later"] = "yes"; }));
    return world.Broken();
  };
  RackWorld part(together);
  part.Begin(0);
  CHECK(part.Broken() == "");
  CHECK(later(part) == "I21");

  // An earlier upgrade left the node cordoned. If no other node is in progress, the cordoned node may hold the capacity
  // that the other nodes need.
  const auto cordoned = [](RackWorld& world) {
    world.Put(0, "upgrade-required", [](Node& node) {
      node.unschedulable = true;
      node.annotations["driverupgrade/cordoned-by"] = "nvidia.com/gpu";
    });
  };
  RackWorld alone(together);
  cordoned(alone);
  alone.Begin(0);
  CHECK(later(alone) == "");
  RackWorld beside(together);
  cordoned(beside);
  beside.Begin(2);
  beside.Begin(3);
  beside.Begin(0);
  CHECK(later(beside) == "I21");

  RackWorld whole(together);
  whole.Begin(0);
  whole.Begin(1);
  CHECK(later(whole) == "");

  RackWorld refused(together);
  refused.Begin(0);
  refused.Ask(1);
  CHECK(later(refused) == "");

  RackWorld left_out(together);
  left_out.Put(1, "upgrade-required", [](Node& node) { node.labels[Gpu().SkipUpgradeLabel()] = "true"; });
  left_out.Begin(0);
  CHECK(later(left_out) == "");

  RackWorld faulty(together);
  faulty.Begin(0);
  faulty.checker->NoteFault();
  CHECK(later(faulty) == "");
}

TEST_CASE("L5: the queue follows the order in the rollout policy") {
  // Nodes 0 and 1 are in rack a, and all other nodes in rack b.
  const auto queue = [](std::vector<RolloutOrder> order, const std::vector<std::size_t>& nodes) {
    RackWorld world(std::nullopt, 1);
    UpgradePolicy policy{.auto_upgrade = true, .drain = DrainPolicy{}, .rollout = RolloutPolicy{}};
    policy.rollout->stages = {
        {.name = "canary", .nodes = LabelSelector::FromMatchLabels({{"rack", "a"}}), .max_parallel = 1}};
    policy.rollout->order = std::move(order);
    world.checker->SetPolicy(policy);
    for (const std::size_t i : {0, 1, 2, 3}) {
      REQUIRE(world.cluster->EditNode(world.NodeName(i),
                                      [&](Node& node) { node.labels["priority"] = i == 3 ? "10" : "9"; }));
    }
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    Plan plan;
    int place = 0;
    for (const std::size_t i : nodes) {
      plan.gates.push_back({.node = world.NodeName(i),
                            .gate = {.reason = GateReason::kMaxParallel, .detail = "slots", .place = ++place}});
    }
    world.checker->CheckGates(*world.guarded, plan);
    return world.Broken();
  };
  CHECK(queue({}, {0, 1, 2, 3}) == "");
  CHECK(queue({}, {1, 0, 2, 3}) == "L5");
  const RolloutOrder by_priority{.by = OrderBy::kLabel, .label = "priority"};
  CHECK(queue({by_priority}, {3, 0, 1, 2}) == "");
  CHECK(queue({by_priority}, {0, 1, 2, 3}) == "L5");
  const RolloutOrder by_rack{.by = OrderBy::kTopology, .label = "rack"};
  CHECK(queue({by_rack, by_priority}, {0, 1, 3, 2}) == "");
  CHECK(queue({by_rack, by_priority}, {3, 0, 1, 2}) == "L5");
  CHECK(queue({by_rack, by_priority}, {0, 1, 2, 3}) == "L5");
}

}  // namespace
}  // namespace driverupgrade::tests
