#include "service/reported_policies.h"

#include "base/rapidjson.h"
#include "driverupgrade/policy_codec.h"

namespace driverupgrade::internal {

namespace json = ::driverupgrade_rapidjson;

std::string FormatReportedPolicies(const std::vector<EngineSpec>& specs,
                                   const std::map<std::string, absl::Status>& refused) {
  std::map<std::string, std::string> policies;
  for (const EngineSpec& spec : specs) {
    if (refused.contains(spec.name) || !Validate(spec.policy).ok()) continue;
    policies[spec.name] = FormatUpgradePolicy(spec.policy);
  }
  json::StringBuffer buffer;
  json::Writer<json::StringBuffer> writer(buffer);
  writer.StartObject();
  for (const auto& [name, policy] : policies) {
    writer.Key(name.data(), static_cast<json::SizeType>(name.size()));
    writer.RawValue(policy.data(), policy.size(), json::kObjectType);
  }
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace driverupgrade::internal
