// Reads and writes Leases and ConfigMaps as JSON.
#ifndef DRIVERUPGRADE_SRC_WIRE_LEASE_JSON_H_
#define DRIVERUPGRADE_SRC_WIRE_LEASE_JSON_H_

#include "driverupgrade/cluster_types.h"
#include "wire/json_document.h"
#include "wire/json_writer.h"

namespace driverupgrade::internal {

void ReadLease(const JsonField& object, Lease& lease);
void ReadConfigMap(const JsonField& object, ConfigMap& config_map);
// These functions write all members except apiVersion and kind.
void WriteLease(JsonWriter& writer, const Lease& lease);
void WriteConfigMap(JsonWriter& writer, const ConfigMap& config_map);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_LEASE_JSON_H_
