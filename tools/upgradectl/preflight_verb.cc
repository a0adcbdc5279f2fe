#include <algorithm>
#include <ostream>

#include "upgradectl/preflight.h"
#include "upgradectl/verbs.h"

namespace upgradectl {

absl::StatusOr<int> RunPreflight(const Options& options, const Streams& streams) {
  const Wanted wanted{.all_pods = true, .budgets = true, .webhooks = true};
  const absl::StatusOr<Request> request = Read(options, wanted, streams);
  if (!request.ok()) return request.status();
  const std::vector<Obstacle> obstacles = FindObstacles(*request);
  streams.out << (options.output == "json" ? FormatObstaclesJson(obstacles)
                                           : FormatObstacles(obstacles, streams.screen));
  for (const std::string& note : request->notes) streams.err << "not read: " << note << "\n";
  const Severity least = options.fail_on == "error" ? Severity::kError : Severity::kWarning;
  const bool fails = std::any_of(obstacles.begin(), obstacles.end(),
                                 [&](const Obstacle& obstacle) { return obstacle.severity >= least; });
  return fails ? kExitFailed : kExitDone;
}

}  // namespace upgradectl
