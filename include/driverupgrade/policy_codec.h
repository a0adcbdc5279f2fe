/// Converts UpgradePolicy to and from the documents that administrators write: the section `upgradePolicy` in the
/// custom resources of NVIDIA's GPU Operator and Network Operator, in YAML or JSON.
///
/// Defines ParseUpgradePolicy, ParseUpgradePolicyJson, FormatUpgradePolicy, PolicyDefaults, and Warnings about fields
/// of a valid policy that have no effect.
///
///     absl::StatusOr<UpgradePolicy> policy = ParseUpgradePolicy(R"(
///       autoUpgrade: true
///       maxParallelUpgrades: 2
///       maxUnavailable: 25%
///       drain: {enable: true, timeoutSeconds: 300}
///     )", PolicyDefaults::GpuOperator());
///
/// `maxParallelUpgrades: 0` means no limit, and `timeoutSeconds: 0` means no timeout. Free functions; thread-safe.
#ifndef DRIVERUPGRADE_POLICY_CODEC_H_
#define DRIVERUPGRADE_POLICY_CODEC_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/policy_values.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade {

/// Values of fields that a document omits. The GPU Operator and the Network Operator have different defaults.
struct PolicyDefaults {
  bool auto_upgrade = false;
  std::optional<CountOrPercent> max_unavailable = std::nullopt;
  /// True if a `drain` section that omits `enable` is switched on.
  bool drain_enable = false;

  /// Defaults of an NVIDIADriver: autoUpgrade is true, maxUnavailable is 25 %, and nodes are drained only if `enable`
  /// is true.
  static PolicyDefaults GpuOperator();
  /// Defaults of a NicClusterPolicy: autoUpgrade is false, there is no maxUnavailable, and a `drain` section is on
  /// unless it has `enable: false`.
  static PolicyDefaults NetworkOperator();
};

/// Reads one mapping. JSON is read as YAML, of which it is a subset; duplicate and unknown keys are errors. A null
/// value counts as an absent field, as in Kubernetes. A document that is empty or null is an error; `{}` selects all
/// defaults. Errors: InvalidArgument. The message contains one error for each invalid field, separated by semicolons.
/// Each starts with the path of the field: `drain.timeoutSeconds: must be >= 0, got -5`.
[[nodiscard]] absl::StatusOr<UpgradePolicy> ParseUpgradePolicy(std::string_view document,
                                                               const PolicyDefaults& defaults = {});

/// Finds the time zone with the given IANA name. Errors: InvalidArgument.
using TimeZoneLoader = std::function<absl::StatusOr<TimeZoneTable>(std::string_view name)>;

/// Same as ParseUpgradePolicy, but for JSON documents only, so that no YAML library is needed. `zones` finds the time
/// zones of `rollout.windows`, like LoadRolloutTimeZone; null: only UTC is known, and no file is read.
[[nodiscard]] absl::StatusOr<UpgradePolicy> ParseUpgradePolicyJson(std::string_view json,
                                                                   const PolicyDefaults& defaults = {},
                                                                   const TimeZoneLoader& zones = nullptr);

/// Returns one JSON object with every field, including zeros, so that no server default replaces a value. Only absent
/// limits and sections that documents cannot express otherwise are null. `policy` must pass Validate.
/// ParseUpgradePolicy with PolicyDefaults{} reads an equal policy back, with fractions of seconds rounded up.
std::string FormatUpgradePolicy(const UpgradePolicy& policy);

/// Returns one sentence for each field that has no effect, in field order; most policies have no such field. Each
/// sentence starts with the path of the field as in documents. `policy` must pass Validate.
[[nodiscard]] std::vector<std::string> Warnings(const UpgradePolicy& policy);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_POLICY_CODEC_H_
