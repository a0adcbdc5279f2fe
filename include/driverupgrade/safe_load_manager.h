/// Safe driver loading: a driver pod waits until its node has been evacuated.
///
/// Defines SafeLoadManager.
///
/// The init container of the driver pod sets the safe-load annotation on its node and blocks until the annotation is
/// removed. The upgrade evacuates the node and then removes the annotation.
///
///     SafeLoadManager safe_load(identity);
///     if (safe_load.IsWaiting(node)) cluster.PatchNode(context, safe_load.Unblocking(node));
///
/// Makes decisions for Step, without side effects. Thread-safe.
#ifndef DRIVERUPGRADE_SAFE_LOAD_MANAGER_H_
#define DRIVERUPGRADE_SAFE_LOAD_MANAGER_H_

#include <utility>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/driver_identity.h"

namespace driverupgrade {

namespace internal {
struct NodeMarks;
}  // namespace internal

class SafeLoadManager {
 public:
  explicit SafeLoadManager(DriverIdentity identity) : identity_(std::move(identity)) {}
  /// Returns true if the annotation exists and is not empty.
  bool IsWaiting(const Node& node) const;
  /// Returns the patch that removes the annotation from the node, at the version that was read. The caller must make
  /// sure that the node has been evacuated.
  PatchNodeParams Unblocking(const Node& node) const;

  /// Same as above, for marks that are already decoded.
  static bool IsWaiting(const internal::NodeMarks& marks);
  static void Unblock(internal::NodeMarks& marks);

 private:
  DriverIdentity identity_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SAFE_LOAD_MANAGER_H_
