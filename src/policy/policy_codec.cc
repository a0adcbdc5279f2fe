#include "driverupgrade/policy_codec.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "policy/document.h"
#include "policy/field_writer.h"
#include "policy/policy_fields.h"
#include "policy/policy_reader.h"
#include "policy/policy_section.h"

namespace driverupgrade {
namespace {

// Returns the kind of the Kubernetes object if an administrator passed a whole object instead of the object's policy
// section; empty for other documents.
std::string WholeObject(const internal::DocumentValue& document) {
  const auto text = [&](std::string_view name) {
    for (const internal::DocumentValue::Entry& entry : document.entries) {
      if (document.IsMapping() && entry.name.text == name) return entry.value.text;
    }
    return std::string();
  };
  return text("apiVersion").empty() ? std::string() : text("kind");
}

// Returns the name of the outer section if the policy is nested in Helm values or in part of a custom resource; empty
// for other documents.
std::string_view OuterSection(const internal::DocumentValue& document) {
  constexpr std::array<std::string_view, 4> kSections = {"spec", "driver", "ofedDriver", "upgradePolicy"};
  for (const internal::DocumentValue::Entry& entry : document.entries) {
    const auto found = std::find(kSections.begin(), kSections.end(), entry.name.text);
    if (document.IsMapping() && found != kSections.end()) return *found;
  }
  return "";
}

}  // namespace

PolicyDefaults PolicyDefaults::GpuOperator() {
  return {.auto_upgrade = true, .max_unavailable = Percent{25}, .drain_enable = false};
}

PolicyDefaults PolicyDefaults::NetworkOperator() {
  return {.auto_upgrade = false, .max_unavailable = std::nullopt, .drain_enable = true};
}

void internal::DrainField::Read(PolicySection& section, UpgradePolicy& policy) const {
  section.ReadSection(name, [&](PolicySection& inner) {
    bool enable = inner.reading().defaults.drain_enable;
    DrainPolicy drain;
    inner.Read("enable", Boolean(), enable);
    ReadFields(kDrainFields, inner, drain);
    if (enable) policy.drain = std::move(drain);
  });
}

// Does not write null if the drain is off, because the API server with the network operator's CRD enables a drain if
// `enable` is missing (defect-D17).
void internal::DrainField::Write(const UpgradePolicy& policy, FieldWriter& out) const {
  out.StartObject(name);
  out.Write("enable", Boolean(), policy.drain.has_value());
  WriteFields(kDrainFields, policy.drain.value_or(DrainPolicy()), out);
  out.EndObject();
}

void internal::DrainField::Check(const std::string& path, const UpgradePolicy& policy, FieldChecker& checker) const {
  if (policy.drain) CheckFields(kDrainFields, path + "drain", *policy.drain, checker);
}

void internal::GpuPodDeletionField::Read(PolicySection& section, UpgradePolicy& policy) const {
  Field(name, kPodDeletionField.member, kPodDeletionField.kind).Read(section, policy);
  if (section.IsSet("podDeletion") && section.IsSet(name)) {
    section.Reject(name, "must not be set together with podDeletion, which is another name for it");
  }
}

void internal::CheckByClass(const UpgradePolicy& policy, FieldChecker& checker) {
  if (policy.failure_policy) Check(policy.failure_policy->by_class, checker);
}

absl::StatusOr<UpgradePolicy> internal::ReadUpgradePolicy(const absl::StatusOr<DocumentValue>& document,
                                                          const PolicyDefaults& defaults, const TimeZoneLoader& zones) {
  if (!document.ok()) {
    return absl::InvalidArgumentError(fmt::format("upgrade policy: {}", Message(document.status())));
  }
  UpgradePolicy policy{.auto_upgrade = defaults.auto_upgrade, .max_unavailable = defaults.max_unavailable};
  PolicyReading reading{.defaults = defaults, .zones = zones};
  if (const std::string kind = WholeObject(*document); !kind.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "upgrade policy: the document is a complete {}; pass only its upgradePolicy section (ClusterPolicy: "
        "spec.driver.upgradePolicy, NicClusterPolicy: spec.ofedDriver.upgradePolicy)",
        kind));
  }
  if (const std::string_view section = OuterSection(*document); !section.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "upgrade policy: {} is not a field of the policy; pass the fields below upgradePolicy alone", section));
  }
  if (document->IsMapping()) {
    PolicySection root(*document, "", reading);
    ReadFields(kPolicyFields, root, policy);
    root.RejectUnknown();
  } else if (document->IsNull()) {
    // A file that lost its content must not start a rollout with the defaults.
    return absl::InvalidArgumentError("upgrade policy: the document is empty; write {} for a policy with all defaults");
  } else {
    return absl::InvalidArgumentError(fmt::format("upgrade policy: must be a mapping, got {}", Describe(*document)));
  }
  DRIVERUPGRADE_RETURN_IF_ERROR(reading.problems.ToStatus());
  DRIVERUPGRADE_RETURN_IF_ERROR(Validate(policy));
  return policy;
}

absl::StatusOr<UpgradePolicy> ParseUpgradePolicyJson(std::string_view json, const PolicyDefaults& defaults,
                                                     const TimeZoneLoader& zones) {
  return internal::ReadUpgradePolicy(internal::LoadJson(json), defaults, zones);
}

// Writes every field, because an API server replaces missing fields with defaults (H24).
std::string FormatUpgradePolicy(const UpgradePolicy& policy) {
  internal::FieldWriter writer;
  writer.StartObject();
  internal::WriteFields(internal::kPolicyFields, policy, writer);
  writer.EndObject();
  return writer.Written();
}

}  // namespace driverupgrade
