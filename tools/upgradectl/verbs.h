// Declares the verbs. Each verb reads its input, calls functions that perform no I/O, and writes the result.
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

/// Returns the exit code. Errors have one line and lead to exit code kExitUsage. After an error, `streams.out` is
/// empty, unless documented otherwise.
[[nodiscard]] absl::StatusOr<int> RunPlan(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunStatus(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunExplain(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunDashboard(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunPreflight(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunCompletion(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunSimulate(const Options& options, const Streams& streams);
[[nodiscard]] absl::StatusOr<int> RunTimeline(const Options& options, const Streams& streams);
/// Runs approve, pause, resume, skip, unskip, retry, request and allow-load. With several nodes, an error may occur
/// after some changes, which `streams.out` then lists.
[[nodiscard]] absl::StatusOr<int> RunChange(const Options& options, const Streams& streams);

/// Returns the durations that the options set, and measures all others. Adds a line to `streams.err` for each measured
/// duration. Errors have one line that starts with the option.
[[nodiscard]] absl::StatusOr<driverupgrade::whatif::Durations> ReadDurations(const Options& options,
                                                                             const Request& request,
                                                                             const Streams& streams);

[[nodiscard]] absl::StatusOr<RolloutStatus> StatusFrom(const Request& request);

/// Connects to the server that the options name. Errors: same as Connect.
[[nodiscard]] absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>> ConnectTo(const Options& options,
                                                                                      const Streams& streams);
/// Names the operator that reports the policy, if any, in a line on `streams.err`.
void TellReporter(const Request& request, const Streams& streams);
/// Writes a line to `streams.err` for each object that could not be read.
void TellUnread(const std::vector<std::string>& notes, const Streams& streams);
/// Adds the leading operator's view to the request, or the reason why the view is missing.
void AskOperator(OperatorDoor& door, const Options& options, Request& request);
/// Completes the options of the command line with the report from the driver's operator, and with the location of the
/// driver's DaemonSets. Writes lines to `streams.err` about objects that could not be read. Errors: same as
/// WithReported.
[[nodiscard]] absl::StatusOr<Options> CompleteLive(driverupgrade::HttpTransport& transport, const Options& options,
                                                   const Streams& streams);
/// Calls Load for a dump or a live cluster, with options completed in the same way.
[[nodiscard]] absl::StatusOr<Request> Read(const Options& options, const Wanted& wanted, const Streams& streams);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_VERBS_H_
