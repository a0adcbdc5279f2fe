// Objects as the subjects of gates.
#ifndef DRIVERUPGRADE_SRC_DECIDE_GATE_SUBJECT_H_
#define DRIVERUPGRADE_SRC_DECIDE_GATE_SUBJECT_H_

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/gate.h"

namespace driverupgrade {

inline GateSubject PodSubject(const PodRef& pod) {
  return {.kind = GateSubjectKind::kPod, .ns = pod.ns, .name = pod.name};
}

inline GateSubject MaintenanceSubject(const NodeMaintenance& maintenance) {
  return {.kind = GateSubjectKind::kNodeMaintenance, .ns = maintenance.ns, .name = maintenance.name};
}

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_GATE_SUBJECT_H_
