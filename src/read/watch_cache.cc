#include "driverupgrade/watch_cache.h"

#include <algorithm>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "model/unreadable.h"
#include "read/pods_by_node.h"
#include "read/watch_follower.h"
#include "read/watch_store.h"

namespace driverupgrade {
namespace {

absl::Status CheckOptions(const ClusterReader& cluster, const WatchCacheOptions& options) {
  if (options.drivers.empty()) return absl::InvalidArgumentError("watch cache: no driver to watch");
  std::vector<Operation> needed = {Operation::kWatchNodes, Operation::kWatchPods, Operation::kWatchDaemonSets,
                                   Operation::kWatchControllerRevisions, Operation::kListPods};
  for (const DriverScope& driver : options.drivers) {
    if (driver.ns.empty()) return absl::InvalidArgumentError("watch cache: a driver's namespace is empty");
    if (driver.driver_labels.empty()) return absl::InvalidArgumentError("watch cache: a driver's labels are empty");
    if (driver.maintenance_ns) needed.push_back(Operation::kWatchNodeMaintenances);
    if (driver.devices.empty()) continue;
    for (const Operation operation :
         {Operation::kWatchDeviceTaintRules, Operation::kWatchResourceClaims, Operation::kWatchResourceSlices}) {
      needed.push_back(operation);
    }
  }
  for (const Operation operation : needed) {
    if (!cluster.Supports(operation)) {
      return absl::UnimplementedError(
          fmt::format("watch cache: the cluster does not implement {}", ToString(operation)));
    }
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status CheckReadable(std::string_view kind, const std::vector<T>& objects) {
  const auto found = std::find_if(objects.begin(), objects.end(), internal::IsUnreadable<T>);
  return found == objects.end() ? absl::OkStatus() : absl::DataLossError(internal::CannotBeRead(kind, *found));
}

}  // namespace

std::string_view ToString(WatchRestart reason) {
  switch (reason) {
    case WatchRestart::kEnded: return "ended";
    case WatchRestart::kExpired: return "expired";
    case WatchRestart::kFailed: return "failed";
    case WatchRestart::kAbsent: return "absent";
  }
  return "failed";
}

class WatchCache::Impl {
 public:
  Impl(std::shared_ptr<ClusterReader> cluster, WatchCacheOptions options)
      : cluster_(std::move(cluster)), options_(std::move(options)), store_(options_.drivers.size()) {
    FollowAll();
    pauses_.resize(followers_.size());
  }
  ~Impl() { Stop(); }

  void Start() {
    for (const auto& follower : followers_) {
      threads_.emplace_back([this, &follower = *follower](const std::stop_token& stop) { Run(follower, stop); });
    }
  }

  void Turn(const CallContext& context) {
    for (std::size_t i = 0; i < followers_.size(); ++i) {
      Pause& pause = pauses_[i];
      // A clock that was set back must not extend the pause.
      if (const absl::Time now = options_.clock->Now(); pause.since <= now && now < pause.until) continue;
      pause.until = followers_[i]->Watch(context);
      pause.since = options_.clock->Now();
    }
  }

  void Stop() {
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
  }

  bool Synced() const {
    return std::all_of(followers_.begin(), followers_.end(), [](const auto& follower) { return follower->synced(); });
  }

  absl::Status Health(absl::Duration patience) const {
    for (const auto& follower : followers_) DRIVERUPGRADE_RETURN_IF_ERROR(follower->Health(patience));
    return absl::OkStatus();
  }

  std::map<WatchRestart, std::uint64_t> Restarts() const {
    std::map<WatchRestart, std::uint64_t> restarts;
    for (const WatchRestart reason : kAllWatchRestarts) {
      for (const auto& follower : followers_) restarts[reason] += follower->restarts(reason);
    }
    return restarts;
  }

  absl::Status ReadPods(const CallContext& context, const std::string& node) {
    const std::optional<int> ticket = BeginPodList(node);
    if (!ticket) return NotWatched(node);
    return TakeList(node, *ticket,
                    cluster_->ListPods(context, {.node_name = node, .on_unreadable = OnUnreadable::kMark}));
  }

  std::map<std::string, absl::Status> ReadAllPods(const CallContext& context, const std::set<std::string>& nodes) {
    std::map<std::string, std::optional<int>> tickets;
    for (const std::string& node : nodes) tickets.emplace(node, BeginPodList(node));
    absl::StatusOr<internal::PodsByNode> pods = internal::ListPodsByNode(context, *cluster_);
    std::map<std::string, absl::Status> read;
    for (const auto& [node, ticket] : tickets) {
      if (!ticket) {
        read.emplace(node, NotWatched(node));
      } else if (pods.ok()) {
        read.emplace(node, TakeList(node, *ticket, std::move((*pods)[node])));
      } else {
        read.emplace(node, TakeList(node, *ticket, pods.status()));
      }
    }
    return read;
  }

  ClusterReader& cluster() { return *cluster_; }
  internal::WatchStore& store() { return store_; }
  const internal::WatchStore& store() const { return store_; }
  const WatchCacheOptions& options() const { return options_; }

 private:
  // The pause of a follower between two watches.
  struct Pause {
    absl::Time since = absl::InfinitePast();
    absl::Time until = absl::InfinitePast();
  };

  std::optional<int> BeginPodList(const std::string& node) {
    return store_.Change([&](internal::ObjectStore& store) { return store.BeginPodList(node); });
  }

  static absl::Status NotWatched(const std::string& node) {
    return absl::AbortedError(fmt::format("read the pods of {}: the watch on pods has not started", node));
  }

  absl::Status TakeList(const std::string& node, int ticket, absl::StatusOr<std::vector<Pod>> pods) {
    if (pods.ok()) {
      if (absl::Status status = CheckReadable("Pod", *pods); !status.ok()) pods = std::move(status);
    }
    if (!pods.ok()) {
      store_.Change([&](internal::ObjectStore& store) { store.AbandonPodList(node, ticket); });
      return pods.status();
    }
    const bool taken =
        store_.Change([&](internal::ObjectStore& store) { return store.EndPodList(node, ticket, *pods); });
    if (taken) return absl::OkStatus();
    return absl::AbortedError(
        fmt::format("read the pods of {}: the watch on pods, or the cordon, started again", node));
  }

  void FollowAll() {
    Follow<Node>("nodes", {}, &ClusterReader::WatchNodes,
                 {[this](const std::vector<Node>& nodes, std::string_view at) { NodesListed(nodes, at); },
                  [this](const Node& node) { store_.Change([&](auto& store) { store.NodeChanged(node); }); },
                  [this](const Node& node) { store_.Change([&](auto& store) { store.NodeDeleted(node); }); }});
    Follow<Pod>("pods", {.list = false}, &ClusterReader::WatchPods,
                {[this](const auto&, auto) { store_.Change([](auto& store) { store.PodsBegin(); }); },
                 [this](const Pod& pod) { store_.Change([&](auto& store) { store.PodChanged(pod); }); },
                 [this](const Pod& pod) { store_.Change([&](auto& store) { store.PodDeleted(pod); }); }});
    for (std::size_t driver = 0; driver < options_.drivers.size(); ++driver) FollowDriver(driver);
    FollowDevices();
  }

  void FollowDevices() {
    bool any = false;
    for (std::size_t driver = 0; driver < options_.drivers.size(); ++driver) {
      const std::vector<std::string>& devices = options_.drivers[driver].devices;
      store_.Change([&](internal::ObjectStore& store) { store.FollowDevices(driver, devices); });
      any = any || !devices.empty();
    }
    if (!any) return;
    Follow<DeviceTaintRule>("device taint rules", {}, &ClusterReader::WatchDeviceTaintRules,
                            DevicesOf<DeviceTaintRule>());
    Follow<ResourceClaim>("resource claims", {}, &ClusterReader::WatchResourceClaims, DevicesOf<ResourceClaim>());
    Follow<ResourceSlice>("resource slices", {}, &ClusterReader::WatchResourceSlices, DevicesOf<ResourceSlice>());
  }

  void FollowDriver(std::size_t i) {
    const DriverScope& driver = options_.drivers[i];
    const WatchParams of_driver{.ns = driver.ns, .label_selector = driver.driver_labels};
    Follow<DaemonSet>("daemon sets", of_driver, &ClusterReader::WatchDaemonSets, ObjectsOf<DaemonSet>(i));
    Follow<ControllerRevision>("controller revisions", {.ns = driver.ns}, &ClusterReader::WatchControllerRevisions,
                               ObjectsOf<ControllerRevision>(i));
    Follow<Pod>("driver pods", of_driver, &ClusterReader::WatchPods, ObjectsOf<Pod>(i));
    if (!driver.maintenance_ns) return;
    internal::WatchTarget<NodeMaintenance> maintenances = ObjectsOf<NodeMaintenance>(i);
    maintenances.on_absent = [take = maintenances.on_list](const absl::Status&) { take({}, ""); };
    Follow<NodeMaintenance>("node maintenances", {.ns = *driver.maintenance_ns}, &ClusterReader::WatchNodeMaintenances,
                            std::move(maintenances));
  }

  // Changes DRA objects. `change` takes a DeviceObjects&.
  template <typename F>
  void ChangeDevices(F change) {
    store_.Change([&](internal::ObjectStore& store) { store.ChangeDevices(change); });
  }

  template <typename T>
  internal::WatchTarget<T> DevicesOf() {
    using internal::DeviceObjects;
    return {[this](const std::vector<T>& objects, std::string_view) {
              ChangeDevices([&](DeviceObjects& devices) { return devices.Listed(objects); });
            },
            [this](const T& object) { ChangeDevices([&](DeviceObjects& devices) { return devices.Changed(object); }); },
            [this](const T& object) { ChangeDevices([&](DeviceObjects& devices) { return devices.Deleted(object); }); },
            [this](const absl::Status& absent) {
              ChangeDevices([&](DeviceObjects& devices) { return devices.Failed<T>(absent); });
            }};
  }

  template <typename T>
  internal::WatchTarget<T> ObjectsOf(std::size_t driver) {
    return {[this, driver](std::vector<T> objects, std::string_view) {
              store_.Change([&](internal::ObjectStore& store) { store.Listed(driver, std::move(objects)); });
            },
            [this, driver](T object) {
              store_.Change([&](internal::ObjectStore& store) { store.Changed(driver, std::move(object)); });
            },
            [this, driver](const T& object) {
              store_.Change([&](internal::ObjectStore& store) { store.Deleted(driver, object); });
            }};
  }

  template <typename T>
  void Follow(std::string name, WatchParams params, typename internal::WatchFollowerOf<T>::Method method,
              internal::WatchTarget<T> target) {
    params.on_unreadable = OnUnreadable::kMark;
    followers_.push_back(std::make_unique<internal::WatchFollowerOf<T>>(
        std::move(name), options_, [this] { TellIfSynced(); }, cluster_, method, std::move(params), std::move(target)));
  }

  void Run(internal::WatchFollower& follower, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const absl::Time again = follower.Watch({.stop = stop});
      const absl::Duration pause = again - options_.clock->Now();
      if (pause > absl::ZeroDuration()) options_.clock->SleepFor(pause, stop);
    }
  }

  // Only a list of nodes shows that the cluster was restored from a backup. After a restore, all other objects must be
  // read again before a pass may use them. They are therefore marked as outdated before another thread can see a node
  // of the restored state.
  void NodesListed(const std::vector<Node>& nodes, std::string_view at) {
    const bool set_back = store_.Change([&](internal::ObjectStore& store) {
      const bool set_back = store.NodesListed(nodes, at);
      for (std::size_t i = 1; set_back && i < followers_.size(); ++i) followers_[i]->Distrust();
      return set_back;
    });
    for (std::size_t i = 1; set_back && i < followers_.size(); ++i) followers_[i]->Restart();
  }

  // Wakes all subscribers if the cache is synced, because they may be waiting for the first sync.
  void TellIfSynced() {
    if (Synced()) store_.WakeAll();
  }

  const std::shared_ptr<ClusterReader> cluster_;
  const WatchCacheOptions options_;
  internal::WatchStore store_;
  std::vector<std::unique_ptr<internal::WatchFollower>> followers_;
  std::vector<Pause> pauses_;          // pauses of the followers, for Turn
  std::vector<std::jthread> threads_;  // last member: joined before the other members are destroyed
};

absl::StatusOr<std::shared_ptr<WatchCache>> WatchCache::Create(std::shared_ptr<ClusterReader> cluster,
                                                               WatchCacheOptions options) {
  if (cluster == nullptr) return absl::InvalidArgumentError("watch cache: no cluster");
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckOptions(*cluster, options));
  if (options.clock == nullptr) options.clock = SystemClock();
  return std::shared_ptr<WatchCache>(new WatchCache(std::make_unique<Impl>(std::move(cluster), std::move(options))));
}

WatchCache::WatchCache(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WatchCache::~WatchCache() = default;

void WatchCache::Start() { impl_->Start(); }
void WatchCache::Turn(const CallContext& context) { impl_->Turn(context); }
void WatchCache::Stop() { impl_->Stop(); }
bool WatchCache::Synced() const { return impl_->Synced(); }
absl::Status WatchCache::Health(absl::Duration patience) const { return impl_->Health(patience); }
std::map<WatchRestart, std::uint64_t> WatchCache::Restarts() const { return impl_->Restarts(); }

std::optional<std::size_t> WatchCache::Find(const DriverScope& driver) const {
  const std::vector<DriverScope>& drivers = impl_->options().drivers;
  const auto found = std::find(drivers.begin(), drivers.end(), driver);
  if (found == drivers.end()) return std::nullopt;
  return static_cast<std::size_t>(found - drivers.begin());
}

void WatchCache::Subscribe(std::size_t driver, std::function<void()> on_change) {
  impl_->store().Subscribe(driver, std::move(on_change));
}
CacheChanges WatchCache::Take(std::size_t driver) { return impl_->store().Take(driver); }
void WatchCache::Attach(std::size_t driver) { impl_->store().Attach(driver); }
std::shared_ptr<const Node> WatchCache::FindNode(const std::string& name) const {
  std::optional<Node> node = impl_->store().Read([&](const auto& store) { return store.FindNode(name); });
  return node ? std::make_shared<const Node>(*std::move(node)) : nullptr;
}
std::vector<Pod> WatchCache::DriverPods(std::size_t driver, const std::string& node) const {
  return impl_->store().Read([&](const auto& store) { return store.DriverPods(driver, node); });
}
std::vector<DaemonSet> WatchCache::DaemonSets(std::size_t driver) const {
  return impl_->store().Read([&](const auto& store) { return store.DaemonSets(driver); });
}
std::vector<ControllerRevision> WatchCache::Revisions(std::size_t driver) const {
  return impl_->store().Read([&](const auto& store) { return store.Revisions(driver); });
}
std::optional<std::vector<NodeMaintenance>> WatchCache::Maintenances(std::size_t driver,
                                                                     const std::string& node) const {
  return impl_->store().Read([&](const auto& store) { return store.Maintenances(driver, node); });
}
absl::StatusOr<NodeDevices> WatchCache::Devices(std::size_t driver, const std::string& node) const {
  return impl_->store().Read([&](const auto& store) { return store.Devices(driver, node); });
}
bool WatchCache::KnowsClaim(const std::string& ns, const std::string& name) const {
  return impl_->store().Read([&](const auto& store) { return store.KnowsClaim(ns, name); });
}
std::vector<Finding> WatchCache::DeviceFindings(std::size_t driver) const {
  return impl_->store().Read([&](const auto& store) { return store.DeviceFindings(driver); });
}
std::optional<std::vector<Pod>> WatchCache::PodsOn(const std::string& node) const {
  return impl_->store().Read([&](const auto& store) { return store.PodsOn(node); });
}
bool WatchCache::KnowsPodsOn(const std::string& node) const {
  return impl_->store().Read([&](const auto& store) { return store.KnowsPodsOn(node); });
}
void WatchCache::SetInterest(std::size_t driver, std::set<std::string> nodes) {
  impl_->store().Change([&](auto& store) { store.SetInterest(driver, std::move(nodes)); });
}
absl::Status WatchCache::ReadPods(const CallContext& context, const std::string& node) {
  return impl_->ReadPods(context, node);
}
std::map<std::string, absl::Status> WatchCache::ReadAllPods(const CallContext& context,
                                                            const std::set<std::string>& nodes) {
  return impl_->ReadAllPods(context, nodes);
}
void WatchCache::NodeWritten(Node node) {
  impl_->store().Change([&](auto& store) { store.NodeWritten(node); });
}

absl::StatusOr<std::vector<ControllerRevision>> WatchCache::ListRevisions(const CallContext& context,
                                                                          std::size_t driver) {
  return impl_->cluster().ListControllerRevisions(
      context, {.ns = impl_->options().drivers[driver].ns, .on_unreadable = OnUnreadable::kMark});
}

}  // namespace driverupgrade
