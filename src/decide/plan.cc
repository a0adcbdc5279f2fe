#include "driverupgrade/plan.h"

#include <algorithm>

#include "fmt/format.h"

namespace driverupgrade {
namespace {

std::string Values(std::string_view what, const std::map<std::string, std::optional<std::string>>& changes) {
  std::string text;
  for (const auto& [key, value] : changes) {
    text += value ? fmt::format("; {} {}={}", what, key, *value) : fmt::format("; {} {} removed", what, key);
  }
  return text;
}

}  // namespace

bool IsOver(const Plan& everything) {
  // The rollout is not over while a driver pod is not Ready.
  return everything.nodes.empty() && everything.totals.not_ready == 0 &&
         std::all_of(everything.gates.begin(), everything.gates.end(),
                     [](const NodeGate& node) { return TraitsOf(node.gate.reason).ends_rollout; });
}

std::string Describe(const NodePlan& plan) {
  std::string text = fmt::format("{}: {}", plan.node, ToString(plan.from));
  for (const UpgradeState state : plan.path) text += fmt::format(" -> {}", ToString(state));
  if (!plan.reason.empty()) text += fmt::format(" ({})", plan.reason);
  if (plan.confirm) text += fmt::format("; confirm NodeMaintenance {}", plan.confirm->ToString());
  if (plan.patch) {
    if (plan.patch->empty()) text += "; confirm node";
    if (plan.path.empty()) text += Values("label", plan.patch->labels);
    if (plan.patch->unschedulable) text += *plan.patch->unschedulable ? "; cordon" : "; uncordon";
    text += Values("annotation", plan.patch->annotations);
  }
  for (const DeviceCall& call : plan.devices) text += fmt::format("; {}", Describe(call));
  for (const PodRef& pod : plan.evict) text += fmt::format("; evict {}", pod.ToString());
  for (const PodRef& pod : plan.remove) {
    text += fmt::format("; {} {}", plan.force_remove ? "force-delete" : "delete", pod.ToString());
  }
  for (const MaintenanceCall& call : plan.maintenance) {
    text += fmt::format("; {} NodeMaintenance {}", ToString(call.kind), call.object.ToString());
  }
  for (const PlannedEvent& event : plan.events)
    text += fmt::format("; {}: {}", event.warning ? "warn" : "event", event.message);
  return text;
}

std::string Describe(const Plan& plan) {
  std::string text;
  for (const NodePlan& node : plan.nodes) text += Describe(node) + "\n";
  for (const NodeGate& gate : plan.gates) {
    text += fmt::format("{}: {} waits: {}", gate.node, ToString(gate.state), ToString(gate.gate.reason));
    if (!gate.gate.detail.empty()) text += fmt::format(", {}", gate.gate.detail);
    if (gate.gate.not_before) {
      text += fmt::format(", not before t={}", absl::ToDoubleSeconds(*gate.gate.not_before - absl::UnixEpoch()));
    }
    text += "\n";
  }
  for (const Finding& finding : plan.findings) {
    text += fmt::format("finding {}{}{}: {}\n", ToString(finding.code), finding.node.empty() ? "" : " ", finding.node,
                        finding.message);
  }
  if (plan.wake_at) {
    text += fmt::format("wake at t={}\n", absl::ToDoubleSeconds(*plan.wake_at - absl::UnixEpoch()));
  }
  return text;
}

}  // namespace driverupgrade
