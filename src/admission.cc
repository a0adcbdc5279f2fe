#include "driverupgrade/admission.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::inline v1 {
namespace {

Gate Refuse(GateReason reason, std::string detail, int place) {
  return {.reason = reason, .detail = fmt::format("{}; place {} in the queue", detail, place)};
}

}  // namespace

std::vector<AdmissionDecision> Admit(const UpgradeBudget& budget, bool paused, std::vector<Candidate> candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.own_node, a.node) < std::tie(b.own_node, b.node);
  });
  const int slots = budget.ParallelFree();
  const int headroom = budget.Headroom();
  int taken_slots = 0;
  int taken_headroom = 0;
  int place = 0;
  std::vector<AdmissionDecision> decisions;
  decisions.reserve(candidates.size());
  for (Candidate& candidate : candidates) {
    AdmissionDecision decision{.node = std::move(candidate.node)};
    if (paused) {
      decision.gate = Refuse(GateReason::kPaused, "the policy is paused", ++place);
    } else if (budget.Halted()) {
      decision.gate = Refuse(GateReason::kMaxFailures,
                             fmt::format("failurePolicy.maxFailures: {} nodes have failed, {} stop the rollout",
                                         budget.failed, *budget.failures_max),
                             ++place);
    } else if (candidate.needs_slot && taken_slots >= slots) {
      decision.gate = Refuse(GateReason::kMaxParallel,
                             fmt::format("maxParallelUpgrades: {} of {} nodes are in progress",
                                         budget.parallel_used + taken_slots, budget.parallel_max.value_or(0)),
                             ++place);
    } else if (candidate.needs_headroom && taken_headroom >= headroom) {
      decision.gate = Refuse(GateReason::kMaxUnavailable,
                             fmt::format("maxUnavailable: {} of {} nodes are unavailable",
                                         budget.unavailable + taken_headroom, budget.unavailable_max.value_or(0)),
                             ++place);
    } else {
      taken_slots += candidate.needs_slot;
      taken_headroom += candidate.takes_headroom;
    }
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

}  // namespace driverupgrade::inline v1
