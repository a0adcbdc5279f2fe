#include <ostream>
#include <utility>

#include "absl/time/clock.h"
#include "upgradectl/live_view.h"
#include "upgradectl/status.h"
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

const Wanted kWanted{.events = true, .budgets = true, .leases = true};
// Ages and times grow although nothing changes.
constexpr absl::Duration kPatience = absl::Seconds(10);

// On a terminal each picture takes the place of the one before.
std::string Picture(const RolloutStatus& status, const Options& options, const Screen& screen) {
  const std::string text = Formatted(status, options, screen);
  return screen.columns > 0 ? "\x1b[H\x1b[2J" + text : text;
}

absl::StatusOr<int> Watch(const Options& options, const Streams& streams) {
  auto transport = ConnectTo(options, streams);
  if (!transport.ok()) return transport.status();
  const absl::StatusOr<Request> driver = LoadDriver(options);
  if (!driver.ok()) return driver.status();
  LiveView view(*std::move(transport), driver->question.identity, driver->place);
  const ReadObjects read = [&view](const auto&, const auto&, const auto& wanted, auto& notes) {
    return view.Read(wanted, notes);
  };
  std::string last;
  while (streams.out.good()) {
    if (const absl::Status status = view.Await(kPatience); !status.ok()) return status;
    const absl::StatusOr<Request> request = Load(options, kWanted, read);
    if (!request.ok()) return request.status();
    const absl::StatusOr<RolloutStatus> status = StatusFrom(options, *request);
    if (!status.ok()) return status.status();
    std::string picture = Picture(*status, options, streams.screen);
    if (picture != last) streams.out << picture << std::flush;
    last = std::move(picture);
    if (status->phase == Phase::kDone) return kExitDone;
    // A fleet changes all the time, and nobody reads faster.
    absl::SleepFor(streams.between_pictures);
  }
  return kExitOutput;
}

}  // namespace

absl::StatusOr<RolloutStatus> StatusFrom(const Options& options, const Request& request) {
  const absl::StatusOr<whatif::Report> report = whatif::Answer(request.question);
  if (!report.ok()) return report.status();
  return StatusOf(request, *report, options.lease_name);
}

absl::StatusOr<int> RunStatus(const Options& options, const Streams& streams) {
  if (options.watch && options.source.IsDump()) {
    return absl::InvalidArgumentError("--watch: a dump does not change; it needs a cluster");
  }
  if (options.watch) return Watch(options, streams);
  const absl::StatusOr<Request> request = Read(options, kWanted, streams);
  if (!request.ok()) return request.status();
  const absl::StatusOr<RolloutStatus> status = StatusFrom(options, *request);
  if (!status.ok()) return status.status();
  streams.out << Formatted(*status, options, streams.screen);
  return ExitCodeOf(status->phase);
}

}  // namespace upgradectl
