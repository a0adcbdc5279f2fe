#include "driverupgrade/maintenance_call.h"

namespace driverupgrade {

std::string_view ToString(MaintenanceCall::Kind kind) {
  switch (kind) {
    case MaintenanceCall::Kind::kCreate: return "create";
    case MaintenanceCall::Kind::kJoin: return "join";
    case MaintenanceCall::Kind::kLeave: return "leave";
    case MaintenanceCall::Kind::kReportFailure: return "report failure to";
    case MaintenanceCall::Kind::kWithdrawFailure: return "withdraw failure from";
    case MaintenanceCall::Kind::kDelete: return "delete";
  }
  return "unknown";
}

}  // namespace driverupgrade
