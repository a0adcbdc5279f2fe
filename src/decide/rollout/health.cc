#include "decide/rollout/health.h"

#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

std::string SickByConditions(const StringMap& conditions, const RolloutHealth& health) {
  for (const SickCondition& sick : health.node_conditions) {
    const auto found = conditions.find(sick.type);
    if (found != conditions.end() && found->second == sick.status) {
      return fmt::format("condition {} is {}", sick.type, sick.status);
    }
  }
  return "";
}

std::string SickByRestarts(const std::vector<Pod>& driver_pods, int restarts_max) {
  for (const Pod& pod : driver_pods) {
    for (const auto* statuses : {&pod.init_container_statuses, &pod.container_statuses}) {
      for (const ContainerStatus& status : *statuses) {
        if (status.restart_count <= restarts_max) continue;
        return fmt::format("container {} of driver pod {} has been restarted {} times (limit {})", status.name,
                           pod.ref.ToString(), status.restart_count, restarts_max);
      }
    }
  }
  return "";
}

std::string UnwellByPods(const std::vector<Pod>& pods, const LabelSelector& selector) {
  bool is_there = false;
  for (const Pod& pod : pods) {
    if (!selector.Matches(pod.labels) || pod.deletion_timestamp || IsFinished(pod)) continue;
    if (!IsReady(pod)) return fmt::format("pod {} is not ready", pod.ref.ToString());
    is_there = true;
  }
  return is_there ? "" : fmt::format("no pod matches {}", selector.ToString());
}

}  // namespace

NodeHealth HealthOf(const StringMap& conditions, const std::vector<Pod>& pods, const std::vector<Pod>& driver_pods,
                    const RolloutHealth& health) {
  NodeHealth of_node{.sick = SickByConditions(conditions, health)};
  if (of_node.sick.empty() && health.max_driver_restarts) {
    of_node.sick = SickByRestarts(driver_pods, *health.max_driver_restarts);
  }
  if (health.pod_selector) of_node.unwell = UnwellByPods(pods, *health.pod_selector);
  return of_node;
}

absl::Duration UnwellMax(const RolloutPolicy& policy) {
  return policy.health ? policy.health->unwell_max.value_or(kUnwellMax) : kUnwellMax;
}

}  // namespace driverupgrade::internal
