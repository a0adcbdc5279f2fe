// What an engine tells of a rollout in stages, and what it records, is held against the nodes as they are (I15).
#include "simulation/opinion/rollout_opinion.h"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using driverupgrade::internal::Halt;
using driverupgrade::internal::RolloutRecord;
using testing::internal::NodeWay;
using testing::internal::RolloutNodeSeen;
using testing::internal::RolloutOpinion;

constexpr NodeWay kOpen{.open = true};
constexpr NodeWay kDone{.done = true};
constexpr NodeWay kFailed{.failed = true};
constexpr NodeWay kLeftOut{.left_out = true};
constexpr NodeWay kAny{.open = true, .done = true, .failed = true, .left_out = true};

RolloutPolicy Canaries(std::optional<CountOrPercent> max_failures = std::nullopt) {
  return {.stages = {{.name = "canaries",
                      .nodes = *LabelSelector::Parse("ring=canary"),
                      .soak = absl::Minutes(1),
                      .max_failures = max_failures}}};
}

// Canaries, and one node that belongs to none.
std::vector<RolloutNodeSeen> Fleet(const std::vector<NodeWay>& canaries, NodeWay other = kOpen) {
  std::vector<RolloutNodeSeen> nodes;
  for (std::size_t i = 0; i < canaries.size(); ++i) {
    nodes.push_back({.name = "canary-" + std::to_string(i), .labels = {{"ring", "canary"}}, .way = canaries[i]});
  }
  nodes.push_back({.name = "other", .way = other});
  return nodes;
}

RolloutRecord Soaking() { return {.revision = "rev-2", .stage = "canaries", .soak_since = absl::UnixEpoch()}; }

std::string OfRecord(const RolloutPolicy& policy, const std::vector<RolloutNodeSeen>& nodes,
                     const RolloutRecord& record) {
  return RolloutOpinion(policy, nodes).WhyWrongRecord(record);
}

TEST_CASE("I15: the nodes of a stage are counted as they are") {
  const auto is_wrong = [](const std::vector<NodeWay>& canaries, int nodes, int done, int failed) {
    const RolloutPolicy policy = Canaries();
    const std::vector<RolloutNodeSeen> fleet = Fleet(canaries);
    RolloutStatus told;
    told.stages = {{.name = "canaries", .nodes = nodes, .done = done, .failed = failed}, {.name = "rest", .nodes = 1}};
    return !RolloutOpinion(policy, fleet).WhyWrongCounts(told).empty();
  };
  CHECK_FALSE(is_wrong({kOpen, kDone, kFailed, kLeftOut}, 3, 1, 1));
  CHECK(is_wrong({kOpen, kDone, kFailed, kLeftOut}, 4, 1, 1));
  CHECK(is_wrong({kOpen, kDone, kFailed, kLeftOut}, 3, 2, 1));
  CHECK(is_wrong({kOpen, kDone, kFailed, kLeftOut}, 3, 1, 0));
  // One of which nobody knows more may be in each count, or in none.
  CHECK_FALSE(is_wrong({kDone, kAny}, 1, 1, 0));
  CHECK_FALSE(is_wrong({kDone, kAny}, 2, 2, 0));
  CHECK_FALSE(is_wrong({kDone, kAny}, 2, 1, 1));
  CHECK(is_wrong({kDone, kAny}, 2, 2, 2));
}

TEST_CASE("I15: of stages by number only the sums are known") {
  const RolloutPolicy policy{.stages = {{.name = "first", .nodes = Count{1}}}};
  const std::vector<RolloutNodeSeen> fleet = Fleet({kDone, kOpen});
  RolloutStatus told;
  told.stages = {{.name = "first", .nodes = 1, .done = 1}, {.name = "rest", .nodes = 2}};
  CHECK(RolloutOpinion(policy, fleet).WhyWrongCounts(told).empty());
  told.stages[1].done = 1;
  CHECK_FALSE(RolloutOpinion(policy, fleet).WhyWrongCounts(told).empty());
}

TEST_CASE("I15: a stage soaks when all of its nodes have ended, and are well") {
  CHECK(OfRecord(Canaries(), Fleet({kDone, kDone}), Soaking()).empty());
  CHECK(OfRecord(Canaries(), Fleet({kDone, kLeftOut}), Soaking()).empty());
  CHECK(OfRecord(Canaries(), Fleet({kDone, kAny}), Soaking()).empty());
  CHECK(OfRecord(Canaries(), Fleet({kDone, kOpen}), Soaking()) ==
        "stage canaries soaks, but node canary-1 has not ended");
  CHECK(OfRecord(Canaries(), Fleet({}), Soaking()) == "stage canaries soaks, but it has no node");
  CHECK(OfRecord(Canaries(), Fleet({kFailed}), Soaking()) == "stage canaries soaks, but 1 of its nodes have failed");
  CHECK(OfRecord(Canaries(Count{1}), Fleet({kFailed}), Soaking()).empty());
  std::vector<RolloutNodeSeen> unwell = Fleet({kDone});
  unwell.front().unwell = "pod logging/l-1 is not ready";
  CHECK(OfRecord(Canaries(), unwell, Soaking()) ==
        "stage canaries soaks, but node canary-0: pod logging/l-1 is not ready");
}

TEST_CASE("I15: a rollout is halted by a sick node, or by more failures than the stage may have") {
  const RolloutRecord going{.revision = "rev-2", .stage = "canaries"};
  const std::string halts = "the rollout is not halted, but ";
  CHECK(OfRecord(Canaries(Count{1}), Fleet({kFailed, kFailed}), going) ==
        halts + "2 nodes of stage canaries have failed");
  CHECK(OfRecord(Canaries(Count{1}), Fleet({kFailed, kAny}), going).empty());
  CHECK(OfRecord(Canaries(), Fleet({kFailed, kFailed}), going).empty());
  // Rounded down.
  CHECK(OfRecord(Canaries(Percent{50}), Fleet({kFailed, kDone}), going).empty());
  CHECK_FALSE(OfRecord(Canaries(Percent{50}), Fleet({kFailed, kFailed, kDone}), going).empty());
  // Nobody is to come any more.
  CHECK(OfRecord(Canaries(Count{0}), Fleet({kFailed}, kDone), going).empty());
  // A person has seen it.
  CHECK(OfRecord(Canaries(Count{0}), Fleet({kFailed}), {.revision = "rev-2", .waived = {"canary-0"}}).empty());

  std::vector<RolloutNodeSeen> sick = Fleet({kDone});
  sick.front().sick = "GpuIsSick";
  CHECK(OfRecord(Canaries(), sick, going) == halts + "node canary-0 is sick: GpuIsSick");
  CHECK(OfRecord(Canaries(), sick, {.revision = "rev-2", .halt = Halt{}}).empty());
  CHECK_FALSE(OfRecord(Canaries(), sick, {.soak_since = absl::UnixEpoch(), .halt = Halt{}}).empty());
}

TEST_CASE("I15: a halt comes for a reason, and goes by an approval that has come since") {
  const auto why = [](const std::vector<RolloutNodeSeen>& fleet, const std::optional<Halt>& before,
                      const std::optional<Halt>& after, std::set<std::string> approvals = {},
                      std::string policy = "the same") {
    const RolloutPolicy canaries = Canaries(Count{0});
    const RolloutRecord was{.revision = "rev-2", .stage = "canaries", .halt = before};
    const RolloutRecord is{.revision = "rev-2", .stage = "canaries", .halt = after};
    return RolloutOpinion(canaries, fleet)
        .WhyWrongHalt({.before = was, .after = is, .approvals = std::move(approvals), .policy = std::move(policy)});
  };
  const Halt halt{.stage = "canaries", .policy = "the same", .seen = {}};
  CHECK(why(Fleet({kFailed}), std::nullopt, halt).empty());
  CHECK(why(Fleet({kAny}), std::nullopt, halt).empty());
  CHECK(why(Fleet({kOpen, kDone}), std::nullopt, halt) == "the rollout is halted, but no node is sick or has failed");

  const std::string approval = "canaries@rev-2";
  CHECK(why(Fleet({kFailed}), halt, halt).empty());
  CHECK(why(Fleet({kFailed}), halt, std::nullopt, {approval}).empty());
  CHECK(why(Fleet({kFailed}), halt, std::nullopt, {}, "another").empty());
  CHECK(why(Fleet({kFailed}), halt, std::nullopt, {"canaries@rev-1"}) ==
        "the halt is lifted without the approval canaries@rev-2");
  Halt seen = halt;
  seen.seen = {approval};
  CHECK(why(Fleet({kFailed}), seen, std::nullopt, {approval}) ==
        "the halt is lifted by canaries@rev-2, which is older");
}

TEST_CASE("I15: whether nodes may start is told by the windows, and by how long they take") {
  RolloutPolicy policy{.windows = {{.start = absl::Hours(1), .duration = absl::Hours(1)}},
                       .finish_by = true,
                       .expected_node_duration = absl::Minutes(20)};
  const RolloutStatus opens;
  RolloutStatus closed;
  closed.closed = Gate{.reason = GateReason::kWindow};
  const auto is_wrong = [&](const RolloutStatus& told, int minute, const std::map<int, int>& took = {}) {
    const RolloutRecord record{.durations = internal::DurationSketch::FromCounts(took)};
    const absl::Time now = absl::UnixEpoch() + absl::Hours(1) + absl::Minutes(minute);
    return !RolloutOpinion(policy, {}).WhyWrongTime(told, record, now, now + absl::Seconds(1)).empty();
  };
  CHECK_FALSE(is_wrong(opens, 30));
  CHECK(is_wrong(closed, 30));
  CHECK_FALSE(is_wrong(closed, 45));
  CHECK(is_wrong(opens, 45));
  CHECK(is_wrong(opens, -5));
  // On the border either may be told.
  CHECK_FALSE(is_wrong(opens, 40));
  CHECK_FALSE(is_wrong(closed, 40));
  // Five that took ten seconds at most; four say nothing.
  CHECK(is_wrong(closed, 45, {{7, 5}}));
  CHECK_FALSE(is_wrong(opens, 45, {{7, 5}}));
  CHECK(is_wrong(opens, 45, {{7, 4}}));
}

TEST_CASE("I15: the nodes of a group that starts together start together") {
  const RolloutPolicy together{.groups = NodeGroups{.by = "rack", .mode = GroupMode::kTogether}};
  const RolloutNodeSeen starts{.name = "n1", .labels = {{"rack", "1"}}, .way = kOpen, .waits = true, .starts = true};
  RolloutNodeSeen other{.name = "n2", .labels = {{"rack", "1"}}, .way = kOpen, .waits = true};
  const auto why = [&](const RolloutNodeSeen& second) {
    const std::vector<RolloutNodeSeen> nodes = {starts, second};
    return RolloutOpinion(together, nodes).WhyInPart();
  };
  CHECK(why(other) == "node n1 starts, and node n2 of its group does not");
  const auto but = [&](auto change) {
    RolloutNodeSeen changed = other;
    change(changed);
    return why(changed);
  };
  CHECK(but([](RolloutNodeSeen& node) { node.starts = true; }).empty());
  CHECK(but([](RolloutNodeSeen& node) { node.labels = {{"rack", "2"}}; }).empty());
  CHECK(but([](RolloutNodeSeen& node) { node.waits = false; }).empty());
  // Its slot is taken: the others go when they can.
  CHECK(but([](RolloutNodeSeen& node) { node.may_be_under_way = true; }).empty());
  // One that an upgrade before has left out of service may go alone.
  RolloutNodeSeen alone = starts;
  alone.out_of_service = true;
  const std::vector<RolloutNodeSeen> nodes = {alone, other};
  CHECK(RolloutOpinion(together, nodes).WhyInPart().empty());
}

}  // namespace
}  // namespace driverupgrade::tests
