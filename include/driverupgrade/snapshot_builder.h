/// Reads a cluster into the snapshot on which Step bases its decisions.
///
/// Defines SnapshotBuilder, SnapshotOptions, PodFilter, RestartOnlyPredicate, and SameTemplate with IgnoredKeys.
///
///     SnapshotBuilder builder(identity, cluster, {.ns = "gpu-operator", .driver_labels = selector});
///     absl::StatusOr<ClusterSnapshot> snapshot = builder.Build(context);
///     builder.ReadPods(context, plan.pod_interest, *snapshot);  // then Step again
///
/// Reads four lists for the whole cluster (one more in requestor mode, three more with `devices`), and one list for
/// each node on whose pods a decision depends. An unreadable object becomes a finding on its node; only a list that
/// fails as a whole is an error. Not thread-safe.
#ifndef DRIVERUPGRADE_SNAPSHOT_BUILDER_H_
#define DRIVERUPGRADE_SNAPSHOT_BUILDER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/engine_options.h"

namespace driverupgrade {

namespace internal {
class AttemptLog;
}  // namespace internal

/// Returns true if a pod uses the driver and must leave the node before the driver is replaced. Every field of the pod
/// is set: resources of all containers, claims, volumes, annotations, owners. May do I/O within the context. Called
/// once for each pod version (UID and resourceVersion), on a separate thread. An error, an exception or a call that
/// exceeds SnapshotOptions::hook_timeout is reported as a finding, and the node waits (gate Hook).
using PodFilter = std::function<absl::StatusOr<bool>(const CallContext& context, const Pod& pod)>;

/// Returns true if an out-of-date driver pod can be replaced without evacuating the node, because the driver that it
/// loads stays the same. `running` is the revision from which `pod` was created; `wanted` is the newest revision.
/// Compare these two revisions, not the DaemonSet, whose template may have changed since then. Called for nodes that
/// need an upgrade, once for each combination of pod version and newest revision. Errors are reported as findings.
/// NotFound means that the template of one of the revisions is unknown, and the node is upgraded in full. After any
/// other error or an exception, the node waits (gate Hook). SameTemplate is a ready-made predicate:
///
///     options.restart_only = [](const CallContext&, const Pod&, const ControllerRevision& running,
///                               const ControllerRevision& wanted) { return SameTemplate(running, wanted); };
///
/// With SameTemplate, `kubectl rollout restart` and a new chart version restart driver pods without evacuating their
/// nodes.
using RestartOnlyPredicate = std::function<absl::StatusOr<bool>(
    const CallContext& context, const Pod& pod, const ControllerRevision& running, const ControllerRevision& wanted)>;

/// Labels and annotations of the pod template that SameTemplate ignores.
struct IgnoredKeys {
  std::vector<std::string> annotations = {"kubectl.kubernetes.io/restartedAt"};
  /// Labels that Helm charts set on everything they render.
  std::vector<std::string> labels = {"helm.sh/chart", "app.kubernetes.io/version", "app.kubernetes.io/managed-by",
                                     "chart", "heritage"};
};

/// Compares ControllerRevision::data as JSON values: the order of members does not matter, the order of lists does.
/// Errors, naming the revision: NotFound if a revision has no data; InvalidArgument if its data is not a JSON object.
[[nodiscard]] absl::StatusOr<bool> SameTemplate(const ControllerRevision& running, const ControllerRevision& wanted,
                                                const IgnoredKeys& ignored = {});

struct SnapshotOptions {
  /// Namespace of the driver's DaemonSets.
  std::string ns = {};
  /// Selects the driver's DaemonSets and their pods; both have these labels. Must not be empty.
  LabelSelector driver_labels = {};
  /// Null: no pod counts as using the driver.
  PodFilter uses_driver = nullptr;
  /// Null: every replacement evacuates the node.
  RestartOnlyPredicate restart_only = nullptr;
  /// Time limit for one call of `uses_driver` or `restart_only`, in real time. After the limit, the call's stop token
  /// requests a stop, and its result is ignored. InfiniteDuration: calls run on the thread of the pass, without a
  /// limit.
  absl::Duration hook_timeout = absl::Seconds(10);
  /// The nodes that this engine upgrades (default: all). With selectors, several engines can share a driver's nodes,
  /// each with its own policy. A node that no longer matches is left unchanged until another engine's selector matches
  /// it.
  LabelSelector node_selector = {};
  /// The DRA drivers (`gpu.nvidia.com`) whose DeviceTaintRules, ResourceClaims and ResourceSlices are read; empty:
  /// none.
  std::vector<std::string> devices = {};
};

class SnapshotBuilder {
 public:
  /// `cluster` must not be null. `requestor`: same as in StateMachineOptions. `attempts`: the engine's log of requests.
  /// The log must outlive the builder. Snapshots include the logged requests whose outcome is unknown; each read drops
  /// the requests whose outcome has become known. Null: there is no log.
  SnapshotBuilder(DriverIdentity identity, std::shared_ptr<ClusterReader> cluster, SnapshotOptions options,
                  const std::optional<RequestorOptions>& requestor = std::nullopt,
                  internal::AttemptLog* attempts = nullptr);
  ~SnapshotBuilder();

  /// Returns nodes, driver pods, DaemonSets and their revisions, without the nodes' other pods. Errors: the errors of
  /// the lists.
  [[nodiscard]] absl::StatusOr<ClusterSnapshot> Build(const CallContext& context);

  /// Reads the pods of the nodes in `interest`. If a list fails, the node's pods stay unknown, and a finding is added.
  void ReadPods(const CallContext& context, const std::vector<std::string>& interest, ClusterSnapshot& snapshot);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SNAPSHOT_BUILDER_H_
