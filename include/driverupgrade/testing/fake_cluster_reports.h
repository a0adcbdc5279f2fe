/// Calls and changes that a FakeCluster reports.
///
/// Defines Call, FaultHook, Actor, Versions, Change and ChangeObserver.
///
///     cluster->SetChangeObserver([](const Change& change) { if (change.node.after) Note(*change.node.after); });
///
/// Values. See fake_cluster.h.
#ifndef DRIVERUPGRADE_TESTING_FAKE_CLUSTER_REPORTS_H_
#define DRIVERUPGRADE_TESTING_FAKE_CLUSTER_REPORTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/device_types.h"

namespace driverupgrade::testing {

/// One call through the facade.
struct Call {
  /// 1, 2, ... in order of arrival.
  std::int64_t number = 0;
  Operation operation = Operation::kGetNode;
  absl::Time time = absl::UnixEpoch();
  /// `gpu-7` or `team-a/web-1`; for a list, namespace and node, empty where not restricted.
  std::string object = {};
  /// Everything else that was asked, for people.
  std::string parameters = {};
  /// What the caller was told, which need not be what happened.
  absl::StatusCode code = absl::StatusCode::kOk;
  /// The error's message, or the kind of the EvictionAnswer.
  std::string answer = {};
  /// Whether it reached the model: false where a fault, a stop or the deadline kept it away.
  bool applied = false;
};

/// Runs before or after the model, without a lock: it may use the cluster. A status is answered in place of
/// the model's answer; from before the model, the call is then not applied.
using FaultHook = std::function<std::optional<absl::Status>(const Call&)>;

enum class Actor : std::uint8_t { kClient, kAdministrator, kCluster };

template <class T>
struct Versions {
  /// Null if the object was created.
  const T* before = nullptr;
  /// Null if the object was removed.
  const T* after = nullptr;
};

/// One commit: exactly one of the pairs is set. The pointers are valid during the call only.
struct Change {
  std::int64_t revision = 0;
  absl::Time time = absl::UnixEpoch();
  Actor actor = Actor::kCluster;
  Versions<Node> node = {};
  Versions<Pod> pod = {};
  Versions<DaemonSet> daemon_set = {};
  Versions<ControllerRevision> controller_revision = {};
  Versions<NodeMaintenance> node_maintenance = {};
  Versions<DeviceTaintRule> device_taint_rule = {};
  Versions<ResourceClaim> resource_claim = {};
  Versions<ResourceSlice> resource_slice = {};
  Versions<Lease> lease = {};
  Versions<ConfigMap> config_map = {};
};
/// Runs after each commit, on whichever thread made it happen, with the cluster locked: it must not use the
/// cluster, but sees every change, in order.
using ChangeObserver = std::function<void(const Change&)>;

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTING_FAKE_CLUSTER_REPORTS_H_
