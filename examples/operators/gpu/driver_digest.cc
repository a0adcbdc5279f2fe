#include "gpu/driver_digest.h"

#include "support/json.h"

namespace gpu_operator {

std::string DriverDigest(const driverupgrade::ControllerRevision& revision) {
  const absl::StatusOr<rapidjson::Document> data = examples::ParseJson(revision.data);
  if (!data.ok()) return {};
  for (const char* containers : {"initContainers", "containers"}) {
    for (const rapidjson::Value& container : examples::Items(*data, {"spec", "template", "spec", containers})) {
      for (const rapidjson::Value& variable : examples::Items(container, {"env"})) {
        if (examples::Text(variable, {"name"}) != kDriverConfigDigest) continue;
        std::string value = examples::Text(variable, {"value"});
        if (!value.empty()) return value;
      }
    }
  }
  return {};
}

bool LoadsSameDriver(const driverupgrade::ControllerRevision& running,
                     const driverupgrade::ControllerRevision& wanted) {
  const std::string digest = DriverDigest(wanted);
  return !digest.empty() && digest == DriverDigest(running);
}

}  // namespace gpu_operator
