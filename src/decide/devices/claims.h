// Finds the pods that hold devices of a node, and decides whether tainting the devices is enough to upgrade the node.
#ifndef DRIVERUPGRADE_SRC_DECIDE_DEVICES_CLAIMS_H_
#define DRIVERUPGRADE_SRC_DECIDE_DEVICES_CLAIMS_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/device_types.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::internal {

// Returns true if devices of the pool are allocated to the claim, and the claim is in use, usually by a pod.
bool IsHeld(const ResourceClaim& claim, std::string_view device_driver, std::string_view pool);
// Returns true if the claim uses the devices of the pool only with admin access, for purposes such as monitoring.
bool HasAdminAccess(const ResourceClaim& claim, std::string_view device_driver, std::string_view pool);

// Returns the UIDs of the pods that hold devices of the node; empty if the node's devices are unknown.
std::set<std::string> HolderUids(const NodeView& view, const std::vector<std::string>& device_drivers);

// Returns the UIDs of the pods whose claims were allocated after the devices had been tainted. The node's devices must
// be known.
std::set<std::string> LateHolderUids(const NodeView& view, const DriverIdentity& identity,
                                     const std::vector<std::string>& device_drivers);

// A pod that holds a device of the node, but is not among the pods of the node because the pod is not bound to the node
// yet.
struct UnboundHolder {
  PodRef pod = {};
  // True if the claim was allocated after the devices had been tainted.
  bool late = false;
};
// Returns the pods that hold a device of the node but are not bound to the node yet. The pods and devices of the node
// must be known.
std::vector<UnboundHolder> UnboundHolders(const NodeView& view, const DriverIdentity& identity,
                                          const IsolationPolicy& policy);

// Returns why tainting the devices is not enough to upgrade the node; empty if the known data contains no reason.
std::string WhyNotDevices(const NodeView& view, const IsolationPolicy& policy);

// Returns the number of published devices on the node.
int DeviceCount(const NodeView& view, const IsolationPolicy& policy);
// Returns why the devices of the node are not considered published again; empty if they are. At least `before` devices
// are required, and all devices of a DRA driver that have a driver version must have the same version.
std::string WhyNotPublished(const NodeView& view, const IsolationPolicy& policy, int before);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_DEVICES_CLAIMS_H_
