/// Identifies the driver that is rolled out. Every label and annotation key is derived from this identity.
///
/// Defines DriverIdentity. Several identities can coexist in one process; there is no global driver name.
///
///     auto gpu = DriverIdentity::Create("nvidia.com", "gpu");
///     gpu->StateLabel();   // "nvidia.com/gpu-driver-upgrade-state"
///     gpu->EventReason();  // "GPUDriverUpgrade"
///
/// The keys are a wire format shared with the Go library k8s-operator-libs, except the keys under "Not in the Go
/// library", which that library leaves untouched. An immutable value, cheap to copy; thread-safe. Returned references
/// are valid as long as the identity, or a copy of it, exists.
#ifndef DRIVERUPGRADE_DRIVER_IDENTITY_H_
#define DRIVERUPGRADE_DRIVER_IDENTITY_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "driverupgrade/abseil_abi.h"

namespace driverupgrade {

/// Node annotation with the owners of the node's cordon: the DriverIdentity::Name() of each upgrade that relies on the
/// cordon, sorted and comma-separated. All domains and drivers use this one key.
inline constexpr std::string_view kCordonedByAnnotation = "driverupgrade/cordoned-by";

class DriverIdentity {
 public:
  /// `domain` is a DNS-1123 subdomain ("nvidia.com"); `driver` starts and ends with a lower-case letter or digit and
  /// may contain `-`, `_` and `.` inside. Errors: InvalidArgument, also if the longest key would exceed the 63
  /// characters that Kubernetes allows after the `/`. A driver name therefore has at most 13 characters.
  [[nodiscard]] static absl::StatusOr<DriverIdentity> Create(std::string_view domain, std::string_view driver);

  const std::string& domain() const;
  const std::string& driver() const;
  /// Returns `<domain>/<driver>`, as used in kCordonedByAnnotation.
  const std::string& Name() const;

  /// Node label with the state (upgrade_state.h).
  const std::string& StateLabel() const;
  /// Node label; exactly `true` keeps the node in upgrade-required.
  const std::string& SkipUpgradeLabel() const;
  /// Pod label that excludes the pod from drains: operators add `<key>!=true` to the drain selector.
  const std::string& SkipDrainPodLabel() const;
  /// Node annotation; any non-empty value means that the driver is waiting to be loaded.
  const std::string& SafeLoadAnnotation() const;
  /// Node annotation; its presence means that an administrator had cordoned the node before the upgrade.
  const std::string& InitiallyUnschedulableAnnotation() const;
  /// Node annotation; Unix time in seconds at which the wait for jobs started.
  const std::string& PodCompletionStartAnnotation() const;
  /// Node annotation; Unix time in seconds at which the wait for validation started.
  const std::string& ValidationStartAnnotation() const;
  /// Node annotation; exactly `true` requests an upgrade even if the driver pod is up to date.
  const std::string& UpgradeRequestedAnnotation() const;
  /// Node annotation; its presence means that an external maintenance operator evacuates the node.
  const std::string& RequestorModeAnnotation() const;
  /// `GPUDriverUpgrade` for the driver `gpu`.
  const std::string& EventReason() const;

  // Not in the Go library: all the keys below.

  /// Node annotation `<state>@<unix seconds>@<target revision>`: the time at which the node's current phase started.
  const std::string& StageAnnotation() const;
  /// Node annotation, in Unix seconds: the creation time of the newest pod that tolerates the cordon and is evicted by
  /// the drain. Pods that tolerate the cordon and were created later stay on the node, because they replace evicted
  /// pods.
  const std::string& DrainStartAnnotation() const;
  /// Node annotation, in Unix seconds: the time since which no DaemonSet of the driver has selected a node whose upgrade
  /// waits, is in progress or has failed. The node is released after ten minutes.
  const std::string& UnwantedSinceAnnotation() const;
  /// Node annotation: the target revision at which the node's upgrade failed.
  const std::string& FailedRevisionAnnotation() const;
  /// Node annotation `<count>@<unix seconds>`: how many times the node's upgrade has failed at the revision in
  /// FailedRevisionAnnotation, and the time of the last failure.
  const std::string& FailuresAnnotation() const;
  /// Node annotation: the FailureClass of the node's last failure, for policies that count failures by class.
  const std::string& FailureClassAnnotation() const;
  /// Node annotation: the cause of the failure, as text in at most 256 bytes of UTF-8. Kubernetes deletes Events after
  /// an hour; this annotation stays until the node leaves upgrade-failed.
  const std::string& FailureCauseAnnotation() const;
  /// Node annotation: the reason why the node does not move, as `<gate>: <detail>` in at most 256 bytes of UTF-8. Set
  /// once the gate of a node that is in progress or has failed has lasted for a minute.
  const std::string& WaitingForAnnotation() const;
  /// Annotation of the driver's DaemonSet: approvals of a rollout, `<stage>@<revision>`, separated by commas.
  const std::string& ApprovedAnnotation() const;
  /// Annotation of the operator's Lease: the policies that the leader follows, `{"<engine>": <policy>}`.
  const std::string& PolicyAnnotation() const;
  /// Node annotation: UID of a driver pod that must be restarted even though its revision is current.
  const std::string& RestartPodAnnotation() const;
  /// Node annotation `<revision>[,<revision>...]@<target revision>`: driver pods of these revisions are restarted
  /// without evacuating the node.
  const std::string& RestartOnlyAnnotation() const;
  /// Node annotation `<revision>[,<revision>...]`: driver pods of these revisions are not replaced, although they may be
  /// out of date. The node was evacuated so that they can load the driver (SafeLoadManager).
  const std::string& ReloadOnlyAnnotation() const;
  /// Node annotation: the gang for which the node was started together with other nodes (RolloutPolicy::gangs).
  const std::string& UnitAnnotation() const;
  /// Node annotation `<key>=<value>[,<key>...]`: the labels that the node had at the start of its upgrade, among those
  /// that decide its engine (SnapshotOptions::node_selector), its stage and its group (RolloutPolicy). A key without a
  /// value was not set.
  const std::string& RolloutLabelsAnnotation() const;
  /// Node annotation `<number of devices>`: devices of the node are isolated instead of the whole node
  /// (UpgradePolicy::isolation). The value is the number of devices at the start of the upgrade.
  const std::string& IsolatedDevicesAnnotation() const;

  /// Key of the node taint with the value `pending` and the effect PreferNoSchedule: the node is not upgraded yet, so
  /// gangs should restart on other nodes (NodeGangs::steer).
  const std::string& PendingTaint() const { return KeyPrefix(); }

  /// The common prefix of all these keys.
  const std::string& KeyPrefix() const;

  friend bool operator==(const DriverIdentity& a, const DriverIdentity& b) { return a.Name() == b.Name(); }

 private:
  struct Keys;
  explicit DriverIdentity(std::shared_ptr<const Keys> keys) : keys_(std::move(keys)) {}

  std::shared_ptr<const Keys> keys_;  // not null
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_DRIVER_IDENTITY_H_
