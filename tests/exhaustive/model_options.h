// The parameters of an exhaustive check: sizes, faults, and one planted defect that shows that the checker can fail.
#ifndef DRIVERUPGRADE_TESTS_EXHAUSTIVE_MODEL_OPTIONS_H_
#define DRIVERUPGRADE_TESTS_EXHAUSTIVE_MODEL_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::tests {

inline constexpr int kNodesMax = 5;
inline constexpr int kControllersMax = 2;

// Mistakes that the library, or an operator that uses it, could make.
enum class Defect : std::uint8_t {
  kNone,
  kForgetsUnclearPatches,  // a patch with a lost response counts as not applied (against arch-A9)
  kPatchesAnyVersion,      // a patch has no resourceVersion as precondition (against arch-A3)
  kUncordonsAlways,        // the patch that ends an upgrade lifts any cordon (against dep-F7)
  kTakesUnreadForNone,     // pods that were not read count as absent (against arch-A11)
  kKeepsOldPods,           // a pod list is kept after the cordon has changed (against arch-A11)
  kTrustsLists,            // a list that shows the same cordon counts as proof that the cordon was never lifted
  kDeletesUnconfirmed,     // a driver pod is deleted even if its node has changed since (I2)
  kIgnoresGrants,          // the ledger is written, but its grants are not counted
  kIgnoresLostGrants,      // a node is started although the ledger could not be written
  kNeverEvicts,            // evictions are decided but never sent
};

enum class FaultKinds : std::uint8_t {
  kAll,
  kNoAdministrator,  // all faults except an administrator's cordon changes
  kLostAnswers,      // the response to a patch is lost, and no other fault happens
};

struct ModelOptions {
  int nodes = 2;
  int controllers = 1;
  // Number of faults: crashes, lost responses, late writes and an administrator's cordon changes.
  int faults = 1;
  FaultKinds kinds = FaultKinds::kAll;
  // Value of maxParallelUpgrades, or of maxUnavailable if `budget_of_unavailable` is true.
  int budget = 1;
  bool budget_of_unavailable = false;
  // True if an admission ledger grants the starts (docs/adr/0005-admission-ledger.md).
  bool ledger = false;
  // True if a controller sees a node and its pods at the same time, instead of each with its own delay. This shrinks
  // checks that would otherwise be too large.
  bool sees_all_at_once = false;
  Pacing pacing = Pacing::kChained;
  Defect defect = Defect::kNone;
};

// Returns a policy that sets only maxParallelUpgrades or only maxUnavailable.
inline UpgradePolicy PolicyOf(const ModelOptions& options) {
  UpgradePolicy policy{.auto_upgrade = true,
                       .max_parallel = options.budget,
                       .drain = DrainPolicy{.timeout = absl::InfiniteDuration()},
                       .pacing = options.pacing};
  if (!options.budget_of_unavailable) return policy;
  policy.max_parallel = std::nullopt;
  policy.max_unavailable = Count{options.budget};
  return policy;
}

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_EXHAUSTIVE_MODEL_OPTIONS_H_
