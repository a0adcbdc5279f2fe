// Each verb with its edges: reads, asks the pure part, writes what it said.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_VERBS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_VERBS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "upgradectl/operator_door.h"
#include "upgradectl/options.h"
#include "upgradectl/request.h"
#include "upgradectl/status.h"
#include "upgradectl/upgradectl.h"
#include "whatif/durations.h"

namespace upgradectl {

/// The exit code. Errors: one line, which is exit code kExitUsage; then nothing has been written to
/// `streams.out`, unless it says otherwise.
[[nodiscard]] absl::StatusOr<int> RunPlan(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunStatus(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunExplain(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunDashboard(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunPreflight(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunCompletion(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunSimulate(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunTimeline(const Options& options, const Streams& streams);
/// approve, pause, resume, skip, unskip, retry, request and release. An error may come after some of several nodes: what was
/// written is on `streams.out`.
[[nodiscard]] absl::StatusOr<int> RunChange(const Options& options, const Streams& streams);

/// The durations that the options give, the rest measured; a line on `streams.err` for each that was measured. Errors: one line
/// that begins with the option.
[[nodiscard]] absl::StatusOr<driverupgrade::whatif::Durations> ReadDurations(const Options& options,
                                                                             const Request& request,
                                                                             const Streams& streams);

/// The status of a rollout that has been read.
[[nodiscard]] absl::StatusOr<RolloutStatus> StatusFrom(const Request& request);

/// The server that the options name. Errors: as Connect.
[[nodiscard]] absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>> ConnectTo(const Options& options,
                                                                                      const Streams& streams);
/// Whose policy it is, if an operator reports it: a line on `streams.err`.
void TellReporter(const Request& request, const Streams& streams);
/// What could not be read, a line each on `streams.err`.
void TellUnread(const std::vector<std::string>& notes, const Streams& streams);
/// Adds to the request what the operator that leads has found, or why that is not to be had.
void AskOperator(OperatorDoor& door, const Options& options, Request& request);
/// Completes the options of the command line by the report of the driver's operator, and by the place of its DaemonSets.
/// Lines about what could not be read go to `streams.err`. Errors: as WithReported.
[[nodiscard]] absl::StatusOr<Options> CompleteLive(driverupgrade::HttpTransport& transport, const Options& options,
                                                   const Streams& streams);
/// Load, from whichever it is, with options that are completed in the same way.
[[nodiscard]] absl::StatusOr<Request> Read(const Options& options, const Wanted& wanted, const Streams& streams);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_VERBS_H_
