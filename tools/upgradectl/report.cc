#include "upgradectl/report.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/upgrade_state.h"
#include "fmt/format.h"
#include "upgradectl/status.h"
#include "upgradectl/table.h"
#include "upgradectl/text.h"
#include "whatif/plan_json.h"

namespace upgradectl {
namespace {

using driverupgrade::DeviceCall;
using driverupgrade::Finding;
using driverupgrade::Gate;
using driverupgrade::MaintenanceCall;
using driverupgrade::NodePlan;
using driverupgrade::PodRef;
using driverupgrade::Tally;
using driverupgrade::ToString;
using driverupgrade::whatif::NodeReport;
using driverupgrade::whatif::Report;
using driverupgrade::whatif::TimeText;

constexpr std::size_t kPodsInTable = 3;

void Append(std::string_view part, std::string& text) {
  if (!text.empty()) text += "; ";
  text += part;
}

std::string Pods(std::string_view what, const std::vector<PodRef>& pods) {
  std::string text(what);
  for (std::size_t i = 0; i < std::min(pods.size(), kPodsInTable); ++i) {
    text += fmt::format("{}{}", i == 0 ? " " : ", ", pods[i].ToString());
  }
  if (pods.size() > kPodsInTable) text += fmt::format(" and {} more", pods.size() - kPodsInTable);
  return text;
}

std::string Actions(const NodePlan& plan) {
  std::string text;
  if (plan.confirm) Append(fmt::format("confirm NodeMaintenance {}", plan.confirm->ToString()), text);
  if (plan.patch) {
    if (plan.patch->empty()) Append("confirm node", text);
    if (!plan.patch->labels.empty()) Append("label", text);
    if (!plan.patch->annotations.empty()) Append("annotate", text);
    if (plan.patch->unschedulable) Append(*plan.patch->unschedulable ? "cordon" : "uncordon", text);
  }
  for (const DeviceCall& call : plan.devices) Append(Describe(call), text);
  if (!plan.evict.empty()) Append(Pods("evict", plan.evict), text);
  if (!plan.remove.empty()) Append(Pods(plan.force_remove ? "force-delete" : "delete", plan.remove), text);
  for (const MaintenanceCall& call : plan.maintenance) {
    Append(fmt::format("{} NodeMaintenance {}", ToString(call.kind), call.object.ToString()), text);
  }
  return text.empty() ? "-" : text;
}

std::string GateText(const std::optional<Gate>& gate) {
  if (!gate) return "-";
  std::string text(ToString(gate->reason));
  if (!gate->detail.empty()) text += fmt::format(": {}", gate->detail);
  if (gate->not_before) text += fmt::format(" (not before {})", TimeText(*gate->not_before));
  return text;
}

std::vector<TableRow> Rows(const Report& report) {
  std::vector<TableRow> rows = {{{"NODE"}, {"STATE"}, {"NEXT"}, {"ACTIONS"}, {"GATE"}}};
  for (const NodeReport& node : report.nodes) {
    rows.push_back({{Printable(node.plan.node)},
                    {std::string(ToString(node.plan.from))},
                    {std::string(node.plan.path.empty() ? "-" : ToString(node.plan.to()))},
                    {Printable(Actions(node.plan))},
                    {Printable(GateText(node.gate))}});
  }
  return rows;
}

std::string Line(const Finding& finding) {
  const std::string about = finding.node.empty() ? "" : fmt::format(" on {}", finding.node);
  return Printable(fmt::format("finding {}{}: {}", ToString(finding.code), about, finding.message)) + "\n";
}

std::string RolloutText(const driverupgrade::RolloutStatus& rollout) {
  std::vector<TableRow> rows = {{{"STAGE"}, {"NODES"}, {"UNDER WAY"}, {"DONE"}, {"FAILED"}}};
  for (const driverupgrade::RolloutStageStatus& stage : rollout.stages) {
    rows.push_back({{Printable(stage.name)},
                    {std::to_string(stage.nodes)},
                    {std::to_string(stage.under_way)},
                    {std::to_string(stage.done)},
                    {std::to_string(stage.failed)}});
  }
  std::string text = FormatRows(rows, {}) + "\n";
  if (const std::string gangs = GangsText(rollout); !gangs.empty()) text += gangs + "\n";
  if (rollout.closed) text += Printable(GateText(rollout.closed)) + "\n";
  if (rollout.halted) text += Printable(GateText(rollout.halted)) + "\n";
  return text;
}

}  // namespace

std::string FormatTable(const Report& report) {
  std::string text = FormatRows(Rows(report), {}) + "\n";
  for (const Finding& finding : report.findings) text += Line(finding);
  for (const NodeReport& node : report.nodes) {
    for (const Finding& finding : node.findings) text += Line(finding);
  }
  if (report.rollout) text += RolloutText(*report.rollout);
  const Tally& totals = report.totals;
  text += fmt::format("{} nodes: {} pending, {} in progress, {} failed, {} done{}; {} slots in use, {} unavailable\n",
                      totals.total, totals.pending, totals.in_progress, totals.failed, totals.done,
                      totals.not_ready > 0 ? fmt::format(", {} without a Ready driver", totals.not_ready) : "",
                      totals.slots, totals.unavailable);
  return text;
}

}  // namespace upgradectl
