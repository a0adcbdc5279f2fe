/// Parameters of ClusterFacade's reads (cluster_facade.h), and the changes that watches and the cache report.
///
/// Defines OnUnreadable, the Params structs of ClusterReader, WatchSink and CacheChanges.
///
///     const ListPodsParams on_node{.ns = "gpu-operator", .node_name = node.name};
///     absl::StatusOr<std::vector<Pod>> pods = cluster->ListPods(context, on_node);
///
/// Plain value types.
#ifndef DRIVERUPGRADE_CLUSTER_READS_H_
#define DRIVERUPGRADE_CLUSTER_READS_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/label_selector.h"

namespace driverupgrade {

/// Defines how one unreadable object affects its list or watch.
enum class OnUnreadable : std::uint8_t {
  kFail,  ///< The whole call fails. For callers that would treat such an object as absent.
  kMark,  ///< The object is returned with `unreadable` set; the other objects are not affected.
};

struct GetNodeParams {
  std::string name = {};
};
struct ListNodesParams {
  LabelSelector label_selector = {};
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};
struct GetPodParams {
  std::string ns = {};
  std::string name = {};
};
struct ListPodsParams {
  /// Empty: all namespaces.
  std::string ns = {};
  LabelSelector label_selector = {};
  /// Empty: all nodes.
  std::string node_name = {};
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};
struct ListDaemonSetsParams {
  std::string ns = {};
  LabelSelector label_selector = {};
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};
struct ListControllerRevisionsParams {
  std::string ns = {};
  LabelSelector label_selector = {};
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};
struct ListPodDisruptionBudgetsParams {
  /// Empty: all namespaces.
  std::string ns = {};
};
struct GetNodeMaintenanceParams {
  std::string ns = {};
  std::string name = {};
};
struct ListNodeMaintenancesParams {
  /// Empty: all namespaces.
  std::string ns = {};
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};

struct ListDeviceTaintRulesParams {
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};
struct ListResourceClaimsParams {
  /// Empty: all namespaces.
  std::string ns = {};
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};
struct ListResourceSlicesParams {
  /// Empty: all slices, including slices that do not belong to a single node.
  std::string node_name = {};
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};

struct GetLeaseParams {
  std::string ns = {};
  std::string name = {};
};
struct GetConfigMapParams {
  std::string ns = {};
  std::string name = {};
};

/// The parameters of a watch on a collection of objects.
///
///     class Printer final : public WatchSink<Node> {
///       bool OnList(std::vector<Node> nodes, std::string_view) override { ...; return true; }
///       bool OnChange(Node node, std::string_view) override { fmt::print("{}\n", node.name); return true; }
///       bool OnDelete(Node node, std::string_view) override { ...; return true; }
///       bool OnBookmark(std::string_view) override { return true; }
///     };
///     absl::Status ended = cluster->WatchNodes(context, {}, printer);
///
/// The watch has the semantics of a Kubernetes watch.
struct WatchParams {
  /// Empty: all namespaces. Ignored for kinds without namespaces.
  std::string ns = {};
  LabelSelector label_selector = {};
  /// Version after which the watch continues: the version that the last call to the sink reported. Empty: the watch
  /// starts from the beginning, with OnList.
  std::string resource_version = {};
  /// False: the watch starts now, without reading the existing objects. OnList then passes no objects, only the version
  /// after which changes follow.
  bool list = true;
  /// Time after which the server ends the watch. The context's deadline should be later.
  absl::Duration timeout = absl::Minutes(5);
  /// With kMark, a watch continues past an unreadable object. With kFail, such an object ends the watch with an error;
  /// a watch that is restarted from the same version fails again.
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};

/// Receives the events of one watch. Called on the thread that called Watch..., one call at a time; while a call runs,
/// no further event is read (back-pressure). Each call returns true to continue; false ends the watch with OK.
/// `resource_version` is the version to continue from if the watch breaks after that call.
template <typename T>
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  /// The whole collection; known objects that are missing from it were deleted.
  virtual bool OnList(std::vector<T> objects, std::string_view resource_version) = 0;
  /// The object was added or modified, or now matches the selector.
  virtual bool OnChange(T object, std::string_view resource_version) = 0;
  /// The object was deleted or no longer matches. `object` is its last state.
  virtual bool OnDelete(T object, std::string_view resource_version) = 0;
  /// No matching object changed between the previous call and this version.
  virtual bool OnBookmark(std::string_view resource_version) = 0;
};

/// Changes since the last call to WatchCache::Take:
///
///     const CacheChanges changes = cache.Take(driver);
///     for (const std::string& node : changes.nodes) Judge(node);
struct CacheChanges {
  /// True if the subscriber is new, or if more nodes have changed since its last call than the cache can remember.
  /// `nodes` then contains every node that exists; any other node that the subscriber knows has been deleted.
  bool everything = false;
  /// True if a DaemonSet, a revision, or a driver pod without a node changed.
  bool driver = false;
  /// Names of nodes that changed, that were deleted, or on which an object changed.
  std::set<std::string> nodes = {};
  /// True if the cluster was restored from a backup: all writes made after that backup are lost.
  bool set_back = false;
  bool empty() const { return !everything && !driver && nodes.empty() && !set_back; }
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CLUSTER_READS_H_
