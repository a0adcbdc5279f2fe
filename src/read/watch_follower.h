// Keeps one watch of a cache running. Tracks the position and the health of the watch, and decides when the watch must
// restart.
#ifndef DRIVERUPGRADE_SRC_READ_WATCH_FOLLOWER_H_
#define DRIVERUPGRADE_SRC_READ_WATCH_FOLLOWER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/watch_cache.h"

namespace driverupgrade::internal {

// After this many failures without an event in between, a watch restarts with a list, because the next event may be the
// cause of the failures.
constexpr int kFailuresBeforeList = 2;
// While the API server was unavailable, even for a second, the cluster may have been restored to an earlier state. A
// watch that continues does not notice the restore, but a list of the nodes shows it (ADR 0007). Until such a list, the
// watch does not count as synced. Otherwise, a pass would reassign the slots of nodes whose upgrades were undone.
constexpr int kFailuresBeforeListOfNodes = 1;

class WatchFollower {
 public:
  // `options` must outlive this object. `on_synced` is called when the collection has been read for the first time.
  // `failures_before_list`: see above; at least 1. With 1, the watch does not count as synced between a failure and the
  // next list.
  WatchFollower(std::string name, const WatchCacheOptions& options, std::function<void()> on_synced,
                int failures_before_list = kFailuresBeforeList);
  virtual ~WatchFollower() = default;
  WatchFollower(const WatchFollower&) = delete;
  WatchFollower& operator=(const WatchFollower&) = delete;

  // Runs one watch until it ends, and returns the time at which Watch must be called again. Must be called by one
  // thread at a time. The functions below can be called by any thread.
  absl::Time Watch(const CallContext& context);

  // Marks earlier events as outdated because the history of the cluster has changed. The watch does not count as synced
  // until the next list.
  void Distrust();
  // Same as Distrust, but also ends the running watch.
  void Restart();

  const std::string& name() const { return name_; }
  bool synced() const;
  // Returns OK unless the watch has been failing for at least `patience`. The error contains the reason for the
  // failure, and the time since which the watch has been failing.
  absl::Status Health(absl::Duration patience) const;
  // Returns the number of restarts for `reason`.
  std::uint64_t restarts(WatchRestart reason) const;

 protected:
  virtual absl::Status Call(const CallContext& context, absl::Duration timeout) = 0;
  virtual void BeginAnew() = 0;
  // Returns true if a missing kind counts as an empty collection. Called if the cluster does not serve the kind.
  virtual bool TakeAsEmpty(const absl::Status& absent) = 0;

  // Records that the data is fresh. Keeps the number of failures, because a watch that fails after each list must wait
  // longer each time.
  void NoteListed();
  void NotePresent() { absent_ = false; }
  // Records an event, which shows that the watch works.
  void NoteProgress();

 private:
  absl::Time Ended(const absl::Status& ended, absl::Time now);
  // Marks the watch as not synced until the next list.
  void Untrust();
  // Returns true if the cluster has never served the kind.
  bool IsAbsent(const absl::Status& ended);
  void Mend();
  int NoteFailure(const absl::Status& status, absl::Time now);
  void NoteRestart(WatchRestart reason);

  const std::string name_;
  const WatchCacheOptions& options_;
  const std::function<void()> on_synced_;
  const int failures_before_list_;
  std::uint64_t round_ = 0;
  bool told_ = false;    // true if the running watch has reported an event
  bool absent_ = false;  // the cluster has never served the kind
  mutable std::mutex mutex_;
  absl::Time began_ = absl::InfiniteFuture();  // start of the running watch
  bool synced_ = false;
  bool restart_ = false;
  std::stop_source running_{std::nostopstate};
  std::array<std::uint64_t, kAllWatchRestarts.size()> restarts_ = {};
  int failures_ = 0;  // since the last event
  absl::Status error_ = absl::OkStatus();
  absl::Time failing_since_ = absl::InfiniteFuture();
};

// Callbacks for the events of a watch.
template <typename T>
struct WatchTarget {
  // Called with a list and the version at which the list was read.
  std::function<void(std::vector<T>, std::string_view)> on_list;
  std::function<void(T)> on_change;
  std::function<void(const T&)> on_delete;
  // Called if the cluster does not serve the kind. Null for kinds that every cluster serves.
  std::function<void(const absl::Status&)> on_absent = nullptr;
};

template <typename T>
class WatchFollowerOf final : public WatchFollower, private WatchSink<T> {
 public:
  using Method = absl::Status (ClusterReader::*)(const CallContext&, const WatchParams&, WatchSink<T>&);

  WatchFollowerOf(std::string name, const WatchCacheOptions& options, std::function<void()> on_synced,
                  std::shared_ptr<ClusterReader> cluster, Method method, WatchParams params, WatchTarget<T> target)
      : WatchFollower(std::move(name), options, std::move(on_synced),
                      std::is_same_v<T, Node> ? kFailuresBeforeListOfNodes : kFailuresBeforeList),
        cluster_(std::move(cluster)),
        method_(method),
        params_(std::move(params)),
        target_(std::move(target)) {}

 private:
  absl::Status Call(const CallContext& context, absl::Duration timeout) override {
    params_.timeout = timeout;
    // The sink changes `params_` while the call runs.
    const WatchParams params = params_;
    return (cluster_.get()->*method_)(context, params, *this);
  }
  void BeginAnew() override { params_.resource_version.clear(); }
  bool TakeAsEmpty(const absl::Status& absent) override {
    if (target_.on_absent != nullptr) target_.on_absent(absent);
    return target_.on_absent != nullptr;
  }

  bool OnList(std::vector<T> objects, std::string_view at) override {
    target_.on_list(std::move(objects), at);
    params_.resource_version = std::string(at);
    NotePresent();
    NoteListed();
    return true;
  }
  bool OnChange(T object, std::string_view at) override {
    target_.on_change(std::move(object));
    return Reached(at);
  }
  bool OnDelete(T object, std::string_view at) override {
    target_.on_delete(object);
    return Reached(at);
  }
  bool OnBookmark(std::string_view at) override { return Reached(at); }

  bool Reached(std::string_view at) {
    params_.resource_version = std::string(at);
    NoteProgress();
    return true;
  }

  const std::shared_ptr<ClusterReader> cluster_;
  const Method method_;
  WatchParams params_;
  const WatchTarget<T> target_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_WATCH_FOLLOWER_H_
