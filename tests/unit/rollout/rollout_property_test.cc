// Compares stages, groups, and order with a naive implementation, on random fleets.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "decide/rollout/assign_stages.h"
#include "decide/rollout/groups.h"
#include "decide/rollout/order.h"
#include "decide/rollout/room.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "property/seeded_random.h"
#include "support/catch.h"
#include "unit/rollout/fleet.h"

namespace driverupgrade::internal {
namespace {

using tests::SeededRandom;
using Names = std::vector<std::string>;

constexpr int kSeeds = 3000;

Fleet RandomFleet(SeededRandom& random) {
  Fleet fleet;
  const int nodes = random.Between(1, 14);
  for (int i = 0; i < nodes; ++i) {
    StringMap labels;
    if (random.Chance(85)) labels["rack"] = std::string(1, static_cast<char>('a' + random.Below(4)));
    if (random.Chance(20)) labels["pool"] = "canary";
    if (random.Chance(50)) labels["priority"] = random.Pick({"1", "2", "10", "high"});
    RolloutNode& node = fleet.Add(fmt::format("n{}", i), labels);
    if (random.Chance(30)) node.progress = static_cast<NodeProgress>(random.Below(5));
    node.may_start = node.progress == NodeProgress::kWaiting && random.Chance(95);
    node.out_of_service = random.Chance(15);
    if (random.Chance(70)) node.pods = random.Below(3);
  }
  return fleet;
}

RolloutStage RandomStage(int number, SeededRandom& random) {
  RolloutStage stage{.name = fmt::format("s{}", number)};
  if (random.Chance(60)) {
    stage.nodes = random.Chance(50) ? CountOrPercent(Count{random.Between(1, 4)})
                                    : CountOrPercent(Percent{random.Between(1, 40)});
  } else {
    stage.nodes = LabelSelector::Parse(random.Pick({"pool=canary", "rack=a", "rack in (b,c)"})).value();
  }
  if (random.Chance(40)) stage.max_parallel = random.Between(1, 2);
  return stage;
}

RolloutPolicy RandomRollout(SeededRandom& random) {
  RolloutPolicy policy;
  for (int i = random.Below(4); i > 0; --i) policy.stages.push_back(RandomStage(i, random));
  for (int i = random.Below(3); i > 0; --i) {
    policy.order.push_back(random.Pick({RolloutOrder{.by = OrderBy::kIdle}, RolloutOrder{.by = OrderBy::kFewestPods},
                                        RolloutOrder{.by = OrderBy::kLabel, .label = "priority"},
                                        RolloutOrder{.by = OrderBy::kTopology, .label = "rack"}}));
  }
  if (random.Chance(75)) {
    policy.groups = NodeGroups{.by = "rack",
                               .mode = random.Pick({GroupMode::kTogether, GroupMode::kOneAtATime, GroupMode::kSpread})};
    if (policy.groups->mode == GroupMode::kSpread && random.Chance(50)) policy.groups->max_per_group = Percent{40};
  }
  return policy;
}

std::string LabelOf(const RolloutNode& node, const std::string& key) {
  const auto label = node.node->labels.find(key);
  return label == node.node->labels.end() ? "" : label->second;
}
bool SameGroup(const RolloutNode& a, const RolloutNode& b) {
  return a.node->name == b.node->name || (!LabelOf(a, "rack").empty() && LabelOf(a, "rack") == LabelOf(b, "rack"));
}

// Returns an error if the stages of the nodes violate the policy, and otherwise an empty string.
std::string WrongStages(const Fleet& fleet, const RolloutPolicy& policy, const std::vector<int>& stages) {
  const auto& nodes = fleet.view.nodes;
  const bool together = policy.groups && policy.groups->mode == GroupMode::kTogether;
  const auto counted = [&](std::size_t i) { return nodes[i].progress != NodeProgress::kLeftOut; };
  int total = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) total += counted(i);
  for (int s = 0; s < static_cast<int>(policy.stages.size()); ++s) {
    const auto* selector = std::get_if<LabelSelector>(&policy.stages[static_cast<std::size_t>(s)].nodes);
    int in = 0;
    int later = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      bool selected = false;
      for (std::size_t j = 0; j < nodes.size(); ++j) {
        const bool with = together ? SameGroup(nodes[i], nodes[j]) : i == j;
        if (together && with && stages[i] != stages[j]) return "a group is in two stages";
        selected |= with && selector != nullptr && selector->Matches(nodes[j].node->labels);
      }
      if (selector != nullptr && stages[i] == s && !selected) return "a node is in a stage that does not select it";
      if (selector != nullptr && stages[i] > s && selected) return "a node is in none of the stages that select it";
      in += stages[i] == s && counted(i);
      later += stages[i] > s && counted(i);
    }
    if (selector != nullptr) continue;
    const auto& limit = std::get<CountOrPercent>(policy.stages[static_cast<std::size_t>(s)].nodes);
    const int wanted = std::holds_alternative<Count>(limit) ? std::get<Count>(limit).value
                                                            : (total * std::get<Percent>(limit).value + 99) / 100;
    if (in < wanted && later > 0) return "a stage has too few nodes";
    if (!together && in > wanted) return "a stage has too many nodes";
  }
  return "";
}

TEST_CASE("in any fleet, stages contain the nodes that the policy selects") {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SeededRandom random(seed);
    Fleet fleet = RandomFleet(random);
    const RolloutPolicy policy = RandomRollout(random);
    const std::vector<int> stages = AssignStages(fleet.view.nodes, policy);
    std::map<std::string, int> by_name;
    for (std::size_t i = 0; i < stages.size(); ++i) by_name[fleet.view.nodes[i].node->name] = stages[i];
    CAPTURE(seed);
    REQUIRE(WrongStages(fleet, policy, stages) == "");
    // The result depends neither on the order of the list nor on the progress of the nodes.
    random.Shuffle(fleet.view.nodes);
    for (RolloutNode& node : fleet.view.nodes) {
      if (node.progress != NodeProgress::kLeftOut)
        node.progress = random.Pick({NodeProgress::kDone, NodeProgress::kWaiting});
    }
    const std::vector<int> again = AssignStages(fleet.view.nodes, policy);
    for (std::size_t i = 0; i < again.size(); ++i) REQUIRE(again[i] == by_name[fleet.view.nodes[i].node->name]);
  }
}

// Returns true if node `a` comes before node `b` in this order.
bool GoesBefore(const RolloutNode& a, const RolloutNode& b, const std::vector<RolloutOrder>& order) {
  for (const RolloutOrder& by : order) {
    switch (by.by) {
      case OrderBy::kIdle:
        if ((a.pods == 0) != (b.pods == 0)) return a.pods == 0;
        break;
      case OrderBy::kFewestPods:
        if (a.pods.has_value() != b.pods.has_value()) return a.pods.has_value();
        if (a.pods != b.pods) return *a.pods < *b.pods;
        break;
      case OrderBy::kLabel: {
        const auto priority = [&](const RolloutNode& node) {
          const std::string text = LabelOf(node, by.label);
          return text.empty() || text == "high" ? 0 : std::stoi(text);
        };
        if (priority(a) != priority(b)) return priority(a) > priority(b);
        break;
      }
      case OrderBy::kTopology: {
        const std::string left = LabelOf(a, by.label);
        const std::string right = LabelOf(b, by.label);
        if (left.empty() != right.empty()) return right.empty();
        if (left != right) return left < right;
        break;
      }
      case OrderBy::kName: break;
    }
  }
  return a.node->name < b.node->name;
}

TEST_CASE("in any fleet, nodes are in the order that the policy sets") {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SeededRandom random(seed);
    const Fleet fleet = RandomFleet(random);
    const std::vector<RolloutOrder> order = RandomRollout(random).order;
    for (const RolloutNode& a : fleet.view.nodes) {
      for (const RolloutNode& b : fleet.view.nodes) {
        CAPTURE(seed, a.node->name, b.node->name);
        REQUIRE((SortKey(a, order) < SortKey(b, order)) == GoesBefore(a, b, order));
      }
    }
  }
}

// Admits one node or group at a time, and each time checks the whole fleet again.
class NaiveAdmission {
 public:
  NaiveAdmission(const RolloutPolicy& policy, const Fleet& fleet, const std::vector<int>& stages, int open,
                 Numbers room)
      : policy_(policy), nodes_(fleet.view.nodes), stages_(stages), open_(open), room_(room) {}

  std::set<std::string> Run() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].may_start) order.push_back(i);
    }
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return GoesBefore(nodes_[a], nodes_[b], policy_.order); });
    // Groups that have already started come first.
    if (Is(GroupMode::kTogether)) {
      std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return IsGroupUnderWay(i); });
    }
    std::set<std::string> started;
    std::set<std::size_t> asked;
    for (const std::size_t i : order) {
      if (asked.contains(i)) continue;
      std::vector<std::size_t> unit;
      for (const std::size_t j : order) {
        if (Is(GroupMode::kTogether) ? SameGroup(nodes_[i], nodes_[j]) : i == j) unit.push_back(j);
      }
      asked.insert(unit.begin(), unit.end());
      if (!MayStart(unit)) continue;
      for (const std::size_t j : unit) {
        nodes_[j].progress = NodeProgress::kUnderWay;
        started.insert(nodes_[j].node->name);
      }
      ++started_units_;
      if (Is(GroupMode::kTogether)) extended_ += was_under_way_;
      used_ += static_cast<int>(unit.size());
    }
    if (Count([&](std::size_t i) { return IsUnderWay(i); }) > 0) return started;
    // No node is in progress, so a node that is out of service need not wait for a stage or a group.
    for (const std::size_t i : order) {
      for (std::size_t j = 0; j < nodes_.size(); ++j) {
        const bool of_unit = Is(GroupMode::kTogether) ? SameGroup(nodes_[i], nodes_[j]) : i == j;
        if (!of_unit || !nodes_[j].may_start || !nodes_[j].out_of_service) continue;
        if (HasSlots(j, 1) && room_.headroom >= 1) return {nodes_[j].node->name};
      }
    }
    return started;
  }

 private:
  bool Is(GroupMode mode) const { return policy_.groups && policy_.groups->mode == mode; }
  template <typename Predicate>
  int Count(const Predicate& predicate) const {
    int count = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) count += predicate(i);
    return count;
  }
  bool IsUnderWay(std::size_t i) const { return nodes_[i].progress == NodeProgress::kUnderWay; }
  bool IsGroupUnderWay(std::size_t own) const {
    return Count([&](std::size_t i) { return SameGroup(nodes_[own], nodes_[i]) && IsUnderWay(i); }) > 0;
  }
  bool IsOpen(std::size_t i) const { return stages_[i] <= open_ || nodes_[i].out_of_service; }
  bool Waits(std::size_t i) const { return nodes_[i].progress == NodeProgress::kWaiting && IsOpen(i); }

  // Returns the number of slots used in one stage: one for each node in progress or, with Together, one for each group
  // that has nodes in progress.
  int SlotsIn(int stage) const {
    std::set<std::string> groups;
    int nodes = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!IsUnderWay(i) || stages_[i] != stage) continue;
      ++nodes;
      const std::string rack = LabelOf(nodes_[i], "rack");
      groups.insert(rack.empty() ? nodes_[i].node->name : "rack " + rack);
    }
    return Is(GroupMode::kTogether) ? static_cast<int>(groups.size()) : nodes;
  }

  bool GroupAllows(const std::vector<std::size_t>& unit) const {
    const std::size_t own = unit.front();
    const auto in_own = [&](std::size_t i) { return SameGroup(nodes_[own], nodes_[i]); };
    const int under_way = Count([&](std::size_t i) { return in_own(i) && IsUnderWay(i); });
    if (Is(GroupMode::kTogether)) {
      return under_way > 0 ||
             Count([&](std::size_t i) { return in_own(i) && Waits(i); }) == static_cast<int>(unit.size());
    }
    if (Is(GroupMode::kSpread)) {
      const int all = Count([&](std::size_t i) { return in_own(i) && nodes_[i].progress != NodeProgress::kLeftOut; });
      return under_way < ScaledLimit(policy_.groups->max_per_group, all);
    }
    if (!Is(GroupMode::kOneAtATime)) return true;
    if (Count([&](std::size_t i) { return !in_own(i) && IsUnderWay(i); }) > 0) return false;
    if (under_way > 0) return true;
    // If several groups are interrupted, only the first of these groups by name may start nodes.
    std::set<std::string> interrupted;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto in_this = [&](std::size_t j) { return SameGroup(nodes_[i], nodes_[j]); };
      const auto is = [&](std::size_t j, NodeProgress progress) {
        return in_this(j) && nodes_[j].progress == progress;
      };
      const bool failed = Count([&](std::size_t j) { return is(j, NodeProgress::kFailed); }) > 0;
      const bool done = Count([&](std::size_t j) { return is(j, NodeProgress::kDone); }) > 0;
      if (failed || (done && Count([&](std::size_t j) { return in_this(j) && Waits(j); }) > 0)) {
        interrupted.insert(GroupOf(*nodes_[i].node, *policy_.groups));
      }
    }
    return interrupted.empty() || *interrupted.begin() == GroupOf(*nodes_[own].node, *policy_.groups);
  }

  // Returns true if the unit's stage is open, or if the unit has no waiting node that is in service.
  bool StageAllows(const std::vector<std::size_t>& unit) const {
    if (stages_[unit.front()] <= open_) return true;
    return Count([&](std::size_t i) {
             const bool of_unit =
                 Is(GroupMode::kTogether) ? SameGroup(nodes_[unit.front()], nodes_[i]) : i == unit.front();
             return of_unit && nodes_[i].progress == NodeProgress::kWaiting && !nodes_[i].out_of_service;
           }) == 0;
  }

  bool HasSlots(std::size_t i, int slots) const {
    if (slots > room_.slots - (started_units_ - extended_)) return false;
    if (stages_[i] == static_cast<int>(policy_.stages.size())) return true;
    const auto& max = policy_.stages[static_cast<std::size_t>(stages_[i])].max_parallel;
    return !max || SlotsIn(stages_[i]) + slots <= *max;
  }

  bool MayStart(const std::vector<std::size_t>& unit) {
    const std::size_t own = unit.front();
    const int size = static_cast<int>(unit.size());
    if (!StageAllows(unit) || !GroupAllows(unit)) return false;
    was_under_way_ = Is(GroupMode::kTogether) && IsGroupUnderWay(own);
    const int slots = was_under_way_ ? 0 : 1;
    if (size > room_.headroom_max || (kept_free_ && !was_under_way_) || !HasSlots(own, slots)) return false;
    if (size <= room_.headroom - used_) return true;
    const bool comes = size <= room_.headroom_later;
    kept_free_ |= size > 1 && comes && Count([&](std::size_t i) { return IsUnderWay(i); }) > 0;
    return false;
  }

  const RolloutPolicy& policy_;
  std::vector<RolloutNode> nodes_;
  const std::vector<int>& stages_;
  const int open_;
  const Numbers room_;
  int started_units_ = 0;
  int extended_ = 0;
  int used_ = 0;
  bool was_under_way_ = false;
  bool kept_free_ = false;
};

TEST_CASE("the same nodes start as if each node or group were admitted separately") {
  int starts = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SeededRandom random(seed);
    const Fleet fleet = RandomFleet(random);
    const RolloutRules rules = RulesOf(RandomRollout(random), {});
    const std::vector<int> stages = fleet.Stages(rules);
    const RolloutStep step{.open = random.Below(static_cast<int>(rules.policy.stages.size()) + 1)};
    const int headroom_max = random.Between(0, 20);
    const int headroom = random.Below(headroom_max + 1);
    const Numbers room{.slots = random.Below(9),
                       .headroom = headroom,
                       .headroom_max = headroom_max,
                       .headroom_later = random.Between(headroom, headroom_max)};
    const Names names = fleet.Started(step, rules, room);
    const std::set<std::string> started(names.begin(), names.end());
    CAPTURE(seed, fmt::format("{}", names));
    REQUIRE(started == NaiveAdmission(rules.policy, fleet, stages, step.open, room).Run());
    starts += static_cast<int>(names.size());
  }
  // The test would prove nothing if no node ever started.
  CHECK(starts > kSeeds);
}

}  // namespace
}  // namespace driverupgrade::internal
