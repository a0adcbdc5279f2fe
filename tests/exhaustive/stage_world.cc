#include "exhaustive/stage_world.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <compare>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "decide/rollout/room.h"
#include "decide/rollout/stages.h"
#include "fmt/format.h"
#include "unit/rollout/fleet.h"

namespace driverupgrade::tests {
namespace {

using internal::NodeProgress;
using internal::RolloutRecord;

constexpr std::size_t kNodes = 3;
constexpr std::size_t kReplicas = 2;
constexpr absl::Duration kSoak = absl::Minutes(1);
// Maximum age, in soak times. Greater ages have the same effect.
constexpr std::uint8_t kAgeMax = 2;
constexpr std::uint8_t kNever = 255;
const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

enum class Phase : std::uint8_t { kNothing, kHasObject, kHasNodes, kStarts };

struct NodeBits {
  NodeProgress progress = NodeProgress::kWaiting;
  bool sick = false;
  // Rank of the version among all known versions of this node.
  std::uint8_t version = 1;
  friend auto operator<=>(const NodeBits&, const NodeBits&) = default;
};
using Nodes = std::array<NodeBits, kNodes>;
// The version at which each node is allowed to start; 0 if it is not allowed to start.
using GrantRanks = std::array<std::uint8_t, kNodes>;

struct Object {
  std::uint8_t record = 0;  // number of the record; 0: no record
  GrantRanks grants = {};
  friend auto operator<=>(const Object&, const Object&) = default;
};

struct ReplicaBits {
  Phase phase = Phase::kNothing;
  Object object = {};
  bool current = false;  // true if the object has not been written since it was read
  Nodes nodes = {};
  bool approved = false;
  GrantRanks starts = {};  // pending starts: versions that the patches have as their precondition
  friend auto operator<=>(const ReplicaBits&, const ReplicaBits&) = default;
};

struct State {
  Nodes nodes = {};
  Object object = {};
  std::array<ReplicaBits, kReplicas> replicas = {};
  bool approved = false;
  bool was_approved = false;
  std::uint8_t ended_age = kNever;  // time since all canaries were done for the first time
  std::uint8_t faults = 0;
  friend bool operator==(const State&, const State&) = default;
};

// All members are bytes, so the struct has no padding.
static_assert(std::has_unique_object_representations_v<State>);
struct Hash {
  std::size_t operator()(const State& state) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(&state), sizeof(State)});
  }
};

RolloutPolicy PolicyOf(const StageOptions& options) {
  return {.stages = {{.name = "canary",
                      .nodes = LabelSelector::Parse("pool=canary").value(),
                      .soak = kSoak,
                      .max_failures = Count{0},
                      .approval = options.approval}},
          .health = RolloutHealth{.node_conditions = {{.type = "GpuHealthy", .status = "False"}}}};
}

class StageWorld {
 public:
  explicit StageWorld(const StageOptions& options)
      : options_(options), rules_(internal::RulesOf(PolicyOf(options), {})), records_(1) {
    for (std::size_t i = 0; i < kNodes; ++i) {
      names_[i].name = fmt::format("n{}", i);
      if (IsCanary(i)) names_[i].labels.emplace("pool", "canary");
    }
    for (std::size_t i = 0; i < kNodes; ++i) stages_.push_back(IsCanary(i) ? 0 : 1);
  }

  StageResult Run();

 private:
  using Visitor = std::function<void(const State&)>;

  bool IsCanary(std::size_t i) const { return i < static_cast<std::size_t>(options_.canaries); }
  std::size_t replicas() const { return static_cast<std::size_t>(options_.replicas); }

  void Expand(const State& state, const Visitor& visit);
  void ExpandReplica(const State& state, std::size_t r, const Visitor& visit);
  void ExpandNodes(const State& state, const Visitor& visit) const;
  void ExpandFaults(const State& state, const Visitor& visit) const;
  State Tick(const State& state);
  // Lets the replica decide, and lets it write the object if the decision requires a write.
  void Act(State& state, std::size_t r);
  void Start(State& state, std::size_t r, std::size_t node);
  void Note(std::string broken) {
    if (result_.broken.empty()) result_.broken = std::move(broken);
  }

  // Returns the next state if no further faults happen, or nullopt if nothing happens.
  std::optional<State> CalmNext(State state);
  bool GetsDone(const State& state);

  std::uint8_t IdOf(const RolloutRecord& record);
  std::uint8_t OlderRecord(std::uint8_t id);
  // Replaces versions and grants with their ranks, so that equivalent states compare equal.
  void Normalize(State& state) const;

  const StageOptions options_;
  const internal::RolloutRules rules_;
  std::array<Node, kNodes> names_ = {};
  std::vector<int> stages_ = {};
  std::deque<RolloutRecord> records_;
  std::map<std::string, std::uint8_t> record_ids_ = {};
  std::unordered_set<State, Hash> gets_done_ = {};
  StageResult result_ = {};
};

// ----- records

// Returns the record's number. Records with the same text, which includes the age of the soak, have the same number.
std::uint8_t StageWorld::IdOf(const RolloutRecord& record) {
  const auto [id, is_new] = record_ids_.emplace(FormatRecord(record), static_cast<std::uint8_t>(records_.size()));
  if (!is_new) return id->second;
  if (records_.size() >= std::numeric_limits<std::uint8_t>::max()) throw std::length_error("too many records");
  records_.push_back(record);
  return id->second;
}

std::uint8_t StageWorld::OlderRecord(std::uint8_t id) {
  if (id == 0 || !records_[id].soak_since) return id;
  RolloutRecord older = records_[id];
  older.soak_since = std::max(*older.soak_since - kSoak, kNow - kAgeMax * kSoak);
  return IdOf(older);
}

State StageWorld::Tick(const State& state) {
  State next = state;
  next.object.record = OlderRecord(state.object.record);
  for (ReplicaBits& replica : next.replicas) replica.object.record = OlderRecord(replica.object.record);
  if (next.ended_age < kAgeMax) ++next.ended_age;
  return next;
}

// ----- states

void StageWorld::Normalize(State& state) const {
  for (std::size_t i = 0; i < kNodes; ++i) {
    std::vector<std::uint8_t*> known = {&state.nodes[i].version, &state.object.grants[i]};
    for (ReplicaBits& replica : state.replicas) {
      for (std::uint8_t* rank : {&replica.object.grants[i], &replica.starts[i]}) known.push_back(rank);
      if (replica.phase == Phase::kHasNodes) known.push_back(&replica.nodes[i].version);
    }
    std::vector<std::uint8_t> ranks = {0};
    for (const std::uint8_t* rank : known) ranks.push_back(*rank);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    for (std::uint8_t* rank : known) {
      *rank = static_cast<std::uint8_t>(std::lower_bound(ranks.begin(), ranks.end(), *rank) - ranks.begin());
    }
  }
  if (replicas() == kReplicas && state.replicas[1] < state.replicas[0]) std::swap(state.replicas[0], state.replicas[1]);
}

void Change(NodeBits& node, NodeProgress progress) {
  node.progress = progress;
  ++node.version;
}

bool Ended(const NodeBits& node) {
  return node.progress == NodeProgress::kDone || node.progress == NodeProgress::kFailed;
}

void StageWorld::Expand(const State& state, const Visitor& visit) {
  const Visitor normal = [&](const State& raw) {
    State next = raw;
    bool ended = true;
    for (std::size_t i = 0; i < kNodes; ++i) ended &= !IsCanary(i) || Ended(next.nodes[i]);
    if (ended && next.ended_age == kNever) next.ended_age = 0;
    next.was_approved |= next.approved;
    Normalize(next);
    visit(next);
  };
  for (std::size_t r = 0; r < replicas(); ++r) ExpandReplica(state, r, normal);
  ExpandNodes(state, normal);
  if (state.faults > 0) ExpandFaults(state, normal);
  normal(Tick(state));
  if (!state.approved) {
    State approved = state;
    approved.approved = true;
    normal(approved);
  }
}

void StageWorld::ExpandReplica(const State& state, std::size_t r, const Visitor& visit) {
  State next = state;
  ReplicaBits& replica = next.replicas[r];
  switch (replica.phase) {
    case Phase::kNothing:
      replica = {.phase = Phase::kHasObject, .object = state.object, .current = true};
      return visit(next);
    case Phase::kHasObject:
      replica.phase = Phase::kHasNodes;
      replica.nodes = state.nodes;
      replica.approved = state.approved;
      return visit(next);
    case Phase::kHasNodes: Act(next, r); return visit(next);
    case Phase::kStarts:
      for (std::size_t i = 0; i < kNodes; ++i) {
        if (replica.starts[i] == 0) continue;
        State started = state;
        Start(started, r, i);
        visit(started);
      }
  }
}

void StageWorld::ExpandNodes(const State& state, const Visitor& visit) const {
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (state.nodes[i].progress != NodeProgress::kUnderWay) continue;
    State done = state;
    Change(done.nodes[i], NodeProgress::kDone);
    visit(done);
  }
}

void StageWorld::ExpandFaults(const State& state, const Visitor& visit) const {
  const auto fault = [&](const auto& change) {
    State next = state;
    --next.faults;
    change(next);
    visit(next);
  };
  for (std::size_t r = 0; r < replicas(); ++r) {
    if (state.replicas[r].phase != Phase::kNothing) fault([r](State& next) { next.replicas[r] = {}; });
  }
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (state.nodes[i].progress == NodeProgress::kUnderWay) {
      fault([i](State& next) { Change(next.nodes[i], NodeProgress::kFailed); });
    }
    if (state.nodes[i].progress == NodeProgress::kDone && !state.nodes[i].sick) {
      fault([i](State& next) { next.nodes[i].sick = true; });
    }
  }
  if (state.approved) fault([](State& next) { next.approved = false; });
  if (state.object.record == 0) return;
  fault([](State& next) {
    next.object.record = 0;
    for (ReplicaBits& replica : next.replicas) replica.current = false;
  });
}

// ----- a replica

void StageWorld::Act(State& state, std::size_t r) {
  ReplicaBits& replica = state.replicas[r];
  Object object = replica.object;
  internal::RolloutView view{.revision = "r1"};
  if (replica.approved || options_.defect == StageDefect::kTakesAllAsApproved)
    view.approvals = {"canary@r1", "rest@r1"};
  int slots = 1;
  for (std::size_t i = 0; i < kNodes; ++i) {
    const NodeBits& seen = replica.nodes[i];
    internal::RolloutNode node{.node = &names_[i], .progress = seen.progress, .sick = seen.sick ? "sick" : ""};
    if (object.grants[i] != 0 && (seen.version > object.grants[i])) object.grants[i] = 0;
    node.may_start = seen.progress == NodeProgress::kWaiting;
    if (object.grants[i] != 0) node.progress = NodeProgress::kUnderWay;
    // A grant is valid only for the version that it names.
    node.may_start &= object.grants[i] == 0;
    slots -= node.progress == NodeProgress::kUnderWay;
    view.nodes.push_back(std::move(node));
  }
  RolloutRecord stored = records_[object.record];
  if (object.record == 0 && options_.defect == StageDefect::kTakesLostForLast) stored.stage = "rest";
  if (options_.defect == StageDefect::kSoaksNotAtAll && stored.soak_since) stored.soak_since = kNow - kSoak;
  if (options_.defect == StageDefect::kTakesLostForLast && object.record == 0) {
    stored.revision = "r1";
    stored.stages = rules_.stages_fingerprint;
  }
  const internal::RolloutStep step = AdvanceRollout(stored, view, stages_, rules_, kNow);
  internal::NumbersRoom room({.slots = slots});
  GrantRanks starts = {};
  for (const auto& verdict : AdmitNodes(rules_, view, stages_, step, {.open = true}, room)) {
    if (verdict.gate) continue;
    starts[verdict.index] = object.grants[verdict.index] = replica.nodes[verdict.index].version;
  }
  object.record = IdOf(step.record);
  const bool changes = object != replica.object;
  const bool fits = replica.current || options_.defect == StageDefect::kWritesBlindly;
  const bool was_halted = records_[state.object.record].halt.has_value();
  const bool starts_anyway = options_.defect == StageDefect::kStartsBeforeWrite;
  if (changes && fits) {
    state.object = object;
    for (ReplicaBits& other : state.replicas) other.current = false;
  }
  const bool any = starts != GrantRanks{};
  replica = {};
  if (!any || !(fits || starts_anyway)) return;
  if (was_halted) Note("a node is let start although a halt is stored");
  replica.phase = Phase::kStarts;
  replica.starts = starts;
}

void StageWorld::Start(State& state, std::size_t r, std::size_t i) {
  ReplicaBits& replica = state.replicas[r];
  const bool fits = state.nodes[i].version == std::exchange(replica.starts[i], std::uint8_t{0});
  if (replica.starts == GrantRanks{}) replica = {};
  if (!fits) return;
  Change(state.nodes[i], NodeProgress::kUnderWay);
  int under_way = 0;
  for (const NodeBits& node : state.nodes) under_way += node.progress == NodeProgress::kUnderWay;
  if (under_way > 1) Note("two nodes are under way, one may");
  if (IsCanary(i)) return;
  ++result_.late_starts;
  if (state.ended_age == kNever) return Note("a node starts before the canaries have ended");
  if (state.ended_age < 1) Note("a node starts before the canaries have soaked");
  if (options_.approval == Approval::kManual && !state.was_approved) Note("a node starts without an approval");
}

// ----- the calm world

std::optional<State> StageWorld::CalmNext(State state) {
  for (std::size_t r = 0; r < replicas(); ++r) {
    for (std::size_t i = 0; i < kNodes; ++i) {
      if (state.replicas[r].starts[i] == 0) continue;
      Start(state, r, i);
      return state;
    }
  }
  for (NodeBits& node : state.nodes) {
    if (node.progress != NodeProgress::kUnderWay) continue;
    Change(node, NodeProgress::kDone);
    return state;
  }
  const Object before = state.object;
  state.replicas[0] = {.phase = Phase::kHasNodes,
                       .object = state.object,
                       .current = true,
                       .nodes = state.nodes,
                       .approved = state.approved};
  Act(state, 0);
  if (state.object != before || state.replicas[0].phase == Phase::kStarts) return state;
  const bool halted = records_[state.object.record].halt.has_value();
  if (halted || !state.approved) {
    state.approved = !state.approved;
    return state;
  }
  const State older = Tick(state);
  if (older.object != state.object) return older;
  // A grant whose start was never sent holds its slot until the node has a new version.
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (state.object.grants[i] == 0) continue;
    ++state.nodes[i].version;
    return state;
  }
  return std::nullopt;
}

bool StageWorld::GetsDone(const State& state) {
  std::vector<State> way = {state};
  constexpr std::size_t kWayMax = 200;
  while (gets_done_.count(way.back()) == 0) {
    if (way.size() > kWayMax) return false;
    std::optional<State> next = CalmNext(way.back());
    if (!next) {
      const Nodes& nodes = way.back().nodes;
      if (!std::all_of(nodes.begin(), nodes.end(), Ended)) return false;
      break;
    }
    bool ended = true;
    for (std::size_t i = 0; i < kNodes; ++i) ended &= !IsCanary(i) || Ended(next->nodes[i]);
    if (ended && next->ended_age == kNever) next->ended_age = 0;
    next->was_approved |= next->approved;
    Normalize(*next);
    way.push_back(*std::move(next));
  }
  gets_done_.insert(way.begin(), way.end());
  return true;
}

StageResult StageWorld::Run() {
  const auto began = std::chrono::steady_clock::now();
  State first{.faults = static_cast<std::uint8_t>(options_.faults)};
  Normalize(first);
  std::unordered_set<State, Hash> known = {first};
  std::deque<State> open = {first};
  while (!open.empty() && result_.broken.empty()) {
    const State state = open.front();
    open.pop_front();
    Expand(state, [&](const State& next) {
      if (known.insert(next).second) open.push_back(next);
    });
    if (result_.broken.empty() && !GetsDone(state)) Note("L1: nothing happens any more, and it is not done");
  }
  result_.states = known.size();
  result_.records = records_.size() - 1;
  result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return result_;
}

}  // namespace

StageResult CheckStages(const StageOptions& options) { return StageWorld(options).Run(); }

std::string Describe(const StageOptions& options, const StageResult& result) {
  std::string text = fmt::format(
      "two stages, {} of 3 nodes in the first, {} replicas, {} faults, approval {}: {} states, {} records, {} late "
      "starts, "
      "{:.1f} s\n",
      options.canaries, options.replicas, options.faults,
      options.approval == Approval::kManual ? "by hand" : "automatic", result.states, result.records,
      result.late_starts, result.seconds);
  return result.broken.empty() ? text : text + "  " + result.broken + "\n";
}

}  // namespace driverupgrade::tests
