// Defines obstacles to a rollout, and formats them.
#ifndef DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_OBSTACLE_H_
#define DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_OBSTACLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace driverupgrade::whatif {

enum class Severity : std::uint8_t {
  kWarning,  //< costs time, or needs attention
  kError,    //< a node will fail or wait indefinitely
};
std::string_view ToString(Severity severity);

// One kind of obstacle, with all the objects that it affects.
struct Obstacle {
  Severity severity = Severity::kWarning;
  // Code for scripts, such as "BudgetNeverAllows".
  std::string code = {};
  // Problem and remedy, in one sentence each.
  std::string problem = {};
  std::string remedy = {};
  // Objects with their details, sorted by name.
  std::vector<std::string> objects = {};
};

// Properties that all obstacles of one kind share.
struct ObstacleKind {
  Severity severity;
  std::string_view code;
  std::string_view problem;
  std::string_view remedy;
};

// Collects one obstacle of each kind, with all its objects.
class ObstacleList {
 public:
  void Add(const ObstacleKind& kind, std::string object);
  // Returns the obstacles, sorted by severity (errors first) and then by code.
  std::vector<Obstacle> Take();

 private:
  std::map<std::string, Obstacle, std::less<>> by_code_;
};

// tools/upgradectl/README.md lists the members.
std::string FormatObstaclesJson(const std::vector<Obstacle>& obstacles);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_OBSTACLE_H_
