/// The node labels by which the GPU operator places its operands, and how they are switched off for a while.
///
/// Defines Pause, Resume, PauseOperands, PauseKubeletPlugin, ResumeAll and AwaitedApps.
///
///     Pause("true");                        // "paused-for-driver-upgrade"
///     Resume("paused-for-driver-upgrade");  // "true"
///
/// Pure. The keys and values are those of NVIDIA's k8s-driver-manager, whose pauses can be resumed here and the other
/// way round (upstream-behaviour.md §3.2), with one difference: labels that are absent stay so.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_OPERAND_LABELS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_OPERAND_LABELS_H_

#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"

namespace driver_manager {

inline constexpr char kDriverLabel[] = "nvidia.com/gpu.deploy.driver";
inline constexpr char kClientLabel[] = "nvidia.com/gpu.deploy.client";
inline constexpr char kKubeletPluginLabel[] = "nvidia.com/gpu.deploy.dra-driver";
inline constexpr char kKubeletPluginApp[] = "nvidia-dra-driver-kubelet-plugin";

/// Empty and `false` stay, as what is paused already; `true` becomes the marker, any other value has it appended.
std::string Pause(std::string_view value);
/// The value without the marker; `true` for the bare marker.
std::string Resume(std::string_view value);

/// Pauses all operands but the DRA kubelet plugin. `custom_label` may be empty. An empty patch: nothing is left to do.
driverupgrade::PatchNodeParams PauseOperands(const driverupgrade::Node& node, const std::string& custom_label);
/// The kubelet plugin has to outlive the pods with claims, which cannot end without it.
driverupgrade::PatchNodeParams PauseKubeletPlugin(const driverupgrade::Node& node);
/// Resumes what either of the above has paused, whenever that was.
driverupgrade::PatchNodeParams ResumeAll(const driverupgrade::Node& node, const std::string& custom_label);

/// Values of the label `app` of the operands' pods that have to go once their labels are paused.
std::vector<std::string> AwaitedApps(const driverupgrade::Node& node);

/// Whether the label is there and has a value.
bool IsSet(const driverupgrade::Node& node, const std::string& key);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_OPERAND_LABELS_H_
