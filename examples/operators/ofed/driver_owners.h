// Whose policy upgrades the driver of a node. Pure.
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

/// What one policy is about.
struct DriverOwner {
  /// Of its driver pods.
  driverupgrade::LabelSelector driver_labels = {};
  driverupgrade::LabelSelector node_selector = {};
  friend bool operator==(const DriverOwner&, const DriverOwner&) = default;
};

/// For a person: the node has driver pods, and none of `owners` is for one of them. nullopt: there is an owner, or no
/// driver pod. Pods on their way out do not count.
std::optional<std::string> WhyOwnerless(const driverupgrade::Node& node,
                                        const std::vector<driverupgrade::Pod>& driver_pods,
                                        const std::vector<DriverOwner>& owners);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_OWNERS_H_
