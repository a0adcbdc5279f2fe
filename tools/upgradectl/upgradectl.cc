#include "upgradectl/upgradectl.h"

#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "upgradectl/options.h"
#include "upgradectl/report.h"
#include "upgradectl/reported.h"
#include "upgradectl/reported_options.h"
#include "upgradectl/status.h"
#include "upgradectl/text.h"
#include "upgradectl/usual_driver.h"
#include "upgradectl/verbs.h"
#include "whatif/plan_json.h"
#include "whatif/what_if.h"

namespace upgradectl {

namespace whatif = driverupgrade::whatif;

namespace {

using Verb = absl::StatusOr<int> (*)(const Options& options, const Streams& streams);

const std::map<std::string, Verb>& Verbs() {
  static const std::map<std::string, Verb> verbs = {
      {"completion", RunCompletion}, {"dashboard", RunDashboard}, {"explain", RunExplain},   {"pause", RunChange},
      {"preflight", RunPreflight},   {"approve", RunChange},      {"allow-load", RunChange}, {"request", RunChange},
      {"resume", RunChange},         {"retry", RunChange},        {"simulate", RunSimulate}, {"skip", RunChange},
      {"unskip", RunChange},         {"plan", RunPlan},           {"status", RunStatus},     {"timeline", RunTimeline}};
  return verbs;
}

int Refuse(std::string_view what, const Streams& streams) {
  // The error may quote the dump, and must be a single printable line.
  streams.err << "upgradectl: " << Printable(what) << "\n";
  return kExitUsage;
}

absl::StatusOr<std::vector<LeaseFact>> LeasesIn(const std::string& list) {
  absl::StatusOr<Facts> facts = ReadFacts(list, "", std::nullopt);
  if (!facts.ok()) return facts.status();
  return std::move(facts->leases);
}

// Parses the dump only if it may contain a report, because parsing a large dump takes seconds.
absl::StatusOr<Options> CompleteFromDump(const Options& options, const std::string& dump, const Streams& streams) {
  if (!MayReportOptions(dump)) return options;
  const absl::StatusOr<std::vector<LeaseFact>> leases = LeasesIn(dump);
  if (!leases.ok()) return options;  // Load reports the reason
  const auto usual = [&]() -> std::vector<driverupgrade::DaemonSet> {
    const auto objects = driverupgrade::ParseMixedList(dump, driverupgrade::OnUnreadable::kMark);
    if (!objects.ok()) return {};
    return SelectUsual(objects->daemon_sets, options);
  };
  std::vector<std::string> notes;
  absl::StatusOr<Options> complete = WithReported(options, *leases, usual, notes);
  if (complete.ok()) TellUnread(notes, streams);
  return complete;
}

absl::StatusOr<Request> ReadFromDump(const Options& options, const Wanted& wanted, const Streams& streams) {
  absl::StatusOr<std::string> dump = ReadDump(options.source, streams.in);
  if (!dump.ok()) return dump.status();
  const absl::StatusOr<Options> complete = CompleteFromDump(options, *dump, streams);
  if (!complete.ok()) return complete.status();
  return Load(*complete, wanted, [&dump](const auto&, const auto&, const auto&, auto&) { return std::move(dump); });
}

}  // namespace

absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>> ConnectTo(const Options& options,
                                                                        const Streams& streams) {
  return streams.connect ? streams.connect(options.source) : Connect(options.source, streams.kubeconfig);
}

void TellReporter(const Request& request, const Streams& streams) {
  if (!request.policy_reporter) return;
  streams.err << Printable(DescribeReport(*request.policy_reporter, request.question.at)) << "\n";
}

void TellUnread(const std::vector<std::string>& notes, const Streams& streams) {
  for (const std::string& note : notes) streams.err << "not read: " << Printable(note) << "\n";
}

void AskOperator(OperatorDoor& door, const Options& options, Request& request) {
  const std::optional<LeaseFact> lease = LeaseOf(request.question.identity, request.place, request.facts);
  if (!lease) {
    request.view_trouble = fmt::format("no Lease of its operator is known in namespace {}", request.place.lease_ns);
    return;
  }
  const absl::StatusOr<driverupgrade::HttpResponse> answer = door.Get(request.question.identity, *lease, "/rollout");
  absl::StatusOr<OperatorView> view =
      answer.ok() ? ParseOperatorView(answer->body, EngineOfLive(options.policy).value_or("")) : answer.status();
  if (view.ok() && !view->leads) view = absl::UnavailableError(fmt::format("{} does not lead", lease->holder));
  if (view.ok()) {
    request.view = *std::move(view);
  } else {
    request.view_trouble = std::string(Message(view.status()));
  }
}

absl::StatusOr<Options> CompleteLive(driverupgrade::HttpTransport& transport, const Options& options,
                                     const Streams& streams) {
  const absl::StatusOr<std::string> list = ListLeases(transport, options.lease_ns);
  const bool is_located = UsualDriverOf(options) != nullptr || (options.ns && options.driver_labels);
  if (!list.ok() && !is_located) TellUnread({std::string(Message(list.status()))}, streams);
  const absl::StatusOr<std::vector<LeaseFact>> leases = LeasesIn(list.value_or("{}"));
  const auto usual = [&] { return ListUsual(transport, options); };
  std::vector<std::string> notes;
  absl::StatusOr<Options> complete = WithReported(options, leases.value_or(std::vector<LeaseFact>()), usual, notes);
  if (!complete.ok()) return complete;
  TellUnread(notes, streams);
  LocateLive(transport, *complete);
  return complete;
}

absl::StatusOr<Request> Read(const Options& options, const Wanted& wanted, const Streams& streams) {
  if (options.source.IsDump()) return ReadFromDump(options, wanted, streams);
  auto transport = ConnectTo(options, streams);
  if (!transport.ok()) return transport.status();
  const absl::StatusOr<Options> complete = CompleteLive(**transport, options, streams);
  if (!complete.ok()) return complete.status();
  absl::StatusOr<Request> request =
      Load(*complete, wanted,
           [&transport](const auto& identity, const auto& place, const auto& wanted_objects, auto& notes) {
             return ReadLive(**transport, identity, place, wanted_objects, notes);
           });
  if (!request.ok() || !wanted.view) return request;
  OperatorDoor door(*transport);
  AskOperator(door, *complete, *request);
  return request;
}

absl::StatusOr<int> RunPlan(const Options& options, const Streams& streams) {
  const absl::StatusOr<Request> request = Read(options, {}, streams);
  if (!request.ok()) return request.status();
  if (request->policy_source.empty()) {
    return absl::InvalidArgumentError(
        "--policy: required, because the cluster's custom resource has no policy and no operator reports one");
  }
  absl::StatusOr<whatif::Report> report = whatif::Answer(request->question);
  if (!report.ok()) return report.status();
  TellReporter(*request, streams);
  TellUnread(request->notes, streams);
  const std::optional<driverupgrade::Finding> none = NoDriverAtAll(*request, report->totals);
  if (none) report->findings.push_back(*none);
  streams.out << (options.output == "json" ? whatif::FormatJson(*report) : FormatTable(*report));
  return none ? kExitFailed : kExitDone;
}

int Run(int argc, const char* const* argv, const Streams& streams) {
  const std::variant<Options, Ending> parsed = ParseOptions(argc, argv);
  if (const Ending* ending = std::get_if<Ending>(&parsed)) {
    if (ending->failed) return Refuse(ending->text, streams);
    streams.out << ending->text;
    return streams.out.flush() ? kExitDone : kExitOutput;
  }
  const auto& options = std::get<Options>(parsed);
  const absl::StatusOr<int> code = Verbs().at(options.verb)(options, streams);
  if (!code.ok()) return Refuse(Message(code.status()), streams);
  return streams.out.flush() ? *code : kExitOutput;
}

}  // namespace upgradectl
