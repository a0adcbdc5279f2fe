#include "model/node_service.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

struct LeavingTaint {
  std::string_view key;
  std::string_view owner;
};

// Taints of programs that remove a node soon after they have added the taint.
constexpr std::array kLeavingTaints = {
    LeavingTaint{"ToBeDeletedByClusterAutoscaler", "the cluster autoscaler"},
    LeavingTaint{"karpenter.sh/disrupted", "Karpenter"},
    LeavingTaint{"karpenter.sh/disruption", "Karpenter"},  // used before Karpenter 1.0
    LeavingTaint{"aws-node-termination-handler/spot-itn", "AWS"},
    LeavingTaint{"aws-node-termination-handler/asg-lifecycle-termination", "AWS"},
    LeavingTaint{"cloud.google.com/impending-node-termination", "Google Cloud"},
};

// The annotations and labels of programs that reconfigure nodes. The keys are created once, because they are looked up
// on every node.
struct Keys {
  std::string machine_config_current = "machineconfiguration.openshift.io/currentConfig";
  std::string machine_config_desired = "machineconfiguration.openshift.io/desiredConfig";
  std::string machine_config_state = "machineconfiguration.openshift.io/state";
  std::string machine_config_drain = "machineconfiguration.openshift.io/desiredDrain";
  std::string sriov_state = "sriovnetwork.openshift.io/state";
  std::string nic_configuration = "network.nvidia.com/operator.nic-configuration.wait";
  std::string mig_state = "nvidia.com/mig.config.state";
  // NodeWright's former name is Skyhook.
  std::array<std::string, 2> nodewright = {"nodewright.nvidia.com/", "skyhook.nvidia.com/"};
};

const Keys& AllKeys() {
  static const Keys& keys = *new Keys();
  return keys;
}

std::string_view ValueOf(const std::map<std::string, std::string>& entries, const std::string& key) {
  const auto entry = entries.find(key);
  return entry == entries.end() ? std::string_view() : std::string_view(entry->second);
}

// Returns true if the Machine Config Operator cannot change the node. Until an administrator repairs the node, this
// state stays even while the operator tries to apply another config.
bool IsFailure(std::string_view state) { return state == "Degraded" || state == "Unreconcilable"; }

std::string DescribeState(std::string_view state) {
  return fmt::format("the Machine Config Operator's state of the node is {}", state);
}

// The state in which the SR-IOV network operator drains the node and configures its network devices, such as
// `Drain_Required`; empty if the operator is not working on the node, or if the cluster has no such operator.
std::string_view SriovWork(const Node& node) {
  const std::string_view state = ValueOf(node.annotations, AllKeys().sriov_state);
  return state == "Idle" ? std::string_view() : state;
}

// Returns the annotation with which NodeWright marks a node that it has cordoned or whose packages it is applying; empty
// if the node has no such annotation.
std::string_view NodeWrightMark(const Node& node) {
  for (const std::string& domain : AllKeys().nodewright) {
    for (auto mark = node.annotations.lower_bound(domain);
         mark != node.annotations.end() && mark->first.starts_with(domain); ++mark) {
      const std::string_view name = std::string_view(mark->first).substr(domain.size());
      const bool applies = name.starts_with("status_") && mark->second == "in_progress";
      if (applies || name.starts_with("cordon_")) return mark->first;
    }
  }
  return "";
}

}  // namespace

std::string UtcText(absl::Time time) { return absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", time, absl::UTCTimeZone()); }

std::string WhyNotReady(const Node& node) {
  if (node.ready) return "";
  return node.ready_transition_time ? fmt::format("NotReady since {}", UtcText(*node.ready_transition_time))
                                    : "NotReady";
}

std::string WhyPodNotReady(const Pod& pod) {
  std::string why = fmt::format("driver pod {} is not Ready", pod.ref.ToString());
  if (pod.not_ready_since) why += fmt::format(" since {}", UtcText(*pod.not_ready_since));
  for (const std::vector<ContainerStatus>* statuses : {&pod.init_container_statuses, &pod.container_statuses}) {
    for (const ContainerStatus& status : *statuses) {
      if (status.image_pull_fails) return fmt::format("{}: container {} cannot pull its image", why, status.name);
      if (status.ready || status.restart_count == 0) continue;
      return fmt::format("{}: container {} restarted {} times", why, status.name, status.restart_count);
    }
  }
  return why;
}

std::string WhyLeaving(const Node& node) {
  if (node.deletion_timestamp)
    return fmt::format("its deletion was requested at {}", UtcText(*node.deletion_timestamp));
  const auto taint = std::find_if(kLeavingTaints.begin(), kLeavingTaints.end(), [&](const LeavingTaint& one) {
    return std::any_of(node.taints.begin(), node.taints.end(), [&](const Taint& has) { return has.key == one.key; });
  });
  return taint == kLeavingTaints.end() ? "" : fmt::format("{} is removing it (taint {})", taint->owner, taint->key);
}

std::string WhyMachineConfig(const Node& node) {
  if (node.annotations.empty()) return "";
  const Keys& keys = AllKeys();
  const std::string_view current = ValueOf(node.annotations, keys.machine_config_current);
  const std::string_view desired = ValueOf(node.annotations, keys.machine_config_desired);
  const std::string_view state = ValueOf(node.annotations, keys.machine_config_state);
  if (current != desired) {
    return fmt::format("the Machine Config Operator moves the node from {} to {}", current.empty() ? "none" : current,
                       desired.empty() ? "none" : desired);
  }
  if (state.empty() || state == "Done" || IsFailure(state)) return "";
  return DescribeState(state);
}

std::string WhyDegraded(const Node& node) {
  if (node.annotations.empty()) return "";
  const std::string_view state = ValueOf(node.annotations, AllKeys().machine_config_state);
  return IsFailure(state) ? DescribeState(state) : "";
}

// The state alone does not show the drain of a node whose state was Degraded before the drain. After the drain, the
// operator does not cordon the node again before it reboots the node (OCPBUGS-85237).
bool IsDrainedByMachineConfig(const Node& node) {
  if (node.annotations.empty()) return false;
  const std::string_view state = ValueOf(node.annotations, AllKeys().machine_config_state);
  const bool works = !state.empty() && state != "Done" && !IsFailure(state);
  return works || ValueOf(node.annotations, AllKeys().machine_config_drain).starts_with("drain-");
}

bool IsConfiguredBySriov(const Node& node) { return !SriovWork(node).empty(); }

bool IsConfiguredByNicOperator(const Node& node) { return ValueOf(node.labels, AllKeys().nic_configuration) == "true"; }

bool IsRebootedByMigManager(const Node& node) { return ValueOf(node.labels, AllKeys().mig_state) == "rebooting"; }

std::string TaintAgainstAll(const std::vector<const DaemonSet*>& daemon_sets, const Node& node) {
  const Taint* against = nullptr;
  for (const DaemonSet* daemon_set : daemon_sets) {
    if (!Wants(*daemon_set, node)) continue;
    const Taint* const taint = TaintAgainst(*daemon_set, node);
    if (taint == nullptr) return "";
    against = taint;
  }
  if (against == nullptr) return "";
  return fmt::format("{}{}{}:{}", against->key, against->value.empty() ? "" : "=", against->value, against->effect);
}

bool IsPreparedByNodeWright(const Node& node) { return !NodeWrightMark(node).empty(); }

std::string WhyReconfigured(const Node& node) {
  if (const std::string_view mark = NodeWrightMark(node); !mark.empty()) {
    return fmt::format("NodeWright is working on the node (annotation {})", mark);
  }
  if (const std::string_view state = SriovWork(node); !state.empty()) {
    return fmt::format("the SR-IOV network operator is working on the node (state {})", state);
  }
  const Keys& keys = AllKeys();
  if (IsConfiguredByNicOperator(node)) {
    return fmt::format("the NIC configuration operator is working on the node (label {}=true)", keys.nic_configuration);
  }
  const std::string_view mig = ValueOf(node.labels, keys.mig_state);
  if (mig == "pending" || mig == "rebooting") {
    return fmt::format("the MIG manager is partitioning the node's GPUs (label {}={})", keys.mig_state, mig);
  }
  return "";
}

}  // namespace driverupgrade::internal
