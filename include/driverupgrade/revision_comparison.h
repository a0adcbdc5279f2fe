/// Whether two revisions of a driver's DaemonSet differ only in what does not change the driver.
///
/// Defines IgnoredKeys and SameTemplate, a ready-made answer for SnapshotOptions::restart_only:
///
///     options.restart_only = [](const CallContext&, const Pod&, const ControllerRevision& running,
///                               const ControllerRevision& wanted) { return SameTemplate(running, wanted); };
///
/// With it `kubectl rollout restart` and a new chart version restart driver pods without evacuating their nodes.
/// Free function on values; thread-safe.
#ifndef DRIVERUPGRADE_REVISION_COMPARISON_H_
#define DRIVERUPGRADE_REVISION_COMPARISON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/cluster_types.h"

namespace driverupgrade {

/// Metadata of the pod template that may differ.
struct IgnoredKeys {
  std::vector<std::string> annotations = {"kubectl.kubernetes.io/restartedAt"};
  /// What charts stamp on everything they render.
  std::vector<std::string> labels = {"helm.sh/chart", "app.kubernetes.io/version", "app.kubernetes.io/managed-by",
                                     "chart", "heritage"};
};

/// Compares ControllerRevision::data as JSON values: the order of members does not matter, the order of lists does.
/// Errors, naming the revision: NotFound if one has no data; InvalidArgument if its data is not a JSON object.
[[nodiscard]] absl::StatusOr<bool> SameTemplate(const ControllerRevision& running, const ControllerRevision& wanted,
                                                const IgnoredKeys& ignored = {});

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_REVISION_COMPARISON_H_
