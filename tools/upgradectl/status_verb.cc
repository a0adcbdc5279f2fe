#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "fmt/format.h"
#include "upgradectl/live_view.h"
#include "upgradectl/status.h"
#include "upgradectl/text.h"
#include "upgradectl/verbs.h"
#include "whatif/what_if.h"

namespace upgradectl {
namespace {

namespace whatif = driverupgrade::whatif;

int ExitCodeOf(Phase phase) {
  switch (phase) {
    case Phase::kDone: return kExitDone;
    case Phase::kUnderWay: return kExitUnderWay;
    case Phase::kFailed: return kExitFailed;
  }
  return kExitFailed;
}

std::string Formatted(const RolloutStatus& status, const Options& options, const Screen& screen) {
  if (options.output == "json") return FormatStatusJson(status);
  if (options.output == "yaml") return FormatStatusYaml(status);
  return FormatStatus(status, options.output == "wide", screen);
}

const Wanted kWanted{.events = true, .budgets = true, .leases = true, .view = true};
// Interval at which the output is refreshed even if no object has changed, because the ages in the output increase.
constexpr absl::Duration kPatience = absl::Seconds(10);
// Time after which a notice reports that there is nothing to show yet.
constexpr absl::Duration kPatienceAtFirst = absl::Seconds(3);

// On a terminal, each output replaces the previous one.
std::string Picture(const RolloutStatus& status, const Options& options, const Screen& screen) {
  const std::string text = Formatted(status, options, screen);
  return screen.columns > 0 ? "\x1b[H\x1b[2J" + text : text;
}

// Reports each reason for an outdated status once. An empty string reports nothing.
class Complaints {
 public:
  explicit Complaints(std::ostream& err) : err_(err) {}
  void Say(const std::string& what) {
    if (what != last_ && !what.empty()) err_ << "upgradectl: " << Printable(what) << "; trying again\n" << std::flush;
    last_ = what;
  }

 private:
  std::ostream& err_;
  std::string last_;
};

// Returns only the first problem and the number of the others, because all watches fail with the same error if the
// server is unavailable.
std::string Shortened(const std::vector<std::string>& troubles) {
  if (troubles.empty()) return "";
  if (troubles.size() == 1) return troubles.front();
  return fmt::format("{}, and {} more like that", troubles.front(), troubles.size() - 1);
}

// Returns true if the error may be temporary.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsAborted(status) ||
         absl::IsResourceExhausted(status) || absl::IsInternal(status);
}

absl::StatusOr<int> Watch(const Options& typed, const Streams& streams) {
  auto transport = ConnectTo(typed, streams);
  if (!transport.ok()) return transport.status();
  const absl::StatusOr<Options> complete = CompleteLive(**transport, typed, streams);
  if (!complete.ok()) return complete.status();
  const Options& options = *complete;
  const absl::StatusOr<Request> driver = LoadDriver(options);
  if (!driver.ok()) return driver.status();
  OperatorDoor door(*transport);
  LiveView view(*std::move(transport), driver->question.identity, driver->place, streams.between_pictures);
  const ReadObjects read = [&view](const auto&, const auto&, const auto& wanted, auto& notes) {
    return view.Read(wanted, absl::Now(), notes);
  };
  Complaints complaints(streams.err);
  absl::Duration patience = kPatienceAtFirst;
  std::string last;
  while (streams.out.good()) {
    if (const absl::Status status = view.Await(patience); !status.ok()) return status;
    if (!view.Complete()) {
      complaints.Say(Shortened(view.Troubles()));
      continue;
    }
    absl::StatusOr<Request> request = Load(options, kWanted, read);
    if (!request.ok() && !MayPass(request.status())) return request.status();
    complaints.Say(request.ok() ? "" : std::string(Message(request.status())));
    patience = request.ok() ? kPatience : std::max(streams.between_pictures, absl::Milliseconds(1));
    if (!request.ok()) continue;
    AskOperator(door, options, *request);
    const absl::StatusOr<RolloutStatus> status = StatusFrom(*request);
    if (!status.ok()) return status.status();
    std::string picture = Picture(*status, options, streams.screen);
    if (picture != last) streams.out << picture << std::flush;
    last = std::move(picture);
    if (HasEnded(*status)) return ExitCodeOf(status->phase);
    // Limits the rate of outputs so that users can read them, because a large fleet changes all the time.
    absl::SleepFor(streams.between_pictures);
  }
  return kExitOutput;
}

}  // namespace

absl::StatusOr<RolloutStatus> StatusFrom(const Request& request) {
  if (request.view) return StatusOf(request, ReportOf(*request.view));
  const absl::StatusOr<whatif::Report> report = whatif::Answer(request.question);
  if (!report.ok()) return report.status();
  return StatusOf(request, *report);
}

absl::StatusOr<int> RunStatus(const Options& options, const Streams& streams) {
  if (options.watch && options.source.IsDump()) {
    return absl::InvalidArgumentError("--watch: a dump does not change; it needs a cluster");
  }
  if (options.watch) return Watch(options, streams);
  const absl::StatusOr<Request> request = Read(options, kWanted, streams);
  if (!request.ok()) return request.status();
  const absl::StatusOr<RolloutStatus> status = StatusFrom(*request);
  if (!status.ok()) return status.status();
  streams.out << Formatted(*status, options, streams.screen);
  return ExitCodeOf(status->phase);
}

}  // namespace upgradectl
