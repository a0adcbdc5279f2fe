/// Who of the waiting nodes may start (arch-A10).
///
/// Defines Candidate, AdmissionDecision and Admit.
///
///     std::vector<AdmissionDecision> decisions = Admit(budget, paused, candidates);
///
/// Pure. The order is deterministic: by node name, the operator's own node last (dep-F14, dep-F19).
#ifndef DRIVERUPGRADE_ADMISSION_H_
#define DRIVERUPGRADE_ADMISSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driverupgrade/gate.h"
#include "driverupgrade/upgrade_budget.h"

namespace driverupgrade::inline v1 {

/// What a node asks of the budgets (dep-F14).
struct Candidate {
  std::string node = {};
  /// A slot of maxParallel. An administrator's cordoned node asks none while such nodes proceed.
  bool needs_slot = true;
  /// That fewer nodes than maxUnavailable are unavailable. A node that is cordoned already does not ask.
  bool needs_headroom = true;
  /// It will be one more unavailable node. A node that is not ready is counted already.
  bool takes_headroom = true;
  /// The operator runs on it: last of all.
  bool own_node = false;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

struct AdmissionDecision {
  std::string node = {};
  /// nullopt: admitted. Otherwise why not, with the place in the queue.
  std::optional<Gate> gate = std::nullopt;
  friend bool operator==(const AdmissionDecision&, const AdmissionDecision&) = default;
};

/// Decisions in the order of admission. The order of `candidates` does not matter. `ahead`: how many others wait before
/// them all.
std::vector<AdmissionDecision> Admit(const UpgradeBudget& budget, bool paused, std::vector<Candidate> candidates,
                                     int ahead = 0);

}  // namespace driverupgrade::inline v1

#endif  // DRIVERUPGRADE_ADMISSION_H_
