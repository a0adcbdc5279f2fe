// Determines whether a policy upgrades a node's driver. Pure.
//
// Defines DriverOwner and WhyOwnerless.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_OWNERS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_OWNERS_H_

#include <optional>
#include <string>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/label_selector.h"

namespace ofed_operator {

/// The driver pods and the nodes that one policy covers.
struct DriverOwner {
  /// Labels of the policy's driver pods.
  driverupgrade::LabelSelector driver_labels = {};
  driverupgrade::LabelSelector node_selector = {};
  friend bool operator==(const DriverOwner&, const DriverOwner&) = default;
};

/// Returns a message for administrators if the node has driver pods and none of `owners` covers any of them; nullopt if
/// there is an owner or no driver pod. Terminating pods do not count.
std::optional<std::string> WhyOwnerless(const driverupgrade::Node& node,
                                        const std::vector<driverupgrade::Pod>& driver_pods,
                                        const std::vector<DriverOwner>& owners);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_OWNERS_H_
