#include "whatif/durations.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "whatif/node_history.h"

namespace driverupgrade::whatif {
namespace {

// Minimum number of measurements. If there are fewer, all of them could be outliers.
constexpr std::size_t kMeasuredMin = 3;
constexpr absl::Duration kLongest = absl::Hours(23);

std::optional<Measured> QuantileOf(std::vector<absl::Duration> times, int percent) {
  if (times.size() < kMeasuredMin) return std::nullopt;
  const auto place =
      times.begin() + static_cast<std::ptrdiff_t>(times.size() * static_cast<std::size_t>(percent) / 100);
  std::nth_element(times.begin(), place, times.end());
  return Measured{.took = std::min(*place, kLongest), .count = static_cast<int>(times.size())};
}

}  // namespace

std::optional<Measured> MeasureStart(const Situation& situation, bool of_driver) {
  std::vector<absl::Duration> starts;
  for (const Pod& pod : situation.question.cluster.pods) {
    const auto facts = situation.facts.pods.find(pod.ref.ToString());
    if (facts == situation.facts.pods.end() || facts->second.ready < facts->second.created) continue;
    if (facts->second.created == absl::InfinitePast() || !IsReady(pod)) continue;
    const bool is_driver =
        pod.ref.ns == situation.question.snapshot.ns && situation.question.snapshot.driver_labels.Matches(pod.labels);
    const bool is_replaced = ControllerOf(pod) != nullptr && !IsDaemonSetPod(pod);
    if (of_driver ? is_driver : is_replaced) starts.push_back(facts->second.ready - facts->second.created);
  }
  return QuantileOf(std::move(starts), 50);
}

std::optional<Measured> MeasureStates(const Situation& situation, const std::vector<UpgradeState>& states,
                                      int percent) {
  std::vector<absl::Duration> times;
  for (const NodeHistory& node : HistoryOf(situation).nodes) {
    absl::Duration longest = absl::ZeroDuration();
    // Skips the last state, because it has not ended.
    for (std::size_t i = 0; i + 1 < node.spans.size(); ++i) {
      const Span& span = node.spans[i];
      const bool counts = std::find(states.begin(), states.end(), span.state) != states.end();
      if (counts) longest = std::max(longest, span.end - span.begin);
    }
    if (longest > absl::ZeroDuration()) times.push_back(longest);
  }
  return QuantileOf(std::move(times), percent);
}

std::optional<Measured> MeasureDriverStop(const Situation& situation) {
  std::map<std::string, absl::Time> created;
  for (const Pod& pod : situation.question.cluster.pods) {
    const bool is_driver =
        pod.ref.ns == situation.question.snapshot.ns && situation.question.snapshot.driver_labels.Matches(pod.labels);
    const auto facts = situation.facts.pods.find(pod.ref.ToString());
    if (is_driver && facts != situation.facts.pods.end()) created[pod.node_name] = facts->second.created;
  }
  const ClusterHistory history = HistoryOf(situation);
  std::vector<absl::Duration> times;
  for (const NodeHistory& node : history.nodes) {
    const auto pod = created.find(node.name);
    const auto restart = std::find_if(node.spans.rbegin(), node.spans.rend(),
                                      [](const Span& span) { return span.state == UpgradeState::kPodRestartRequired; });
    if (pod == created.end() || restart == node.spans.rend()) continue;
    // A pod that was created before this state started was not replaced in it.
    const absl::Duration took = pod->second - (history.began + restart->begin);
    if (took >= absl::ZeroDuration() && took <= restart->end - restart->begin) times.push_back(took);
  }
  return QuantileOf(std::move(times), 50);
}

Durations DurationsOf(const GivenDurations& given, const Situation& situation, std::vector<std::string>& notes) {
  Durations durations{.jitter = given.jitter};
  const auto take = [&](std::string_view name, const std::optional<absl::Duration>& known,
                        const std::optional<Measured>& measured, std::string_view value, std::string_view of,
                        absl::Duration& duration) {
    if (known) {
      duration = *known;
    } else if (measured) {
      duration = measured->took;
      notes.push_back(
          fmt::format("{} {}: the {} of {} {}", name, absl::FormatDuration(duration), value, measured->count, of));
    }
  };
  absl::Duration validation;
  take("driver-start", given.driver_start, MeasureStart(situation, /*of_driver=*/true), "median", "pods",
       durations.driver_start);
  take("driver-stop", given.driver_stop, MeasureDriverStop(situation), "median", "driver pods", durations.driver_stop);
  take("pod-start", given.pod_start, MeasureStart(situation, /*of_driver=*/false), "median", "pods",
       durations.pod_start);
  // Budgets delay pods on some nodes, so only the fastest quarter of the nodes shows how long pods take to stop.
  take("pod-stop", given.pod_stop,
       MeasureStates(situation, {UpgradeState::kPodDeletionRequired, UpgradeState::kDrainRequired}, 25),
       "lower quartile", "evacuations", durations.pod_stop);
  take("validation", given.validation, MeasureStates(situation, {UpgradeState::kValidationRequired}, 50), "median",
       "validations", validation);
  durations.driver_start += validation;
  return durations;
}

}  // namespace driverupgrade::whatif
