// Tests that no node starts in violation of the rules while two replicas upgrade the same fleet concurrently and
// occasionally lose their record. The loop in this test is the smallest one that uses all parts of a rollout.
//
// A replica first reads the record and the grants, and then the nodes. It stores the record and the grants by
// compare-and-set before it starts nodes. It starts a node only at the resource version that it has read (ADR 0005).
// Reading, storing, and starting happen at different times.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "decide/rollout/assign_stages.h"
#include "decide/rollout/groups.h"
#include "decide/rollout/room.h"
#include "fmt/format.h"
#include "property/seeded_random.h"
#include "support/catch.h"
#include "unit/rollout/fleet.h"

namespace driverupgrade::internal {
namespace {

using tests::SeededRandom;

constexpr int kNodes = 9;
constexpr int kMaxParallel = 2;
constexpr int kMaxUnavailable = 6;

struct TrueNode {
  Node node = {};
  int version = 1;
  NodeProgress progress = NodeProgress::kWaiting;
  bool sick = false;
};

// Contents of the ConfigMap that a replica reads and writes.
struct Store {
  std::optional<std::string> record = std::nullopt;
  // Version at which a node may be started, by node name.
  std::map<std::string, int> grants = {};
  int version = 1;
};

struct World {
  absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  int revision = 1;
  std::set<std::string> approvals = {};
  std::deque<TrueNode> nodes = {};
  Store store = {};
};

std::string RevisionOf(int revision) { return fmt::format("r{}", revision); }

// The test's own definition of the window: every day from 8:00 to 16:00.
bool IsOfficeHour(absl::Time now) {
  const absl::Duration of_day = now - absl::FromCivil(absl::ToCivilDay(now, absl::UTCTimeZone()), absl::UTCTimeZone());
  return absl::Hours(8) <= of_day && of_day < absl::Hours(16);
}

RolloutRules RandomRules(SeededRandom& random) {
  RolloutPolicy policy;
  policy.stages.push_back({.name = "canary",
                           .nodes = Count{2},
                           .max_parallel = random.Chance(50) ? std::optional(1) : std::nullopt,
                           .soak = absl::Minutes(random.Pick({0, 30, 90})),
                           .max_failures = random.Chance(70) ? std::optional<CountOrPercent>(Count{0}) : std::nullopt,
                           .approval = random.Pick({Approval::kAutomatic, Approval::kManual})});
  policy.stages.push_back(
      {.name = "pool", .nodes = LabelSelector::Parse("rack=c").value(), .soak = absl::Minutes(random.Pick({0, 10}))});
  policy.windows = {{.start = absl::Hours(8), .duration = absl::Hours(8)}};
  if (random.Chance(80)) {
    policy.groups = NodeGroups{.by = "rack",
                               .mode = random.Pick({GroupMode::kTogether, GroupMode::kOneAtATime, GroupMode::kSpread})};
  }
  REQUIRE(Validate(policy).ok());
  return RulesOf(policy, {});
}

// Facts that have been true of a revision at some time. A replica with old data may still act on such a fact.
struct Facts {
  std::map<int, absl::Time> ended;  // first time at which all nodes of a stage had ended, by stage
  std::set<std::string> approved;
};

// Checks every start against the true state of the fleet and records each violation.
class Referee {
 public:
  explicit Referee(const RolloutRules& rules) : policy_(rules.policy) {}

  void Look(const World& world, const std::vector<int>& stages) {
    Facts& facts = facts_[RevisionOf(world.revision)];
    for (int stage = 0; stage < 2; ++stage) {
      bool ended = true;
      for (std::size_t i = 0; i < world.nodes.size(); ++i) {
        const NodeProgress progress = world.nodes[i].progress;
        if (stages[i] == stage) ended &= progress != NodeProgress::kWaiting && progress != NodeProgress::kUnderWay;
      }
      if (ended) facts.ended.emplace(stage, world.now);
    }
    facts.approved.insert(world.approvals.begin(), world.approvals.end());
  }

  void Starts(const World& world, const std::string& revision, int stage, const TrueNode& node) {
    if (!IsOfficeHour(world.now)) Note("outside the window", node);
    const Facts& facts = facts_[revision];
    for (int before = 0; before < stage; ++before) {
      const RolloutStage& rules = policy_.stages[static_cast<std::size_t>(before)];
      const auto ended = facts.ended.find(before);
      if (ended == facts.ended.end()) {
        Note("before the stage before is done", node);
      } else if (world.now < ended->second + rules.soak) {
        Note("before the stage before has soaked", node);
      }
      const std::string approval = fmt::format("{}@{}", rules.name, revision);
      if (rules.approval == Approval::kManual && !facts.approved.contains(approval)) {
        Note("before the stage before is approved", node);
      }
    }
    CheckGroups(world, node);
  }

  void HaltWasKnown(const TrueNode& node) { Note("although the rollout is halted", node); }
  void GroupIsSplit(const TrueNode& node) { Note("without its group", node); }
  void TooMany(const TrueNode& node) { Note("beside too many others", node); }

  const std::string& broken() const { return broken_; }

 private:
  void Note(const char* what, const TrueNode& node) {
    if (broken_.empty()) broken_ = fmt::format("{} starts {}", node.node.name, what);
  }

  void CheckGroups(const World& world, const TrueNode& node) {
    if (!policy_.groups || policy_.groups->mode == GroupMode::kTogether) return;
    const std::string own = GroupOf(node.node, *policy_.groups);
    for (const TrueNode& other : world.nodes) {
      if (&other == &node || other.progress != NodeProgress::kUnderWay) continue;
      const bool same = GroupOf(other.node, *policy_.groups) == own;
      if (policy_.groups->mode == GroupMode::kOneAtATime && !same) Note("while another group is under way", node);
      if (policy_.groups->mode == GroupMode::kSpread && same) Note("beside one of its group", node);
    }
  }

  const RolloutPolicy& policy_;
  std::map<std::string, Facts> facts_;
  std::string broken_;
};

// A replica that believes that it leads.
class Replica {
 public:
  Replica(const RolloutRules& rules, Referee& referee) : rules_(rules), referee_(referee) {}

  void Crash() { read_.reset(), nodes_.clear(); }

  void Turn(World& world, SeededRandom& random) {
    if (!read_) {
      read_ = world.store;
    } else if (nodes_.empty()) {
      nodes_ = world.nodes;
      revision_ = RevisionOf(world.revision);
      approvals_ = world.approvals;
    } else {
      Act(world, random);
      Crash();
    }
  }

  int starts() const { return starts_; }
  int late_starts() const { return late_starts_; }

 private:
  // Returns the nodes as they were read. A node with a grant counts as in progress, because it may start at any moment.
  RolloutView View(std::map<std::string, int>& grants) const {
    RolloutView view{.revision = revision_, .approvals = approvals_};
    for (const TrueNode& node : nodes_) {
      RolloutNode seen{.node = &node.node, .progress = node.progress, .sick = node.sick ? "sick" : ""};
      const auto grant = grants.find(node.node.name);
      if (grant != grants.end() && node.version > grant->second && node.progress != NodeProgress::kUnderWay) {
        grants.erase(grant);
      } else if (grant != grants.end()) {
        seen.progress = NodeProgress::kUnderWay;
      }
      seen.may_start = seen.progress == NodeProgress::kWaiting;
      view.nodes.push_back(std::move(seen));
    }
    return view;
  }

  void Act(World& world, SeededRandom& random) {
    Store next = *read_;
    const RolloutView view = View(next.grants);
    const std::vector<int> stages = AssignStages(view.nodes, rules_.policy);
    const RolloutRecord stored = ParseRecord(read_->record).record;
    const RolloutStep step = AdvanceRollout(stored, view, stages, rules_, world.now);
    const StartTime start = StartTimeAt(rules_.policy, world.now, absl::ZeroDuration());
    int under_way = 0;
    for (const RolloutNode& node : view.nodes) under_way += node.progress == NodeProgress::kUnderWay;
    int slots = kMaxParallel;
    for (const int used : SlotsUsed(rules_, view, stages)) slots -= used;
    NumbersRoom room({.slots = slots, .headroom = kMaxUnavailable - under_way, .headroom_max = kMaxUnavailable});
    std::vector<std::size_t> started;
    for (const RolloutVerdict& verdict : AdmitNodes(rules_, view, stages, step, start, room)) {
      if (verdict.gate) continue;
      const auto node = std::find_if(nodes_.begin(), nodes_.end(),
                                     [&](const TrueNode& one) { return one.node.name == verdict.node; });
      started.push_back(static_cast<std::size_t>(node - nodes_.begin()));
      next.grants[verdict.node] = node->version;
    }
    next.record = FormatRecord(step.record);
    if (next.record == read_->record && next.grants == read_->grants) return;
    // A compare-and-set whose response may be lost.
    if (world.store.version != read_->version) return;
    const bool was_halted = ParseRecord(world.store.record).record.halt || step.record.halt;
    ++next.version;
    world.store = next;
    CheckWhole(view, stages, step, started);
    if (random.Chance(5)) return;
    for (const std::size_t i : started) {
      if (random.Chance(3)) return;  // the replica crashes
      TrueNode& node = world.nodes[i];
      if (node.version != nodes_[i].version) continue;
      if (was_halted) referee_.HaltWasKnown(node);
      Start(world, node, stages[i]);
    }
  }

  void Start(World& world, TrueNode& node, int stage) {
    referee_.Starts(world, revision_, stage, node);
    node.progress = NodeProgress::kUnderWay;
    ++node.version;
    ++starts_;
    late_starts_ += stage == 2;
    std::set<std::string> units;
    int nodes = 0;
    for (const TrueNode& other : world.nodes) {
      if (other.progress != NodeProgress::kUnderWay) continue;
      ++nodes;
      const bool together = rules_.policy.groups && rules_.policy.groups->mode == GroupMode::kTogether;
      units.insert(together ? GroupOf(other.node, *rules_.policy.groups) : other.node.name);
    }
    if (units.size() > kMaxParallel || nodes > kMaxUnavailable) referee_.TooMany(node);
  }

  // Checks that if one node of a group starts, all waiting nodes of that group start.
  void CheckWhole(const RolloutView& view, const std::vector<int>& stages, const RolloutStep& step,
                  const std::vector<std::size_t>& started) {
    if (!rules_.policy.groups || rules_.policy.groups->mode != GroupMode::kTogether) return;
    for (const std::size_t i : started) {
      for (std::size_t j = 0; j < view.nodes.size(); ++j) {
        if (GroupOf(*view.nodes[i].node, *rules_.policy.groups) !=
            GroupOf(*view.nodes[j].node, *rules_.policy.groups)) {
          continue;
        }
        const bool waits = view.nodes[j].progress == NodeProgress::kWaiting && stages[j] <= step.open;
        if (waits && std::find(started.begin(), started.end(), j) == started.end()) referee_.GroupIsSplit(nodes_[j]);
      }
    }
  }

  const RolloutRules& rules_;
  Referee& referee_;
  std::optional<Store> read_;
  std::deque<TrueNode> nodes_;
  std::string revision_;
  std::set<std::string> approvals_;
  int starts_ = 0;
  int late_starts_ = 0;  // number of nodes started in the last stage
};

void Change(TrueNode& node, NodeProgress progress) {
  node.progress = progress;
  ++node.version;
}

// Changes the world at random, independently of the replicas.
void Happen(World& world, SeededRandom& random) {
  TrueNode& node = world.nodes[static_cast<std::size_t>(random.Below(kNodes))];
  switch (random.Below(40)) {
    case 0: node.sick = node.progress == NodeProgress::kDone && !node.sick && random.Chance(30); break;
    case 1:
      if (random.Chance(20)) world.store.record.reset(), ++world.store.version;
      break;
    case 2:
      if (world.store.record && random.Chance(10)) {
        world.store.record->resize(world.store.record->size() / 2);
        ++world.store.version;
      }
      break;
    case 3:
      if (random.Chance(25)) {
        ++world.revision;
        for (TrueNode& one : world.nodes) {
          one.sick = false;
          if (one.progress != NodeProgress::kUnderWay) Change(one, NodeProgress::kWaiting);
        }
      }
      break;
    case 4:
    case 5:
    case 6: world.approvals.clear(); break;
    case 7:
    case 8:
    case 9:
      world.approvals = {fmt::format("{}@r{}", random.Pick({"canary", "canary", "pool", "rest"}), world.revision)};
      break;
    case 10:
      if (random.Chance(30)) world.now += absl::Hours(random.Between(1, 20));
      break;
    default:
      world.now += absl::Minutes(random.Below(8));
      if (node.progress == NodeProgress::kUnderWay) {
        Change(node, random.Chance(92) ? NodeProgress::kDone : NodeProgress::kFailed);
      } else if (node.progress == NodeProgress::kFailed && random.Chance(20)) {
        Change(node, NodeProgress::kWaiting);
      }
  }
}

struct Outcome {
  std::string broken = {};
  int starts = 0;
  int late_starts = 0;
};

Outcome RollOut(std::uint64_t seed) {
  SeededRandom random(seed);
  const RolloutRules rules = RandomRules(random);
  World world;
  for (int i = 0; i < kNodes; ++i) {
    const std::string rack(1, static_cast<char>('a' + i / 3));
    world.nodes.push_back({.node = {.name = fmt::format("n{}", i), .labels = {{"rack", rack}}}});
  }
  std::vector<RolloutNode> listed;
  for (const TrueNode& node : world.nodes) listed.push_back({.node = &node.node});
  const std::vector<int> stages = AssignStages(listed, rules.policy);
  Referee referee(rules);
  std::deque<Replica> replicas;
  for (int i = 0; i < 2; ++i) replicas.emplace_back(rules, referee);
  for (int step = 0; step < 1500 && referee.broken().empty(); ++step) {
    referee.Look(world, stages);
    Replica& replica = replicas[static_cast<std::size_t>(random.Chance(80) ? 0 : 1)];
    if (random.Chance(60)) {
      replica.Turn(world, random);
    } else if (random.Chance(3)) {
      replica.Crash();
    } else {
      Happen(world, random);
    }
  }
  return {.broken = referee.broken(),
          .starts = replicas[0].starts() + replicas[1].starts(),
          .late_starts = replicas[0].late_starts() + replicas[1].late_starts()};
}

TEST_CASE("no node starts in violation of the rules, whatever is lost, and whichever replicas believe that they lead") {
  int starts = 0;
  int late_starts = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    const Outcome outcome = RollOut(seed);
    REQUIRE(outcome.broken == "");
    starts += outcome.starts;
    late_starts += outcome.late_starts;
  }
  CHECK(starts > 400 * kNodes);
  CHECK(late_starts > 400);
}

}  // namespace
}  // namespace driverupgrade::internal
