// What is to run, by the NicClusterPolicy and the NicNodePolicies that there are. Pure.
//
// Defines Decision, Decide and OfAnyOwner.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DECIDE_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DECIDE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/service/director.h"
#include "ofed/nic_cluster_policy.h"

namespace ofed_operator {

struct Decision {
  std::vector<driverupgrade::EngineSpec> engines = {};
  /// By what the init container's configuration is made; nullopt: there is no driver that would read it. All owners
  /// share one, so that a driver waits for its node only where all policies have safeLoad.
  std::optional<driverupgrade::UpgradePolicy> init_config = std::nullopt;
  /// NicNodePolicies that are not taken, and why.
  std::map<std::string, absl::Status> refused = {};
  friend bool operator==(const Decision&, const Decision&) = default;
};

/// - The NicClusterPolicy has a driver, or no NicNodePolicy has: one engine for the DaemonSets of the former.
/// - Otherwise an engine for each NicNodePolicy that has one, for the DaemonSets `ds-owner=nnp-<name>`, on the nodes
///   that it selects.
/// One node has one driver: a NicNodePolicy beside a NicClusterPolicy with a driver is refused, and so is the later of
/// two that no label keeps apart. `driver_labels` are those of the NicClusterPolicy's DaemonSets.
Decision Decide(const NicClusterPolicy& cluster, std::vector<NicNodePolicy> nodes,
                const driverupgrade::LabelSelector& driver_labels);

/// Without what `driver_labels` say about the owner; as they are if nothing else is left.
driverupgrade::LabelSelector OfAnyOwner(const driverupgrade::LabelSelector& driver_labels);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DECIDE_H_
