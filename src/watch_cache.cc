#include "driverupgrade/watch_cache.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "internal/status_macros.h"
#include "internal/watch_store.h"

namespace driverupgrade::inline v1 {
namespace {

// A watch that the server has not ended by itself so long after its time is dead (A19).
constexpr absl::Duration kWatchSlack = absl::Seconds(30);

// FNV-1a; varies pauses and timeouts without a random number.
std::uint64_t Hash(std::string_view text, int count) {
  std::uint64_t hash = 14695981039346656037ULL ^ static_cast<std::uint64_t>(count);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

// One of the watches: how it does, and what keeps it going.
struct WatchState {
  std::string name;
  bool synced = false;
  int failures = 0;
  absl::Status error = absl::OkStatus();
  absl::Time failing_since = absl::InfiniteFuture();
};

// Tells a store's functions what a watch sees, and remembers where it is.
template <typename T>
class StoreSink final : public WatchSink<T> {
 public:
  std::function<void(std::vector<T>)> on_list;
  std::function<void(T)> on_change;
  std::function<void(const T&)> on_delete;
  std::function<void()> on_progress;
  std::string version;

  bool OnList(std::vector<T> objects, std::string_view at) override {
    on_list(std::move(objects));
    return Reached(at);
  }
  bool OnChange(T object, std::string_view at) override {
    on_change(std::move(object));
    return Reached(at);
  }
  bool OnDelete(T object, std::string_view at) override {
    on_delete(object);
    return Reached(at);
  }
  bool OnBookmark(std::string_view at) override { return Reached(at); }

 private:
  bool Reached(std::string_view at) {
    version = std::string(at);
    on_progress();
    return true;
  }
};

absl::Status CheckOptions(const ClusterReader& cluster, const WatchCacheOptions& options) {
  if (options.drivers.empty()) return absl::InvalidArgumentError("watch cache: no driver to watch");
  std::vector<Operation> needed = {Operation::kWatchNodes, Operation::kWatchPods, Operation::kWatchDaemonSets,
                                   Operation::kWatchControllerRevisions, Operation::kListPods};
  for (const DriverScope& driver : options.drivers) {
    if (driver.ns.empty()) return absl::InvalidArgumentError("watch cache: a driver's namespace is empty");
    if (driver.driver_labels.empty()) return absl::InvalidArgumentError("watch cache: a driver's labels are empty");
    if (driver.maintenance_ns) needed.push_back(Operation::kWatchNodeMaintenances);
  }
  for (const Operation operation : needed) {
    if (!cluster.Supports(operation)) {
      return absl::UnimplementedError(
          fmt::format("watch cache: the cluster does not implement {}", ToString(operation)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

class WatchCache::Impl {
 public:
  Impl(std::shared_ptr<ClusterReader> cluster, WatchCacheOptions options)
      : cluster_(std::move(cluster)), options_(std::move(options)), store_(options_.drivers.size()) {}
  ~Impl() { Stop(); }

  void Start() {
    Follow<Node>("nodes", {}, &ClusterReader::WatchNodes,
                 {[this](auto nodes) { store_.NodesListed(std::move(nodes)); },
                  [this](auto node) { store_.NodeChanged(std::move(node)); },
                  [this](const auto& node) { store_.NodeDeleted(node); }});
    Follow<Pod>("pods", {.list = false}, &ClusterReader::WatchPods,
                {[this](const auto&) { store_.PodsBegin(); }, [this](auto pod) { store_.PodChanged(std::move(pod)); },
                 [this](const auto& pod) { store_.PodDeleted(pod); }});
    for (std::size_t driver = 0; driver < options_.drivers.size(); ++driver) StartDriver(driver);
  }

  void Stop() {
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
  }

  bool Synced() const {
    const std::lock_guard lock(mutex_);
    return !states_.empty() &&
           std::all_of(states_.begin(), states_.end(), [](const auto& state) { return state->synced; });
  }

  absl::Status Health(absl::Duration patience) const {
    const std::lock_guard lock(mutex_);
    for (const auto& state : states_) {
      if (state->error.ok() || state->failing_since + patience > options_.clock->Now()) continue;
      return absl::UnavailableError(
          fmt::format("the watch on {} has been failing since {}: {}", state->name,
                      absl::FormatTime(absl::RFC3339_sec, state->failing_since, absl::UTCTimeZone()),
                      internal::Message(state->error)));
    }
    return absl::OkStatus();
  }

  absl::Status ReadPods(const CallContext& context, const std::string& node) {
    const std::optional<int> ticket = store_.BeginPodList(node);
    if (!ticket) return absl::AbortedError(fmt::format("read the pods of {}: the watch on pods has not begun", node));
    absl::StatusOr<std::vector<Pod>> pods = cluster_->ListPods(context, {.node_name = node});
    if (!pods.ok()) {
      store_.AbandonPodList(node);
      return pods.status();
    }
    if (store_.EndPodList(node, *ticket, *std::move(pods))) return absl::OkStatus();
    return absl::AbortedError(fmt::format("read the pods of {}: the watch on pods, or the cordon, began anew", node));
  }

  ClusterReader& cluster() { return *cluster_; }
  internal::WatchStore& store() { return store_; }
  const internal::WatchStore& store() const { return store_; }
  const WatchCacheOptions& options() const { return options_; }

 private:
  template <typename T>
  struct Into {
    std::function<void(std::vector<T>)> on_list;
    std::function<void(T)> on_change;
    std::function<void(const T&)> on_delete;
  };

  void StartDriver(std::size_t i) {
    const DriverScope& driver = options_.drivers[i];
    Follow<DaemonSet>("daemon sets", {.ns = driver.ns, .label_selector = driver.driver_labels},
                      &ClusterReader::WatchDaemonSets,
                      {[this, i](auto objects) { store_.DaemonSetsListed(i, std::move(objects)); },
                       [this, i](auto object) { store_.DaemonSetChanged(i, std::move(object)); },
                       [this, i](const auto& object) { store_.DaemonSetDeleted(i, object); }});
    Follow<ControllerRevision>("controller revisions", {.ns = driver.ns}, &ClusterReader::WatchControllerRevisions,
                               {[this, i](auto objects) { store_.RevisionsListed(i, std::move(objects)); },
                                [this, i](auto object) { store_.RevisionChanged(i, std::move(object)); },
                                [this, i](const auto& object) { store_.RevisionDeleted(i, object); }});
    Follow<Pod>("driver pods", {.ns = driver.ns, .label_selector = driver.driver_labels}, &ClusterReader::WatchPods,
                {[this, i](auto pods) { store_.DriverPodsListed(i, std::move(pods)); },
                 [this, i](auto pod) { store_.DriverPodChanged(i, std::move(pod)); },
                 [this, i](const auto& pod) { store_.DriverPodDeleted(i, pod); }});
    if (!driver.maintenance_ns) return;
    Follow<NodeMaintenance>("node maintenances", {.ns = *driver.maintenance_ns}, &ClusterReader::WatchNodeMaintenances,
                            {[this, i](auto objects) { store_.MaintenancesListed(i, std::move(objects)); },
                             [this, i](auto object) { store_.MaintenanceChanged(i, std::move(object)); },
                             [this, i](const auto& object) { store_.MaintenanceDeleted(i, object); }});
  }

  template <typename T>
  using Watch = absl::Status (ClusterReader::*)(const CallContext&, const WatchParams&, WatchSink<T>&);

  // A thread that keeps one watch going until it is stopped.
  template <typename T>
  void Follow(std::string name, WatchParams params, Watch<T> watch, Into<T> into) {
    auto state = std::make_shared<WatchState>();
    state->name = std::move(name);
    {
      const std::lock_guard lock(mutex_);
      states_.push_back(state);
    }
    threads_.emplace_back([this, state, params = std::move(params), watch, into = std::move(into)](
                              const std::stop_token& stop) mutable { Run(stop, *state, params, watch, into); });
  }

  template <typename T>
  void Run(const std::stop_token& stop, WatchState& state, WatchParams& params, Watch<T> watch, Into<T>& into) {
    StoreSink<T> sink;
    sink.on_list = std::move(into.on_list);
    sink.on_change = std::move(into.on_change);
    sink.on_delete = std::move(into.on_delete);
    bool progress = false;
    sink.on_progress = [&] {
      progress = true;
      NoteProgress(state);
    };
    for (int round = 0; !stop.stop_requested(); ++round) {
      const auto thousandths = static_cast<int>(Hash(state.name, round) % 1000);
      params.timeout = options_.watch_timeout * (1000 + thousandths) / 1000;
      params.resource_version = sink.version;
      progress = false;
      const absl::Status ended = (cluster_.get()->*watch)(
          {.deadline = options_.clock->Now() + params.timeout + kWatchSlack, .stop = stop}, params, sink);
      if (absl::IsOutOfRange(ended)) sink.version.clear();
      if (stop.stop_requested() || (ended.ok() && progress)) continue;
      // One that ends at once, again and again, is broken, whatever it says.
      options_.clock->SleepFor(NoteFailure(state, ended, progress), stop);
    }
  }

  void NoteProgress(WatchState& state) {
    const std::lock_guard lock(mutex_);
    state.synced = true;
    state.failures = 0;
    state.error = absl::OkStatus();
    state.failing_since = absl::InfiniteFuture();
  }

  // How long to wait.
  absl::Duration NoteFailure(WatchState& state, const absl::Status& status, bool progress) {
    const std::lock_guard lock(mutex_);
    // Too old a version is in the nature of watches: the list comes at once.
    if (absl::IsOutOfRange(status) && state.failures == 0 && ++state.failures == 1) return absl::ZeroDuration();
    if (!progress) ++state.failures;
    if (!status.ok()) {
      state.error = status;
      state.failing_since = std::min(state.failing_since, options_.clock->Now());
    }
    const int doublings = std::clamp(state.failures - 1, 0, 16);
    const absl::Duration pause = std::min(options_.retry_first * (1 << doublings), options_.retry_max);
    return pause + pause * (static_cast<int>(Hash(state.name, state.failures) % 201) - 100) / 1000;
  }

  const std::shared_ptr<ClusterReader> cluster_;
  const WatchCacheOptions options_;
  internal::WatchStore store_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<WatchState>> states_;
  std::vector<std::jthread> threads_;  // last: joined before the rest is destroyed
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
void WatchCache::Stop() { impl_->Stop(); }
bool WatchCache::Synced() const { return impl_->Synced(); }
absl::Status WatchCache::Health(absl::Duration patience) const { return impl_->Health(patience); }

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
std::shared_ptr<const Node> WatchCache::FindNode(const std::string& name) const {
  return impl_->store().FindNode(name);
}
std::vector<Pod> WatchCache::DriverPods(std::size_t driver, const std::string& node) const {
  return impl_->store().DriverPods(driver, node);
}
std::vector<DaemonSet> WatchCache::DaemonSets(std::size_t driver) const { return impl_->store().DaemonSets(driver); }
std::vector<ControllerRevision> WatchCache::Revisions(std::size_t driver) const {
  return impl_->store().Revisions(driver);
}
std::optional<std::vector<NodeMaintenance>> WatchCache::Maintenances(std::size_t driver,
                                                                     const std::string& node) const {
  return impl_->store().Maintenances(driver, node);
}
std::optional<std::vector<Pod>> WatchCache::PodsOn(const std::string& node) const {
  return impl_->store().PodsOn(node);
}
void WatchCache::SetInterest(std::size_t driver, std::set<std::string> nodes) {
  impl_->store().SetInterest(driver, std::move(nodes));
}
absl::Status WatchCache::ReadPods(const CallContext& context, const std::string& node) {
  return impl_->ReadPods(context, node);
}
void WatchCache::NodeWritten(Node node) { impl_->store().NodeChanged(std::move(node)); }

bool WatchCache::Supports(Operation operation) const { return impl_->cluster().Supports(operation); }

absl::StatusOr<Node> WatchCache::GetNode(const CallContext&, const GetNodeParams& params) {
  const std::shared_ptr<const Node> node = FindNode(params.name);
  if (node == nullptr) return absl::NotFoundError(fmt::format("get node {}: not in the cache", params.name));
  return *node;
}
absl::StatusOr<std::vector<Node>> WatchCache::ListNodes(const CallContext&, const ListNodesParams& params) {
  return impl_->store().Nodes(params.label_selector);
}
absl::StatusOr<std::vector<Pod>> WatchCache::ListPods(const CallContext& context, const ListPodsParams& params) {
  return impl_->cluster().ListPods(context, params);
}
absl::StatusOr<std::vector<DaemonSet>> WatchCache::ListDaemonSets(const CallContext& context,
                                                                  const ListDaemonSetsParams& params) {
  return impl_->cluster().ListDaemonSets(context, params);
}
absl::StatusOr<std::vector<ControllerRevision>> WatchCache::ListControllerRevisions(
    const CallContext& context, const ListControllerRevisionsParams& params) {
  return impl_->cluster().ListControllerRevisions(context, params);
}

}  // namespace driverupgrade::inline v1
