#include "driverupgrade/admission.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "internal/admission_queue.h"

namespace driverupgrade::inline v1 {

std::vector<AdmissionDecision> Admit(const UpgradeBudget& budget, bool paused, std::vector<Candidate> candidates,
                                     int ahead) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.own_node, a.node) < std::tie(b.own_node, b.node);
  });
  internal::AdmissionRound round(budget, paused);
  int place = ahead;
  std::vector<AdmissionDecision> decisions;
  decisions.reserve(candidates.size());
  for (Candidate& candidate : candidates) {
    AdmissionDecision decision;
    if (const auto reason = round.Refusal(candidate)) {
      decision.gate = internal::AtPlace(round.Describe(*reason), ++place);
    } else {
      round.Take(candidate);
    }
    decision.node = std::move(candidate.node);
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

}  // namespace driverupgrade::inline v1
