/// Reports, in the conditions of a custom resource and in an Event, whether the resource's policy is used.
///
/// Defines UpgradeStanding, StandingOf, StateOf, ResourceVerdict, ConditionPatch, IsSaid, WarningEvent and
/// ResourceReporter.
///
///     ResourceReporter reporter(objects, "nvidia-gpu-operator", clock, log);
///     absl::Time again = reporter.Report(context, {{.kind = kPolicies, .object = policy, .error = why}});
///
/// ConditionPatch, IsSaid and WarningEvent are pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_RESOURCE_CONDITION_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_RESOURCE_CONDITION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/service/director.h"

namespace examples {

/// Type of the condition about the policy. True: the operator uses the current policy. False with one of these reasons:
/// - InvalidPolicy: the policy is invalid (its last valid version stays in use), or no engine can be created for it.
/// - NotInEffect: the policy is valid, but another policy is used.
/// - DriverNotMade: the upgrade policy is in effect, but the driver's DaemonSet cannot be created, or another operator
///   has not created it.
inline constexpr char kPolicyValid[] = "UpgradePolicyValid";

/// Type of the condition about the progress of the upgrade. True: every node has the newest driver, or was excluded by
/// an administrator.
inline constexpr char kDriversUpgraded[] = "DriversUpgraded";

struct UpgradeStanding {
  bool done = false;
  /// Done, UnderWay, Failed, Halted or Frozen.
  std::string reason = {};
  /// "3 of 10 nodes done, 1 failed, 2 in progress, 4 pending". If an engine counts nodes that are left out or that have
  /// no Ready driver, the message also contains their numbers.
  std::string message = {};
  friend bool operator==(const UpgradeStanding&, const UpgradeStanding&) = default;
};
UpgradeStanding StandingOf(const driverupgrade::EngineProgress& progress, bool auto_upgrade);
/// Returns the standing of the engine `name`; nullopt if the engine does not exist, or has not completed a pass.
std::optional<UpgradeStanding> StandingOf(const std::map<std::string, driverupgrade::EngineProgress>& progress,
                                          const std::vector<driverupgrade::EngineSpec>& engines,
                                          const std::string& name);
inline constexpr char kReady[] = "ready";
inline constexpr char kNotReady[] = "notReady";
/// Returns the target value of status.state: `notReady` until all upgrades are done, then `ready`. NVIDIA's operators
/// use the same values. Returns an empty string, to keep the current value, if too little is known or all upgrades are
/// frozen.
std::string StateOf(const std::vector<std::optional<UpgradeStanding>>& standings);

struct ResourceVerdict {
  driverupgrade::ObjectKind kind = {};
  driverupgrade::ApiObject object = {};
  /// Reason why the object's policy is not used; OK if it is used. FailedPrecondition: the policy is valid but not in
  /// effect. Unavailable: the policy is in effect, but the driver's DaemonSet that it requests is missing.
  absl::Status error = absl::OkStatus();
  /// Warnings that the condition lists: a policy that is in effect has fields without effect (policy_codec.h).
  std::vector<std::string> warnings = {};
  /// Target value of status.state; empty if another client writes that field.
  std::string state = {};
  /// Standing of the policy's upgrade. nullopt if the standing is not known yet, or if no engine uses the policy: the
  /// condition DriversUpgraded then stays as it is.
  std::optional<UpgradeStanding> standing = std::nullopt;
  friend bool operator==(const ResourceVerdict& a, const ResourceVerdict& b) {
    return a.object == b.object && a.error == b.error && a.warnings == b.warnings && a.state == b.state &&
           a.standing == b.standing;
  }
};

/// Returns the merge patch of the status subresource that reports `error`, for the version that was read; nullopt if
/// the object already reports `error`. Keeps conditions that other clients have written. Even a resource that has
/// always been valid gets the condition. `state`, `standing` and `warnings`: same as in ResourceVerdict.
std::optional<std::string> ConditionPatch(const driverupgrade::ApiObject& object, const absl::Status& error,
                                          absl::Time now, const std::string& state = {},
                                          const std::optional<UpgradeStanding>& standing = std::nullopt,
                                          const std::vector<std::string>& warnings = {});

/// Returns true if the object's condition UpgradePolicyValid reports `error` for the object's current generation.
bool IsSaid(const driverupgrade::ApiObject& object, const absl::Status& error);

/// Returns a `v1` Event that reports `error` about the object, in the object's namespace or in `default`. `name` is the
/// name of the Event.
std::string WarningEvent(const driverupgrade::ApiObject& object, const std::string& name, const std::string& component,
                         const absl::Status& error, absl::Time now);

/// Not thread-safe.
class ResourceReporter {
 public:
  ResourceReporter(std::shared_ptr<const driverupgrade::ObjectClient> objects, std::string component,
                   std::shared_ptr<driverupgrade::Clock> clock, driverupgrade::LogSink log);

  /// Writes verdicts that the objects do not show yet. Writes at most every ten seconds if another client also writes
  /// the state, or if only the counts of the standing have changed. Changed counts are written only after they have
  /// differed for two seconds. Alternating reasons are written less and less often, down to once every two minutes.
  /// Returns the time at which the next call is due if a write was refused or counts are delayed, and InfiniteFuture if
  /// not. After a conflict, Report writes once the watch has delivered the next version of the object.
  absl::Time Report(const driverupgrade::CallContext& context, const std::vector<ResourceVerdict>& verdicts);

 private:
  absl::Status ReportOne(const driverupgrade::CallContext& context, const ResourceVerdict& verdict);
  // Returns true if no Event about the error has been written yet.
  bool IsNews(const driverupgrade::ApiObject& object, const absl::Status& error);

  const std::shared_ptr<const driverupgrade::ObjectClient> objects_;
  const std::string component_;
  const std::shared_ptr<driverupgrade::Clock> clock_;
  const driverupgrade::LogSink log_;
  struct Said {
    std::string version;
    absl::Status error = absl::OkStatus();
    std::string state = {};
    std::optional<UpgradeStanding> standing = std::nullopt;
    absl::Time at = absl::InfinitePast();
    // Reason before the current one, and how often the two have alternated.
    std::string earlier_reason = {};
    int alternations = 0;
    // Time since which the standing has differed from the written standing.
    std::optional<absl::Time> differs_since = std::nullopt;
  };
  static void Follow(const Said& before, Said& said);
  // Returns true if only the standing or the object has changed since the last write, and the change is too recent to
  // be written. Sets `again` to the time at which the change may be written.
  static bool MayWait(Said& before, const ResourceVerdict& verdict, absl::Time now, absl::Time& again);
  std::map<std::string, Said> written_;  // verdicts that are completely written, by UID
  std::set<std::string> owed_;           // objects whose Event must still be written, by UID
  struct Known {
    absl::Status error = absl::OkStatus();
    std::int64_t generation = 0;
    friend bool operator==(const Known&, const Known&) = default;
  };
  std::map<std::string, Known> known_;  // by UID
  absl::Status told_ = absl::OkStatus();
  absl::Time not_before_ = absl::InfinitePast();
};

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_RESOURCE_CONDITION_H_
