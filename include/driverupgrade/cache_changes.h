/// Changes of a cluster since a reader last asked for them.
///
/// Defines CacheChanges.
///
///     const CacheChanges changes = cache.Take(driver);
///     for (const std::string& node : changes.nodes) LookAt(node);
///
/// A value.
#ifndef DRIVERUPGRADE_CACHE_CHANGES_H_
#define DRIVERUPGRADE_CACHE_CHANGES_H_

#include <set>
#include <string>

namespace driverupgrade {

/// Changes since the last call of WatchCache::Take.
struct CacheChanges {
  /// Nobody has asked for long, or at all: `nodes` are all that there are, and others may be gone.
  bool everything = false;
  /// DaemonSets, revisions, or driver pods that are bound to no node.
  bool driver = false;
  /// Nodes that changed, or on which something changed; also those that are gone.
  std::set<std::string> nodes = {};
  /// The cluster was set back to an earlier state: what was done since then has not happened.
  bool set_back = false;
  bool empty() const { return !everything && !driver && nodes.empty() && !set_back; }
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CACHE_CHANGES_H_
