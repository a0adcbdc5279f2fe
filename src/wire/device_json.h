// Writes the kinds of Dynamic Resource Allocation as JSON. kubernetes_json_read.h declares the functions that read
// these kinds.
#ifndef DRIVERUPGRADE_SRC_WIRE_DEVICE_JSON_H_
#define DRIVERUPGRADE_SRC_WIRE_DEVICE_JSON_H_

#include "driverupgrade/device_types.h"
#include "wire/json_writer.h"

namespace driverupgrade::internal {

// These functions write all members in the form that the API server returns.
void WriteDeviceTaintRule(JsonWriter& writer, const DeviceTaintRule& rule);
void WriteResourceClaim(JsonWriter& writer, const ResourceClaim& claim);
void WriteResourceSlice(JsonWriter& writer, const ResourceSlice& slice);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_DEVICE_JSON_H_
