/// UpgradePolicy from and to the documents that administrators write: the `upgradePolicy` section of the
/// custom resources of NVIDIA's GPU Operator and Network Operator, in YAML or JSON.
///
/// Defines ParseUpgradePolicy, ParseUpgradePolicyJson, FormatUpgradePolicy, PolicyDefaults, and Warnings about fields of a
/// valid policy that have no effect.
///
///     absl::StatusOr<UpgradePolicy> policy = ParseUpgradePolicy(R"(
///       autoUpgrade: true
///       maxParallelUpgrades: 2
///       maxUnavailable: 25%
///       drain: {enable: true, timeoutSeconds: 300}
///     )", PolicyDefaults::GpuOperator());
///
/// `maxParallelUpgrades: 0` is no limit and `timeoutSeconds: 0` is for ever. Free functions; thread-safe.
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

/// What stands where a document is silent. The two operators differ.
struct PolicyDefaults {
  bool auto_upgrade = false;
  std::optional<CountOrPercent> max_unavailable = std::nullopt;
  /// Whether a `drain` section without `enable` is switched on.
  bool drain_enable = false;

  /// Those of an NVIDIADriver: autoUpgrade true, maxUnavailable 25 %, drain only if `enable` says so.
  static PolicyDefaults GpuOperator();
  /// Those of a NicClusterPolicy: autoUpgrade false, no maxUnavailable, a drain section is on unless `enable: false`.
  static PolicyDefaults NetworkOperator();
};

/// Reads one mapping. JSON is read as YAML, of which it is a subset; duplicate and unknown keys are errors. A null
/// value is the same as an absent field, as in Kubernetes; a document that is empty or null is an error, as `{}` says that
/// all defaults are meant.
/// Errors: InvalidArgument with the path of each offending field, all of them at once, joined by "; ":
/// `drain.timeoutSeconds: must be >= 0, got -5`.
[[nodiscard]] absl::StatusOr<UpgradePolicy> ParseUpgradePolicy(std::string_view document,
                                                               const PolicyDefaults& defaults = {});

/// Finds the time zone of an IANA name. Errors: InvalidArgument.
using TimeZoneLoader = std::function<absl::StatusOr<TimeZoneTable>(std::string_view name)>;

/// The same of a document that is JSON: nothing of YAML is read, and no YAML library is needed. `zones` finds the time
/// zones of `rollout.windows`, as LoadRolloutTimeZone does; null: UTC alone is known, and no file is read.
[[nodiscard]] absl::StatusOr<UpgradePolicy> ParseUpgradePolicyJson(std::string_view json,
                                                                   const PolicyDefaults& defaults = {},
                                                                   const TimeZoneLoader& zones = nullptr);

/// One JSON object with every field spelled out, zeros included, so that no server default replaces one; only an
/// absent limit or section, for which documents have no other word, is null. `policy` is one that Validate accepts.
/// ParseUpgradePolicy with PolicyDefaults{} reads it back to an equal policy, fractions of seconds rounded up.
std::string FormatUpgradePolicy(const UpgradePolicy& policy);

/// One sentence for each such field, which begins with the path of the field as documents spell it. In the order of the
/// fields; empty for most policies. `policy` passes Validate.
[[nodiscard]] std::vector<std::string> Warnings(const UpgradePolicy& policy);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_POLICY_CODEC_H_
