/// Which driver is being rolled: the value that gives every label and annotation key.
///
/// Defines DriverIdentity. Two identities live side by side in one process; there is no global driver name (arch-A8).
///
///     auto gpu = DriverIdentity::Create("nvidia.com", "gpu");
///     gpu->StateLabel();   // "nvidia.com/gpu-driver-upgrade-state"
///     gpu->EventReason();  // "GPUDriverUpgrade"
///
/// The keys are a wire format shared with the Go library k8s-operator-libs (upstream-behaviour.md §0), except those
/// under "Ours alone", which the Go library leaves untouched. An immutable value; thread-safe.
#ifndef DRIVERUPGRADE_DRIVER_IDENTITY_H_
#define DRIVERUPGRADE_DRIVER_IDENTITY_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace driverupgrade::inline v1 {

/// Node annotation that says whose cordon the node carries: a comma-separated, sorted set of DriverIdentity::Name()
/// of the upgrades that rely on it. One key for all domains and drivers (dep-F7).
inline constexpr std::string_view kCordonedByAnnotation = "driverupgrade/cordoned-by";

class DriverIdentity {
 public:
  /// `domain` is a DNS-1123 subdomain ("nvidia.com"); `driver` begins and ends with a lower-case letter or digit and
  /// may have `-`, `_` and `.` inside. Errors: InvalidArgument, also where the longest key would exceed the 63
  /// characters that Kubernetes allows after the `/`: a driver name has at most 13 (S8, S10).
  [[nodiscard]] static absl::StatusOr<DriverIdentity> Create(std::string_view domain, std::string_view driver);

  const std::string& domain() const { return domain_; }
  const std::string& driver() const { return driver_; }
  /// `<domain>/<driver>`, as it stands in kCordonedByAnnotation.
  std::string Name() const;

  /// Node label with the state (upgrade_state.h).
  std::string StateLabel() const;
  /// Node label; exactly `true` keeps the node in upgrade-required (T5).
  std::string SkipUpgradeLabel() const;
  /// Pod label; consumers add `<key>!=true` to the drain selector (drain-D68).
  std::string SkipDrainPodLabel() const;
  /// Node annotation; any value but the empty one says that the driver waits to be loaded (T39, T43).
  std::string SafeLoadAnnotation() const;
  /// Node annotation; its presence says that an administrator had cordoned the node before the upgrade.
  std::string InitiallyUnschedulableAnnotation() const;
  /// Node annotation; unix seconds at which the wait for jobs began.
  std::string PodCompletionStartAnnotation() const;
  /// Node annotation; unix seconds at which the wait for validation began.
  std::string ValidationStartAnnotation() const;
  /// Node annotation; exactly `true` asks for an upgrade even if the driver pod is up to date.
  std::string UpgradeRequestedAnnotation() const;
  /// Node annotation; its presence says that an external maintenance operator evacuates the node.
  std::string RequestorModeAnnotation() const;
  /// `GPUDriverUpgrade` for the driver `gpu`.
  std::string EventReason() const;

  // Ours alone.
  /// Node annotation `<state>@<unix seconds>@<target revision>`: when the present waiting stage began (dep-F4).
  std::string StageAnnotation() const;
  /// Node annotation: the target revision at which the upgrade of the node failed (dep-F2).
  std::string FailedRevisionAnnotation() const;
  /// Node annotation `<count>@<unix seconds>`: how often the upgrade of the node has failed at that revision, and when
  /// last.
  std::string FailuresAnnotation() const;
  /// Node annotation: UID of a driver pod to restart although its revision is current (dep-F17).
  std::string RestartPodAnnotation() const;
  /// Node annotation `<revision>[,<revision>...]@<target revision>`: driver pods of these revisions are restarted without
  /// evacuating the node (T8).
  std::string RestartOnlyAnnotation() const;

  friend bool operator==(const DriverIdentity&, const DriverIdentity&) = default;

 private:
  DriverIdentity(std::string_view domain, std::string_view driver);
  std::string Key(std::string_view suffix) const;

  std::string domain_;
  std::string driver_;
  std::string prefix_;  // of every key
};

}  // namespace driverupgrade::inline v1

#endif  // DRIVERUPGRADE_DRIVER_IDENTITY_H_
