#include "scenarios/scenario_text.h"

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "scenarios/scenario_invariants.h"

namespace driverupgrade::tests {
namespace {

std::string Seconds(absl::Time time) { return fmt::format("t={}", absl::ToDoubleSeconds(time - absl::UnixEpoch())); }

std::string PathText(const NodePlan& plan) {
  std::string text = fmt::format("{}: {}", plan.node, ToString(plan.from));
  for (const UpgradeState state : plan.path) text += fmt::format(" -> {}", ToString(state));
  if (!plan.reason.empty()) text += fmt::format(" ({})", plan.reason);
  return text + "\n";
}

bool IsPending(const Taint& taint) { return taint.value == "pending" && taint.effect == "PreferNoSchedule"; }

bool HasPending(const std::vector<Taint>& taints) { return std::any_of(taints.begin(), taints.end(), IsPending); }

std::string PlanText(const NodePlan& plan, const NodeOutcome& outcome) {
  std::string text = PathText(plan);
  if (plan.confirm) text += fmt::format("  confirm NodeMaintenance {}\n", plan.confirm->name);
  if (plan.patch) {
    if (plan.patch->empty()) text += "  confirm node\n";
    if (plan.path.empty() && !plan.patch->labels.empty()) text += "  label\n";
    if (plan.patch->unschedulable) text += *plan.patch->unschedulable ? "  cordon\n" : "  uncordon\n";
    if (plan.patch->taints) text += HasPending(*plan.patch->taints) ? "  taint\n" : "  untaint\n";
    for (const auto& [key, value] : plan.patch->annotations) {
      text += value ? fmt::format("  annotation {}={}\n", key, *value) : fmt::format("  annotation {} removed\n", key);
    }
  }
  for (const DeviceCall& call : plan.devices) text += fmt::format("  {}\n", Describe(call));
  for (const PodRef& pod : plan.evict) text += fmt::format("  evict {}\n", pod.ToString());
  for (const PodRef& pod : plan.remove) {
    text += fmt::format("  {} {}\n", plan.force_remove ? "force-delete" : "delete", pod.ToString());
  }
  for (const MaintenanceCall& call : plan.maintenance) {
    text += fmt::format("  {} NodeMaintenance {}\n", ToString(call.kind), call.object.name);
  }
  for (const PlannedEvent& event : plan.events) {
    if (event.warning) text += fmt::format("  warning: {}\n", event.message);
  }
  if (outcome.evictions_refused > 0) text += fmt::format("  refused: {}\n", outcome.evictions_refused);
  if (!outcome.status.ok()) text += fmt::format("  error: {}\n", outcome.status.ToString());
  return text;
}

void AddOurs(const StringMap& map, const DriverIdentity& identity, std::string_view what, std::string& text) {
  for (const auto& [key, value] : map) {
    const bool ours = key == kCordonedByAnnotation || key.starts_with(identity.domain() + "/");
    if (ours && !key.ends_with("-driver-upgrade-state")) text += fmt::format("; {}{}={}", what, key, value);
  }
}

}  // namespace

std::string GatesText(const Plan& plan) {
  std::string text;
  for (const NodeGate& gate : plan.gates) {
    text += fmt::format("{}: waits in {}: {}", gate.node, ToString(gate.state), ToString(gate.gate.reason));
    if (!gate.gate.detail.empty()) text += fmt::format(", {}", gate.gate.detail);
    if (gate.gate.not_before) text += fmt::format(", not before {}", Seconds(*gate.gate.not_before));
    text += "\n";
  }
  return text;
}

std::string PassText(const ReconcileResult& result) {
  std::string text;
  for (std::size_t i = 0; i < result.plan.nodes.size(); ++i) text += PlanText(result.plan.nodes[i], result.outcomes[i]);
  text += GatesText(result.plan);
  for (const Finding& finding : result.plan.findings) {
    text += fmt::format("finding {}{}{}: {}\n", ToString(finding.code), finding.node.empty() ? "" : " ", finding.node,
                        finding.message);
  }
  return text.empty() ? "nothing to do\n" : text;
}

std::string TransitionsText(const ReconcileResult& result, absl::Time now) {
  std::string text;
  for (std::size_t i = 0; i < result.plan.nodes.size(); ++i) {
    if (result.plan.nodes[i].path.empty()) continue;
    text += fmt::format("{} {}", Seconds(now), PathText(result.plan.nodes[i]));
    const NodeOutcome& outcome = result.outcomes[i];
    if (!outcome.patched) text += fmt::format("  error: {}\n", outcome.status.ToString());
  }
  return text;
}

std::string RolloutText(const Plan& plan) {
  if (!plan.rollout) return "no rollout\n";
  std::string text = fmt::format("revision {}\n", plan.rollout->revision);
  for (std::size_t i = 0; i < plan.rollout->stages.size(); ++i) {
    const RolloutStageStatus& stage = plan.rollout->stages[i];
    text += fmt::format("stage {}: {} of {} done, {} under way, {} failed{}{}{}\n", stage.name, stage.done, stage.nodes,
                        stage.under_way, stage.failed, static_cast<int>(i) <= plan.rollout->open ? ", open" : "",
                        stage.why_left_out.empty() ? "" : "; ", stage.why_left_out);
  }
  const auto add = [&](const char* what, const std::optional<Gate>& gate) {
    if (!gate) return;
    text += fmt::format("{}: {}, {}", what, ToString(gate->reason), gate->detail);
    if (gate->not_before) text += fmt::format(", not before {}", Seconds(*gate->not_before));
    text += "\n";
  };
  add("next", plan.rollout->next);
  add("halted", plan.rollout->halted);
  add("closed", plan.rollout->closed);
  return text;
}

std::string TotalsText(const Plan& plan) {
  const Tally& totals = plan.totals;
  const UpgradeBudget& budget = plan.budget;
  std::string text = fmt::format(
      "{} nodes: {} pending, {} in progress, {} failed, {} done; {} slots held, {} unavailable", totals.total,
      totals.pending, totals.in_progress, totals.failed, totals.done, totals.slots, totals.unavailable);
  if (totals.not_ready > 0) text += fmt::format(", {} done without a ready driver", totals.not_ready);
  if (budget.parallel_max) text += fmt::format("; free slots: {}", budget.ParallelFree());
  if (budget.unavailable_max) text += fmt::format("; headroom: {} of {}", budget.Headroom(), *budget.unavailable_max);
  return text + "\n";
}

std::string NodeText(const Node& node, const DriverIdentity& identity) {
  const auto state = StateOf(node, identity);
  std::string text = fmt::format("{}: {}", node.name, state ? ToString(*state) : "no state");
  if (node.unschedulable) text += ", cordoned";
  if (HasPending(node.taints)) text += ", tainted";
  if (!node.ready) text += ", not ready";
  AddOurs(node.labels, identity, "label ", text);
  AddOurs(node.annotations, identity, "", text);
  return text + "\n";
}

std::string PodText(const Pod& pod) {
  std::string text = fmt::format("{} on {}", pod.ref.ToString(), pod.node_name.empty() ? "no node" : pod.node_name);
  if (!RevisionHash(pod).empty()) text += fmt::format(", {}", RevisionHash(pod));
  if (pod.deletion_timestamp) text += ", terminating";
  if (IsFinished(pod)) {
    text += ", finished";
  } else {
    text += IsReady(pod) ? ", ready" : ", not ready";
  }
  return text + "\n";
}

std::string MaintenanceText(const NodeMaintenance& maintenance) {
  std::string text = fmt::format("{}: requestor {}", maintenance.name, maintenance.requestor_id);
  if (!maintenance.additional_requestors.empty()) {
    text += fmt::format(", additional {}", fmt::join(maintenance.additional_requestors, " "));
  }
  std::string reason = "no reason";
  std::string failed;
  for (const Condition& condition : maintenance.conditions) {
    if (condition.type == "Ready") reason = condition.reason;
    if (condition.type == "RequestorFailed" && condition.status == "True") failed = ", RequestorFailed is True";
  }
  text += ", " + reason + failed;
  if (maintenance.deletion_timestamp) text += ", terminating";
  return text + "\n";
}

}  // namespace driverupgrade::tests
