// What is to run, by the NicClusterPolicy and the NicNodePolicies that there are. Pure.
//
// Defines Decision, Decide, AddDeparted and OfAnyOwner.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DECIDE_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DECIDE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/service/director.h"
#include "ofed/driver_owners.h"
#include "ofed/nic_cluster_policy.h"

namespace ofed_operator {

struct Decision {
  std::vector<driverupgrade::EngineSpec> engines = {};
  /// Nodes that no policy with a driver selects: what one that is no more has left on them.
  std::vector<driverupgrade::EngineSpec> gone = {};
  /// By what the init container's configuration is made; nullopt: there is no driver that would read it. All owners
  /// share one, so that a driver waits for its node only where all policies have safeLoad.
  std::optional<driverupgrade::UpgradePolicy> init_config = std::nullopt;
  /// Who has a driver; nullopt: not known, since a policy is not understood.
  std::optional<std::vector<DriverOwner>> owners = std::nullopt;
  /// NicNodePolicies that are not taken, and why.
  std::map<std::string, absl::Status> refused = {};
  friend bool operator==(const Decision&, const Decision&) = default;
};

/// - The NicClusterPolicy has a driver, or no NicNodePolicy has: one engine for the DaemonSets of the former.
/// - Otherwise an engine for each NicNodePolicy that has one, for the DaemonSets `ds-owner=nnp-<name>`, on the nodes
///   that it selects.
/// One node has one driver: a NicNodePolicy beside a NicClusterPolicy with a driver is refused, and so is the later of
/// two that no label keeps apart, or one whose name is too long for the label of its DaemonSet. Nothing is gone while a
/// policy is not understood. `driver_labels` are those of the NicClusterPolicy's DaemonSets.
Decision Decide(const NicClusterPolicy& cluster, std::vector<NicNodePolicy> nodes,
                const driverupgrade::LabelSelector& driver_labels);

/// Adds those of `seen` to what is gone by `decision` that are neither among `nodes` nor have left their nodes to others:
/// each was a requestor of its own, whose NodeMaintenances only its own id gives back. `seen` becomes what is known now.
void AddDeparted(const NicClusterPolicy& cluster, const std::vector<NicNodePolicy>& nodes,
                 const driverupgrade::LabelSelector& driver_labels, std::vector<NicNodePolicy>& seen,
                 Decision& decision);

/// Without what `driver_labels` say about the owner; as they are if nothing else is left.
driverupgrade::LabelSelector OfAnyOwner(const driverupgrade::LabelSelector& driver_labels);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DECIDE_H_
