// One pass over a dump.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_PLAN_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_PLAN_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/finding.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_budget.h"
#include "upgradectl/request.h"

namespace upgradectl {

struct NodeReport {
  /// With the node's name and state also if there is nothing to do.
  driverupgrade::NodePlan plan = {};
  std::optional<driverupgrade::Gate> gate = {};
  std::vector<driverupgrade::Finding> findings = {};
};

struct Report {
  /// Every node that has a driver pod or our label, by name.
  std::vector<NodeReport> nodes = {};
  /// Before the pass.
  driverupgrade::Tally totals = {};
  /// About none of `nodes`.
  std::vector<driverupgrade::Finding> findings = {};
};

[[nodiscard]] absl::StatusOr<Report> MakePlan(PlanRequest request);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_PLAN_H_
