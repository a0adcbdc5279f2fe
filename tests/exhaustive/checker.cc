#include "exhaustive/checker.h"

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "exhaustive/cluster_world.h"
#include "fmt/format.h"

namespace driverupgrade::tests {
namespace {

using Index = std::uint32_t;
constexpr Index kNoIndex = ~Index{0};

std::uint64_t HashOf(const ClusterState& state) {
  std::uint64_t hash = state.faults | std::uint64_t{state.current} << 8 | std::uint64_t{state.late_ledger} << 16;
  for (const NodeId node : state.nodes) {
    hash = (hash ^ node) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

// All states that were found, in order of discovery. States are stored completely, so that equal hashes cannot hide a
// state.
class StateSet {
 public:
  // Returns the state's index, and whether it is new.
  std::pair<Index, bool> Add(const ClusterState& state, Index parent) {
    if (states_.size() * 3 > slots_.size() * 2) Grow();
    Index& slot = SlotOf(state);
    if (slot != kNoIndex) return {slot, false};
    slot = static_cast<Index>(states_.size());
    states_.push_back(state);
    parents_.push_back(parent);
    return {slot, true};
  }
  Index Find(const ClusterState& state) { return SlotOf(state); }
  const ClusterState& operator[](Index index) const { return states_[index]; }
  Index ParentOf(Index index) const { return parents_[index]; }
  std::size_t size() const { return states_.size(); }

 private:
  Index& SlotOf(const ClusterState& state) {
    std::size_t slot = HashOf(state) & (slots_.size() - 1);
    while (slots_[slot] != kNoIndex && states_[slots_[slot]] != state) slot = (slot + 1) & (slots_.size() - 1);
    return slots_[slot];
  }
  void Grow() {
    slots_.assign(slots_.size() * 2, kNoIndex);
    for (Index index = 0; index < states_.size(); ++index) SlotOf(states_[index]) = index;
  }

  std::vector<ClusterState> states_;
  std::vector<Index> parents_;
  std::vector<Index> slots_ = std::vector<Index>(1 << 16, kNoIndex);
};

class Checker {
 public:
  Checker(const ModelOptions& options, std::size_t states_max)
      : options_(options), states_max_(states_max), world_(options) {}

  CheckResult Run() {
    const std::clock_t began = std::clock();
    Explore();
    for (int first = 0; first < options_.controllers && result_.broken.empty() && !result_.cut; ++first) Calm(first);
    result_.seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    result_.states = states_.size();
    result_.node_states = world_.nodes().size();
    result_.contents = world_.nodes().judge().contents();
    result_.views = world_.nodes().judge().views();
    return std::move(result_);
  }

 private:
  void Explore() {
    states_.Add(world_.First(), kNoIndex);
    Index level_end = 1;
    for (Index from = 0; from < states_.size() && result_.broken.empty(); ++from) {
      if (from == level_end) {
        level_end = static_cast<Index>(states_.size());
        ++result_.depth;
      }
      if (states_.size() > states_max_) {
        result_.cut = true;
        return;
      }
      const ClusterState state = states_[from];
      world_.Expand(state, [&](const ClusterState& next, const Step& step) { Visit(from, next, step); });
    }
  }

  void Visit(Index from, const ClusterState& next, const Step& step) {
    ++result_.edges;
    const auto [index, is_new] = states_.Add(next, from);
    if (!result_.broken.empty() || (!is_new && step.broken.empty())) return;
    result_.broken = step.broken.empty() ? world_.BrokenState(next) : std::string(step.broken);
    if (!result_.broken.empty()) result_.path = PathTo(from) + fmt::format("  last: {}\n", world_.Describe(step));
  }

  // Checks that every state leads to the final state. Follows the path from each state only until it reaches a state
  // that has already been checked.
  void Calm(int first) {
    constexpr int kUnknown = 0;
    constexpr int kOnTheWay = -1;
    std::vector<int> distance(states_.size(), kUnknown);  // distance to the final state, starting at 1
    std::vector<Index> way;
    for (Index from = 0; from < states_.size(); ++from) {
      way.clear();
      Index at = from;
      while (distance[at] == kUnknown) {
        distance[at] = kOnTheWay;
        way.push_back(at);
        const auto next = world_.CalmNext(states_[at], first);
        if (!next) break;
        at = states_.Find(*next);
        if (at == kNoIndex) return Report(way, "the calm world leaves the states that were found");
      }
      const bool ended = !way.empty() && at == way.back();
      if (ended && !world_.IsFinished(states_[at]))
        return Report(way, "L1: nothing happens any more, and it is not done");
      if (!ended && distance[at] == kOnTheWay) return Report(way, "L1: the same states repeat forever");
      int length = ended ? 0 : distance[at];
      while (!way.empty()) {
        distance[way.back()] = ++length;
        way.pop_back();
      }
      result_.longest_calm = std::max(result_.longest_calm, length);
    }
  }

  void Report(const std::vector<Index>& way, std::string what) {
    result_.broken = std::move(what);
    result_.path = PathTo(way.front()) + "  from there, without faults:\n";
    for (std::size_t i = 0; i + 1 < way.size(); ++i)
      result_.path += fmt::format("  {}\n", StepBetween(way[i], way[i + 1]));
    result_.path += "  and then:\n";
    for (int i = 0; i < options_.nodes; ++i) {
      const NodeId node = states_[way.back()].nodes[static_cast<std::size_t>(i)];
      result_.path += fmt::format("      {}\n", world_.nodes().Describe(node));
    }
  }

  std::string PathTo(Index index) {
    std::vector<Index> way;
    for (; index != kNoIndex; index = states_.ParentOf(index)) way.push_back(index);
    std::reverse(way.begin(), way.end());
    std::string path;
    for (std::size_t i = 0; i + 1 < way.size(); ++i)
      path += fmt::format("  {:>3}. {}\n", i + 1, StepBetween(way[i], way[i + 1]));
    return path;
  }

  std::string StepBetween(Index from, Index to) {
    std::string text;
    const ClusterState target = states_[to];
    world_.Expand(states_[from], [&](const ClusterState& next, const Step& step) {
      if (text.empty() && next == target) text = world_.Describe(step);
    });
    return text;
  }

  const ModelOptions options_;
  const std::size_t states_max_;
  ClusterWorld world_;
  StateSet states_;
  CheckResult result_;
};

}  // namespace

CheckResult Check(const ModelOptions& options, std::size_t states_max) { return Checker(options, states_max).Run(); }

std::string Describe(const ModelOptions& options, const CheckResult& result) {
  std::string text = fmt::format(
      "nodes={} controllers={} faults={} {}={} ledger={} pacing={}: {} states, {} edges, depth {}, {} states "
      "of "
      "a node, {} contents, {} views judged, longest calm way {}, {:.1f} s{}\n",
      options.nodes, options.controllers, options.faults,
      options.budget_of_unavailable ? "maxUnavailable" : "maxParallel", options.budget, options.ledger,
      options.pacing == Pacing::kChained ? "chained" : "every-state", result.states, result.edges, result.depth,
      result.node_states, result.contents, result.views, result.longest_calm, result.seconds,
      result.cut ? ", CUT" : "");
  if (!result.broken.empty()) text += fmt::format("{}\n{}", result.broken, result.path);
  return text;
}

}  // namespace driverupgrade::tests
