#include "support/custom_policy.h"

#include <string>
#include <string_view>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace examples {
namespace {

std::string Shown(JsonPath path) { return fmt::format("{}", fmt::join(path, ".")); }

}  // namespace

absl::StatusOr<bool> ReadFlag(const rapidjson::Value& object, JsonPath path) {
  const rapidjson::Value* found = Find(object, path);
  if (found == nullptr || found->IsNull()) return false;
  if (found->IsBool()) return found->GetBool();
  return absl::InvalidArgumentError(fmt::format("{}: must be true or false, got {}", Shown(path), ToText(*found)));
}

absl::StatusOr<driverupgrade::UpgradePolicy> ReadUpgradePolicy(const rapidjson::Value& object, JsonPath path,
                                                               const driverupgrade::PolicyDefaults& defaults) {
  const rapidjson::Value* found = Find(object, path);
  const bool absent = found == nullptr || found->IsNull();
  if (!absent && !found->IsObject()) {
    return absl::InvalidArgumentError(fmt::format("{}: must be an object, got {}", Shown(path), ToText(*found)));
  }
  auto policy = driverupgrade::ParseUpgradePolicy(absent ? "{}" : ToText(*found), defaults);
  if (policy.ok()) return policy;
  const std::string_view message(policy.status().message().data(), policy.status().message().size());
  return absl::Status(policy.status().code(), fmt::format("in {}: {}", Shown(path), message));
}

absl::Time CreationTime(const rapidjson::Value& object) {
  absl::Time time = absl::UnixEpoch();
  std::string error;
  absl::ParseTime(absl::RFC3339_full, Text(object, {"metadata", "creationTimestamp"}), &time, &error);
  return time;
}

std::string PolicyResource(const driverupgrade::ObjectKind& kind, const std::string& name, const std::string& section) {
  return fmt::format("{}/{}/{}:{}", kind.group_version, kind.resource, name, section);
}

}  // namespace examples
