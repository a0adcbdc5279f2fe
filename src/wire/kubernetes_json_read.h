// Reads Kubernetes objects from JSON into the types of the library. The JsonField stores errors.
#ifndef DRIVERUPGRADE_SRC_WIRE_KUBERNETES_JSON_READ_H_
#define DRIVERUPGRADE_SRC_WIRE_KUBERNETES_JSON_READ_H_

#include <string>
#include <utility>

#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/device_types.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "wire/json_document.h"

namespace driverupgrade::internal {

void ReadObject(const JsonField& object, Node& node);
void ReadObject(const JsonField& object, Pod& pod);
void ReadObject(const JsonField& object, DaemonSet& daemon_set);
void ReadObject(const JsonField& object, ControllerRevision& revision);
void ReadObject(const JsonField& object, PodDisruptionBudget& budget);
void ReadObject(const JsonField& object, NodeMaintenance& maintenance);
void ReadObject(const JsonField& object, DeviceTaintRule& rule);
void ReadObject(const JsonField& object, ResourceClaim& claim);
void ReadObject(const JsonField& object, ResourceSlice& slice);
void ReadObject(const JsonField& object, Lease& lease);
void ReadObject(const JsonField& object, ConfigMap& config_map);
// Reads the identity of the object, and keeps its whole JSON.
void ReadObject(const JsonField& root, ApiObject& object);

// Reads the identity of an object (see cluster_types.h). Only the name and the namespace can cause errors.
void ReadIdentity(const JsonField& object, Node& node);
void ReadIdentity(const JsonField& object, Pod& pod);
void ReadIdentity(const JsonField& object, DaemonSet& daemon_set);
void ReadIdentity(const JsonField& object, ControllerRevision& revision);
void ReadIdentity(const JsonField& object, PodDisruptionBudget& budget);
void ReadIdentity(const JsonField& object, NodeMaintenance& maintenance);
void ReadIdentity(const JsonField& object, DeviceTaintRule& rule);
void ReadIdentity(const JsonField& object, ResourceClaim& claim);
void ReadIdentity(const JsonField& object, ResourceSlice& slice);

// Same as the functions above, but stores errors in the object if `on_unreadable` is kMark.
template <typename T>
void ReadObject(const JsonField& field, OnUnreadable on_unreadable, T& object) {
  if constexpr (requires { object.unreadable; }) {
    if (on_unreadable == OnUnreadable::kMark) {
      std::string error;
      const JsonField apart = field.Detached(error);
      ReadObject(apart, object);
      if (error.empty()) return;
      object = {};
      ReadIdentity(field, object);
      object.unreadable = std::move(error);
      return;
    }
  }
  ReadObject(field, object);
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_KUBERNETES_JSON_READ_H_
