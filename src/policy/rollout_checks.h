// Checks the parts of a rollout, together with the rest of a policy.
#ifndef DRIVERUPGRADE_SRC_POLICY_ROLLOUT_CHECKS_H_
#define DRIVERUPGRADE_SRC_POLICY_ROLLOUT_CHECKS_H_

#include "driverupgrade/rollout_policy.h"
#include "policy/field_checker.h"

namespace driverupgrade::internal {

void Check(const RolloutPolicy& rollout, FieldChecker& checker);
void Check(const FailureBudgets& budgets, FieldChecker& checker);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_ROLLOUT_CHECKS_H_
