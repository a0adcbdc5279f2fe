#include "upgradectl/upgradectl.h"

#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "upgradectl/options.h"
#include "upgradectl/report.h"
#include "upgradectl/reported.h"
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
  static const std::map<std::string, Verb> verbs = {{"completion", RunCompletion},
                                                    {"explain", RunExplain},
                                                    {"pause", RunChange},
                                                    {"preflight", RunPreflight},
                                                    {"approve", RunChange},
                                                    {"release", RunChange},
                                                    {"request", RunChange},
                                                    {"resume", RunChange},
                                                    {"retry", RunChange},
                                                    {"simulate", RunSimulate},
                                                    {"skip", RunChange},
                                                    {"unskip", RunChange},
                                                    {"plan", RunPlan},
                                                    {"status", RunStatus},
                                                    {"timeline", RunTimeline}};
  return verbs;
}

int Refuse(std::string_view what, const Streams& streams) {
  // Printable: what is wrong may be quoted from the dump, and the answer is one line.
  streams.err << "upgradectl: " << Printable(what) << "\n";
  return kExitUsage;
}

}  // namespace

absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>> ConnectTo(const Options& options,
                                                                        const Streams& streams) {
  return streams.connect ? streams.connect(options.source) : Connect(options.source, streams.kubeconfig);
}

ReadObjects ReaderOf(const Options& options, const Streams& streams,
                     std::shared_ptr<driverupgrade::HttpTransport> transport) {
  if (options.source.IsDump()) {
    return [source = options.source, &in = streams.in](const auto&, const auto&, const auto&, auto&) {
      return ReadDump(source, in);
    };
  }
  return [transport = std::move(transport)](const auto& identity, const auto& place, const auto& wanted, auto& notes) {
    return ReadLive(*transport, identity, place, wanted, notes);
  };
}

void TellReporter(const Request& request, const Streams& streams) {
  if (!request.policy_reporter) return;
  streams.err << Printable(DescribeReport(*request.policy_reporter, request.question.at)) << "\n";
}

void TellUnread(const std::vector<std::string>& notes, const Streams& streams) {
  for (const std::string& note : notes) streams.err << "not read: " << Printable(note) << "\n";
}

absl::StatusOr<Request> Read(const Options& options, const Wanted& wanted, const Streams& streams) {
  if (options.source.IsDump()) return Load(options, wanted, ReaderOf(options, streams, nullptr));
  auto transport = ConnectTo(options, streams);
  if (!transport.ok()) return transport.status();
  Options located = options;
  LocateLive(**transport, located);
  return Load(located, wanted, ReaderOf(options, streams, *std::move(transport)));
}

absl::StatusOr<int> RunPlan(const Options& options, const Streams& streams) {
  const absl::StatusOr<Request> request = Read(options, {}, streams);
  if (!request.ok()) return request.status();
  if (request->policy_source.empty()) {
    return absl::InvalidArgumentError(
        "--policy: is needed, as the cluster's custom resource has none, and no operator reports one");
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
