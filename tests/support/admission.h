// Lists what an AdmissionQueue decides about each waiting node in one round.
#ifndef DRIVERUPGRADE_TESTS_SUPPORT_ADMISSION_H_
#define DRIVERUPGRADE_TESTS_SUPPORT_ADMISSION_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decide/admission/queue.h"

namespace driverupgrade::tests {

struct AdmissionDecision {
  // Index of the node in the list of waiting nodes.
  std::size_t index = 0;
  // Reason why the node waits, with the node's place in the queue. nullopt: the node is admitted.
  std::optional<Gate> gate = std::nullopt;
  friend bool operator==(const AdmissionDecision&, const AdmissionDecision&) = default;
};

// Returns the decisions in admission order. The node names in `waiting` must be unique. The order of `waiting` does not
// affect the result.
inline std::vector<AdmissionDecision> Admit(Limits limits, const std::vector<WaitingNode>& waiting) {
  AdmissionQueue queue;
  for (const WaitingNode& node : waiting) queue.Add(node);
  const std::vector<std::string> admitted = queue.Admit(std::move(limits));
  std::vector<AdmissionDecision> decisions(waiting.size());
  for (std::size_t i = 0; i < waiting.size(); ++i) decisions[i].index = i;
  std::sort(decisions.begin(), decisions.end(), [&](const AdmissionDecision& a, const AdmissionDecision& b) {
    return GoesBefore(waiting[a.index], waiting[b.index]);
  });
  int place = 0;
  for (AdmissionDecision& decision : decisions) {
    const WaitingNode& node = waiting[decision.index];
    if (std::find(admitted.begin(), admitted.end(), node.node) != admitted.end()) continue;
    decision.gate = AtPlace(queue.refusals().Of(node), ++place);
  }
  return decisions;
}

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SUPPORT_ADMISSION_H_
