#include "whatif/what_if.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "driverupgrade/attempt_log.h"
#include "driverupgrade/upgrade_state.h"
#include "model/node_marks.h"
#include "whatif/dump_reader.h"

namespace driverupgrade::whatif {
namespace {

std::vector<std::string> Names(const ClusterSnapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& view : snapshot.nodes) names.push_back(view->node.name);
  return names;
}

// The plan by node: a Plan has its parts in lists of their own, and nothing of nodes that rest.
Report ByNode(const ClusterSnapshot& snapshot, const DriverIdentity& identity, Plan plan) {
  Report report{.totals = plan.totals, .rollout = std::move(plan.rollout)};
  std::map<std::string, std::size_t> index;
  for (const auto& view : snapshot.nodes) {
    index[view->node.name] = report.nodes.size();
    report.nodes.push_back(
        {.plan = {.node = view->node.name,
                  .from = internal::StateOf(view->node, identity).value_or(UpgradeState::kUnknown)}});
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

absl::StatusOr<Report> Answer(Question question) {
  // Nothing has been asked of this cluster before, so the log stays empty.
  AttemptLog log;
  SnapshotBuilder builder(question.identity, std::make_shared<DumpReader>(std::move(question.cluster)),
                          std::move(question.snapshot));
  absl::StatusOr<ClusterSnapshot> snapshot = builder.Build({}, log);
  if (!snapshot.ok()) return snapshot.status();
  // The dump has the pods of every node; those of a node that is not cordoned yet count for nothing (arch-A11).
  builder.ReadPods({}, Names(*snapshot), log, *snapshot);
  snapshot->active_since = question.active_since;
  snapshot->rollout.record = std::move(question.rollout_record);
  const StateMachine machine(question.identity, std::move(question.machine));
  return ByNode(*snapshot, question.identity, machine.Step(*snapshot, question.policy, question.at));
}

}  // namespace driverupgrade::whatif
