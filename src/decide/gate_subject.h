// Creates gate subjects from objects.
#ifndef DRIVERUPGRADE_SRC_DECIDE_GATE_SUBJECT_H_
#define DRIVERUPGRADE_SRC_DECIDE_GATE_SUBJECT_H_

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/gate.h"

namespace driverupgrade {

inline GateSubject PodSubject(const PodRef& pod) { return {GateSubjectKind::kPod, pod.ns, pod.name}; }

inline GateSubject MaintenanceSubject(const NodeMaintenance& maintenance) {
  return {GateSubjectKind::kNodeMaintenance, maintenance.ns, maintenance.name};
}

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_GATE_SUBJECT_H_
