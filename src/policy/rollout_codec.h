// Formats the sections `rollout` and `failurePolicy.byClass` of a policy document, in the form in which engines compare
// and store them.
#ifndef DRIVERUPGRADE_SRC_POLICY_ROLLOUT_CODEC_H_
#define DRIVERUPGRADE_SRC_POLICY_ROLLOUT_CODEC_H_

#include <optional>
#include <string>

#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

struct RolloutSections {
  std::optional<RolloutPolicy> rollout = std::nullopt;
  FailureBudgets by_class = {};
  friend bool operator==(const RolloutSections&, const RolloutSections&) = default;
};
// Returns only `rollout` and `failurePolicy.byClass` as JSON, with the field names of policies. `only_set`: see
// FieldWriter.
std::string FormatRolloutSections(const RolloutSections& sections, bool only_set = false);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_ROLLOUT_CODEC_H_
