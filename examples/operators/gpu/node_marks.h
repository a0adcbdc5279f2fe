// What the nodes are told about who upgrades their driver: the owner label, and the annotation that the driver manager
// reads (upstream-behaviour.md §1.4, §1.9). Pure.
//
// Defines NodeWishes, OwnersOf, Orphaned and MarksPatch.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_NODE_MARKS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_NODE_MARKS_H_

#include <optional>
#include <string>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/driver_identity.h"
#include "gpu/cluster_policy.h"

namespace gpu_operator {

/// Node label: the NVIDIADriver whose node it is.
inline constexpr char kOwnerLabel[] = "nvidia.com/gpu-operator.driver.owner";
/// Node label of GPU feature discovery; `true` where there is a GPU. Other nodes are left alone.
inline constexpr char kGpuPresentLabel[] = "nvidia.com/gpu.present";
/// Node annotation; `true`: an upgrade controller evacuates the node, so the driver manager leaves pods and cordons alone.
inline constexpr char kUpgradeEnabledAnnotation[] = "nvidia.com/gpu-driver-upgrade-enabled";

struct NodeWishes {
  /// NVIDIADrivers decide: each GPU node gets the label of its owner. Otherwise the labels stay.
  bool by_owners = false;
  std::vector<NvidiaDriver> owners = {};
  /// Not by owners: the drivers of all nodes are upgraded.
  bool upgraded = false;
  friend bool operator==(const NodeWishes&, const NodeWishes&) = default;
};

/// The names of those who claim the node: the NVIDIADrivers whose spec.nodeSelector has it, else those with
/// spec.default. More than one is a conflict. Those that are being deleted claim nothing.
std::vector<std::string> OwnersOf(const driverupgrade::Node& node, const std::vector<NvidiaDriver>& drivers);

/// Some driver pod runs, and no DaemonSet has it any more: nobody else would ever replace it.
bool Orphaned(const std::vector<driverupgrade::Pod>& driver_pods);

/// What makes the marks of a GPU node true; nullopt if they are, or it is none. In a conflict, and while an NVIDIADriver
/// is not understood, the owner stays as it is. An orphaned pod of an owner's node asks for an upgrade, unless one is
/// under way or has failed.
std::optional<driverupgrade::PatchNodeParams> MarksPatch(const driverupgrade::Node& node, bool orphaned,
                                                         const NodeWishes& wishes,
                                                         const driverupgrade::DriverIdentity& identity);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_NODE_MARKS_H_
