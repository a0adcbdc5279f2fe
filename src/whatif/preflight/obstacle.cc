#include "whatif/preflight/obstacle.h"

#include <algorithm>
#include <utility>

#include "whatif/json_view.h"

namespace driverupgrade::whatif {

std::string_view ToString(Severity severity) { return severity == Severity::kError ? "error" : "warning"; }

void ObstacleList::Add(const ObstacleKind& kind, std::string object) {
  Obstacle& obstacle = by_code_[std::string(kind.code)];
  obstacle.severity = kind.severity;
  obstacle.code = kind.code;
  obstacle.problem = kind.problem;
  obstacle.remedy = kind.remedy;
  obstacle.objects.push_back(std::move(object));
}

std::vector<Obstacle> ObstacleList::Take() {
  std::vector<Obstacle> obstacles;
  for (auto& [code, obstacle] : by_code_) {
    std::sort(obstacle.objects.begin(), obstacle.objects.end());
    obstacles.push_back(std::move(obstacle));
  }
  by_code_.clear();
  std::stable_sort(obstacles.begin(), obstacles.end(),
                   [](const Obstacle& a, const Obstacle& b) { return a.severity > b.severity; });
  return obstacles;
}

std::string FormatObstaclesJson(const std::vector<Obstacle>& obstacles) {
  json::Document document(json::kArrayType);
  auto& allocator = document.GetAllocator();
  const auto text = [&](std::string_view value) { return json::Value(std::string(value), allocator); };
  for (const Obstacle& obstacle : obstacles) {
    json::Value row(json::kObjectType);
    row.AddMember("severity", text(ToString(obstacle.severity)), allocator);
    row.AddMember("code", text(obstacle.code), allocator);
    row.AddMember("problem", text(obstacle.problem), allocator);
    row.AddMember("remedy", text(obstacle.remedy), allocator);
    json::Value objects(json::kArrayType);
    for (const std::string& object : obstacle.objects) objects.PushBack(text(object), allocator);
    row.AddMember("objects", objects, allocator);
    document.PushBack(row, allocator);
  }
  return ToPrettyJson(document);
}

}  // namespace driverupgrade::whatif
