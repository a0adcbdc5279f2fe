// What will be in the way of a rollout that has not begun: from the objects of a cluster to obstacles.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_PREFLIGHT_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_PREFLIGHT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "upgradectl/request.h"
#include "upgradectl/table.h"

namespace upgradectl {

enum class Severity : std::uint8_t {
  kWarning,  ///< Costs time, or needs somebody's eye.
  kError,    ///< A node will fail or wait for ever.
};
std::string_view ToString(Severity severity);

/// One kind of obstacle, with all the objects it is about.
struct Obstacle {
  Severity severity = Severity::kWarning;
  /// "BudgetNeverAllows": for scripts.
  std::string code = {};
  /// What is wrong and what to do, one sentence each.
  std::string problem = {};
  std::string remedy = {};
  /// With what is special about each; in order of their names.
  std::vector<std::string> objects = {};
};

/// Errors first, then by code. An obstacle has at least one object. The pods of all nodes have to be in the request.
std::vector<Obstacle> FindObstacles(const Request& request);

std::string FormatObstacles(const std::vector<Obstacle>& obstacles, const Screen& screen);
std::string FormatObstaclesJson(const std::vector<Obstacle>& obstacles);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_PREFLIGHT_H_
