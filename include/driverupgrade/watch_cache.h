/// Keeps the objects that driver upgrades read in memory, and updates them through watches, so that a pass sends no
/// reads to the API server.
///
/// Defines WatchCache, WatchCacheOptions, DriverScope and WatchRestart.
///
///     auto cache = WatchCache::Create(cluster, {.drivers = {{.ns = "gpu-operator", .driver_labels = selector}}});
///     (*cache)->Start();
///     EngineOptions options{.snapshot = ..., .cache = *cache};
///
/// The cache watches nodes, NodeMaintenances, the driver's DaemonSets, and their revisions and pods. Another watch
/// covers all pods in the cluster, of which the cache keeps only those on nodes for which a subscriber requested them.
/// If a scope names DRA drivers, the cache also watches the cluster's DeviceTaintRules, ResourceClaims and
/// ResourceSlices, and keeps the objects of these drivers; claims are stored in a packed form.
///
/// A broken watch resumes where it stopped. If it cannot resume, the cache lists the objects again and compares them
/// with the stored objects. Objects are immutable and shared, except pods other than driver pods: because there are so
/// many of them, they are stored in a packed form and unpacked on each request. An unreadable object is marked
/// (OnUnreadable::kMark) until a watch or a list returns a readable version. While a pod on a node is unreadable, all
/// the node's pods count as unknown.
///
/// Thread-safe. Shares ownership of `cluster`, and has a thread for each watch between Start and Stop.
#ifndef DRIVERUPGRADE_WATCH_CACHE_H_
#define DRIVERUPGRADE_WATCH_CACHE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/label_selector.h"

namespace driverupgrade {

/// The objects that one engine reads. Fields that also exist in SnapshotOptions must have the same values as in the
/// engine's SnapshotOptions.
struct DriverScope {
  /// Namespace of the driver's DaemonSets and pods.
  std::string ns = {};
  LabelSelector driver_labels = {};
  /// Namespace of NodeMaintenances, in requestor mode.
  std::optional<std::string> maintenance_ns = std::nullopt;
  /// DRA drivers whose devices are watched. If no scope names any, no DRA objects are watched.
  std::vector<std::string> devices = {};
  /// Selector of the nodes that the engine upgrades; needed if several engines share a driver's nodes. Does not limit
  /// the cache, which contains all nodes. Empty: all nodes.
  LabelSelector node_selector = {};
  friend bool operator==(const DriverScope&, const DriverScope&) = default;
};

struct WatchCacheOptions {
  /// Scopes of all engines that share the cache. Must not be empty.
  std::vector<DriverScope> drivers = {};
  /// The server ends a watch after one to two times this duration.
  absl::Duration watch_timeout = absl::Minutes(5);
  /// Pause after a watch has failed; doubles up to `retry_max` while the watch keeps failing, with a jitter of 10 %.
  absl::Duration retry_first = absl::Milliseconds(800);
  absl::Duration retry_max = absl::Seconds(30);
  /// Null: SystemClock().
  std::shared_ptr<Clock> clock = nullptr;
};

/// The reason why a watch was restarted.
enum class WatchRestart : std::uint8_t {
  kEnded,    ///< The watch ended normally, after its timeout. The only reason that occurs during normal operation.
  kExpired,  ///< The version to continue from is too old: the objects are listed again.
  kFailed,   ///< The watch broke, was refused, sent data that was not understood, or ended immediately.
  kAbsent,   ///< The cluster does not serve this kind; retried from time to time.
};
inline constexpr std::array kAllWatchRestarts = {WatchRestart::kEnded, WatchRestart::kExpired, WatchRestart::kFailed,
                                                 WatchRestart::kAbsent};
/// Returns `ended`, `expired`, `failed` or `absent`.
std::string_view ToString(WatchRestart reason);

class WatchCache final {
 public:
  /// Errors: InvalidArgument without a scope, or with a scope that has no namespace or labels; Unimplemented, with the
  /// name of the operation, if `cluster` lacks a required operation.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<WatchCache>> Create(std::shared_ptr<ClusterReader> cluster,
                                                                          WatchCacheOptions options);
  ~WatchCache();

  /// Starts to follow the cluster, with a thread for each watch; call it once.
  void Start();
  /// Replaces Start for programs without threads (a simulation): runs the watches in sequence, each until it ends,
  /// except for watches that must wait after a failure. The cluster's watches must end with a bookmark when there is
  /// nothing more to report, like FakeCluster::Poll.
  void Turn(const CallContext& context);
  /// Ends all watches, in the time that a call needs to notice its stop token. The cached data stays readable.
  void Stop();
  /// Returns true if every collection has been read once, and the nodes have been read again since their watch last
  /// broke. Before that, the cluster may have been restored from a backup unnoticed (ADR 0007). NodeMaintenances and
  /// the DRA kinds count as read if the cluster does not serve them.
  bool Synced() const;
  /// Returns OK, or the error of a watch that has been failing for at least `patience`, with the time of the first
  /// failure. In the latter case, the cached data may be out of date.
  absl::Status Health(absl::Duration patience = absl::Minutes(1)) const;
  /// Returns the number of watch restarts over all collections, by reason. The result contains every reason.
  std::map<WatchRestart, std::uint64_t> Restarts() const;
  /// Returns the index of a scope in the options; nullopt if the options do not contain the scope.
  std::optional<std::size_t> Find(const DriverScope& driver) const;

  /// Sets the callback `on_change`. The callback is called on a watch's thread when `Take(driver)` would return
  /// changes, and when the cache has become Synced. The callback must not block or call the cache. Null: no callback.
  /// Subscribe returns once the previous callback is no longer running.
  void Subscribe(std::size_t driver, std::function<void()> on_change);
  /// Returns the changes since the last call; the first call reports everything.
  CacheChanges Take(std::size_t driver);
  /// Prepares for another engine: the next Take reports everything, and the interest of the previous engine is dropped.
  void Attach(std::size_t driver);

  /// Returns nullptr if the node does not exist.
  std::shared_ptr<const Node> FindNode(const std::string& name) const;
  /// Returns the driver pods on the node; if `node` is empty, the pods without a node.
  std::vector<Pod> DriverPods(std::size_t driver, const std::string& node) const;
  std::vector<DaemonSet> DaemonSets(std::size_t driver) const;
  std::vector<ControllerRevision> Revisions(std::size_t driver) const;
  /// Returns the NodeMaintenances for the node, sorted by name; if `node` is empty, the objects whose node is unknown.
  /// Returns nullopt if the driver has no maintenance namespace, if NodeMaintenances have not been read yet, or if an
  /// unreadable NodeMaintenance may belong to the node.
  std::optional<std::vector<NodeMaintenance>> Maintenances(std::size_t driver, const std::string& node) const;
  /// Returns the node's DRA objects for the DRA drivers of the scope. Errors: NotFound if the cluster does not serve
  /// claims or slices. Unavailable if one of these kinds has not been read yet, or if the scope names no drivers.
  /// DataLoss if an object that may belong to the node cannot be read.
  [[nodiscard]] absl::StatusOr<NodeDevices> Devices(std::size_t driver, const std::string& node) const;
  /// Returns false if the ResourceClaim has not been read since it was allocated, so that a pod that names it may hold
  /// devices. Also returns false if claims cannot be read at all, unless the cluster does not serve claims.
  bool KnowsClaim(const std::string& ns, const std::string& name) const;
  /// Returns findings about unreadable DRA objects that may belong to any node.
  std::vector<Finding> DeviceFindings(std::size_t driver) const;
  /// Returns all pods on the node if they are known: they were read after the node's cordon last changed, and a watch
  /// has followed them since then.
  std::optional<std::vector<Pod>> PodsOn(const std::string& node) const;
  /// Returns true if PodsOn has a value; does not copy the pods.
  bool KnowsPodsOn(const std::string& node) const;
  /// Sets the nodes whose pods the driver's engine needs. Pods of other nodes are dropped, unless another engine needs
  /// them.
  void SetInterest(std::size_t driver, std::set<std::string> nodes);
  /// Uses one consistent list to read the pods on a node for which SetInterest was called, so that the result is newer
  /// than the cordon. Errors: the errors of the list; DataLoss, with the pod's name, if one of the pods cannot be read;
  /// Aborted if the watch on pods was restarted in the meantime.
  [[nodiscard]] absl::Status ReadPods(const CallContext& context, const std::string& node);
  /// Same as ReadPods for many nodes, with one list of all pods in the cluster; returns the status of each node.
  [[nodiscard]] std::map<std::string, absl::Status> ReadAllPods(const CallContext& context,
                                                                const std::set<std::string>& nodes);
  /// Stores a node that one of our writes returned, before the watch reports it. Ignored if the cache already has a
  /// newer version.
  void NodeWritten(Node node);

  /// Returns the revisions in the driver's namespace, read with one consistent list, for callers that cannot wait for
  /// the watch. An unreadable revision is marked. Errors: the errors of the list.
  [[nodiscard]] absl::StatusOr<std::vector<ControllerRevision>> ListRevisions(const CallContext& context,
                                                                              std::size_t driver);

 private:
  class Impl;
  explicit WatchCache(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_WATCH_CACHE_H_
