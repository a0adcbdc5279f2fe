#include "upgradectl/trials.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/time/time.h"
#include "fmt/format.h"
#include "upgradectl/json_view.h"
#include "upgradectl/status.h"
#include "upgradectl/text.h"

namespace upgradectl {
namespace {

using driverupgrade::GateReason;

// `DisruptionBudget`, or `Failed, DisruptionBudget` if the node failed because of this gate.
std::string CauseOf(const Blocked& blocked) {
  const std::string_view gate = driverupgrade::ToString(blocked.gate);
  if (!blocked.failed || blocked.gate == GateReason::kFailed) return std::string(gate);
  return fmt::format("Failed, {}", gate);
}

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

// A rollout that does not finish takes longer than any other.
const auto kMakespan = [](const Rollout& rollout) {
  return rollout.finishes ? rollout.makespan : absl::InfiniteDuration();
};

std::string Takes(const Trial& trial, int percent) {
  const absl::Duration makespan = Quantile(trial, percent, kMakespan);
  return makespan == absl::InfiniteDuration() ? "does not finish" : Age(makespan);
}

// The rollout that the counts are of: one that does not finish, if there is one.
const Rollout& Shown(const Trial& trial) {
  const auto found = std::find_if_not(trial.rollouts.begin(), trial.rollouts.end(),
                                      [](const Rollout& rollout) { return rollout.finishes; });
  return found == trial.rollouts.end() ? trial.rollouts.front() : *found;
}

std::string Summary(const Trial& trial) {
  const Rollout& shown = Shown(trial);
  const auto unfinished = std::count_if(trial.rollouts.begin(), trial.rollouts.end(),
                                        [](const Rollout& rollout) { return !rollout.finishes; });
  if (unfinished == 0) {
    return fmt::format("{} finishes without {} of {} nodes", trial.policy, shown.blocked.size(), shown.nodes);
  }
  return fmt::format("{} does not finish in {} of {} simulations; {} of {} nodes are not done", trial.policy,
                     unfinished, trial.rollouts.size(), shown.nodes - shown.done, shown.nodes);
}

// Returns a table of the reasons that nodes are not done; empty if all nodes are done.
std::string FormatBlockages(const Trial& trial, const Screen& screen) {
  const std::vector<Blockage> blockages = BlockagesOf(Shown(trial));
  if (blockages.empty()) return "";
  TableRow header;
  for (const char* name : {"NODES", "CAUSE", "SUBJECT", "SINCE", "EXAMPLE"}) header.push_back({name, Colour::kBold});
  std::vector<TableRow> rows = {std::move(header)};
  for (const Blockage& blockage : blockages) {
    const Blocked& example = blockage.blocked;
    rows.push_back({{std::to_string(blockage.nodes)},
                    {CauseOf(example), example.failed ? Colour::kRed : Colour::kYellow},
                    {example.subject.empty() ? "-" : Printable(example.subject)},
                    {Age(example.since)},
                    {Printable(fmt::format("{}: {}", blockage.node, example.why))}});
  }
  return fmt::format("\n{}\n{}", Printable(Summary(trial)), FormatRows(rows, screen));
}

void AddBlockages(const Rollout& rollout, json::Value& row, json::Document& document) {
  auto& allocator = document.GetAllocator();
  json::Value list(json::kArrayType);
  for (const Blockage& blockage : BlockagesOf(rollout)) {
    json::Value object(json::kObjectType);
    object.AddMember("nodes", blockage.nodes, allocator);
    object.AddMember("failed", blockage.blocked.failed, allocator);
    object.AddMember("gate", json::Value(std::string(ToString(blockage.blocked.gate)), allocator), allocator);
    object.AddMember("subject", json::Value(blockage.blocked.subject, allocator), allocator);
    object.AddMember("example", json::Value(blockage.node, allocator), allocator);
    list.PushBack(object, allocator);
  }
  row.AddMember("obstacles", list, allocator);
}

void AddBlocked(const Rollout& rollout, json::Value& row, json::Document& document) {
  auto& allocator = document.GetAllocator();
  json::Value blocked(json::kObjectType);
  for (const auto& [node, how] : rollout.blocked) {
    json::Value held(json::kObjectType);
    held.AddMember("why", json::Value(fmt::format("{}: {}", CauseOf(how), how.why), allocator), allocator);
    held.AddMember("sinceSeconds", absl::ToInt64Seconds(how.since), allocator);
    blocked.AddMember(json::Value(node, allocator), held, allocator);
  }
  row.AddMember("blocked", blocked, allocator);
}

// Null: the rollout does not finish.
json::Value Seconds(absl::Duration duration) {
  return duration == absl::InfiniteDuration() ? json::Value() : json::Value(absl::ToInt64Seconds(duration));
}

}  // namespace

std::vector<Blockage> BlockagesOf(const Rollout& rollout) {
  std::map<std::tuple<bool, GateReason, std::string>, Blockage> by_cause;
  for (const auto& [node, blocked] : rollout.blocked) {
    const auto [found, is_new] = by_cause.try_emplace({blocked.failed, blocked.gate, blocked.subject});
    Blockage& blockage = found->second;
    if (is_new || blocked.since < blockage.blocked.since) blockage = {blockage.nodes, node, blocked};
    ++blockage.nodes;
  }
  std::vector<Blockage> blockages;
  for (auto& [cause, blockage] : by_cause) blockages.push_back(std::move(blockage));
  std::stable_sort(blockages.begin(), blockages.end(), [](const Blockage& a, const Blockage& b) {
    return std::pair(a.blocked.failed, a.nodes) > std::pair(b.blocked.failed, b.nodes);
  });
  return blockages;
}

bool Finishes(const Trial& trial) {
  return std::all_of(trial.rollouts.begin(), trial.rollouts.end(),
                     [](const Rollout& rollout) { return rollout.finishes; });
}

std::string FormatTrials(const std::vector<Trial>& trials, const Screen& screen) {
  using Value = std::string (*)(const Trial& trial);
  const std::pair<const char*, Value> measures[] = {
      {"takes, median", [](const Trial& trial) { return Takes(trial, 50); }},
      {"takes, 90 %", [](const Trial& trial) { return Takes(trial, 90); }},
      {"done", [](const Trial& trial) { return fmt::format("{} of {}", Shown(trial).done, Shown(trial).nodes); }},
      {"failed", [](const Trial& trial) { return std::to_string(Shown(trial).failed); }},
      {"unavailable at once",
       [](const Trial& trial) {
         return fmt::format("{} nodes, {} pods",
                            Quantile(trial, 100, [](const Rollout& r) { return r.unavailable_peak; }),
                            Quantile(trial, 100, [](const Rollout& r) { return r.pods_unavailable_peak; }));
       }},
      {"job interruptions",
       [](const Trial& trial) {
         if (Shown(trial).gangs == 0) return std::string("-");
         return fmt::format(
             "{} in {} jobs, at most {} in one", Quantile(trial, 50, [](const Rollout& r) { return r.gang_interruptions; }),
             Shown(trial).gangs, Quantile(trial, 100, [](const Rollout& r) { return r.gang_interruptions_peak; }));
       }},
      {"evictions",
       [](const Trial& trial) {
         return std::to_string(Quantile(trial, 50, [](const Rollout& r) { return r.evictions; }));
       }},
      {"writes",
       [](const Trial& trial) {
         return std::to_string(Quantile(trial, 50, [](const Rollout& r) { return r.writes; }));
       }},
      {"API requests", [](const Trial& trial) {
         return std::to_string(Quantile(trial, 50, [](const Rollout& r) { return r.requests; }));
       }}};
  TableRow header = {{"POLICY", Colour::kBold}};
  for (const Trial& trial : trials) header.push_back({Printable(trial.policy), Colour::kBold});
  std::vector<TableRow> rows = {std::move(header)};
  for (const auto& [name, value] : measures) {
    TableRow row = {{name}};
    for (const Trial& trial : trials) row.push_back({value(trial)});
    rows.push_back(std::move(row));
  }
  std::string text = FormatRows(rows, screen);
  for (const Trial& trial : trials) text += FormatBlockages(trial, screen);
  return text;
}

std::string FormatTrialsJson(const std::vector<Trial>& trials) {
  json::Document document(json::kArrayType);
  auto& allocator = document.GetAllocator();
  for (const Trial& trial : trials) {
    json::Value row(json::kObjectType);
    row.AddMember("policy", json::Value(trial.policy, allocator), allocator);
    row.AddMember("finishes", Finishes(trial), allocator);
    row.AddMember("makespanSecondsMedian", Seconds(Quantile(trial, 50, kMakespan)), allocator);
    row.AddMember("makespanSeconds90", Seconds(Quantile(trial, 90, kMakespan)), allocator);
    const Rollout& shown = Shown(trial);
    row.AddMember("nodes", shown.nodes, allocator);
    row.AddMember("done", shown.done, allocator);
    row.AddMember("failed", shown.failed, allocator);
    row.AddMember("unavailablePeak", shown.unavailable_peak, allocator);
    row.AddMember("podsUnavailablePeak", shown.pods_unavailable_peak, allocator);
    row.AddMember("gangs", shown.gangs, allocator);
    row.AddMember("gangInterruptions", shown.gang_interruptions, allocator);
    row.AddMember("gangInterruptionsPeak", shown.gang_interruptions_peak, allocator);
    row.AddMember("evictions", shown.evictions, allocator);
    row.AddMember("writes", shown.writes, allocator);
    row.AddMember("requests", shown.requests, allocator);
    row.AddMember("passes", shown.passes, allocator);
    row.AddMember("wholePlans", shown.whole_plans, allocator);
    AddBlockages(shown, row, document);
    AddBlocked(shown, row, document);
    document.PushBack(row, allocator);
  }
  return ToPrettyJson(document);
}

}  // namespace upgradectl
