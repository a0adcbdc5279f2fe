// NodeMaintenances of NicNodePolicies that were deleted while no operator ran: each was made in the name of a requestor
// that nobody is any more.
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

/// What follows the requestor's id in that of a NicNodePolicy's engine.
std::string RequestorSuffix(const std::string& policy);

/// The requestors of NicNodePolicies other than `policies`, of an operator whose own id is `id`.
std::set<std::string> StrayRequestors(const std::vector<driverupgrade::NodeMaintenance>& objects, const std::string& id,
                                      const std::set<std::string>& policies);

/// Deletes their objects, and takes them off those of others. Errors: those of the first call that failed; it may be
/// repeated. A cluster without NodeMaintenances has none.
absl::Status GiveBackStrayClaims(const driverupgrade::CallContext& context, driverupgrade::ClusterFacade& cluster,
                                 const driverupgrade::RequestorOptions& requestor,
                                 const std::set<std::string>& policies, absl::Time now,
                                 const driverupgrade::LogSink& log);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_STRAY_CLAIMS_H_
