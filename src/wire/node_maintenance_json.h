// NodeMaintenance as JSON, and the parts shared by both directions: times, durations and conditions of any object.
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

// RFC 3339. Sets an error for anything else.
std::optional<absl::Time> ReadTime(const JsonField& field);
// In whole seconds; null for a time that is not finite.
void WriteTime(JsonWriter& writer, std::string_view member, absl::Time time);
// Same with exactly six digits after the point, like Kubernetes' MicroTime.
void WriteMicroTime(JsonWriter& writer, std::string_view member, absl::Time time);
// In whole seconds. The schemas have 32 bits and no negative numbers.
void WriteSeconds(JsonWriter& writer, std::string_view member, absl::Duration duration);

// Reads `status.conditions` of all kinds except nodes and pods, whose conditions have no generation.
std::vector<Condition> ReadConditionList(const JsonField& field);
void WriteConditions(JsonWriter& writer, const std::vector<Condition>& conditions);

void ReadNodeMaintenance(const JsonField& object, NodeMaintenance& maintenance);
// All members, as the API server returns them.
void WriteNodeMaintenance(JsonWriter& writer, const NodeMaintenance& maintenance);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_NODE_MAINTENANCE_JSON_H_
