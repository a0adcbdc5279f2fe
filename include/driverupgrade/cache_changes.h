/// Lists what changed in a cluster since a subscriber last asked.
///
/// Defines CacheChanges.
///
///     const CacheChanges changes = cache.Take(driver);
///     for (const std::string& node : changes.nodes) Judge(node);
///
/// A value type: copies are independent.
#ifndef DRIVERUPGRADE_CACHE_CHANGES_H_
#define DRIVERUPGRADE_CACHE_CHANGES_H_

#include <set>
#include <string>

namespace driverupgrade {

/// Changes since the last call to WatchCache::Take.
struct CacheChanges {
  /// The subscriber is new, or more nodes changed since its last call than are remembered. `nodes` then holds every node
  /// that exists; any other node that the subscriber knows has been deleted.
  bool everything = false;
  /// A DaemonSet, a revision, or a driver pod without a node changed.
  bool driver = false;
  /// Names of nodes that changed, that were deleted, or on which an object changed.
  std::set<std::string> nodes = {};
  /// The cluster was restored from a backup: writes made after that backup are lost.
  bool set_back = false;
  bool empty() const { return !everything && !driver && nodes.empty() && !set_back; }
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CACHE_CHANGES_H_
