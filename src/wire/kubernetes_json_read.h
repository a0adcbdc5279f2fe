// What one object of Kubernetes says: from its JSON into the types of the library. Errors stay in the JsonField.
#ifndef DRIVERUPGRADE_SRC_WIRE_KUBERNETES_JSON_READ_H_
#define DRIVERUPGRADE_SRC_WIRE_KUBERNETES_JSON_READ_H_

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/wire/api_object.h"
#include "wire/json_document.h"

namespace driverupgrade::inline v1::internal {

void ReadObject(const JsonField& object, Node& node);
void ReadObject(const JsonField& object, Pod& pod);
void ReadObject(const JsonField& object, DaemonSet& daemon_set);
void ReadObject(const JsonField& object, ControllerRevision& revision);
void ReadObject(const JsonField& object, PodDisruptionBudget& budget);
void ReadObject(const JsonField& object, NodeMaintenance& maintenance);
void ReadObject(const JsonField& object, Lease& lease);
void ReadObject(const JsonField& object, ConfigMap& config_map);
// The document itself, and who it is.
void ReadObject(const JsonField& root, ApiObject& object);

}  // namespace driverupgrade::inline v1::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_KUBERNETES_JSON_READ_H_
