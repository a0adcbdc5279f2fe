// Compares, over random histories, how a rollout and a naive implementation (the twin) advance through the stages. In a
// history, nodes finish, fail, and get sick; approvals are set and withdrawn; the revision and the policy change; and
// the record is lost or not stored.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "decide/rollout/record.h"
#include "decide/rollout/stages.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "property/seeded_random.h"
#include "support/catch.h"
#include "unit/rollout/fleet.h"

namespace driverupgrade::internal {
namespace {

using tests::SeededRandom;

constexpr int kSeeds = 2000;
constexpr int kTurns = 60;
constexpr int kNodes = 7;
// Maximum difference between clocks. A soak that starts later than now plus this time is discarded.
constexpr absl::Duration kSkew = absl::Minutes(1);

// State that the twin keeps from one step to the next.
struct Memory {
  std::string revision = {};
  std::size_t stages = 0;  // number of stages in the policy that `stage` belongs to
  std::size_t stage = 0;
  std::optional<absl::Time> soak_since = std::nullopt;
  struct Halt {
    std::string stage = {};
    std::set<std::string> seen = {};
    RolloutPolicy policy = {};
  };
  std::optional<Halt> halt = std::nullopt;
  std::set<std::string> waived = {};
};

struct Answer {
  Memory memory = {};
  std::size_t open = 0;
  bool halted = false;
  GateReason closed = GateReason::kMaxParallel;
  std::optional<absl::Time> wake_at = std::nullopt;
};

// The true state of the fleet, as opposed to the stored record.
struct Truth {
  Fleet fleet = {};
  RolloutPolicy policy = {};
  std::set<std::string> approvals = {};
  absl::Time now = absl::FromUnixSeconds(1'800'000'000);
};

std::string NameOf(const RolloutPolicy& policy, std::size_t stage) {
  return stage == policy.stages.size() ? "rest" : policy.stages[stage].name;
}

// The stages are s0, s1, ... A node's label is the number of its stage, or a number beyond the last stage.
std::vector<const RolloutNode*> NodesOf(const Truth& truth, std::size_t stage) {
  std::vector<const RolloutNode*> nodes;
  for (const RolloutNode& node : truth.fleet.view.nodes) {
    const std::size_t own = std::stoul(node.node->labels.at("stage"));
    const bool is_in = own == stage || (own >= truth.policy.stages.size() && stage == truth.policy.stages.size());
    if (is_in && node.progress != NodeProgress::kLeftOut) nodes.push_back(&node);
  }
  return nodes;
}

int FailuresThatMayBe(const RolloutStage& stage, std::size_t nodes) {
  if (!stage.max_failures) return 0;
  const auto* percent = std::get_if<Percent>(&*stage.max_failures);
  return percent == nullptr ? std::get<Count>(*stage.max_failures).value : static_cast<int>(nodes) * percent->value / 100;
}

// Counts the failures in the stage that no approval has waived.
int FailuresIn(const Truth& truth, std::size_t stage, const std::set<std::string>& waived) {
  int failures = 0;
  for (const RolloutNode* node : NodesOf(truth, stage)) {
    failures += node->progress == NodeProgress::kFailed && !waived.contains(node->node->name);
  }
  return failures;
}

bool HasToHalt(const Truth& truth, const std::set<std::string>& waived) {
  bool anybody_to_come = false;
  for (std::size_t stage = 0; stage <= truth.policy.stages.size(); ++stage) {
    for (const RolloutNode* node : NodesOf(truth, stage)) {
      anybody_to_come |= node->progress != NodeProgress::kDone && node->progress != NodeProgress::kFailed;
    }
  }
  if (!anybody_to_come) return false;
  if (!truth.fleet.view.sick.empty()) return true;
  for (const RolloutNode& node : truth.fleet.view.nodes) {
    if (!node.sick.empty() && !waived.contains(node.node->name)) return true;
  }
  for (std::size_t stage = 0; stage < truth.policy.stages.size(); ++stage) {
    const RolloutStage& rules = truth.policy.stages[stage];
    if (!rules.max_failures) continue;
    if (FailuresIn(truth, stage, waived) > FailuresThatMayBe(rules, NodesOf(truth, stage).size())) return true;
  }
  return false;
}

bool HasEnded(const Truth& truth, std::size_t stage, const std::set<std::string>& waived) {
  const std::vector<const RolloutNode*> nodes = NodesOf(truth, stage);
  for (const RolloutNode* node : nodes) {
    const bool is_well = node->progress == NodeProgress::kDone && node->unwell.empty();
    if (!is_well && node->progress != NodeProgress::kFailed) return false;
  }
  return !nodes.empty() &&
         FailuresIn(truth, stage, waived) <= FailuresThatMayBe(truth.policy.stages[stage], nodes.size());
}

// Returns true if the policies are equal except for the order of nodes. A changed order does not lift a halt, because
// the order does not affect nodes that are sick or have failed.
bool LiftsNoHalt(RolloutPolicy before, const RolloutPolicy& after) {
  before.order = after.order;
  return before == after;
}

// Returns the reason why the next stage must not start, or nullopt if it may start.
std::optional<GateReason> WhyNotPast(const Truth& truth, Answer& answer) {
  Memory& memory = answer.memory;
  const RolloutStage& stage = truth.policy.stages[memory.stage];
  if (!HasEnded(truth, memory.stage, memory.waived)) {
    memory.soak_since.reset();
    return GateReason::kStage;
  }
  if (!memory.soak_since) {
    memory.soak_since = absl::UnixEpoch() + absl::Ceil(truth.now - absl::UnixEpoch(), absl::Seconds(1));
  }
  if (*memory.soak_since + stage.soak > truth.now) {
    answer.wake_at = *memory.soak_since + stage.soak;
    return GateReason::kSoak;
  }
  const bool is_approved = truth.approvals.contains(stage.name + "@" + memory.revision);
  if (stage.approval == Approval::kManual && !is_approved) return GateReason::kApproval;
  return std::nullopt;
}

Answer Twin(const Memory& stored, const Truth& truth) {
  Answer answer{.memory = stored};
  Memory& memory = answer.memory;
  const std::string& revision = *truth.fleet.view.revision;
  const bool other_revision = memory.revision != revision;
  const bool other_stages = memory.stages != truth.policy.stages.size();
  if (other_revision) memory = {.revision = revision};
  if (other_revision || other_stages) memory.stage = 0, memory.soak_since.reset();
  memory.stages = truth.policy.stages.size();
  if (memory.soak_since && *memory.soak_since > truth.now + kSkew) memory.soak_since.reset();

  if (memory.halt) {
    // An approval that was withdrawn may be given again.
    std::erase_if(memory.halt->seen, [&](const std::string& one) { return !truth.approvals.contains(one); });
    const std::string approval = memory.halt->stage + "@" + revision;
    if (!LiftsNoHalt(memory.halt->policy, truth.policy)) {
      memory.halt.reset();
    } else if (truth.approvals.contains(approval) && !memory.halt->seen.contains(approval)) {
      memory.halt.reset();
      for (const RolloutNode& node : truth.fleet.view.nodes) {
        if (node.progress == NodeProgress::kFailed || !node.sick.empty()) memory.waived.insert(node.node->name);
      }
    }
  }
  if (!memory.halt && HasToHalt(truth, memory.waived)) {
    memory.halt = {.stage = NameOf(truth.policy, memory.stage), .seen = truth.approvals, .policy = truth.policy};
  }
  if (memory.halt) {
    memory.soak_since.reset();
    answer.closed = GateReason::kHalted;
  }
  while (!memory.halt && memory.stage < truth.policy.stages.size()) {
    const std::optional<GateReason> why_not = WhyNotPast(truth, answer);
    if (why_not) answer.closed = *why_not;
    if (why_not) break;
    ++memory.stage;
    memory.soak_since.reset();
  }

  // Nodes start only on the basis of a stored record.
  answer.halted = memory.halt || stored.halt;
  answer.open = other_revision || other_stages ? 0 : std::min(stored.stage, memory.stage);
  if (answer.open < memory.stage && !answer.halted) answer.closed = GateReason::kStage;
  return answer;
}

RolloutPolicy RandomStages(SeededRandom& random) {
  RolloutPolicy policy;
  for (int i = random.Below(4); i > 0; --i) {
    const std::size_t number = policy.stages.size();
    RolloutStage stage{.name = fmt::format("s{}", number),
                       .nodes = LabelSelector::Parse(fmt::format("stage={}", number)).value(),
                       .soak = absl::Minutes(random.Pick({0, 0, 10, 60}))};
    if (random.Chance(50)) stage.approval = Approval::kManual;
    if (random.Chance(50)) {
      stage.max_failures = random.Pick({CountOrPercent(Count{0}), CountOrPercent(Count{1}), CountOrPercent(Percent{50})});
    }
    policy.stages.push_back(std::move(stage));
  }
  return policy;
}

void ChangePolicy(RolloutPolicy& policy, SeededRandom& random) {
  if (!policy.stages.empty() && random.Chance(50)) {
    policy.stages.back().soak += absl::Minutes(5);
  } else if (!policy.stages.empty() && random.Chance(50)) {
    policy.stages.pop_back();
  } else {
    policy.order = {{.by = random.Pick({OrderBy::kIdle, OrderBy::kName})}};
  }
}

void Happen(Truth& truth, SeededRandom& random) {
  RolloutView& view = truth.fleet.view;
  RolloutNode& node = view.nodes[static_cast<std::size_t>(random.Below(kNodes))];
  switch (random.Below(16)) {
    case 0:
      view.revision = fmt::format("r{}", random.Between(1, 2));
      for (RolloutNode& one : view.nodes) one.progress = NodeProgress::kWaiting, one.sick = one.unwell = "";
      break;
    case 1: ChangePolicy(truth.policy, random); break;
    case 2: truth.approvals.clear(); break;
    case 3:
    case 4:
    case 5:
      truth.approvals.insert(
          fmt::format("{}@r{}", random.Pick({"s0", "s0", "s1", "s2", "rest"}), random.Between(1, 2)));
      break;
    case 6: node.sick = node.progress == NodeProgress::kDone && random.Chance(40) ? "sick" : ""; break;
    case 7: node.unwell = node.progress == NodeProgress::kDone && random.Chance(40) ? "not well" : ""; break;
    case 8: view.sick = random.Chance(20) ? "the operator says so" : ""; break;
    case 9: truth.now -= absl::Minutes(random.Chance(30) ? random.Below(30) : 0); break;
    default:
      truth.now += absl::Milliseconds(random.Below(25 * 60 * 1000));
      node.progress = random.Pick({NodeProgress::kUnderWay, NodeProgress::kDone, NodeProgress::kDone,
                                   NodeProgress::kDone, NodeProgress::kFailed, NodeProgress::kLeftOut});
      if (node.progress != NodeProgress::kDone) node.sick = node.unwell = "";
  }
  view.approvals = truth.approvals;
}

// Formats the state that the twin and the record share, so that the two can be compared.
std::string Tell(const std::string& stage, const std::optional<absl::Time>& soak_since,
                 const std::optional<std::string>& halt, const std::set<std::string>& waived) {
  return fmt::format("{}; soaks since {}; halt: {}; waived: {}", stage,
                     soak_since ? absl::FormatTime(*soak_since, absl::UTCTimeZone()) : "-", halt.value_or("-"),
                     fmt::join(waived, ","));
}
std::string Tell(const RolloutRecord& record) {
  const auto halt = record.halt ? std::optional(fmt::format("{}, seen {}", record.halt->stage,
                                                            fmt::join(record.halt->seen, ",")))
                                : std::nullopt;
  return Tell(record.stage, record.soak_since, halt, record.waived);
}
std::string Tell(const Memory& memory, const RolloutPolicy& policy) {
  const auto halt = memory.halt ? std::optional(fmt::format("{}, seen {}", memory.halt->stage,
                                                            fmt::join(memory.halt->seen, ",")))
                                : std::nullopt;
  return Tell(NameOf(policy, memory.stage), memory.soak_since, halt, memory.waived);
}

TEST_CASE("in any history, a rollout advances through its stages as the policy requires") {
  int advances = 0;
  int halts = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SeededRandom random(seed);
    Truth truth{.policy = RandomStages(random)};
    for (int i = 0; i < kNodes; ++i) {
      truth.fleet.Add(fmt::format("n{}", i), {{"stage", std::to_string(random.Below(4))}});
    }
    std::string text;
    Memory memory;
    for (int turn = 0; turn < kTurns; ++turn) {
      Happen(truth, random);
      const RolloutRules rules = RulesOf(truth.policy, {});
      const RolloutStep step = truth.fleet.Advance(ParseRecord(text.empty() ? std::nullopt : std::optional(text)).record,
                                                   rules, truth.now);
      const Answer answer = Twin(memory, truth);
      CAPTURE(seed, turn);
      REQUIRE(Tell(step.record) == Tell(answer.memory, truth.policy));
      REQUIRE(step.open == static_cast<int>(answer.open));
      REQUIRE(step.halted.has_value() == answer.halted);
      // The reasons cannot be compared while a halt is being lifted, because the halt remains the reason.
      const bool has_reason =
          answer.memory.halt || (!answer.halted && answer.open < truth.policy.stages.size());
      if (has_reason) REQUIRE(ToString(step.closed.reason) == ToString(answer.closed));
      REQUIRE(step.wake_at == answer.wake_at);
      advances += answer.open > 0;
      halts += answer.halted;
      // Occasionally a step is not stored, and in rare cases the record is lost.
      if (random.Chance(90)) text = FormatRecord(step.record), memory = answer.memory;
      if (random.Chance(2)) text.clear(), memory = {};
    }
  }
  // The histories reach the cases that the test is meant to cover.
  CHECK(advances > kSeeds);
  CHECK(halts > kSeeds);
}

}  // namespace
}  // namespace driverupgrade::internal
