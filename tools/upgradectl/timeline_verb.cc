#include <ostream>
#include <utility>

#include "upgradectl/timeline.h"
#include "upgradectl/verbs.h"

namespace upgradectl {
namespace {

absl::StatusOr<Timeline> Simulated(const Options& options, const Streams& streams) {
  const absl::StatusOr<Request> request = Read(options, {.all_pods = true, .events = true, .budgets = true}, streams);
  if (!request.ok()) return request.status();
  TellReporter(*request, streams);
  TellUnread(request->notes, streams);
  const absl::StatusOr<driverupgrade::whatif::Durations> durations = ReadDurations(options, *request, streams);
  if (!durations.ok()) return durations.status();
  const driverupgrade::UpgradePolicy& policy = request->question.policy;
  absl::StatusOr<driverupgrade::whatif::Rollout> rollout =
      SimulateRollout(SituationOf(*request), policy, driverupgrade::whatif::IsolatedDrivers(policy), *durations,
                      /*seed=*/1);
  if (!rollout.ok()) return rollout.status();
  return TimelineOf(*request, *std::move(rollout));
}

absl::StatusOr<Timeline> Happened(const Options& options, const Streams& streams) {
  const absl::StatusOr<Request> request = Read(options, {.events = true}, streams);
  if (!request.ok()) return request.status();
  TellReporter(*request, streams);
  TellUnread(request->notes, streams);
  return TimelineOf(*request);
}

}  // namespace

absl::StatusOr<int> RunTimeline(const Options& options, const Streams& streams) {
  const absl::StatusOr<Timeline> timeline =
      options.simulated ? Simulated(options, streams) : Happened(options, streams);
  if (!timeline.ok()) return timeline.status();
  streams.out << (options.output == "json"  ? FormatTimelineJson(*timeline)
                  : options.output == "svg" ? FormatTimelineSvg(*timeline)
                                            : FormatTimelineHtml(*timeline));
  return kExitDone;
}

}  // namespace upgradectl
