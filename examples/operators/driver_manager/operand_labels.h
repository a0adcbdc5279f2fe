/// Pauses and resumes the node labels with which the GPU operator places its operands.
///
/// Defines Pause, Resume, PauseOperands, PauseKubeletPlugin, ResumeAll, IsAnyOperandPaused and AwaitedApps.
///
///     Pause("true");                        // "paused-for-driver-upgrade"
///     Resume("paused-for-driver-upgrade");  // "true"
///
/// Pure. Uses the keys and values of NVIDIA's k8s-driver-manager, so that each program can resume labels that the other
/// program has paused (upstream-behaviour.md §3.2). Unlike that program, does not add missing labels.
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

/// Returns the paused form of a value. `true` becomes the marker, and any other value gets the marker as a suffix.
/// Empty values, `false`, and values that are already paused stay unchanged.
std::string Pause(std::string_view value);
/// Returns the value without the marker; `true` if the value is only the marker.
std::string Resume(std::string_view value);

/// Returns the patch that pauses all operands except the DRA kubelet plugin. `custom_label` may be empty. The patch is
/// empty if nothing is left to pause.
driverupgrade::PatchNodeParams PauseOperands(const driverupgrade::Node& node, const std::string& custom_label);
/// Returns the patch that pauses the DRA kubelet plugin, which must be paused last, because pods with claims cannot
/// terminate without it.
driverupgrade::PatchNodeParams PauseKubeletPlugin(const driverupgrade::Node& node);
/// Returns the patch that resumes all labels that the functions above have paused.
driverupgrade::PatchNodeParams ResumeAll(const driverupgrade::Node& node, const std::string& custom_label);

/// Returns true if an operand other than the DRA kubelet plugin is paused.
bool IsAnyOperandPaused(const driverupgrade::Node& node, const std::string& custom_label);

/// Returns the `app` label values of the operand pods that must no longer exist on the node before the upgrade can
/// continue.
std::vector<std::string> AwaitedApps(const driverupgrade::Node& node);

/// Returns true if the label exists and has a value.
bool IsSet(const driverupgrade::Node& node, const std::string& key);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_OPERAND_LABELS_H_
