#include "upgradectl/upgradectl.h"

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "upgradectl/options.h"
#include "upgradectl/report.h"
#include "upgradectl/request.h"
#include "upgradectl/text.h"
#include "whatif/plan_json.h"
#include "whatif/what_if.h"

namespace upgradectl {

namespace whatif = driverupgrade::whatif;

namespace {

int Refuse(std::string_view what, const Streams& streams) {
  // Printable: what is wrong may be quoted from the dump, and the answer is one line.
  streams.err << "upgradectl: " << Printable(what) << "\n";
  return kExitUsage;
}

}  // namespace

int Run(int argc, const char* const* argv, const Streams& streams) {
  const std::variant<Options, Ending> parsed = ParseOptions(argc, argv);
  if (const Ending* ending = std::get_if<Ending>(&parsed)) {
    if (ending->failed) return Refuse(ending->text, streams);
    streams.out << ending->text;
    return streams.out.flush() ? kExitDone : kExitOutput;
  }
  const auto& options = std::get<Options>(parsed);
  absl::StatusOr<whatif::Question> request = Load(options, streams.in);
  if (!request.ok()) return Refuse(Message(request.status()), streams);
  const absl::StatusOr<whatif::Report> report = whatif::Answer(*std::move(request));
  if (!report.ok()) return Refuse(Message(report.status()), streams);
  streams.out << (options.output == "json" ? whatif::FormatJson(*report) : FormatTable(*report));
  return streams.out.flush() ? kExitDone : kExitOutput;
}

}  // namespace upgradectl
