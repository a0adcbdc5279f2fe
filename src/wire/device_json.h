// The kinds of Dynamic Resource Allocation as JSON; reading them is declared in kubernetes_json_read.h.
#ifndef DRIVERUPGRADE_SRC_WIRE_DEVICE_JSON_H_
#define DRIVERUPGRADE_SRC_WIRE_DEVICE_JSON_H_

#include "driverupgrade/device_types.h"
#include "wire/json_writer.h"

namespace driverupgrade::internal {

// All members, as the API server returns them.
void WriteDeviceTaintRule(JsonWriter& writer, const DeviceTaintRule& rule);
void WriteResourceClaim(JsonWriter& writer, const ResourceClaim& claim);
void WriteResourceSlice(JsonWriter& writer, const ResourceSlice& slice);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_DEVICE_JSON_H_
