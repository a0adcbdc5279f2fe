#include "whatif/what_if.h"

#include <map>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "core/core.h"
#include "decide/devices/claims.h"
#include "driverupgrade/upgrade_state.h"
#include "model/node_marks.h"
#include "read/view_scope.h"
#include "whatif/dump_objects.h"

namespace driverupgrade::whatif {
namespace {

// Calls the callbacks directly. The callbacks only read the question's objects, so they need no time limit.
class DirectHooks final : public internal::NodeHooks {
 public:
  explicit DirectHooks(const SnapshotOptions& options) : options_(options) {}
  absl::StatusOr<bool> UsesDriver(const Pod& pod) override { return options_.uses_driver({}, pod); }
  absl::StatusOr<bool> RestartOnly(const Pod& pod, const ControllerRevision& running,
                                   const ControllerRevision& wanted) override {
    return options_.restart_only({}, pod, running, wanted);
  }

 private:
  const SnapshotOptions& options_;
};

std::string WhyNotDevices(const NodeView& view, const IsolationPolicy& isolation) {
  return isolation.scope == IsolationScope::kNode ? "" : internal::WhyNotDevices(view, isolation);
}

// Groups the plan by node. A Plan stores its actions in separate lists, and omits nodes that need no action.
Report ByNode(const internal::Core::Managed& nodes, const DriverIdentity& identity, const IsolationPolicy& isolation,
              Plan plan) {
  Report report{.totals = plan.totals, .rollout = std::move(plan.rollout)};
  std::map<std::string, std::size_t> index;
  for (const auto& [name, view] : nodes) {
    index[name] = report.nodes.size();
    report.nodes.push_back(
        {.plan = {.node = name, .from = internal::StateOf(view->node, identity).value_or(UpgradeState::kUnknown)},
         .why_not_devices = WhyNotDevices(*view, isolation)});
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

bool FollowDevices(Question& question) {
  const IsolationPolicy& isolation = question.policy.isolation;
  if (isolation.scope == IsolationScope::kNode) return false;
  question.snapshot.devices = isolation.device_drivers;
  return true;
}

absl::StatusOr<Report> Answer(Question question) {
  const internal::ViewScope scope = internal::ScopeOf(question.snapshot, question.machine.requestor);
  DumpObjects objects(std::move(question.cluster), scope);
  DirectHooks hooks(question.snapshot);
  internal::Core core(question.identity, {.machine = std::move(question.machine), .scope = scope}, objects, hooks);
  const internal::PassFacts facts{
      .dry_run = internal::DryRun{.active_since = question.active_since, .record = std::move(question.rollout_record)}};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(internal::CorePass pass, core.Apply({}, question.policy, facts, question.at));
  Plan plan = core.Publish()->Full();
  plan.findings = std::move(pass.plan.findings);
  return ByNode(core.managed(), question.identity, question.policy.isolation, std::move(plan));
}

}  // namespace driverupgrade::whatif
