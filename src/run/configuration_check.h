// What is wrong with the configuration of one engine, where nothing is wrong with any node.
//
//     std::vector<Finding> wrong = check.Look(policy, pass.SeesDaemonSet());
//     for (const Finding& finding : check.News(wrong, plan)) observer.OnFinding(finding);
//
// Not thread-safe.
#ifndef DRIVERUPGRADE_SRC_RUN_CONFIGURATION_CHECK_H_
#define DRIVERUPGRADE_SRC_RUN_CONFIGURATION_CHECK_H_

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

  // NoDaemonSet and NothingIsEvicted, as far as they hold.
  std::vector<Finding> Look(const UpgradePolicy& policy, bool sees_daemon_set) const;
  // Returns the findings of `wrong` to report: each one once while it lasts, and NothingIsEvicted again for each further
  // rollout, in the pass that starts it. `plan`: that of this pass.
  std::vector<Finding> News(const std::vector<Finding>& wrong, const Plan& plan);

 private:
  const std::string no_daemon_set_;
  const bool evicts_by_itself_;  // whatever the policy says
  std::set<FindingCode> told_;
  bool rolls_ = false;            // a rollout is on
  bool told_in_rollout_ = false;  // that nothing is evicted, in the present rollout or in the one before
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_RUN_CONFIGURATION_CHECK_H_
