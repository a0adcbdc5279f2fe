// Decides what to run, from the existing NicClusterPolicy and NicNodePolicies. Pure.
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
  /// Engines that remove the marks of deleted policies from nodes that are not selected by any policy with a driver.
  std::vector<driverupgrade::EngineSpec> gone = {};
  /// Policy for the init container's configuration; nullopt if no driver would read the configuration. All owners share
  /// one configuration, so drivers wait for their nodes only if all policies have safeLoad.
  std::optional<driverupgrade::UpgradePolicy> init_config = std::nullopt;
  /// Owners with a driver; nullopt if unknown, because a policy could not be parsed.
  std::optional<std::vector<DriverOwner>> owners = std::nullopt;
  /// NicNodePolicies that are refused, with the reason.
  std::map<std::string, absl::Status> refused = {};
  friend bool operator==(const Decision&, const Decision&) = default;
};

/// Decides which engines run:
/// - If the NicClusterPolicy has a driver, or no NicNodePolicy has a driver: a single engine for the DaemonSets of the
///   NicClusterPolicy.
/// - In all other cases: an engine for each NicNodePolicy with a driver, for the DaemonSets `ds-owner=nnp-<name>`, on
///   the nodes that the NicNodePolicy selects.
///
/// Because a node has only one driver, a NicNodePolicy is refused if the NicClusterPolicy has a driver. If the
/// selectors of two NicNodePolicies have no label with different values, the later one is refused. A NicNodePolicy is
/// also refused if its name is too long for its DaemonSet's label. While any policy is invalid, no policy counts as
/// deleted. `driver_labels` select the DaemonSets of the NicClusterPolicy.
Decision Decide(const NicClusterPolicy& cluster, std::vector<NicNodePolicy> nodes,
                const driverupgrade::LabelSelector& driver_labels);

/// Adds to `decision.gone` the policies in `seen` that are not among `nodes`, unless another policy took over their
/// nodes. Each of these policies had its own requestor, whose id is needed to release the policy's NodeMaintenances.
/// Updates `seen`.
void AddDeparted(const NicClusterPolicy& cluster, const std::vector<NicNodePolicy>& nodes,
                 const driverupgrade::LabelSelector& driver_labels, std::vector<NicNodePolicy>& seen,
                 Decision& decision);

/// Returns the selector without its requirements on the owner, or unchanged if it has no other requirement.
driverupgrade::LabelSelector OfAnyOwner(const driverupgrade::LabelSelector& driver_labels);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DECIDE_H_
