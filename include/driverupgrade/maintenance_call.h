/// What a plan asks of a NodeMaintenance.
///
/// Defines MaintenanceCall.
///
///     for (const MaintenanceCall& call : plan.maintenance) Log(ToString(call.kind), call.object.ToString());
///
/// A value, copied like any other.
#ifndef DRIVERUPGRADE_MAINTENANCE_CALL_H_
#define DRIVERUPGRADE_MAINTENANCE_CALL_H_

#include <cstdint>
#include <string_view>

#include "driverupgrade/cluster_types.h"

namespace driverupgrade {

/// One write to a NodeMaintenance.
struct MaintenanceCall {
  enum class Kind : std::uint8_t {
    kCreate,           ///< Asks for the node.
    kJoin,             ///< Adds us to another requestor's object.
    kLeave,            ///< Takes us off it.
    kReportFailure,    ///< Sets the condition RequestorFailed.
    kWithdrawFailure,  ///< Sets it to False.
    kDelete,           ///< Gives the node back.
  };
  Kind kind = Kind::kCreate;
  /// As it is to be afterwards, but with the UID and the version that were read; both empty with kCreate.
  NodeMaintenance object = {};
  friend bool operator==(const MaintenanceCall&, const MaintenanceCall&) = default;
};
std::string_view ToString(MaintenanceCall::Kind kind);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_MAINTENANCE_CALL_H_
