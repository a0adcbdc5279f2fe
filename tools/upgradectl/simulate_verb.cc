#include <algorithm>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "upgradectl/status.h"
#include "upgradectl/text.h"
#include "upgradectl/trials_table.h"
#include "upgradectl/verbs.h"
#include "whatif/simulation/trials.h"

namespace upgradectl {

namespace whatif = driverupgrade::whatif;

namespace {

using whatif::Durations;
using whatif::Policies;
using whatif::Trial;

absl::Status ReadDuration(std::string_view option, const std::string& text, std::optional<absl::Duration>& given) {
  if (text.empty()) return absl::OkStatus();
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration >= absl::ZeroDuration() && duration < whatif::kDurationEnd) {
    given = duration;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("{}: `{}` is not a duration such as 90s or 2m, of less than a day", option, text));
}

absl::StatusOr<Policies> PoliciesOf(const Options& options, const Request& request) {
  if (options.policies.empty()) {
    const std::string name = request.policy_source.empty() ? "defaults" : request.policy_source;
    return Policies{{name, request.question.policy}};
  }
  Policies policies;
  for (const std::string& file : options.policies) {
    absl::StatusOr<driverupgrade::UpgradePolicy> policy =
        LoadPolicyFile(file, request.defaults, request.question.identity);
    if (!policy.ok()) return policy.status();
    policies.emplace_back(file.substr(file.rfind('/') + 1), *std::move(policy));
  }
  return policies;
}

// Returns a message about the nodes that a simulation leaves out although they have the driver's label; empty if there
// are no such nodes.
std::string LeftOut(const Request& request) {
  std::set<std::string> with_driver;
  for (const driverupgrade::Pod& pod : request.question.cluster.pods) {
    const bool is_driver =
        pod.ref.ns == request.place.ns && request.question.snapshot.driver_labels.Matches(pod.labels);
    if (is_driver) with_driver.insert(NodeOf(pod));
  }
  const std::string& label = request.question.identity.StateLabel();
  const auto& nodes = request.question.cluster.nodes;
  const auto left_out = std::count_if(nodes.begin(), nodes.end(), [&](const driverupgrade::Node& node) {
    return node.labels.contains(label) && !with_driver.contains(node.name);
  });
  if (left_out == 0) return "";
  return fmt::format("left out: {} of the nodes with the label {}, because they currently have no driver pod", left_out,
                     label);
}

}  // namespace

absl::StatusOr<Durations> ReadDurations(const Options& options, const Request& request, const Streams& streams) {
  whatif::GivenDurations given{.jitter = options.jitter};
  absl::Status status = ReadDuration("--driver-start", options.driver_start, given.driver_start);
  status.Update(ReadDuration("--driver-stop", options.driver_stop, given.driver_stop));
  status.Update(ReadDuration("--pod-start", options.pod_start, given.pod_start));
  status.Update(ReadDuration("--pod-stop", options.pod_stop, given.pod_stop));
  status.Update(ReadDuration("--validation", options.validation, given.validation));
  if (!status.ok()) return status;
  std::vector<std::string> measured;
  Durations durations = DurationsOf(given, SituationOf(request), measured);
  for (const std::string& note : measured) streams.err << "--" << note << "\n";
  return durations;
}

absl::StatusOr<int> RunSimulate(const Options& options, const Streams& streams) {
  const absl::StatusOr<Request> request = Read(options, {.all_pods = true, .events = true, .budgets = true}, streams);
  if (!request.ok()) return request.status();
  TellReporter(*request, streams);
  TellUnread(request->notes, streams);
  const absl::StatusOr<Durations> durations = ReadDurations(options, *request, streams);
  if (!durations.ok()) return durations.status();
  if (const std::string left_out = LeftOut(*request); !left_out.empty()) streams.err << left_out << "\n";
  const absl::StatusOr<Policies> policies = PoliciesOf(options, *request);
  if (!policies.ok()) return policies.status();
  const absl::StatusOr<std::vector<Trial>> trials =
      whatif::SimulatePolicies(SituationOf(*request), *policies, *durations, options.seeds);
  if (!trials.ok()) return trials.status();
  streams.out << (options.output == "json" ? FormatTrialsJson(*trials) : FormatTrials(*trials, streams.screen));
  if (const auto none = NoDriverAtAll(*request, {.total = trials->front().rollouts.front().nodes})) {
    streams.err << Printable(none->message) << "\n";
    return kExitFailed;
  }
  return std::all_of(trials->begin(), trials->end(), whatif::Finishes) ? kExitDone : kExitFailed;
}

}  // namespace upgradectl
