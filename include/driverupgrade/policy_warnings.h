/// Finds fields of a valid policy that have no effect, or not the one that their author may expect.
///
/// Defines Warnings.
///
///     for (const std::string& warning : Warnings(policy)) log.Warn(warning);
///
/// By the policy alone: what matches nothing in a cluster is a finding of the plan (FindingCode::kSelectsNothing). Pure.
#ifndef DRIVERUPGRADE_POLICY_WARNINGS_H_
#define DRIVERUPGRADE_POLICY_WARNINGS_H_

#include <string>
#include <vector>

#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade {

/// One sentence for each such field, which begins with the path of the field as documents spell it. In the order of the
/// fields; empty for most policies. `policy` passes Validate.
[[nodiscard]] std::vector<std::string> Warnings(const UpgradePolicy& policy);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_POLICY_WARNINGS_H_
