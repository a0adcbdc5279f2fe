// Test helpers that compute a rollout's steps and admissions from a list with the stage of each node.
#ifndef DRIVERUPGRADE_TESTS_SUPPORT_ROLLOUT_BY_STAGES_H_
#define DRIVERUPGRADE_TESTS_SUPPORT_ROLLOUT_BY_STAGES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "decide/rollout/census.h"
#include "decide/rollout/room.h"
#include "decide/rollout/stages.h"

namespace driverupgrade::internal {

inline RolloutStep AdvanceRollout(const RolloutRecord& stored, const RolloutView& view, const std::vector<int>& stages,
                                  const RolloutRules& rules, absl::Time now) {
  return AdvanceRollout(stored, view, RolloutCensus(rules.policy, view.nodes, stages), rules, now);
}

// Returns the number of slots that nodes in progress hold, by stage. A group that starts together holds one slot.
inline std::vector<int> SlotsUsed(const RolloutRules& rules, const RolloutView& view, const std::vector<int>& stages) {
  return RolloutCensus(rules.policy, view.nodes, stages).SlotsUsed();
}

struct RolloutVerdict {
  std::string node = {};
  // Index of the node in the view.
  std::size_t index = 0;
  // Reason why the node waits. nullopt: the node starts.
  std::optional<Gate> gate = std::nullopt;
  bool reload_only = false;
  friend bool operator==(const RolloutVerdict&, const RolloutVerdict&) = default;
};

inline std::vector<RolloutVerdict> AdmitNodes(const RolloutRules& rules, const RolloutView& view,
                                              const std::vector<int>& stages, const RolloutStep& step,
                                              const StartTime& start, RolloutRoom& room,
                                              absl::Time now = absl::InfinitePast()) {
  RolloutCensus census(rules.policy, view.nodes, stages);
  const RolloutAnswers answers = AdmitNodes(rules, view, census, step, start, now, room);
  std::vector<RolloutVerdict> verdicts;
  for (const RolloutAnswer& answer : answers.nodes) {
    RolloutVerdict& verdict = verdicts.emplace_back(RolloutVerdict{
        .node = view.nodes[answer.index].node->name, .index = answer.index, .reload_only = answer.reload_only});
    if (answer.gate != nullptr) verdict.gate = *answer.gate;
  }
  return verdicts;
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_TESTS_SUPPORT_ROLLOUT_BY_STAGES_H_
