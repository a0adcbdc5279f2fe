#include "driverupgrade/admission.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "decide/admission_queue.h"

namespace driverupgrade::inline v1 {

std::vector<AdmissionDecision> Admit(const UpgradeBudget& budget, bool paused, std::vector<Candidate> candidates,
                                     int ahead) {
  const auto goes_before = [](const Candidate& a, const Candidate& b) {
    return std::tie(a.own_node, a.node) < std::tie(b.own_node, b.node);
  };
  if (!std::is_sorted(candidates.begin(), candidates.end(), goes_before)) {
    std::sort(candidates.begin(), candidates.end(), goes_before);
  }
  internal::AdmissionRound round(budget, paused);
  int place = ahead;
  Gate refusal;  // the last one, as long as nothing has been taken since
  bool taken = true;
  std::vector<AdmissionDecision> decisions;
  decisions.reserve(candidates.size());
  for (Candidate& candidate : candidates) {
    AdmissionDecision decision;
    if (const auto reason = round.Refusal(candidate)) {
      if (std::exchange(taken, false) || refusal.reason != *reason) refusal = round.Describe(*reason);
      decision.gate = internal::AtPlace(refusal, ++place);
    } else {
      round.Take(candidate);
      taken = true;
    }
    decision.node = std::move(candidate.node);
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

}  // namespace driverupgrade::inline v1
