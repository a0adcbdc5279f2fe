// Finds problems in the configuration of an engine that do not concern a particular node.
//
//     std::vector<Finding> wrong = check.Look(policy, pass.SeesDaemonSet());
//     for (const Finding& finding : check.News(wrong, plan)) observer.OnFinding(finding);
//
// Not thread-safe.
#ifndef DRIVERUPGRADE_SRC_ENGINE_CONFIGURATION_CHECK_H_
#define DRIVERUPGRADE_SRC_ENGINE_CONFIGURATION_CHECK_H_

#include <set>
#include <string>
#include <vector>

#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::internal {

class ConfigurationCheck {
 public:
  explicit ConfigurationCheck(const EngineOptions& options);

  // Returns the findings NoDaemonSet and NothingIsEvicted, if they apply.
  std::vector<Finding> Look(const UpgradePolicy& policy, bool sees_daemon_set) const;
  // Returns the findings of `wrong` that must be reported. A finding is reported when it first appears, and again only
  // if it clears and returns. NothingIsEvicted is also reported again in the pass that starts another rollout. `plan`:
  // the plan of the current pass.
  std::vector<Finding> News(const std::vector<Finding>& wrong, const Plan& plan);

 private:
  const std::string no_daemon_set_;
  const bool evicts_by_itself_;  // true if pods are evicted under any policy
  std::set<FindingCode> told_;
  bool rolls_ = false;            // true while a rollout is in progress
  bool told_in_rollout_ = false;  // NothingIsEvicted was reported in the current rollout or in the previous one
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_ENGINE_CONFIGURATION_CHECK_H_
