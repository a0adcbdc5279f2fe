// Computes the marks on a node that show which client upgrades its driver: the owner label, and the annotation that the
// driver manager reads (upstream-behaviour.md §1.4, §1.9). Pure.
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

/// Node label with the NVIDIADriver that owns the node.
inline constexpr char kOwnerLabel[] = "nvidia.com/gpu-operator.driver.owner";
/// Node label of GPU feature discovery; `true` if the node has a GPU. Nodes without a GPU are not changed.
inline constexpr char kGpuPresentLabel[] = "nvidia.com/gpu.present";
/// Node annotation; `true` means that an upgrade controller evacuates the node, so the driver manager does not evict
/// pods or change cordons.
inline constexpr char kUpgradeEnabledAnnotation[] = "nvidia.com/gpu-driver-upgrade-enabled";

struct NodeWishes {
  /// True if NVIDIADrivers apply: each GPU node gets its owner label. If false, the labels stay unchanged.
  bool by_owners = false;
  std::vector<NvidiaDriver> owners = {};
  /// Used only if `by_owners` is false. True if autoUpgrade is on in the policy, which applies to all nodes.
  bool upgraded = false;
  friend bool operator==(const NodeWishes&, const NodeWishes&) = default;
};

/// Returns the names of the NVIDIADrivers that claim the node, through a spec.nodeSelector that matches it or, if none
/// does, through spec.default. More than one name is a conflict. NVIDIADrivers that are being deleted, or have never
/// been valid, claim no nodes.
std::vector<std::string> OwnersOf(const driverupgrade::Node& node, const std::vector<NvidiaDriver>& drivers);

/// Returns true if a driver pod no longer has a DaemonSet, so that no controller would ever replace the pod.
bool Orphaned(const std::vector<driverupgrade::Pod>& driver_pods);

/// Returns the patch that corrects the marks of a GPU node; nullopt if they are correct, or if the node has no GPU. The
/// owner does not change during a conflict, or while an NVIDIADriver is invalid. While the node's upgrade is in
/// progress or has failed, only an NVIDIADriver whose spec.nodeSelector selects the node can take it over. If a pod on
/// an owner's node is orphaned, the patch requests an upgrade, unless an upgrade is in progress or has failed.
std::optional<driverupgrade::PatchNodeParams> MarksPatch(const driverupgrade::Node& node, bool orphaned,
                                                         const NodeWishes& wishes,
                                                         const driverupgrade::DriverIdentity& identity);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_NODE_MARKS_H_
