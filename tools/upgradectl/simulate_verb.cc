#include <algorithm>
#include <cstddef>
#include <ostream>
#include <utility>

#include "fmt/format.h"
#include "upgradectl/simulate.h"
#include "upgradectl/verbs.h"

namespace upgradectl {
namespace {

// Fewer pods may be of one bad day.
constexpr std::size_t kMeasuredMin = 3;
constexpr absl::Duration kLongest = absl::Hours(23);

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

std::optional<Measured> MeasureStart(const Request& request, bool of_driver) {
  std::vector<absl::Duration> starts;
  for (const driverupgrade::Pod& pod : request.question.cluster.pods) {
    const auto facts = request.facts.pods.find(pod.ref.ToString());
    if (facts == request.facts.pods.end() || facts->second.ready < facts->second.created) continue;
    if (facts->second.created == absl::InfinitePast() || !driverupgrade::IsReady(pod)) continue;
    const bool is_driver =
        pod.ref.ns == request.place.ns && request.question.snapshot.driver_labels.Matches(pod.labels);
    const bool is_replaced = driverupgrade::ControllerOf(pod) != nullptr && !driverupgrade::IsDaemonSetPod(pod);
    if (of_driver ? is_driver : is_replaced) starts.push_back(facts->second.ready - facts->second.created);
  }
  if (starts.size() < kMeasuredMin) return std::nullopt;
  const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
  std::nth_element(starts.begin(), middle, starts.end());
  return Measured{.start = std::min(*middle, kLongest), .pods = static_cast<int>(starts.size())};
}

absl::StatusOr<Durations> DurationsOf(const Options& options, const Request& request, std::vector<std::string>& notes) {
  Durations durations{.jitter = options.jitter};
  const auto start = [&](std::string_view option, const std::string& typed, bool of_driver, absl::Duration& duration) {
    if (!typed.empty()) return ReadDuration(option, typed, duration);
    if (const std::optional<Measured> measured = MeasureStart(request, of_driver)) {
      duration = measured->start;
      notes.push_back(
          fmt::format("{} {}: the median of {} pods", option, absl::FormatDuration(duration), measured->pods));
    }
    return absl::OkStatus();
  };
  absl::Duration validation;
  absl::Status status = start("--driver-start", options.driver_start, /*of_driver=*/true, durations.driver_start);
  status.Update(ReadDuration("--driver-stop", options.driver_stop, durations.driver_stop));
  status.Update(start("--pod-start", options.pod_start, /*of_driver=*/false, durations.pod_start));
  status.Update(ReadDuration("--pod-stop", options.pod_stop, durations.pod_stop));
  status.Update(ReadDuration("--validation", options.validation, validation));
  if (!status.ok()) return status;
  durations.driver_start += validation;
  return durations;
}

absl::StatusOr<int> RunSimulate(const Options& options, const Streams& streams) {
  const absl::StatusOr<Request> request = Read(options, {.all_pods = true, .budgets = true}, streams);
  if (!request.ok()) return request.status();
  std::vector<std::string> notes;
  const absl::StatusOr<Durations> durations = DurationsOf(options, *request, notes);
  if (!durations.ok()) return durations.status();
  for (const std::string& note : notes) streams.err << note << "\n";
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
