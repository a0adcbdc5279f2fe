#include "upgradectl/plan.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "driverupgrade/attempt_log.h"
#include "driverupgrade/upgrade_state.h"
#include "upgradectl/dump_reader.h"

namespace upgradectl {
namespace {

using driverupgrade::ClusterSnapshot;
using driverupgrade::DriverIdentity;
using driverupgrade::Finding;
using driverupgrade::Node;
using driverupgrade::NodeGate;
using driverupgrade::NodePlan;
using driverupgrade::Plan;
using driverupgrade::UpgradeState;

std::vector<std::string> Names(const ClusterSnapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& view : snapshot.nodes) names.push_back(view->node.name);
  return names;
}

UpgradeState StateOf(const Node& node, const DriverIdentity& identity) {
  const auto label = node.labels.find(identity.StateLabel());
  if (label == node.labels.end()) return UpgradeState::kUnknown;
  return driverupgrade::ParseUpgradeState(label->second).value_or(UpgradeState::kUnknown);
}

// The plan by node: a Plan has its parts in lists of their own, and nothing of nodes that rest.
Report ByNode(const ClusterSnapshot& snapshot, const DriverIdentity& identity, Plan plan) {
  Report report{.totals = plan.totals};
  std::map<std::string, std::size_t> index;
  for (const auto& view : snapshot.nodes) {
    index[view->node.name] = report.nodes.size();
    report.nodes.push_back({.plan = {.node = view->node.name, .from = StateOf(view->node, identity)}});
  }
  for (NodePlan& node : plan.nodes) report.nodes[index.at(node.node)].plan = std::move(node);
  for (NodeGate& gate : plan.gates) report.nodes[index.at(gate.node)].gate = std::move(gate.gate);
  for (Finding& finding : plan.findings) {
    const auto node = index.find(finding.node);
    std::vector<Finding>& findings = node == index.end() ? report.findings : report.nodes[node->second].findings;
    findings.push_back(std::move(finding));
  }
  return report;
}

}  // namespace

absl::StatusOr<Report> MakePlan(PlanRequest request) {
  // Nothing has been asked of this cluster before, so the log stays empty.
  driverupgrade::AttemptLog log;
  driverupgrade::SnapshotBuilder builder(request.identity, std::make_shared<DumpReader>(std::move(request.cluster)),
                                         std::move(request.snapshot));
  absl::StatusOr<ClusterSnapshot> snapshot = builder.Build({}, log);
  if (!snapshot.ok()) return snapshot.status();
  // The dump has the pods of every node; those of a node that is not cordoned yet count for nothing (arch-A11).
  builder.ReadPods({}, Names(*snapshot), log, *snapshot);
  snapshot->active_since = request.active_since;
  const driverupgrade::StateMachine machine(request.identity, std::move(request.machine));
  return ByNode(*snapshot, request.identity, machine.Step(*snapshot, request.policy, request.at));
}

}  // namespace upgradectl
