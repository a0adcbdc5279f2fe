#include "support/await_server.h"

#include <algorithm>
#include <string>

#include "absl/time/time.h"
#include "driverupgrade/kubernetes/rest_cluster.h"

namespace examples {
namespace {

using driverupgrade::Severity;

constexpr absl::Duration kPauseFirst = absl::Seconds(1);
constexpr absl::Duration kPauseMax = absl::Seconds(30);

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

absl::Status AwaitServer(const driverupgrade::CallContext& context, driverupgrade::Clock& clock,
                         const driverupgrade::LogSink& log, const std::function<absl::Status()>& attempt) {
  const absl::Time began = clock.Now();
  absl::Status told = absl::OkStatus();
  for (absl::Duration backoff = kPauseFirst;; backoff = std::min(2 * backoff, kPauseMax)) {
    const absl::Status status = attempt();
    if (status.ok() && !told.ok()) {
      log({.message = "the API server responds",
           .fields = {{"waited", absl::FormatDuration(absl::Trunc(clock.Now() - began, absl::Seconds(1)))}}});
    }
    if (!MayPass(status)) return status;
    const absl::Duration pause = std::max(backoff, driverupgrade::RetryAfter(status));
    if (clock.Now() + pause >= context.deadline) return status;
    if (status != told) {
      log({.severity = Severity::kWarning,
           .message = "waiting for the API server",
           .fields = {{"error", std::string(status.message())}, {"again_in", absl::FormatDuration(pause)}}});
    }
    told = status;
    if (!clock.SleepFor(pause, context.stop)) return status;
  }
}

}  // namespace examples
