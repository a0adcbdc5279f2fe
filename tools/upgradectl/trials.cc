#include "upgradectl/trials.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/time/time.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "upgradectl/json_view.h"
#include "upgradectl/status.h"
#include "upgradectl/text.h"

namespace upgradectl {
namespace {

// The values of one measure, sorted.
template <typename F>
auto Sorted(const Trial& trial, F&& value) {
  std::vector<decltype(value(trial.rollouts.front()))> values;
  for (const Rollout& rollout : trial.rollouts) values.push_back(value(rollout));
  std::sort(values.begin(), values.end());
  return values;
}
template <typename F>
auto Quantile(const Trial& trial, int percent, F&& value) {
  const auto values = Sorted(trial, value);
  return values[(values.size() - 1) * static_cast<std::size_t>(percent) / 100];
}

const auto kMakespan = [](const Rollout& rollout) { return rollout.makespan; };

// "3: n01, n02, n03 from 0s on, NodeNotReady: ...": the nodes that wait longest for one gate, and why the first of them.
std::string WhoIsBlocked(const Trial& trial) {
  constexpr std::size_t kNamesShown = 5;
  const Rollout& rollout = trial.rollouts.front();
  if (rollout.blocked.empty()) return "-";
  const auto first = std::min_element(rollout.blocked.begin(), rollout.blocked.end(),
                                      [](const auto& a, const auto& b) { return a.second.since < b.second.since; });
  std::vector<std::string> names;
  for (const auto& [node, how] : rollout.blocked) {
    if (how.gate == first->second.gate) names.push_back(node);
  }
  const std::size_t alike = names.size();
  if (alike > kNamesShown) names.resize(kNamesShown);
  return Printable(fmt::format("{}: {}{} from {} on, {}", rollout.blocked.size(), fmt::join(names, ", "),
                               alike > kNamesShown ? fmt::format(" and {} more", alike - kNamesShown) : "",
                               Age(first->second.since), first->second.why));
}

}  // namespace

std::string FormatTrials(const std::vector<Trial>& trials, const Screen& screen) {
  using Value = std::string (*)(const Trial& trial);
  const std::pair<const char*, Value> measures[] = {
      {"takes, median", [](const Trial& trial) { return Age(Quantile(trial, 50, kMakespan)); }},
      {"takes, 90 %", [](const Trial& trial) { return Age(Quantile(trial, 90, kMakespan)); }},
      {"done",
       [](const Trial& trial) {
         return fmt::format("{} of {}", trial.rollouts.front().done, trial.rollouts.front().nodes);
       }},
      {"failed", [](const Trial& trial) { return std::to_string(trial.rollouts.front().failed); }},
      {"unavailable at once",
       [](const Trial& trial) {
         return fmt::format("{} nodes, {} pods",
                            Quantile(trial, 100, [](const Rollout& r) { return r.unavailable_peak; }),
                            Quantile(trial, 100, [](const Rollout& r) { return r.pods_unavailable_peak; }));
       }},
      {"evictions",
       [](const Trial& trial) {
         return std::to_string(Quantile(trial, 50, [](const Rollout& r) { return r.evictions; }));
       }},
      {"writes",
       [](const Trial& trial) {
         return std::to_string(Quantile(trial, 50, [](const Rollout& r) { return r.writes; }));
       }},
      {"API requests",
       [](const Trial& trial) {
         return std::to_string(Quantile(trial, 50, [](const Rollout& r) { return r.requests; }));
       }},
      {"wait in the end", WhoIsBlocked}};
  TableRow header = {{"POLICY", Colour::kBold}};
  for (const Trial& trial : trials) header.push_back({Printable(trial.policy), Colour::kBold});
  std::vector<TableRow> rows = {std::move(header)};
  for (const auto& [name, value] : measures) {
    TableRow row = {{name}};
    for (const Trial& trial : trials) row.push_back({value(trial)});
    rows.push_back(std::move(row));
  }
  return FormatRows(rows, screen);
}

std::string FormatTrialsJson(const std::vector<Trial>& trials) {
  json::Document document(json::kArrayType);
  auto& allocator = document.GetAllocator();
  for (const Trial& trial : trials) {
    json::Value row(json::kObjectType);
    row.AddMember("policy", json::Value(trial.policy, allocator), allocator);
    row.AddMember("makespanSecondsMedian", absl::ToInt64Seconds(Quantile(trial, 50, kMakespan)), allocator);
    row.AddMember("makespanSeconds90", absl::ToInt64Seconds(Quantile(trial, 90, kMakespan)), allocator);
    const Rollout& first = trial.rollouts.front();
    row.AddMember("nodes", first.nodes, allocator);
    row.AddMember("done", first.done, allocator);
    row.AddMember("failed", first.failed, allocator);
    row.AddMember("unavailablePeak", first.unavailable_peak, allocator);
    row.AddMember("podsUnavailablePeak", first.pods_unavailable_peak, allocator);
    row.AddMember("evictions", first.evictions, allocator);
    row.AddMember("writes", first.writes, allocator);
    row.AddMember("requests", first.requests, allocator);
    row.AddMember("passes", first.passes, allocator);
    row.AddMember("wholePlans", first.whole_plans, allocator);
    json::Value blocked(json::kObjectType);
    for (const auto& [node, how] : first.blocked) {
      json::Value held(json::kObjectType);
      held.AddMember("why", json::Value(how.why, allocator), allocator);
      held.AddMember("sinceSeconds", absl::ToInt64Seconds(how.since), allocator);
      blocked.AddMember(json::Value(node, allocator), held, allocator);
    }
    row.AddMember("blocked", blocked, allocator);
    document.PushBack(row, allocator);
  }
  return ToPrettyJson(document);
}

}  // namespace upgradectl
