// Releases NodeMaintenances of NicNodePolicies that were deleted while no operator was running. No engine has these
// policies' requestors, so no engine would release these NodeMaintenances.
//
// Defines StrayRequestors, which is pure, and GiveBackStrayClaims.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_STRAY_CLAIMS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_STRAY_CLAIMS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/observer.h"

namespace ofed_operator {

/// Returns the suffix that a NicNodePolicy's engine appends to the requestor's id.
std::string RequestorSuffix(const std::string& policy);

/// Returns the requestors of NicNodePolicies other than `policies`. `id` is the operator's own id.
std::set<std::string> StrayRequestors(const std::vector<driverupgrade::NodeMaintenance>& objects, const std::string& id,
                                      const std::set<std::string>& policies);

/// Deletes the NodeMaintenances that stray requestors created, and removes stray requestors from other requestors'
/// NodeMaintenances. Returns the error of the first failed call, after which the function may be called again. Returns
/// OK if the cluster does not serve NodeMaintenances.
absl::Status GiveBackStrayClaims(const driverupgrade::CallContext& context, driverupgrade::ClusterFacade& cluster,
                                 const driverupgrade::RequestorOptions& requestor,
                                 const std::set<std::string>& policies, absl::Time now,
                                 const driverupgrade::LogSink& log);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_STRAY_CLAIMS_H_
