#include "whatif/driver_members.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "driverupgrade/drain_manager.h"
#include "fmt/format.h"

namespace driverupgrade::internal {

absl::StatusOr<DriverIdentity> IdentityOf(const Document& document) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string domain, document.Text("domain"));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string driver, document.Text("driver"));
  return DriverIdentity::Create(domain, driver);
}

absl::StatusOr<DriverIdentity> IdentityMember(const Document& document) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document named, document.Object("identity", {"domain", "driver"}));
  absl::StatusOr<DriverIdentity> identity = IdentityOf(named);
  if (!identity.ok()) return document.Wrong("identity", Message(identity.status()));
  return identity;
}

absl::StatusOr<LabelSelector> SelectorMember(const Document& document, std::string_view member) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string text, document.Text(member));
  absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(text);
  if (!selector.ok()) return document.Wrong(member, Message(selector.status()));
  if (selector->empty()) return document.Wrong(member, "must not be empty, that would select everything");
  return selector;
}

absl::StatusOr<PolicyDefaults> DefaultsMember(const Document& document) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string name, document.TextOr("policyDefaults", ""));
  if (name == "gpu-operator") return PolicyDefaults::GpuOperator();
  if (name == "network-operator") return PolicyDefaults::NetworkOperator();
  if (name.empty()) return PolicyDefaults{};
  return document.Wrong("policyDefaults", "must be gpu-operator or network-operator");
}

absl::StatusOr<EarlyValidation> EarlyValidationMember(const Document& document) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string name,
                                 document.TextOr("earlyValidation", std::string(ToString(EarlyValidation::kRestart))));
  const std::optional<EarlyValidation> early = ParseEarlyValidation(name);
  if (!early) return document.Wrong("earlyValidation", "must be Ask, Restart or Count");
  return *early;
}

absl::StatusOr<std::optional<RequestorOptions>> RequestorMember(const Document& document) {
  if (!document.Has("requestor")) return std::optional<RequestorOptions>();
  RequestorOptions requestor;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      const Document member,
      document.Object("requestor", {"id", "namespace", "namePrefix", "resourceNameFilters", "enabled"}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(requestor.id, member.Text("id"));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(requestor.ns, member.Text("namespace"));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(requestor.name_prefix, member.TextOr("namePrefix", requestor.name_prefix));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(requestor.resource_name_filters, member.Texts("resourceNameFilters"));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(requestor.enabled, member.FlagOr("enabled", true));
  if (const absl::Status valid = Validate(requestor); !valid.ok()) return document.Wrong("requestor", Message(valid));
  return std::optional(std::move(requestor));
}

namespace {

absl::StatusOr<TimeZoneTable> TimeZoneOf(const Document& zone) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string name, zone.Text("name"));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Document> items, zone.Objects("offsets", {"from", "seconds"}));
  std::vector<TimeZoneTable::Offset> offsets;
  for (const Document& item : items) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::int64_t from, item.Integer("from"));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::int64_t seconds, item.Integer("seconds"));
    offsets.push_back({.from = absl::FromUnixSeconds(from), .offset = absl::Seconds(seconds)});
  }
  return TimeZoneTable::Create(name, std::move(offsets));
}

// Returns an empty list if the member is absent.
absl::StatusOr<std::vector<TimeZoneTable>> TimeZonesMember(const Document& document) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Document> items, document.Objects("timeZones", {"name", "offsets"}));
  std::vector<TimeZoneTable> zones;
  for (const Document& item : items) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(TimeZoneTable zone, TimeZoneOf(item));
    zones.push_back(std::move(zone));
  }
  return zones;
}

}  // namespace

absl::StatusOr<TimeZoneTable> ParseTimeZone(std::string_view text) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document document, Document::Parse("zone", text, {"name", "offsets"}));
  return TimeZoneOf(document);
}

absl::StatusOr<UpgradePolicy> ParsePolicy(const Document& request, std::string_view text,
                                          const PolicyDefaults& defaults) {
  if (!request.Has("timeZones")) return ParseUpgradePolicy(text, defaults);
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<TimeZoneTable> zones, TimeZonesMember(request));
  return ParseUpgradePolicyJson(text, defaults, [&](std::string_view name) -> absl::StatusOr<TimeZoneTable> {
    const auto zone = std::find_if(zones.begin(), zones.end(), [&](const auto& one) { return one.name() == name; });
    if (zone != zones.end()) return *zone;
    return absl::InvalidArgumentError(fmt::format("time zone {} is not in timeZones", name));
  });
}

void SpareSkippedPods(const DriverIdentity& identity, UpgradePolicy& policy) {
  if (!policy.drain) return;
  LabelSelector& drained = policy.drain->pod_selector;
  drained = drained.And(DrainablePods(identity));
}

}  // namespace driverupgrade::internal
