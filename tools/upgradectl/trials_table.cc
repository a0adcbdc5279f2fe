#include "upgradectl/trials_table.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "upgradectl/text.h"
#include "whatif/age.h"

namespace upgradectl {
namespace {

using driverupgrade::whatif::Age;
using driverupgrade::whatif::Blockage;
using driverupgrade::whatif::Blocked;
using driverupgrade::whatif::Quantile;
using driverupgrade::whatif::Rollout;
using driverupgrade::whatif::Trial;

std::string Takes(const Trial& trial, int percent) {
  const absl::Duration makespan = driverupgrade::whatif::Makespan(trial, percent);
  return makespan == absl::InfiniteDuration() ? "does not finish" : Age(makespan);
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

// Returns a table of the reasons why nodes are not done; empty if all nodes are done.
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

}  // namespace

std::string FormatTrials(const std::vector<Trial>& trials, const Screen& screen) {
  struct Measure {
    const char* name;
    std::string (*value)(const Trial& trial);
    bool of_devices = false;
  };
  const Measure measures[] = {
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
      {"nodes cordoned",
       [](const Trial& trial) {
         return std::to_string(Quantile(trial, 50, [](const Rollout& r) { return r.nodes_cordoned; }));
       },
       /*of_devices=*/true},
      {"pods evicted, kept",
       [](const Trial& trial) {
         return fmt::format("{}, {}", Quantile(trial, 50, [](const Rollout& r) { return r.pods_evicted; }),
                            Quantile(trial, 50, [](const Rollout& r) { return r.pods_kept; }));
       },
       /*of_devices=*/true},
      {"job interruptions",
       [](const Trial& trial) {
         if (Shown(trial).gangs == 0) return std::string("-");
         return fmt::format("{} in {} jobs, at most {} in one",
                            Quantile(trial, 50, [](const Rollout& r) { return r.gang_interruptions; }),
                            Shown(trial).gangs,
                            Quantile(trial, 100, [](const Rollout& r) { return r.gang_interruptions_peak; }));
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
  const bool shows_devices =
      std::any_of(trials.begin(), trials.end(), [](const Trial& trial) { return Shown(trial).devices; });
  TableRow header = {{"POLICY", Colour::kBold}};
  for (const Trial& trial : trials) header.push_back({Printable(trial.policy), Colour::kBold});
  std::vector<TableRow> rows = {std::move(header)};
  for (const Measure& measure : measures) {
    if (measure.of_devices && !shows_devices) continue;
    TableRow row = {{measure.name}};
    for (const Trial& trial : trials) row.push_back({measure.value(trial)});
    rows.push_back(std::move(row));
  }
  std::string text = FormatRows(rows, screen);
  for (const Trial& trial : trials) text += FormatBlockages(trial, screen);
  return text;
}

}  // namespace upgradectl
