#include <ostream>
#include <utility>

#include "fmt/format.h"
#include "upgradectl/simulate.h"
#include "upgradectl/verbs.h"

namespace upgradectl {
namespace {

absl::Status ReadDuration(std::string_view option, const std::string& text, absl::Duration& duration) {
  if (absl::ParseDuration(text, &duration) && duration >= absl::ZeroDuration() && duration < absl::Hours(24)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("{}: `{}` is no duration such as 90s or 2m, of less than a day", option, text));
}

// What is compared, by name.
using Policies = std::vector<std::pair<std::string, driverupgrade::UpgradePolicy>>;

absl::StatusOr<Policies> PoliciesOf(const Options& options, const Request& request) {
  if (options.policies.empty()) {
    const std::string name = request.policy_source.empty() ? "defaults" : request.policy_source;
    return Policies{{name, request.question.policy}};
  }
  Policies policies;
  for (const std::string& file : options.policies) {
    absl::StatusOr<driverupgrade::UpgradePolicy> policy =
        LoadPolicyFile(file, DefaultsOf(options), request.question.identity);
    if (!policy.ok()) return policy.status();
    policies.emplace_back(file.substr(file.rfind('/') + 1), *std::move(policy));
  }
  return policies;
}

}  // namespace

absl::StatusOr<Durations> DurationsOf(const Options& options) {
  Durations durations{.jitter = options.jitter};
  absl::Status status = ReadDuration("--driver-start", options.driver_start, durations.driver_start);
  status.Update(ReadDuration("--driver-stop", options.driver_stop, durations.driver_stop));
  status.Update(ReadDuration("--pod-start", options.pod_start, durations.pod_start));
  status.Update(ReadDuration("--pod-stop", options.pod_stop, durations.pod_stop));
  if (!status.ok()) return status;
  return durations;
}

absl::StatusOr<int> RunSimulate(const Options& options, const Streams& streams) {
  const absl::StatusOr<Durations> durations = DurationsOf(options);
  if (!durations.ok()) return durations.status();
  const absl::StatusOr<Request> request = Read(options, {.all_pods = true, .budgets = true}, streams);
  if (!request.ok()) return request.status();
  const absl::StatusOr<Policies> policies = PoliciesOf(options, *request);
  if (!policies.ok()) return policies.status();
  std::vector<Trial> trials;
  for (const auto& [name, policy] : *policies) {
    Trial trial{.policy = name};
    for (int seed = 1; seed <= options.seeds; ++seed) {
      absl::StatusOr<Rollout> rollout = SimulateRollout(*request, policy, *durations, static_cast<std::uint32_t>(seed));
      if (!rollout.ok()) return rollout.status();
      trial.rollouts.push_back(*std::move(rollout));
    }
    trials.push_back(std::move(trial));
  }
  streams.out << (options.output == "json" ? FormatTrialsJson(trials) : FormatTrials(trials, streams.screen));
  return kExitDone;
}

}  // namespace upgradectl
