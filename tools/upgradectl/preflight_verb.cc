#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "upgradectl/obstacles_text.h"
#include "upgradectl/rights.h"
#include "upgradectl/verbs.h"
#include "whatif/preflight/preflight.h"

namespace upgradectl {
namespace {

using driverupgrade::whatif::Obstacle;
using driverupgrade::whatif::Severity;

absl::Status LookAtRights(const Options& options, const Streams& streams, Request& request) {
  if (options.rights.empty()) return absl::OkStatus();
  const absl::StatusOr<Account> account = ParseAccount(options.rights);
  if (!account.ok()) return account.status();
  const auto transport = ConnectTo(options, streams);
  if (!transport.ok()) return transport.status();
  absl::StatusOr<std::vector<std::string>> missing = RightsMissing(**transport, RightsNeeded(request), *account);
  if (!missing.ok()) return missing.status();
  request.facts.missing_rights = *std::move(missing);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> RunPreflight(const Options& options, const Streams& streams) {
  if (options.source.IsDump() && !options.rights.empty()) {
    return absl::InvalidArgumentError("--rights: a dump does not show permissions; it needs a cluster");
  }
  const Wanted wanted{.all_pods = true, .budgets = true, .webhooks = true};
  absl::StatusOr<Request> request = Read(options, wanted, streams);
  if (!request.ok()) return request.status();
  if (const absl::Status status = LookAtRights(options, streams, *request); !status.ok()) return status;
  const std::vector<Obstacle> obstacles = FindObstacles(SituationOf(*request));
  streams.out << (options.output == "json" ? FormatObstaclesJson(obstacles)
                                           : FormatObstacles(obstacles, streams.screen));
  TellReporter(*request, streams);
  TellUnread(request->notes, streams);
  const Severity least = options.fail_on == "error" ? Severity::kError : Severity::kWarning;
  const bool fails = std::any_of(obstacles.begin(), obstacles.end(),
                                 [&](const Obstacle& obstacle) { return obstacle.severity >= least; });
  return fails ? kExitFailed : kExitDone;
}

}  // namespace upgradectl
