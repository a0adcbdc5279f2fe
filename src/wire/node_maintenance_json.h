// Reads and writes NodeMaintenances as JSON, and also times, durations and conditions of other kinds.
#ifndef DRIVERUPGRADE_SRC_WIRE_NODE_MAINTENANCE_JSON_H_
#define DRIVERUPGRADE_SRC_WIRE_NODE_MAINTENANCE_JSON_H_

#include <optional>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "wire/json_document.h"
#include "wire/json_writer.h"

namespace driverupgrade::internal {

// Reads an RFC 3339 time. Sets an error for any other string.
std::optional<absl::Time> ReadTime(const JsonField& field);
// Writes the time in whole seconds, or null if the time is infinite.
void WriteTime(JsonWriter& writer, std::string_view member, absl::Time time);
// Same as WriteTime, but with exactly six decimal places, like MicroTime in Kubernetes.
void WriteMicroTime(JsonWriter& writer, std::string_view member, absl::Time time);
// Writes the duration in whole seconds, clamped to the range of the schemas: 0 to the largest signed 32-bit integer.
void WriteSeconds(JsonWriter& writer, std::string_view member, absl::Duration duration);

// Reads `status.conditions` of all kinds except nodes and pods, whose conditions have no generation.
std::vector<Condition> ReadConditionList(const JsonField& field);
void WriteConditions(JsonWriter& writer, const std::vector<Condition>& conditions);

void ReadNodeMaintenance(const JsonField& object, NodeMaintenance& maintenance);
// Writes all members in the form that the API server returns.
void WriteNodeMaintenance(JsonWriter& writer, const NodeMaintenance& maintenance);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_NODE_MAINTENANCE_JSON_H_
