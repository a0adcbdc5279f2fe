#include "driverupgrade/cluster_types.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace driverupgrade {
namespace {

bool AnyFailing(const std::vector<ContainerStatus>& statuses, int restart_count_max) {
  return std::any_of(statuses.begin(), statuses.end(), [restart_count_max](const ContainerStatus& status) {
    return !status.ready && status.restart_count > restart_count_max;
  });
}

}  // namespace

bool IsKubeletCondition(std::string_view type) {
  return type == "Ready" || type == "MemoryPressure" || type == "DiskPressure" || type == "PIDPressure" ||
         type == "NetworkUnavailable";
}

const std::string& NodeOf(const Pod& pod) {
  return pod.node_name.empty() ? pod.affinity_node_name : pod.node_name;
}

bool IsFinished(const Pod& pod) { return pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed; }

const OwnerReference* ControllerOf(const Pod& pod) {
  const auto owner = std::find_if(pod.owners.begin(), pod.owners.end(),
                                  [](const OwnerReference& reference) { return reference.controller; });
  return owner == pod.owners.end() ? nullptr : &*owner;
}

bool IsDaemonSetPod(const Pod& pod) {
  const OwnerReference* controller = ControllerOf(pod);
  // A DaemonSet of another API group is an ordinary controller (drain-D14.1).
  return controller != nullptr && controller->kind == "DaemonSet" && controller->api_version == "apps/v1";
}

bool Wants(const DaemonSet& daemon_set, const Node& node) {
  const std::vector<LabelSelector>& selectors = daemon_set.node_selectors;
  return selectors.empty() || std::any_of(selectors.begin(), selectors.end(), [&](const LabelSelector& selector) {
           return selector.Matches(node.labels);
         });
}

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  const bool is_equal = toleration.op.empty() || toleration.op == "Equal";
  return is_equal ? !toleration.key.empty() && toleration.value == taint.value : true;
}

const Taint* TaintAgainst(const DaemonSet& daemon_set, const Node& node) {
  if (!daemon_set.tolerations) return nullptr;
  const auto is_against = [&](const Taint& taint) {
    if (taint.effect == "PreferNoSchedule" || taint.key.starts_with("node.kubernetes.io/")) return false;
    return std::none_of(daemon_set.tolerations->begin(), daemon_set.tolerations->end(),
                        [&](const Toleration& toleration) { return Tolerates(toleration, taint); });
  };
  const auto taint = std::find_if(node.taints.begin(), node.taints.end(), is_against);
  return taint == node.taints.end() ? nullptr : &*taint;
}

bool IsReady(const Pod& pod) {
  return pod.phase == PodPhase::kRunning && !pod.container_statuses.empty() &&
         std::all_of(pod.container_statuses.begin(), pod.container_statuses.end(),
                     [](const ContainerStatus& status) { return status.ready; });
}

bool IsStarting(const Pod& pod) {
  const auto any = [&](auto&& condition) {
    return std::any_of(pod.init_container_statuses.begin(), pod.init_container_statuses.end(), condition) ||
           std::any_of(pod.container_statuses.begin(), pod.container_statuses.end(), condition);
  };
  const auto is_stuck = [](const ContainerStatus& status) {
    return status.restart_count > 0 || status.image_pull_fails || !status.start_error.empty();
  };
  if (IsReady(pod) || any(is_stuck)) return false;
  return pod.phase == PodPhase::kPending || any([](const ContainerStatus& status) { return !status.started; });
}

bool IsFailing(const Pod& pod, int restart_count_max) {
  return AnyFailing(pod.init_container_statuses, restart_count_max) ||
         AnyFailing(pod.container_statuses, restart_count_max);
}

std::string_view RevisionHash(const Pod& pod) {
  // The key is created once, because every pass looks up this label on every driver pod.
  static const std::string& key = *new std::string("controller-revision-hash");
  const auto label = pod.labels.find(key);
  return label == pod.labels.end() ? std::string_view() : std::string_view(label->second);
}

}  // namespace driverupgrade
