// RolloutPolicy and FailureBudgets from and to the sections `rollout` and `failurePolicy.byClass` of a policy document.
//
//     section.ReadSection("rollout", [&](PolicySection& rollout) { ReadRollout(rollout, zones, policy.rollout.emplace()); });
//
// As in policy_codec.h: strict, and reports all mistakes in one pass, each with the path of its field. Validate checks
// the ranges.
#ifndef DRIVERUPGRADE_SRC_POLICY_ROLLOUT_CODEC_H_
#define DRIVERUPGRADE_SRC_POLICY_ROLLOUT_CODEC_H_

#include <optional>
#include <string>

#include "driverupgrade/policy_codec.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

class FieldWriter;
class PolicySection;

// `zones`: see ParseUpgradePolicyJson.
void ReadRollout(PolicySection& section, const TimeZoneLoader& zones, RolloutPolicy& rollout);
void ReadFailureBudgets(PolicySection& section, FailureBudgets& budgets);

// Writes one field of the current object, including all fields within it; null without a value.
void WriteRollout(const std::optional<RolloutPolicy>& rollout, FieldWriter& writer);
void WriteFailureBudgets(const FailureBudgets& budgets, FieldWriter& writer);

struct RolloutSections {
  std::optional<RolloutPolicy> rollout = std::nullopt;
  FailureBudgets by_class = {};
  friend bool operator==(const RolloutSections&, const RolloutSections&) = default;
};
// Returns the two sections alone as JSON, with the field names of policies. `only_set`: see FieldWriter.
std::string FormatRolloutSections(const RolloutSections& sections, bool only_set = false);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_ROLLOUT_CODEC_H_
