// Checks the plans and reports of a replica.
#include <algorithm>
#include <cstdint>
#include <string>

#include "decide/attempt_log.h"
#include "fmt/format.h"
#include "simulation/world/replica.h"

namespace driverupgrade::testing::internal {
namespace {

constexpr absl::Duration kSayingsApart = absl::Seconds(20);

}  // namespace

// Returns whether only the node's devices are isolated. Such a node is not drained, even if another client sets the
// state drain-required.
bool Replica::IsIsolated(const std::string& name) const {
  const std::optional<Node> node = world_.cluster->node(name);
  return node && node->annotations.contains(driver_.identity.IsolatedDevicesAnnotation());
}

void Replica::CheckWhatItSays() {
  if (world_.chaos && driver_.setup.AnyFault()) return;
  if (world_.Now() < next_check_ || process_->cluster->crashed() || driver_.setup.SeveralLeaders()) return;
  // A failed watch does not restart immediately.
  if (process_->cache && world_.Now() < trouble_until_) return;
  const ControllerStatus status = process_->controller->status();
  if (!status.leading || !status.last_error.ok() || !plan_finished_) return;
  if (!driver_.checker.KnowsAll(*process_->guarded)) return;
  // Large clusters are checked less often, because the cost of a report grows with the number of nodes.
  next_check_ = world_.Now() + std::max(kSayingsApart, driver_.setup.nodes * absl::Milliseconds(20));
  const Plan everything = process_->engine->Everything();
  driver_.checker.CheckGates(*process_->guarded, everything);
  if (const std::string wrong = told_.WhyNot(everything); !wrong.empty()) driver_.checker.Fail("L5", wrong);
  // The explanation of a single node must match the report about all nodes.
  for (const NodeGate& gate : everything.gates) {
    if (process_->engine->Explain(gate.node) == gate.gate) continue;
    driver_.checker.Fail(
        "L5", fmt::format("node {}: {} differs from the detail for the node alone", gate.node, gate.gate.detail));
  }
  driver_.checker.CheckTotals(everything.totals);
  ++world_.result.checks_of_gates;
}

void Replica::Judge(const Plan& plan) {
  // A host of the C interface does not report the complete plan.
  if (process_->host) return;
  if (IsInvalid(pass_policy_) && !IsRemoved())
    driver_.checker.Fail("I8", "a plan was based on a policy that must be refused");
  if (plan.nodes.empty()) return;
  if (process_->cache && !process_->cluster->HasListedAll(driver_.setup.requestor)) {
    driver_.checker.Fail("I15", "a plan was made before everything had been read once");
  }
  JudgePodsRead(plan);
}

// I15: a node must not leave drain-required as drained unless the node's pods were read after the node was cordoned.
void Replica::JudgePodsRead(const Plan& plan) {
  if (!pass_policy_.drain) return;
  for (const NodePlan& planned : plan.nodes) {
    const bool drained = planned.from == UpgradeState::kDrainRequired && !planned.path.empty() &&
                         planned.path.front() == UpgradeState::kPodRestartRequired;
    const auto cordoned = world_.cordoned.find(planned.node);
    if (!drained || cordoned == world_.cordoned.end() || IsIsolated(planned.node)) continue;
    // The plan is based on a node version that precedes the cordon.
    if (::driverupgrade::internal::IsOlderVersion(planned.resource_version, cordoned->second.version)) continue;
    const std::int64_t read = std::max(process_->cluster->PodsRead(planned.node), process_->cluster->PodsRead(""));
    if (read >= cordoned->second.revision) continue;
    driver_.checker.Fail("I15", fmt::format("{}: its pods were read at {}, and it was cordoned at {}",
                                            driverupgrade::Describe(planned), read, cordoned->second.revision));
  }
}

}  // namespace driverupgrade::testing::internal
