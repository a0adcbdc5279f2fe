// The windows and closed days of a rollout, as documents spell them.
#ifndef DRIVERUPGRADE_SRC_POLICY_WINDOW_CODEC_H_
#define DRIVERUPGRADE_SRC_POLICY_WINDOW_CODEC_H_

#include <string>

#include "driverupgrade/policy_codec.h"
#include "driverupgrade/rollout_policy.h"
#include "policy/field_writer.h"
#include "policy/policy_section.h"

namespace driverupgrade::internal {

// For the section `rollout`.
void ReadWindows(PolicySection& section, const TimeZoneLoader& zones, RolloutPolicy& rollout);
// Formats `2026-12-24/2027-01-02`, or one day.
std::string FormatClosedDays(const ClosedDays& days);
void WriteWindows(const RolloutPolicy& rollout, FieldWriter& writer);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_WINDOW_CODEC_H_
