#include <algorithm>
#include <cstddef>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "upgradectl/simulate.h"
#include "upgradectl/status.h"
#include "upgradectl/text.h"
#include "upgradectl/timeline.h"
#include "upgradectl/trials.h"
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
        LoadPolicyFile(file, request.defaults, request.question.identity);
    if (!policy.ok()) return policy.status();
    policies.emplace_back(file.substr(file.rfind('/') + 1), *std::move(policy));
  }
  return policies;
}

std::optional<Measured> QuantileOf(std::vector<absl::Duration> times, int percent) {
  if (times.size() < kMeasuredMin) return std::nullopt;
  const auto place =
      times.begin() + static_cast<std::ptrdiff_t>(times.size() * static_cast<std::size_t>(percent) / 100);
  std::nth_element(times.begin(), place, times.end());
  return Measured{.took = std::min(*place, kLongest), .count = static_cast<int>(times.size())};
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
  return QuantileOf(std::move(starts), 50);
}

std::optional<Measured> MeasureStates(const Request& request, const std::vector<driverupgrade::UpgradeState>& states,
                                      int percent) {
  std::vector<absl::Duration> times;
  for (const NodeHistory& node : TimelineOf(request).nodes) {
    absl::Duration longest = absl::ZeroDuration();
    // The last state goes on.
    for (std::size_t i = 0; i + 1 < node.spans.size(); ++i) {
      const Span& span = node.spans[i];
      const bool counts = std::find(states.begin(), states.end(), span.state) != states.end();
      if (counts) longest = std::max(longest, span.end - span.begin);
    }
    if (longest > absl::ZeroDuration()) times.push_back(longest);
  }
  return QuantileOf(std::move(times), percent);
}

std::optional<Measured> MeasureDriverStop(const Request& request) {
  std::map<std::string, absl::Time> created;
  for (const driverupgrade::Pod& pod : request.question.cluster.pods) {
    const bool is_driver =
        pod.ref.ns == request.place.ns && request.question.snapshot.driver_labels.Matches(pod.labels);
    const auto facts = request.facts.pods.find(pod.ref.ToString());
    if (is_driver && facts != request.facts.pods.end()) created[pod.node_name] = facts->second.created;
  }
  const Timeline timeline = TimelineOf(request);
  std::vector<absl::Duration> times;
  for (const NodeHistory& node : timeline.nodes) {
    const auto pod = created.find(node.name);
    const auto restart = std::find_if(node.spans.rbegin(), node.spans.rend(), [](const Span& span) {
      return span.state == driverupgrade::UpgradeState::kPodRestartRequired;
    });
    if (!timeline.began || pod == created.end() || restart == node.spans.rend()) continue;
    // A pod from before was not replaced in this state.
    const absl::Duration took = pod->second - (*timeline.began + restart->begin);
    if (took >= absl::ZeroDuration() && took <= restart->end - restart->begin) times.push_back(took);
  }
  return QuantileOf(std::move(times), 50);
}

absl::StatusOr<Durations> DurationsOf(const Options& options, const Request& request, std::vector<std::string>& notes) {
  Durations durations{.jitter = options.jitter};
  const auto take = [&](std::string_view option, const std::string& typed, const std::optional<Measured>& measured,
                        std::string_view value, std::string_view of, absl::Duration& duration) {
    if (!typed.empty()) return ReadDuration(option, typed, duration);
    if (measured) {
      duration = measured->took;
      notes.push_back(
          fmt::format("{} {}: the {} of {} {}", option, absl::FormatDuration(duration), value, measured->count, of));
    }
    return absl::OkStatus();
  };
  using driverupgrade::UpgradeState;
  absl::Duration validation;
  absl::Status status = take("--driver-start", options.driver_start, MeasureStart(request, /*of_driver=*/true),
                             "median", "pods", durations.driver_start);
  status.Update(take("--driver-stop", options.driver_stop, MeasureDriverStop(request), "median", "driver pods",
                     durations.driver_stop));
  status.Update(take("--pod-start", options.pod_start, MeasureStart(request, /*of_driver=*/false), "median", "pods",
                     durations.pod_start));
  // Budgets hold pods back on some nodes: the nodes of the quicker quarter tell how long pods take to end.
  status.Update(take("--pod-stop", options.pod_stop,
                     MeasureStates(request, {UpgradeState::kPodDeletionRequired, UpgradeState::kDrainRequired}, 25),
                     "lower quartile", "evacuations", durations.pod_stop));
  status.Update(take("--validation", options.validation,
                     MeasureStates(request, {UpgradeState::kValidationRequired}, 50), "median", "validations",
                     validation));
  if (!status.ok()) return status;
  durations.driver_start += validation;
  return durations;
}

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
  return fmt::format("left out, for they have no driver pod now: {} of the nodes with the label {}", left_out, label);
}

absl::StatusOr<int> RunSimulate(const Options& options, const Streams& streams) {
  const absl::StatusOr<Request> request = Read(options, {.all_pods = true, .events = true, .budgets = true}, streams);
  if (!request.ok()) return request.status();
  TellReporter(*request, streams);
  TellUnread(request->notes, streams);
  std::vector<std::string> notes;
  const absl::StatusOr<Durations> durations = DurationsOf(options, *request, notes);
  if (!durations.ok()) return durations.status();
  if (std::string left_out = LeftOut(*request); !left_out.empty()) notes.push_back(std::move(left_out));
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
  if (const auto none = NoDriverAtAll(*request, {.total = trials.front().rollouts.front().nodes})) {
    streams.err << Printable(none->message) << "\n";
    return kExitFailed;
  }
  return std::all_of(trials.begin(), trials.end(), Finishes) ? kExitDone : kExitFailed;
}

}  // namespace upgradectl
