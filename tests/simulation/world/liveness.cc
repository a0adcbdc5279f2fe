#include "simulation/world/liveness.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "fmt/format.h"
#include "model/cordon_names.h"

namespace driverupgrade::testing::internal {
namespace {

constexpr absl::Duration kPatience = absl::Hours(1);
// Maximum number of polls that a host needs to upgrade a node: one in each state, from upgrade-required to the last
// state before upgrade-done.
constexpr int kLooksPerNode = 8;

void Lengthen(absl::Duration& timeout) { timeout = std::max(timeout, kPatience); }

// Rounds up, as the engine under test does.
int UnavailableOf(const CountOrPercent& limit, int nodes) {
  if (const Count* count = std::get_if<Count>(&limit)) return count->value;
  return (std::get<Percent>(limit).value * nodes + 99) / 100;
}

int ParallelOf(const UpgradePolicy& policy, const Setup& setup) {
  int parallel = policy.max_parallel.value_or(setup.nodes);
  if (policy.max_unavailable) parallel = std::min(parallel, UnavailableOf(*policy.max_unavailable, setup.nodes));
  if (setup.ledger) parallel = std::min(parallel, setup.grants_max);
  return std::max(1, parallel);
}

}  // namespace

UpgradePolicy CalmPolicy(UpgradePolicy policy, bool hooks) {
  // Pods that a callback selects are deleted even if the policy does not configure pod deletion.
  if (hooks && !policy.pod_deletion) policy.pod_deletion.emplace();
  policy.auto_upgrade = true;
  policy.paused = false;
  if (policy.max_unavailable && UnavailableOf(*policy.max_unavailable, 1) < 1) policy.max_unavailable = Count{1};
  if (policy.drain) Lengthen(policy.drain->timeout);
  if (policy.pod_deletion) Lengthen(policy.pod_deletion->timeout);
  if (policy.deadlines.pod_restart) Lengthen(*policy.deadlines.pod_restart);
  Lengthen(policy.deadlines.validation);
  // The calm phase must not wait for the end of closed days. It must not wait for a long window either: with finishBy,
  // the slow upgrades during the faults would require such a window.
  if (policy.rollout) {
    policy.rollout->closed.clear();
    policy.rollout->finish_by = false;
  }
  return policy;
}

// The result includes time for jobs, for evictions that budgets allow only one at a time, for a slow driver, and for a
// host's polls.
absl::Duration TimeOfRound(const Setup& setup) {
  const absl::Duration looks = kLooksPerNode * setup.ByClocks(setup.poll_interval);
  return absl::Minutes(10) + (setup.hosted ? looks : absl::ZeroDuration());
}

absl::Duration TimeToConverge(const World& world, const UpgradePolicy& policy) {
  const absl::Duration round = TimeOfRound(world.setup);
  if (!policy.rollout) {
    const int rounds = world.nodes_made / ParallelOf(policy, world.setup) + 2;
    return absl::Minutes(90) + rounds * round;
  }
  // In the worst case, the rollout upgrades one node at a time in windows that are open for two thirds of the time, and
  // every stage adds its soak.
  absl::Duration soaks = absl::ZeroDuration();
  for (const RolloutStage& stage : policy.rollout->stages) soaks += stage.soak;
  const absl::Duration open = absl::Minutes(90) + (world.nodes_made + 2) * round + soaks;
  return policy.rollout->windows.empty() ? open : 2 * open;
}

namespace {

bool IsToBeUpgraded(const Node& node) { return node.labels.contains("zone") && !node.labels.contains("pool"); }

// Returns an empty string if the node is done. A node in upgrade-done is not done if it has an upgrade request, or if
// its driver waits to be loaded, because such a node is upgraded again.
std::string WhyNotDone(const Node& node, const DriverIdentity& identity) {
  const auto state = node.labels.find(identity.StateLabel());
  const auto requested = node.annotations.find(identity.UpgradeRequestedAnnotation());
  if (requested != node.annotations.end() && requested->second == "true") {
    return fmt::format("an upgrade of node {} is requested", node.name);
  }
  const auto safe_load = node.annotations.find(identity.SafeLoadAnnotation());
  if (safe_load != node.annotations.end() && !safe_load->second.empty()) {
    return fmt::format("the driver of node {} waits to be loaded", node.name);
  }
  if (state != node.labels.end() && state->second == "upgrade-done") return "";
  return fmt::format("node {} is in {}", node.name, state == node.labels.end() ? "no state" : state->second);
}

struct NotDone {
  std::string node;
  std::string why;
};

std::optional<NotDone> FindNotDone(const World& world, const Driver& driver, const std::string& left_out) {
  std::set<std::string> unserved;
  for (const Node& node : world.cluster->nodes()) {
    if (!IsToBeUpgraded(node) || node.name == left_out) continue;
    unserved.insert(node.name);
    if (std::string why = WhyNotDone(node, driver.identity); !why.empty()) return NotDone{node.name, std::move(why)};
  }
  // Checked last, because this function is called often and this check takes the longest.
  for (const Pod& pod : world.cluster->daemon_set_pods(driver.ns, driver.daemon_set)) {
    if (RevisionHash(pod) == driver.hash && IsReady(pod)) unserved.erase(pod.node_name);
  }
  if (unserved.empty()) return std::nullopt;
  const std::string& node = *unserved.begin();
  return NotDone{node, fmt::format("node {} has no driver pod of {} that is ready", node, driver.hash)};
}

}  // namespace

std::string WhatIsNotDone(const World& world, const Driver& driver) {
  const std::optional<NotDone> found = FindNotDone(world, driver, "");
  return found ? found->why : "";
}

bool Completion::IsReached() {
  const std::optional<Node> node = world_.cluster->node(last_);
  if (node && IsToBeUpgraded(*node) && !WhyNotDone(*node, driver_.identity).empty()) return false;
  const std::optional<NotDone> found = FindNotDone(world_, driver_, left_out_);
  last_ = found ? found->node : "";
  return !found;
}

namespace {

// Returns a NodeMaintenance that we have claimed. Claims on deleted nodes do not count. With `released`, objects that
// are being deleted do not count either.
std::string FindClaim(const World& world, bool released) {
  for (const NodeMaintenance& object : world.cluster->node_maintenances()) {
    if (!world.cluster->node(object.node_name) || (released && object.deletion_timestamp)) continue;
    const auto& others = object.additional_requestors;
    const bool ours =
        object.requestor_id == kRequestor || std::find(others.begin(), others.end(), kRequestor) != others.end();
    if (ours) return object.ToString();
  }
  return "";
}

// Returns the name of one of our rules that taint devices of a node; empty if no such rule exists.
std::string FindRule(const World& world) {
  for (const DeviceTaintRule& rule : world.cluster->device_taint_rules()) {
    if (rule.key == world.identity.KeyPrefix()) return rule.name;
  }
  return "";
}

// Returns one of our labels, annotations or cordons that is left on the node. Ignores a cordon that another driver
// relies on, because the owner of such a cordon is uncertain.
std::string WhatIsOurs(const World& world, const Node& node) {
  const DriverIdentity& identity = world.identity;
  if (node.labels.contains(identity.StateLabel())) return "the state label";
  for (const std::string* key :
       {&identity.StageAnnotation(), &identity.InitiallyUnschedulableAnnotation(), &identity.RestartPodAnnotation(),
        &identity.RestartOnlyAnnotation(), &identity.FailedRevisionAnnotation(), &identity.FailuresAnnotation(),
        &identity.FailureClassAnnotation(), &identity.FailureCauseAnnotation(), &identity.WaitingForAnnotation(),
        &identity.PodCompletionStartAnnotation(), &identity.ValidationStartAnnotation(),
        &identity.RequestorModeAnnotation(), &identity.IsolatedDevicesAnnotation()}) {
    if (node.annotations.contains(*key)) return "annotation " + *key;
  }
  const std::set<std::string> names = ::driverupgrade::internal::CordonNames(node);
  if (names.contains(identity.Name())) return "our name on the cordon";
  const auto rival = node.labels.find(world.other_identity.StateLabel());
  const bool relied_on = !names.empty() || (rival != node.labels.end() && rival->second != "upgrade-done");
  const bool ours = world.checker->CordonIsOurs(node.name) && !world.checker->CordonIsUncertain(node.name);
  return node.unschedulable && ours && !relied_on ? "our cordon" : "";
}

}  // namespace

std::string WhatIsNotGivenBack(const World& world) {
  // Nodes without a driver pod and without a label do not belong to us.
  std::set<std::string> ours;
  for (const Pod& pod : world.cluster->pods()) {
    if (pod.ref.ns == kDriverNs && world.driver_labels.Matches(pod.labels)) ours.insert(pod.node_name);
  }
  for (const Node& node : world.cluster->nodes()) {
    if (node.labels.contains("pool")) continue;
    if (!ours.contains(node.name) && !node.labels.contains(world.identity.StateLabel())) continue;
    if (std::string what = WhatIsOurs(world, node); !what.empty()) {
      return fmt::format("node {} is released, but {} is left", node.name, what);
    }
  }
  if (const std::string rule = FindRule(world); !rule.empty()) {
    return fmt::format("all nodes are released, but device taint rule {} is left", rule);
  }
  const std::string claim = FindClaim(world, /*released=*/true);
  return claim.empty() ? "" : fmt::format("all nodes are released, but NodeMaintenance {} is left", claim);
}

std::string WhatIsLeft(const World& world, const Driver& driver) {
  const DriverIdentity& identity = driver.identity;
  const InvariantChecker& checker = driver.checker;
  for (const Node& node : world.cluster->nodes()) {
    if (node.unschedulable && checker.CordonIsOurs(node.name) && !checker.CordonIsUncertain(node.name)) {
      return fmt::format("node {} is done, and our cordon is left", node.name);
    }
    const auto names = node.annotations.find(std::string(kCordonedByAnnotation));
    if (names != node.annotations.end() && names->second.find(identity.Name()) != std::string::npos &&
        !checker.CordonIsUncertain(node.name)) {
      return fmt::format("node {} is done, and our name is left on its cordon", node.name);
    }
  }
  if (const std::string rule = FindRule(world); !rule.empty()) {
    return fmt::format("all are done, and device taint rule {} is left", rule);
  }
  const std::string claim = driver.setup.requestor ? FindClaim(world, /*released=*/false) : "";
  return claim.empty() ? "" : fmt::format("all are done, and NodeMaintenance {} is left", claim);
}

}  // namespace driverupgrade::testing::internal
