/// Which driver is being rolled: the value that gives every label and annotation key.
///
/// Defines DriverIdentity. Two identities live side by side in one process; there is no global driver name.
///
///     auto gpu = DriverIdentity::Create("nvidia.com", "gpu");
///     gpu->StateLabel();   // "nvidia.com/gpu-driver-upgrade-state"
///     gpu->EventReason();  // "GPUDriverUpgrade"
///
/// The keys are a wire format shared with the Go library k8s-operator-libs, except those
/// under "Ours alone", which the Go library leaves untouched. An immutable value, cheap to copy; thread-safe.
/// What it returns is valid as long as the identity, or a copy of it, is there.
#ifndef DRIVERUPGRADE_DRIVER_IDENTITY_H_
#define DRIVERUPGRADE_DRIVER_IDENTITY_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "driverupgrade/abseil_abi.h"

namespace driverupgrade {

/// Node annotation that says whose cordon the node carries: a comma-separated, sorted set of DriverIdentity::Name()
/// of the upgrades that rely on it. One key for all domains and drivers.
inline constexpr std::string_view kCordonedByAnnotation = "driverupgrade/cordoned-by";

class DriverIdentity {
 public:
  /// `domain` is a DNS-1123 subdomain ("nvidia.com"); `driver` begins and ends with a lower-case letter or digit and
  /// may have `-`, `_` and `.` inside. Errors: InvalidArgument, also where the longest key would exceed the 63
  /// characters that Kubernetes allows after the `/`: a driver name has at most 13.
  [[nodiscard]] static absl::StatusOr<DriverIdentity> Create(std::string_view domain, std::string_view driver);

  const std::string& domain() const;
  const std::string& driver() const;
  /// `<domain>/<driver>`, as it stands in kCordonedByAnnotation.
  const std::string& Name() const;

  /// Node label with the state (upgrade_state.h).
  const std::string& StateLabel() const;
  /// Node label; exactly `true` keeps the node in upgrade-required.
  const std::string& SkipUpgradeLabel() const;
  /// Pod label; consumers add `<key>!=true` to the drain selector.
  const std::string& SkipDrainPodLabel() const;
  /// Node annotation; any value but the empty one says that the driver waits to be loaded.
  const std::string& SafeLoadAnnotation() const;
  /// Node annotation; its presence says that an administrator had cordoned the node before the upgrade.
  const std::string& InitiallyUnschedulableAnnotation() const;
  /// Node annotation; unix seconds at which the wait for jobs began.
  const std::string& PodCompletionStartAnnotation() const;
  /// Node annotation; unix seconds at which the wait for validation began.
  const std::string& ValidationStartAnnotation() const;
  /// Node annotation; exactly `true` asks for an upgrade even if the driver pod is up to date.
  const std::string& UpgradeRequestedAnnotation() const;
  /// Node annotation; its presence says that an external maintenance operator evacuates the node.
  const std::string& RequestorModeAnnotation() const;
  /// `GPUDriverUpgrade` for the driver `gpu`.
  const std::string& EventReason() const;

  // Ours alone.
  /// Node annotation `<state>@<unix seconds>@<target revision>`: when the present waiting stage began.
  const std::string& StageAnnotation() const;
  /// Node annotation: the target revision at which the upgrade of the node failed.
  const std::string& FailedRevisionAnnotation() const;
  /// Node annotation `<count>@<unix seconds>`: how often the upgrade of the node has failed at that revision, and when
  /// last.
  const std::string& FailuresAnnotation() const;
  /// Node annotation: the FailureClass of the node's last failure, for policies that count classes.
  const std::string& FailureClassAnnotation() const;
  /// Node annotation: why the node failed, as text in at most 256 bytes of UTF-8. Kubernetes deletes Events after an
  /// hour; this annotation stays until the node leaves upgrade-failed.
  const std::string& FailureCauseAnnotation() const;
  /// Node annotation: why the node does not move on, as `<gate>: <detail>` in at most 256 bytes of UTF-8. It is set on a
  /// node that is in progress or has failed, and whose gate has lasted for a minute.
  const std::string& WaitingForAnnotation() const;
  /// Annotation of the driver's DaemonSet: approvals of a rollout, `<stage>@<revision>`, separated by commas.
  const std::string& ApprovedAnnotation() const;
  /// Annotation of the operator's Lease: the policies by which its leader goes, `{"<engine>": <policy>}`.
  const std::string& PolicyAnnotation() const;
  /// Node annotation: UID of a driver pod to restart although its revision is current.
  const std::string& RestartPodAnnotation() const;
  /// Node annotation `<revision>[,<revision>...]@<target revision>`: driver pods of these revisions are restarted
  /// without evacuating the node.
  const std::string& RestartOnlyAnnotation() const;
  /// Node annotation: the gang because of which the node has started together with others (RolloutPolicy::gangs).
  const std::string& UnitAnnotation() const;
  /// Node annotation `<number of devices>`: devices of the node are isolated, and not the node
  /// (UpgradePolicy::isolation). They were so many when its upgrade began.
  const std::string& IsolatedDevicesAnnotation() const;

  /// Key of the node taint `pending` with the effect PreferNoSchedule: the node is not upgraded yet, and gangs should restart on other
  /// nodes (NodeGangs::steer).
  const std::string& PendingTaint() const { return KeyPrefix(); }

  /// What all of these keys begin with.
  const std::string& KeyPrefix() const;

  friend bool operator==(const DriverIdentity& a, const DriverIdentity& b) { return a.Name() == b.Name(); }

 private:
  struct Keys;
  explicit DriverIdentity(std::shared_ptr<const Keys> keys) : keys_(std::move(keys)) {}

  std::shared_ptr<const Keys> keys_;  // not null
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_DRIVER_IDENTITY_H_
