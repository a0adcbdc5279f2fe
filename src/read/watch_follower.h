// Keeps one watch of a cache going: where it is, how it does, and when it is to begin again after it has ended.
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

// After so many failures without a word in between a watch begins anew with a list: what it has to tell next may be
// what breaks it.
constexpr int kFailuresBeforeList = 2;
// While the API server was away, be it for a second, the cluster may have been set back to an earlier state, of which a
// watch that goes on hears nothing, and of which a list of the nodes tells (ADR 0007). Until that list nothing is synced:
// a pass would give away places of nodes whose upgrades have not happened.
constexpr int kFailuresBeforeListOfNodes = 1;

class WatchFollower {
 public:
  // `options` outlives it. `on_synced` is called when the collection has been read for the first time.
  // `failures_before_list`: see above; at least 1. With 1, it is not synced from a failure to the list that follows.
  WatchFollower(std::string name, const WatchCacheOptions& options, std::function<void()> on_synced,
                int failures_before_list = kFailuresBeforeList);
  virtual ~WatchFollower() = default;
  WatchFollower(const WatchFollower&) = delete;
  WatchFollower& operator=(const WatchFollower&) = delete;

  // One watch, until it ends, and when to come again. From one thread at a time; the others below from any.
  absl::Time Watch(const CallContext& context);

  // What it has told is of another history: it is not synced before the next list.
  void Distrust();
  // The same, and ends the watch that runs.
  void Restart();

  const std::string& name() const { return name_; }
  bool synced() const;
  // OK, or why it has been failing for `patience` and longer, and since when.
  absl::Status Health(absl::Duration patience) const;
  // How often it ended and was to begin again.
  std::uint64_t restarts(WatchRestart reason) const;

 protected:
  virtual absl::Status Call(const CallContext& context, absl::Duration timeout) = 0;
  virtual void BeginAnew() = 0;
  // The cluster has no such kind. Whether that is as good as an empty collection.
  virtual bool TakeAsEmpty(const absl::Status& absent) = 0;

  // What is held is fresh. Failures stay counted: a watch that fails after each list is to be patient.
  void NoteListed();
  void NotePresent() { absent_ = false; }
  // The watch tells something, so it works.
  void NoteProgress();

 private:
  absl::Time Ended(const absl::Status& ended, absl::Time now);
  // It is not synced before the next list.
  void Untrust();
  // The kind has not been there yet.
  bool IsAbsent(const absl::Status& ended);
  void Mend();
  int NoteFailure(const absl::Status& status, absl::Time now);
  void NoteRestart(WatchRestart reason);

  const std::string name_;
  const WatchCacheOptions& options_;
  const std::function<void()> on_synced_;
  const int failures_before_list_;
  std::uint64_t round_ = 0;
  bool told_ = false;    // by the watch that runs
  bool absent_ = false;  // there has never been such a kind
  mutable std::mutex mutex_;
  absl::Time began_ = absl::InfiniteFuture();  // of the watch that runs
  bool synced_ = false;
  bool restart_ = false;
  std::stop_source running_{std::nostopstate};
  std::array<std::uint64_t, kAllWatchRestarts.size()> restarts_ = {};
  int failures_ = 0;  // since it last told something
  absl::Status error_ = absl::OkStatus();
  absl::Time failing_since_ = absl::InfiniteFuture();
};

// What becomes of what a watch sees.
template <typename T>
struct WatchTarget {
  // With the version that the list was read at.
  std::function<void(std::vector<T>, std::string_view)> on_list;
  std::function<void(T)> on_change;
  std::function<void(const T&)> on_delete;
  // The cluster has no such kind. Null: it has.
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
    // The sink moves it on while the call runs.
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
