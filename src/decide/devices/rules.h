// Manages the rules that taint the devices of a node while its driver is replaced. A rule starts with the effect None,
// then gets NoSchedule, and gets None again before it is deleted. The scheduler can miss a change to a rule if the
// devices change at the same time. If it misses the deletion of a rule, it continues to apply the rule, so a rule must
// be harmless by the time it is deleted.
#ifndef DRIVERUPGRADE_SRC_DECIDE_DEVICES_RULES_H_
#define DRIVERUPGRADE_SRC_DECIDE_DEVICES_RULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/device_types.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::internal {

// The next step for the rules on a node.
struct RuleStep {
  // The calls to make now; at most one for each rule.
  std::vector<DeviceCall> calls = {};
  // True if every rule is in effect and has settled or, when rules are removed, if no rule is left.
  bool done = false;
  // The cause of the wait, unless `done`.
  std::string detail = {};
  // Time at which the wait can end; infinite if only a change to an object can end the wait.
  absl::Time due = absl::InfiniteFuture();
  // Reason why the taint does not work in this cluster; the node must then be cordoned instead. Empty if no such reason
  // is known.
  std::string failure = {};
};

// Returns a rule of `identity` that taints the devices of a DRA driver on the node, at first with the effect None.
DeviceTaintRule RuleFor(const Node& node, std::string_view device_driver, const DriverIdentity& identity);
// Returns true if the rule has the taint of `identity`.
bool IsOurs(const DeviceTaintRule& rule, const DriverIdentity& identity);

// Plans the next step to put the rules of all DRA drivers with devices on the node into effect. The devices of the node
// must be known.
RuleStep IsolateDevices(const NodeView& view, const DriverIdentity& identity, const IsolationPolicy& policy,
                        absl::Time now);
// Plans the next step to remove all rules of `identity` on the node. Plans nothing if the devices of the node are
// unknown.
RuleStep ReleaseDevices(const NodeView& view, const DriverIdentity& identity, absl::Time now);
// Same as ReleaseDevices, but does not pause between steps, because the operator is being removed from the cluster.
std::vector<DeviceCall> ReleaseAtOnce(const NodeView& view, const DriverIdentity& identity);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_DEVICES_RULES_H_
