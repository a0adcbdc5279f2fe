#include "property/random_requestor.h"

#include "fmt/format.h"

namespace driverupgrade::tests {
namespace {

std::vector<NodeMaintenance> RandomMaintenances(SeededRandom& random, const std::string& node) {
  if (random.Chance(40)) return {};
  NodeMaintenance object{.ns = "maintenance", .name = "nvidia-operator-" + node, .uid = "nm-" + node};
  object.resource_version = random.Pick({"7", "8"});
  object.requestor_id = random.Pick({"nvidia.gpu-operator", "nvidia.gpu-operator", "somebody.else"});
  if (random.Chance(30)) object.additional_requestors = {random.Pick({"nvidia.gpu-operator", "third"})};
  object.node_name = node;
  object.node_uid = random.Pick({"", "", "earlier"});
  if (random.Chance(10)) object.deletion_timestamp = kRandomNow;
  if (random.Chance(70)) object.conditions.push_back({.type = "Ready", .status = "True", .reason = "Ready"});
  if (random.Chance(20)) {
    object.conditions.push_back(
        {.type = "RequestorFailed", .status = "True", .message = "nvidia.gpu-operator: the upgrade failed"});
  }
  return {object};
}

MaintenanceAttempt RandomMaintenanceAttempt(SeededRandom& random) {
  using Kind = MaintenanceCall::Kind;
  return {.kind = random.Pick({Kind::kCreate, Kind::kJoin, Kind::kReportFailure, Kind::kDelete}),
          .based_on = random.Pick({"", "7", "7"}),
          .count = random.Between(1, 5),
          .outcome = random.Chance(80) ? std::optional(Outcome::kNotApplied) : std::nullopt,
          .answered_at = kRandomNow - absl::Seconds(random.Below(40)),
          .message = "500"};
}

}  // namespace

void AddMaintenances(SeededRandom& random, NodeView& view) {
  const std::string& name = view.node.name;
  if (random.Chance(80)) view.maintenances = RandomMaintenances(random, name);
  if (random.Chance(25)) view.restart_only = true;
  if (random.Chance(5)) view.restart_only_error = "no data";
  if (random.Chance(30)) {
    view.attempts.maintenances["nvidia-operator-" + name] = RandomMaintenanceAttempt(random);
  }
}

RandomCluster WithRequestor(const RandomCluster& cluster) {
  SeededRandom random(cluster.seed);
  StateMachineOptions options = cluster.machine.options();
  options.requestor = RequestorOptions{.id = "nvidia.gpu-operator", .ns = "maintenance"};
  options.requestor->enabled = random.Chance(60);
  RandomCluster changed = cluster;
  changed.machine = StateMachine(cluster.machine.identity(), options, cluster.machine.pod_deletion());
  for (std::shared_ptr<const NodeView>& view : changed.snapshot.nodes) {
    NodeView decorated = *view;
    AddMaintenances(random, decorated);
    if (random.Chance(25)) {
      decorated.node.annotations[cluster.machine.identity().RequestorModeAnnotation()] = "true";
    }
    view = std::make_shared<const NodeView>(std::move(decorated));
  }
  return changed;
}

}  // namespace driverupgrade::tests
