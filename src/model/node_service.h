// Describes conditions that prevent a node from being used or upgraded.
#ifndef DRIVERUPGRADE_SRC_MODEL_NODE_SERVICE_H_
#define DRIVERUPGRADE_SRC_MODEL_NODE_SERVICE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"

namespace driverupgrade::internal {

// Formats a time as `2026-11-26T12:00:00Z`. Gates contain times instead of ages, because the text of a gate must not
// change as long as its cause stays the same.
std::string UtcText(absl::Time time);

// Returns a string such as `NotReady since 2026-11-26T12:00:00Z`; empty if the node is Ready.
std::string WhyNotReady(const Node& node);

// Returns why the node is about to leave the cluster: it is being deleted, or a node autoscaler or the cloud has tainted
// it for removal. Returns an empty string if the node stays. To support another taint, add a row to the table in
// node_service.cc.
std::string WhyLeaving(const Node& node);

// Returns what OpenShift's Machine Config Operator is doing with the node. The operator reboots a node whose current
// config differs from the desired config. Returns an empty string if the operator has finished its work on the node, if
// the operator can do nothing (see WhyDegraded), or if the cluster has no such operator.
std::string WhyMachineConfig(const Node& node);

// Returns a text such as `the Machine Config Operator's state of the node is Degraded`. The operator sets this state if
// it cannot apply a config, or if the node's files differ from its config (config drift). In the second case, the node
// can be Ready, and the operator does not change the node until an administrator repairs it. Returns an empty string if
// the node does not have such a state.
std::string WhyDegraded(const Node& node);

// Returns true if OpenShift's Machine Config Operator is draining the node, or is changing or rebooting the drained
// node. The operator uncordons the node when it has finished.
bool IsDrainedByMachineConfig(const Node& node);

// Returns true if the SR-IOV network operator drains the node, and configures its network devices. The operator uncordons
// the node when it has finished.
bool IsConfiguredBySriov(const Node& node);

// Returns true if the NIC configuration operator configures the node's network devices, updates their firmware, or is
// about to do so. It asks the maintenance operator to drain the node, and may reboot it.
bool IsConfiguredByNicOperator(const Node& node);

// Returns true if NodeWright has cordoned the node, or is applying packages to it.
bool IsPreparedByNodeWright(const Node& node);

// Returns the taint, in the form `key=value:effect`, that keeps each of the DaemonSets that target the node from
// creating a pod there. Kubernetes leaves an existing pod on a node that gets such a taint, but does not replace it
// (gpu-operator#1368). Empty if there is no such taint.
std::string TaintAgainstAll(const std::vector<const DaemonSet*>& daemon_sets, const Node& node);

// Returns true if NVIDIA's MIG manager is about to reboot the node, so that a partition of its GPUs takes effect.
bool IsRebootedByMigManager(const Node& node);

// Returns a string such as `the SR-IOV network operator is working on the node (state Drain_Required)`; empty if neither
// that operator, nor NodeWright, nor the NIC configuration operator, nor the MIG manager is changing the node. A label of
// the MIG manager that was interrupted may stay (mig-parted#485).
std::string WhyReconfigured(const Node& node);

// Returns a string such as `driver pod gpu-operator/driver-x is not Ready since 2026-11-26T12:00:00Z: container driver
// restarted 3 times`.
std::string WhyPodNotReady(const Pod& pod);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_NODE_SERVICE_H_
