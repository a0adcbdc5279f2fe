#include "driverupgrade/watch_cache.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

#include "fmt/format.h"
#include "internal/backoff.h"
#include "internal/status_macros.h"
#include "internal/watch_store.h"

namespace driverupgrade::inline v1 {
namespace {

// A watch that the server has not ended by itself so long after its time is dead (A19).
constexpr absl::Duration kWatchSlack = absl::Seconds(30);

// A watch that ends sooner, in good order and without a word, is no watch.
constexpr absl::Duration kShortestWatch = absl::Seconds(1);
// After so many failures without a change in between it begins anew: what it has to tell next may be what breaks it.
constexpr int kFailuresBeforeList = 5;

// One of the watches: how it does, and what keeps it going.
struct WatchState {
  std::string name;
  bool synced = false;
  int failures = 0;
  absl::Status error = absl::OkStatus();
  absl::Time failing_since = absl::InfiniteFuture();
};

// What a store does with what a watch sees.
template <typename T>
struct Into {
  std::function<void(std::vector<T>)> on_list;
  std::function<void(T)> on_change;
  std::function<void(const T&)> on_delete;
};

// Tells the store, and remembers where the watch is.
template <typename T>
class StoreSink final : public WatchSink<T> {
 public:
  // `on_list`: the collection has been read; `on_progress`: the watch has told something since.
  StoreSink(Into<T> into, std::function<void()> on_list, std::function<void()> on_progress)
      : into_(std::move(into)), on_list_(std::move(on_list)), on_progress_(std::move(on_progress)) {}

  const std::string& version() const { return version_; }
  void BeginAnew() { version_.clear(); }

  bool OnList(std::vector<T> objects, std::string_view at) override {
    into_.on_list(std::move(objects));
    version_ = std::string(at);
    on_list_();
    return true;
  }
  bool OnChange(T object, std::string_view at) override {
    into_.on_change(std::move(object));
    return Reached(at);
  }
  bool OnDelete(T object, std::string_view at) override {
    into_.on_delete(object);
    return Reached(at);
  }
  bool OnBookmark(std::string_view at) override { return Reached(at); }

 private:
  bool Reached(std::string_view at) {
    version_ = std::string(at);
    on_progress_();
    return true;
  }

  Into<T> into_;
  std::function<void()> on_list_;
  std::function<void()> on_progress_;
  std::string version_;
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
    {
      const std::lock_guard lock(mutex_);
      started_ = true;
    }
    TellIfSynced();
  }

  void Stop() {
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
  }

  bool Synced() const {
    const std::lock_guard lock(mutex_);
    return started_ && std::all_of(states_.begin(), states_.end(), [](const auto& state) { return state->synced; });
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
                              const std::stop_token& stop) { Run(stop, *state, params, watch, into); });
  }

  template <typename T>
  void Run(const std::stop_token& stop, WatchState& state, WatchParams params, Watch<T> watch, const Into<T>& into) {
    bool told = false;
    StoreSink<T> sink(
        into, [&] { NoteListed(state); },
        [&] {
          told = true;
          NoteProgress(state);
        });
    for (int round = 0; !stop.stop_requested(); ++round) {
      const auto thousandths = static_cast<int>(internal::Hash(state.name, static_cast<std::uint64_t>(round)) % 1000);
      params.timeout = options_.watch_timeout * (1000 + thousandths) / 1000;
      params.resource_version = sink.version();
      told = false;
      const absl::Time began = options_.clock->Now();
      const absl::Status ended =
          (cluster_.get()->*watch)({.deadline = began + params.timeout + kWatchSlack, .stop = stop}, params, sink);
      if (stop.stop_requested()) return;
      if (ended.ok() && (told || options_.clock->Now() - began >= kShortestWatch)) continue;
      if constexpr (std::is_same_v<T, NodeMaintenance>) {
        if (absl::IsNotFound(ended)) NoteNoSuchKind(state, into);
      }
      const int failures = NoteFailure(state, ended);
      // Too old a version is in the nature of watches: the first time the list comes at once.
      if (absl::IsOutOfRange(ended) || failures % kFailuresBeforeList == 0) sink.BeginAnew();
      if (absl::IsOutOfRange(ended) && failures == 1) continue;
      const absl::Duration pause = internal::Doubled(options_.retry_first, options_.retry_max, failures);
      options_.clock->SleepFor(internal::Spread(pause, state.name, failures), stop);
    }
  }

  // Where the cluster has no such kind there are no such objects, and who waits for none need not wait for ever.
  void NoteNoSuchKind(WatchState& state, const Into<NodeMaintenance>& into) {
    into.on_list({});
    NoteListed(state);
  }

  // What is held is fresh. The failures stay counted: a watch that fails after each list is to be patient.
  void NoteListed(WatchState& state) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = !std::exchange(state.synced, true);
      Mend(state);
    }
    if (first) TellIfSynced();
  }

  void NoteProgress(WatchState& state) {
    const std::lock_guard lock(mutex_);
    state.failures = 0;
    Mend(state);
  }

  static void Mend(WatchState& state) {
    state.error = absl::OkStatus();
    state.failing_since = absl::InfiniteFuture();
  }

  // How often it has failed without telling anything in between.
  int NoteFailure(WatchState& state, const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    state.error = status.ok() ? absl::UnavailableError("the watch ends as soon as it begins") : status;
    state.failing_since = std::min(state.failing_since, options_.clock->Now());
    return ++state.failures;
  }

  // Whoever found the cache not ready yet comes again now.
  void TellIfSynced() {
    if (Synced()) store_.WakeEverybody();
  }

  const std::shared_ptr<ClusterReader> cluster_;
  const WatchCacheOptions options_;
  internal::WatchStore store_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<WatchState>> states_;
  bool started_ = false;
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
