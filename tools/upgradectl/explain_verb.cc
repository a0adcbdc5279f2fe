#include <ostream>

#include "upgradectl/explain.h"
#include "upgradectl/status.h"
#include "upgradectl/verbs.h"

namespace upgradectl {

absl::StatusOr<int> RunExplain(const Options& options, const Streams& streams) {
  // A budget also covers pods on other nodes, so all pods are read; a dump contains them anyway.
  const Wanted wanted{
      .all_pods = true, .events = true, .assignments = true, .budgets = true, .leases = true, .view = true};
  const absl::StatusOr<Request> request = Read(options, wanted, streams);
  if (!request.ok()) return request.status();
  const absl::StatusOr<RolloutStatus> status = StatusFrom(*request);
  if (!status.ok()) return status.status();
  std::string text;
  if (const std::string warnings = FormatWarnings(*status, streams.screen); !warnings.empty()) text = warnings;
  for (const std::string& node : options.nodes) {
    const absl::StatusOr<Explanation> explanation = ExplainNode(*request, *status, node);
    if (!explanation.ok()) return explanation.status();
    text += (text.empty() ? "" : "\n") + FormatExplanation(*explanation, streams.screen);
  }
  streams.out << text;
  TellReporter(*request, streams);
  TellUnread(status->notes, streams);
  return kExitDone;
}

}  // namespace upgradectl
