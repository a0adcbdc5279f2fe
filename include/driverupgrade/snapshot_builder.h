/// Reads a cluster into the snapshot that Step decides by.
///
/// Defines SnapshotBuilder, SnapshotOptions and PodFilter.
///
///     SnapshotBuilder builder(identity, cluster, {.ns = "gpu-operator", .driver_labels = selector});
///     absl::StatusOr<ClusterSnapshot> snapshot = builder.Build(context, log);
///     builder.ReadPods(context, plan.pod_interest, log, *snapshot);  // then Step again
///
/// Four lists for the whole cluster, and one for each node whose pods a decision depends on. One bad object becomes a
/// finding on its node; only a list that fails altogether is an error (dep-F1). Not thread-safe.
#ifndef DRIVERUPGRADE_SNAPSHOT_BUILDER_H_
#define DRIVERUPGRADE_SNAPSHOT_BUILDER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/attempt_log.h"
#include "driverupgrade/call_context.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/driver_identity.h"

namespace driverupgrade::inline v1 {

/// Whether a pod uses the driver and has to leave the node before the driver is replaced. May do I/O within the
/// context. Called once for each version of a pod (UID and resourceVersion). An error or an exception is a finding and
/// holds the node back (gate Hook).
using PodFilter = std::function<absl::StatusOr<bool>(const CallContext& context, const Pod& pod)>;

struct SnapshotOptions {
  /// Namespace of the driver's DaemonSets.
  std::string ns = {};
  /// Selects the driver's DaemonSets and their pods; both carry these labels. Must not be empty.
  LabelSelector driver_labels = {};
  /// Null: the operator has none, and no pod counts as using the driver.
  PodFilter uses_driver = nullptr;
};

class SnapshotBuilder {
 public:
  /// `cluster` is not null.
  SnapshotBuilder(DriverIdentity identity, std::shared_ptr<ClusterReader> cluster, SnapshotOptions options);

  /// Nodes, driver pods, DaemonSets and their revisions, without the nodes' other pods. Drops from `log` what the read
  /// nodes settle. Errors: those of the lists.
  [[nodiscard]] absl::StatusOr<ClusterSnapshot> Build(const CallContext& context, AttemptLog& log);

  /// Reads the pods of the nodes in `interest`. A list that fails leaves the node's pods unknown, with a finding.
  /// Attempts on pods that are gone, or of nodes that are no longer in progress, are dropped from `log`.
  void ReadPods(const CallContext& context, const std::vector<std::string>& interest, AttemptLog& log,
                ClusterSnapshot& snapshot);

 private:
  struct Remembered {
    std::string resource_version;
    bool uses_driver = false;
  };
  void ReadPodsOf(const CallContext& context, AttemptLog& log, NodeView& view, std::vector<Finding>& findings,
                  std::map<std::string, Remembered>& seen);
  void RunFilter(const CallContext& context, NodeView& view, std::vector<Finding>& findings,
                 std::map<std::string, Remembered>& seen);

  DriverIdentity identity_;
  std::shared_ptr<ClusterReader> cluster_;
  SnapshotOptions options_;
  std::map<std::string, Remembered> remembered_;  // by pod UID
};

}  // namespace driverupgrade::inline v1

#endif  // DRIVERUPGRADE_SNAPSHOT_BUILDER_H_
