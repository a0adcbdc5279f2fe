#include "upgradectl/obstacles_text.h"

#include <algorithm>
#include <cstddef>

#include "fmt/format.h"
#include "upgradectl/text.h"

namespace upgradectl {

using driverupgrade::whatif::Obstacle;
using driverupgrade::whatif::Severity;

std::string FormatObstacles(const std::vector<Obstacle>& obstacles, const Screen& screen) {
  constexpr std::size_t kShown = 5;
  if (obstacles.empty()) return "no obstacles found\n";
  std::string text;
  for (const Obstacle& obstacle : obstacles) {
    const Colour colour = obstacle.severity == Severity::kError ? Colour::kRed : Colour::kYellow;
    text += fmt::format("{} {}: {}\n  do: {}\n", Paint(ToString(obstacle.severity), colour, screen), obstacle.code,
                        obstacle.problem, obstacle.remedy);
    for (std::size_t i = 0; i < std::min(obstacle.objects.size(), kShown); ++i) {
      text += "  - " + Printable(obstacle.objects[i]) + "\n";
    }
    if (obstacle.objects.size() > kShown) text += fmt::format("  - and {} more\n", obstacle.objects.size() - kShown);
  }
  return text;
}

}  // namespace upgradectl
