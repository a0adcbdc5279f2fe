#include "driverupgrade/gate.h"

#include <utility>

namespace driverupgrade {

std::string_view ToString(GateReason reason) { return TraitsOf(reason).name; }

std::string_view ToString(GateSubjectKind kind) {
  switch (kind) {
    case GateSubjectKind::kPod: return "Pod";
    case GateSubjectKind::kNodeMaintenance: return "NodeMaintenance";
    case GateSubjectKind::kDriver: return "Driver";
    case GateSubjectKind::kApproval: return "Approval";
    case GateSubjectKind::kStage: return "Stage";
    case GateSubjectKind::kGroup: return "Group";
  }
  return {};
}

GateSubject::GateSubject(GateSubjectKind the_kind, std::string the_ns, std::string the_name)
    : kind(the_kind), ns(std::move(the_ns)), name(std::move(the_name)) {}
GateSubject::GateSubject(const GateSubject& other) = default;
GateSubject::GateSubject(GateSubject&& other) noexcept = default;
GateSubject& GateSubject::operator=(const GateSubject& other) = default;
GateSubject& GateSubject::operator=(GateSubject&& other) noexcept = default;
GateSubject::~GateSubject() = default;

}  // namespace driverupgrade
