#include <algorithm>
#include <string>

#include "fmt/format.h"
#include "upgradectl/reported.h"
#include "upgradectl/status.h"
#include "upgradectl/text.h"
#include "whatif/plan_json.h"

namespace upgradectl {
namespace {

using driverupgrade::Finding;
using driverupgrade::Gate;
using driverupgrade::UpgradeState;
using driverupgrade::whatif::TimeText;

Colour ColourOf(UpgradeState state) {
  if (state == UpgradeState::kDone) return Colour::kGreen;
  if (state == UpgradeState::kFailed) return Colour::kRed;
  return driverupgrade::IsInProgress(state) ? Colour::kYellow : Colour::kNone;
}

// Returns cyan if an administrator requested the wait. Otherwise, returns red if a Warning Event reports the gate or if
// the rollout has ended for the node, and no color for all other gates.
Colour ColourOf(const Gate& gate) {
  const driverupgrade::GateTraits& traits = driverupgrade::TraitsOf(gate.reason);
  if (traits.is_wish) return Colour::kCyan;
  return traits.is_event || traits.ends_rollout ? Colour::kRed : Colour::kNone;
}

std::string Left(std::optional<int> max) { return max ? fmt::format(" of {}", *max) : ""; }

// Drops "-required" from the name, because most names have this suffix and the column is narrow.
std::string ShortState(UpgradeState state) {
  std::string text(driverupgrade::ToString(state));
  if (const std::size_t at = text.find("-required");
      at != std::string::npos && state != UpgradeState::kUpgradeRequired) {
    text.resize(at);
  }
  return text;
}

// If `failure_cause` is set, shows it instead of the gate's detail, because administrators need to know what to repair.
std::string GateCell(const std::optional<Gate>& gate, absl::Time at, bool wide, const std::string& failure_cause = {}) {
  if (!gate) return "-";
  std::string text(driverupgrade::ToString(gate->reason));
  if (gate->not_before && *gate->not_before > at) {
    text +=
        wide ? fmt::format(" until {}", TimeText(*gate->not_before)) : fmt::format(" {}", Age(*gate->not_before - at));
  }
  const std::string& why = failure_cause.empty() ? gate->detail : failure_cause;
  if (!why.empty()) text += fmt::format(": {}", why);
  return Printable(text);
}

std::string NodeFlags(const NodeStatus& node) {
  std::string flags = node.ready ? "" : "not ready";
  if (node.cordoned) flags += flags.empty() ? "cordoned" : ", cordoned";
  return flags.empty() ? "-" : flags;
}

TableRow RowOf(const NodeStatus& node, absl::Time at, bool wide) {
  TableRow row = {{Printable(node.name)}, {ShortState(node.state), ColourOf(node.state)}};
  row.push_back({node.since ? (wide ? TimeText(*node.since) : Age(at - *node.since)) : "-"});
  if (wide) {
    row.push_back({NodeFlags(node)});
    row.push_back({node.pod.empty() ? "-" : Printable(node.pod) + (node.pod_ready ? "" : " (not ready)")});
  }
  row.push_back({node.revision.empty() ? "-" : CutTo(Printable(node.revision), wide ? 0 : 8)});
  if (!node.request_failure.empty()) {
    row.push_back({Printable(fmt::format("the operator's request failed: {}", node.request_failure)), Colour::kRed});
    return row;
  }
  if (node.moves) {
    row.push_back({"the next pass"});
    return row;
  }
  row.push_back({GateCell(node.gate, at, wide, node.failure_cause), node.gate ? ColourOf(*node.gate) : Colour::kNone});
  return row;
}

// Returns the number of nodes that are done, except for nodes whose driver pod is out of date. Such a node keeps the
// label `upgrade-done` until the operator's next pass, or for as long as the server refuses the operator's patches.
int DoneNodes(const RolloutStatus& status) {
  const auto outdated = std::count_if(status.nodes.begin(), status.nodes.end(), [](const NodeStatus& node) {
    const bool is_upgraded = node.gate ? node.gate->reason == driverupgrade::GateReason::kDriverPodNotReady ||
                                             node.gate->reason == driverupgrade::GateReason::kRevisionUnknown
                                       : !node.moves;
    return node.state == driverupgrade::UpgradeState::kDone && !is_upgraded;
  });
  return std::max(0, status.totals.done - static_cast<int>(outdated));
}

std::string Headline(const RolloutStatus& status, const Screen& screen) {
  const driverupgrade::Tally& totals = status.totals;
  const int done = DoneNodes(status);
  const Colour colour = status.phase == Phase::kDone     ? Colour::kGreen
                        : status.phase == Phase::kFailed ? Colour::kRed
                                                         : Colour::kYellow;
  const std::string not_ready =
      totals.not_ready == 0 ? ""
                            : Paint(fmt::format(", {} without a Ready driver", totals.not_ready), Colour::kRed, screen);
  return fmt::format("{} {}: {} of {} done, {} failed, {} in progress, {} waiting{}\n", status.driver,
                     Paint(ToString(status.phase), colour, screen), done, totals.total, totals.failed,
                     totals.in_progress - totals.failed, totals.total - done - totals.not_ready - totals.in_progress,
                     not_ready);
}

std::string PolicyLine(const RolloutStatus& status, const Screen& screen) {
  if (!status.policy_reporter) return "";
  return CutTo(Printable(DescribeReport(*status.policy_reporter, status.at)), screen.columns) + "\n";
}

std::string Limits(const RolloutStatus& status, const Screen& screen) {
  if (status.policy_source.empty() && !status.operator_pass)
    return "policy unknown: --policy or --policy-resource are needed for limits and gates\n";
  std::string text = fmt::format("slots {}{}, unavailable {}{}", status.totals.slots, Left(status.budget.parallel_max),
                                 status.totals.unavailable, Left(status.budget.unavailable_max));
  if (status.budget.Halted()) {
    text += ", " + Paint(fmt::format("halted: {} failed of {}", status.budget.failed, *status.budget.failures_max),
                         Colour::kRed, screen);
  }
  if (status.paused) text += ", " + Paint("paused", Colour::kCyan, screen);
  if (status.frozen) text += ", " + Paint("frozen: autoUpgrade is off", Colour::kCyan, screen);
  return text + "\n";
}

// Returns, for example, "canary, 1 of 3: 2 of 2 done; Soak 35m: stage canary soaks for 1h".
std::string StageLine(const driverupgrade::RolloutStatus& rollout, absl::Time at) {
  const auto open = static_cast<std::size_t>(rollout.open);
  if (rollout.stages.size() < 2 || open >= rollout.stages.size()) return "";
  const driverupgrade::RolloutStageStatus& stage = rollout.stages[open];
  std::string text = fmt::format("stage {}, {} of {}: {} of {} done", stage.name, open + 1, rollout.stages.size(),
                                 stage.done, stage.nodes);
  if (stage.failed > 0) text += fmt::format(", {} failed", stage.failed);
  if (stage.left_out > 0) text += ", " + stage.why_left_out;
  if (rollout.next) text += "; " + GateCell(rollout.next, at, /*wide=*/false);
  return Printable(text);
}

std::string Rollout(const RolloutStatus& status, const Screen& screen) {
  if (!status.rollout) return "";
  std::string text;
  const auto add = [&](const std::string& line, Colour colour) {
    if (!line.empty()) text += Paint(CutTo(line, screen.columns), colour, screen) + "\n";
  };
  const std::optional<Gate>& halted = status.rollout->halted;
  if (halted) add("halted: " + Printable(halted->detail), Colour::kRed);
  if (const auto& rollback = status.rollout->rollback) {
    add(*rollback == driverupgrade::Rollback::kFast
            ? "rolling back to the last completed revision: all stages are open (rollback: Fast)"
            : "rolling back to the last completed revision, stage by stage (rollback: Staged)",
        Colour::kNone);
  }
  if (!halted) add(StageLine(*status.rollout, status.at), Colour::kNone);
  if (const auto& gangs = status.rollout->gangs; gangs && gangs->gangs + gangs->caused > 0)
    add(GangsText(*status.rollout), Colour::kNone);
  if (status.rollout->closed) add(GateCell(status.rollout->closed, status.at, /*wide=*/false), Colour::kCyan);
  return text;
}

std::string Times(const RolloutStatus& status) {
  std::string text;
  if (status.began) text += fmt::format("since {} ago", Age(status.at - *status.began));
  if (status.remaining) {
    text += fmt::format("{}{} to go ({} to {}, from {} nodes)", text.empty() ? "" : ", about ",
                        Age(status.remaining->middle), Age(status.remaining->low), Age(status.remaining->high),
                        status.remaining->measured);
  }
  return text.empty() ? text : text + "\n";
}

std::string LeaderLine(const RolloutStatus& status) {
  if (!status.operator_trouble.empty() || !status.leader) return "";
  if (status.leader->holder.empty()) return "there is no leader\n";
  const std::string version = status.leader_version.empty() ? "" : fmt::format(" ({})", status.leader_version);
  std::string text = fmt::format("operator {}{}, seen {} ago", status.leader->holder, version,
                                 Age(status.at - status.leader->renewed));
  if (status.operator_pass) text += fmt::format(", last pass {} ago", Age(status.operator_pass->age));
  return Printable(text) + "\n";
}

std::string FindingLine(const Finding& finding) {
  const std::string about = finding.node.empty() ? "" : fmt::format(" on {}", finding.node);
  return Printable(fmt::format("finding {}{}: {}", driverupgrade::ToString(finding.code), about, finding.message));
}

}  // namespace

std::string GangsText(const driverupgrade::RolloutStatus& rollout) {
  if (!rollout.gangs) return "";
  const auto count = [](int number, std::string_view what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
  };
  std::string text =
      fmt::format("{}, {} that start together: {}; in name order there would be {}",
                  count(rollout.gangs->gangs, "gang"), count(rollout.gangs->units, "group") + " of nodes",
                  count(rollout.gangs->interruptions, "interruption"), rollout.gangs->by_name);
  if (rollout.gangs->caused == 0) return text;
  return text + fmt::format("; so far {} of {}", count(rollout.gangs->caused, "interruption"),
                            count(rollout.gangs->interrupted, "gang"));
}

std::string FormatWarnings(const RolloutStatus& status, const Screen& screen) {
  std::string text;
  const auto add = [&](const std::string& line) {
    text += Paint(CutTo(Printable(line), screen.columns), Colour::kRed, screen) + "\n";
  };
  if (!status.operator_trouble.empty()) {
    add(status.operator_trouble);
  } else if (!status.view_trouble.empty()) {
    add(fmt::format("this is upgradectl's own view, not the operator's: {}", status.view_trouble));
  }
  if (status.operator_pass && !status.operator_pass->error.empty()) {
    add(fmt::format("the operator's last pass failed: {}", status.operator_pass->error));
  }
  return text;
}

std::string FormatStatus(const RolloutStatus& status, bool wide, const Screen& screen) {
  std::string text = FormatWarnings(status, screen) + Headline(status, screen) + Limits(status, screen) +
                     Rollout(status, screen) + Times(status) + PolicyLine(status, screen) + LeaderLine(status) + "\n";
  TableRow header = {{"NODE", Colour::kBold}, {"STATE", Colour::kBold}, {wide ? "SINCE" : "FOR", Colour::kBold}};
  if (wide) {
    header.push_back({"FLAGS", Colour::kBold});
    header.push_back({"DRIVER POD", Colour::kBold});
  }
  header.push_back({"REVISION", Colour::kBold});
  header.push_back({"WAITS FOR", Colour::kBold});
  std::vector<TableRow> rows = {std::move(header)};
  for (const NodeStatus& node : status.nodes) rows.push_back(RowOf(node, status.at, wide));
  text += FormatRows(rows, screen);
  if (!status.findings.empty() || !status.notes.empty()) text += "\n";
  for (const Finding& finding : status.findings) text += CutTo(FindingLine(finding), screen.columns) + "\n";
  for (const std::string& note : status.notes) {
    text += CutTo(Printable(fmt::format("not read: {}", note)), screen.columns) + "\n";
  }
  return text;
}

}  // namespace upgradectl
