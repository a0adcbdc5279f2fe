/// Keeps the objects that driver upgrades read in memory, updated by watches: a pass then sends no reads to the API server.
///
/// Defines WatchCache, WatchCacheOptions, DriverScope and WatchRestart.
///
///     auto cache = WatchCache::Create(cluster, {.drivers = {{.ns = "gpu-operator", .driver_labels = selector}}});
///     (*cache)->Start();
///     EngineOptions options{.snapshot = ..., .cache = *cache};
///
/// It watches nodes, NodeMaintenances, the driver's DaemonSets, and their revisions and pods. One more watch covers all
/// pods of the cluster; the cache keeps only pods on nodes for which a subscriber requested them. Where a scope names DRA
/// drivers, it watches the cluster's DeviceTaintRules, ResourceClaims and ResourceSlices, and keeps those of these
/// drivers; claims are stored packed, too. A broken watch resumes
/// where it stopped. If it cannot resume, the cache lists the objects again and compares. Objects are immutable and
/// shared, except for pods of the cluster: there are very many, so they are stored packed and unpacked on each request.
/// An object that cannot be read is marked (OnUnreadable::kMark) until a watch or a list delivers it whole. While one
/// pod of a node cannot be read, the node's pods count as unknown.
///
/// Thread-safe. Holds a share of `cluster`, and a thread for each watch between Start and Stop.
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

/// What one engine looks at; SnapshotOptions has the same.
struct DriverScope {
  /// Namespace of the driver's DaemonSets and pods.
  std::string ns = {};
  LabelSelector driver_labels = {};
  /// Namespace of NodeMaintenances, in requestor mode.
  std::optional<std::string> maintenance_ns = std::nullopt;
  /// DRA drivers whose devices are looked at. Empty in all scopes: nothing of DRA is watched.
  std::vector<std::string> devices = {};
  /// Tells engines of one driver from each other; the cache holds all nodes anyway.
  LabelSelector node_selector = {};
  friend bool operator==(const DriverScope&, const DriverScope&) = default;
};

struct WatchCacheOptions {
  /// Of all the engines that share the cache. Not empty.
  std::vector<DriverScope> drivers = {};
  /// The server ends a watch after one to two times this.
  absl::Duration watch_timeout = absl::Minutes(5);
  /// Pause after a watch has failed; doubles up to `retry_max` while it goes on failing, varied by a tenth.
  absl::Duration retry_first = absl::Milliseconds(800);
  absl::Duration retry_max = absl::Seconds(30);
  /// Null: SystemClock().
  std::shared_ptr<Clock> clock = nullptr;
};

/// Why a watch had to begin again.
enum class WatchRestart : std::uint8_t {
  kEnded,    ///< In good order, at its time. The only one that happens where all is well.
  kExpired,  ///< The version to go on from is too old: listed anew.
  kFailed,   ///< Broken, refused, not understood, or ended as soon as it began.
  kAbsent,   ///< The cluster has no such kind; looked for again now and then.
};
inline constexpr std::array kAllWatchRestarts = {WatchRestart::kEnded, WatchRestart::kExpired, WatchRestart::kFailed,
                                                 WatchRestart::kAbsent};
/// `ended`, `expired`, `failed`, `absent`.
std::string_view ToString(WatchRestart reason);

class WatchCache final {
 public:
  /// Errors: InvalidArgument without a driver, or with one that has no namespace or labels; Unimplemented, naming it,
  /// if `cluster` lacks an operation.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<WatchCache>> Create(std::shared_ptr<ClusterReader> cluster,
                                                                          WatchCacheOptions options);
  ~WatchCache();

  /// Begins to follow the cluster, by a thread for each watch; once.
  void Start();
  /// Instead of Start, for who wants no threads (a simulation): one watch after the other, each until it ends, but for
  /// those that have to wait after a failure. The cluster's watches have to end when there is no more to tell, with a
  /// bookmark, as FakeCluster::Poll does.
  void Turn(const CallContext& context);
  /// Ends all watches, within the time that a call needs to notice its stop token. What was read stays readable.
  void Stop();
  /// Every collection has been read once, and the nodes again since their watch last broke: until then the cluster may
  /// have been set back (ADR 0007). NodeMaintenances and the kinds of DRA count as read where the cluster has no such kind.
  bool Synced() const;
  /// OK, or why a watch has been failing for `patience` and longer, and since when: what the cache holds may be old.
  absl::Status Health(absl::Duration patience = absl::Minutes(1)) const;
  /// How often watches began again, of all collections together; every reason is there.
  std::map<WatchRestart, std::uint64_t> Restarts() const;
  /// A scope of the options, by its place there; nullopt if there is none.
  std::optional<std::size_t> Find(const DriverScope& driver) const;

  /// `on_change` is called, on a watch's thread, when `Take(driver)` has become non-empty, and when the cache has
  /// become Synced; it must not block nor call the cache. Null: nobody. Returns when no earlier one is running any
  /// more.
  void Subscribe(std::size_t driver, std::function<void()> on_change);
  /// The changes since the last call; everything at first.
  CacheChanges Take(std::size_t driver);
  /// Another engine takes over: the next Take gives it everything, and the interest of the one before it is dropped.
  void Attach(std::size_t driver);

  /// nullptr: no such node.
  std::shared_ptr<const Node> FindNode(const std::string& name) const;
  /// Pods of the driver on the node; of no node if `node` is empty.
  std::vector<Pod> DriverPods(std::size_t driver, const std::string& node) const;
  std::vector<DaemonSet> DaemonSets(std::size_t driver) const;
  std::vector<ControllerRevision> Revisions(std::size_t driver) const;
  /// For the node, by name; for no node that can be told if `node` is empty. nullopt if the driver has no maintenance
  /// namespace, they have not been read yet, or one that cannot be read may be the node's.
  std::optional<std::vector<NodeMaintenance>> Maintenances(std::size_t driver, const std::string& node) const;
  /// What DRA says of the node's devices, of the drivers of the scope. Errors: NotFound if the cluster does not serve one
  /// of the kinds; Unavailable if one has not been read yet, or the scope names no drivers; DataLoss if an object that may
  /// be the node's cannot be read.
  [[nodiscard]] absl::StatusOr<NodeDevices> Devices(std::size_t driver, const std::string& node) const;
  /// Objects of DRA that cannot be read, and may be of any node.
  std::vector<Finding> DeviceFindings(std::size_t driver) const;
  /// All pods on the node, if they are known: read since its cordon was last seen to change, and followed since.
  std::optional<std::vector<Pod>> PodsOn(const std::string& node) const;
  /// Whether PodsOn has an answer; costs no copy of the pods.
  bool KnowsPodsOn(const std::string& node) const;
  /// The nodes whose pods the driver's engine wants to know; pods of others are forgotten, unless another engine wants
  /// them.
  void SetInterest(std::size_t driver, std::set<std::string> nodes);
  /// Reads the pods of a node of interest, by one consistent list, so that it is newer than the cordon. Errors: those of
  /// the list; DataLoss, with its name, if one of the pods cannot be read; Aborted if the watch on pods began anew
  /// meanwhile.
  [[nodiscard]] absl::Status ReadPods(const CallContext& context, const std::string& node);
  /// The same for many nodes by one list of all pods of the cluster; how it went with each.
  [[nodiscard]] std::map<std::string, absl::Status> ReadAllPods(const CallContext& context,
                                                                const std::set<std::string>& nodes);
  /// A node as the answer to our own write has it: known before the watch tells, unless that knows better.
  void NodeWritten(Node node);

  /// The revisions in the namespace of the driver by one consistent list, for who cannot wait until the watch has them.
  /// One that cannot be read is marked. Errors: those of the list.
  [[nodiscard]] absl::StatusOr<std::vector<ControllerRevision>> ListRevisions(const CallContext& context,
                                                                              std::size_t driver);

 private:
  class Impl;
  explicit WatchCache(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_WATCH_CACHE_H_
