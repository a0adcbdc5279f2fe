// Obstacles of a rollout.
#ifndef DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_OBSTACLE_H_
#define DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_OBSTACLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace driverupgrade::whatif {

enum class Severity : std::uint8_t {
  kWarning,  //< Costs time, or needs attention.
  kError,    //< A node will fail or wait indefinitely.
};
std::string_view ToString(Severity severity);

// One kind of obstacle, with all the objects that it affects.
struct Obstacle {
  Severity severity = Severity::kWarning;
  // Code for scripts: "BudgetNeverAllows".
  std::string code = {};
  // Problem and remedy, one sentence each.
  std::string problem = {};
  std::string remedy = {};
  // Objects with their details, by name.
  std::vector<std::string> objects = {};
};

// Properties that all obstacles of one kind share.
struct ObstacleKind {
  Severity severity;
  std::string_view code;
  std::string_view problem;
  std::string_view remedy;
};

// Collects obstacles: one of each kind, with all its objects.
class ObstacleList {
 public:
  void Add(const ObstacleKind& kind, std::string object);
  // Errors first, then by code.
  std::vector<Obstacle> Take();

 private:
  std::map<std::string, Obstacle, std::less<>> by_code_;
};

// The members are listed in tools/upgradectl/README.md.
std::string FormatObstaclesJson(const std::vector<Obstacle>& obstacles);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_OBSTACLE_H_
