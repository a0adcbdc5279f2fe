#include "driverupgrade/gate.h"

namespace driverupgrade {

std::string_view ToString(GateReason reason) { return TraitsOf(reason).name; }

std::string_view ToString(GateSubjectKind kind) {
  switch (kind) {
    case GateSubjectKind::kNone: break;
    case GateSubjectKind::kPod: return "Pod";
    case GateSubjectKind::kNodeMaintenance: return "NodeMaintenance";
    case GateSubjectKind::kDriver: return "Driver";
    case GateSubjectKind::kApproval: return "Approval";
    case GateSubjectKind::kStage: return "Stage";
    case GateSubjectKind::kGroup: return "Group";
  }
  return {};
}

}  // namespace driverupgrade
