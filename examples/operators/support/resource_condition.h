/// Reports the result on a custom resource: by conditions in its status, and by an Event.
///
/// Defines UpgradeStanding, StandingOf, StateOf, ResourceVerdict, ConditionPatch, IsSaid, WarningEvent and ResourceReporter.
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

/// The type of the condition. True: the operator works by the policy as it stands. False with the reason InvalidPolicy:
/// it is not understood, and the last one that was is kept, or nothing can be made of it. False with the reason
/// NotInEffect: it is understood, and another policy is used. False with the reason DriverNotMade: its upgrade policy is in
/// effect, and the driver's DaemonSet that it names cannot be made, or has not been made by another operator.
inline constexpr char kPolicyValid[] = "UpgradePolicyValid";

/// The type of the other condition: how far the upgrade of its drivers is. True: every node has the newest driver, or is
/// left out because somebody wants it so.
inline constexpr char kDriversUpgraded[] = "DriversUpgraded";

struct UpgradeStanding {
  bool done = false;
  /// Done, UnderWay, Failed, Halted or Frozen.
  std::string reason = {};
  /// "3 of 10 nodes done, 1 failed, 2 in progress, 4 pending", and how many of the latter are left out, once the rest is done.
  std::string message = {};
  friend bool operator==(const UpgradeStanding&, const UpgradeStanding&) = default;
};
UpgradeStanding StandingOf(const driverupgrade::EngineProgress& progress, bool auto_upgrade);
/// Of the engine of that name; nullopt: there is none, or it has not made a pass.
std::optional<UpgradeStanding> StandingOf(const std::map<std::string, driverupgrade::EngineProgress>& progress,
                                          const std::vector<driverupgrade::EngineSpec>& engines,
                                          const std::string& name);
inline constexpr char kReady[] = "ready";
inline constexpr char kNotReady[] = "notReady";
/// What status.state is to be, as the operators of the vendor have it: `notReady` while one of the upgrades is not over,
/// then `ready`. Empty, so that it stays as it is: too little is known, or all of them are frozen.
std::string StateOf(const std::vector<std::optional<UpgradeStanding>>& standings);

struct ResourceVerdict {
  driverupgrade::ObjectKind kind = {};
  driverupgrade::ApiObject object = {};
  /// Why its policy is not taken; OK if it is. FailedPrecondition: there is nothing wrong with it, it is not in effect.
  /// Unavailable: it is in effect, without the driver's DaemonSet that it asks for.
  absl::Status error = absl::OkStatus();
  /// Fields of a policy in effect that have no effect (policy_warnings.h): the condition lists them.
  std::vector<std::string> warnings = {};
  /// What status.state is to be; empty: it is somebody else's business.
  std::string state = {};
  /// nullopt: nothing is known yet, or no engine works by it; the condition stays as it is.
  std::optional<UpgradeStanding> standing = std::nullopt;
  friend bool operator==(const ResourceVerdict& a, const ResourceVerdict& b) {
    return a.object == b.object && a.error == b.error && a.warnings == b.warnings && a.state == b.state &&
           a.standing == b.standing;
  }
};

/// The merge patch of the status subresource that says `error`, at the version that was read; nullopt if the object
/// says so already. Conditions of others stay. A resource that has never been wrong gets its condition as well.
/// `state`, `standing` and `warnings`: as ResourceVerdict's.
std::optional<std::string> ConditionPatch(const driverupgrade::ApiObject& object, const absl::Status& error,
                                          absl::Time now, const std::string& state = {},
                                          const std::optional<UpgradeStanding>& standing = std::nullopt,
                                          const std::vector<std::string>& warnings = {});

/// Returns true if the condition UpgradePolicyValid of the object reports `error` about its present generation.
bool IsSaid(const driverupgrade::ApiObject& object, const absl::Status& error);

/// A `v1` Event about the object that says `error`, in its namespace or in `default`; `name` is its own.
std::string WarningEvent(const driverupgrade::ApiObject& object, const std::string& name, const std::string& component,
                         const absl::Status& error, absl::Time now);

/// Not thread-safe.
class ResourceReporter {
 public:
  ResourceReporter(std::shared_ptr<const driverupgrade::ObjectClient> objects, std::string component,
                   std::shared_ptr<driverupgrade::Clock> clock, driverupgrade::LogSink log);

  /// Writes verdicts that the objects do not show yet. If only the counts of the standing have changed, or another client
  /// writes the state too, it writes every ten seconds at most, and not before the counts have differed for two seconds.
  /// A reason that alternates with another one is written less and less often, down to once in two minutes.
  /// Returns when to call again, for a refused write or for counts that wait; InfiniteFuture if there is neither. After a
  /// conflict it writes to the next version of the object.
  absl::Time Report(const driverupgrade::CallContext& context, const std::vector<ResourceVerdict>& verdicts);

 private:
  absl::Status ReportOne(const driverupgrade::CallContext& context, const ResourceVerdict& verdict);
  // Whether the error has not been the subject of an Event.
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
    // The reason before this one, and how often they have alternated.
    std::string earlier_reason = {};
    int alternations = 0;
    // Since when the standing has been another one.
    std::optional<absl::Time> differs_since = std::nullopt;
  };
  static void Follow(const Said& before, Said& said);
  // Nothing but the standing or the object has changed since, and that too lately. Sets `again` to when it may be said.
  static bool MayWait(Said& before, const ResourceVerdict& verdict, absl::Time now, absl::Time& again);
  std::map<std::string, Said> written_;  // for which all has been said, by UID
  std::set<std::string> owed_;           // of which an Event is still to be written, by UID
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
