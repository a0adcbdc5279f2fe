// The state of a FakeCluster: the model under a lock, the clock, the faults, the watches, and the journal.
#ifndef DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_IMPL_H_
#define DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_IMPL_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "driverupgrade/testing/fake_cluster.h"
#include "testing/fake_cluster_faults.h"
#include "testing/fake_cluster_model.h"
#include "testing/watch_bell.h"

namespace driverupgrade::testing {

struct FakeCluster::Impl {
  /// The hooks that run around each call; null if not set. The pointers are shared, so that a hook can be called
  /// without holding the lock.
  struct Hooks {
    std::shared_ptr<const FaultHook> before = {};
    std::shared_ptr<const FaultHook> after = {};
  };

  /// Holds the lock. The destructor rings the bell if the model has changed.
  class Section {
   public:
    explicit Section(Impl& impl) : impl_(impl), lock_(impl.mutex), revision_(impl.model.revision()) {}
    ~Section() {
      if (impl_.model.revision() != revision_) impl_.bell->Ring();
    }

   private:
    Impl& impl_;
    std::lock_guard<std::mutex> lock_;
    const std::int64_t revision_;
  };

  Impl(std::shared_ptr<FakeClock> the_clock, const FakeClusterOptions& the_options)
      : clock(std::move(the_clock)),
        options(the_options),
        bell(std::make_shared<internal::WatchBell>()),
        clock_listener(clock->OnMove([bell = bell] { bell->Ring(); })),
        model(the_options) {}

  /// Runs all effects that are due, then `use(model)` at the clock's time. Takes the lock.
  template <class F>
  auto With(F use) {
    Section section(*this);
    Settle();
    return use(model);
  }

  /// Runs one call through the facade, including faults and the journal. `describe` returns the object and the
  /// parameters; `apply` runs on the model. See fake_cluster_run.h.
  template <class T, class Describe, class Apply>
  absl::StatusOr<T> Run(const CallContext& context, Operation operation, Describe describe, Apply apply);
  /// Same as Run, but only calls `body(call)` between the hooks. `body` must apply faults and access the model itself.
  template <class T, class Describe, class Body>
  absl::StatusOr<T> RunAround(const CallContext& context, Operation operation, Describe describe, Body body);

  /// Feed is the progress of a watch, and Delivery its next item. See fake_cluster_watch.cc.
  template <class T>
  struct Feed;
  template <class T>
  struct Delivery;
  template <class T>
  absl::Status Watch(const CallContext& context, const WatchParams& params, bool follow, WatchSink<T>& sink);
  /// Returns the status that ends the watch if the watch cannot start; otherwise nullopt. Takes the lock.
  template <class T>
  std::optional<absl::Status> BeginWatch(Feed<T>& feed, Call& call);
  /// Returns the watch's next delivery. Takes the lock.
  template <class T>
  Delivery<T> Next(Feed<T>& feed);
  /// The caller must hold the lock.
  template <class T>
  Delivery<T> NextChange(Feed<T>& feed);

  /// The caller must hold the lock.
  void Settle();
  /// Counts and records the call. Returns the error that prevents the call from reaching the model, or OK. Takes the
  /// lock.
  absl::Status Begin(const CallContext& context, Call& call);
  /// Takes the lock.
  void End(const Call& call);
  /// Takes the lock.
  Hooks CopyHooks();

  const std::shared_ptr<FakeClock> clock;
  const FakeClusterOptions options;
  const std::shared_ptr<internal::WatchBell> bell;
  const std::shared_ptr<const void> clock_listener;
  std::mutex mutex;
  // Guarded by mutex.
  internal::Model model;
  std::optional<internal::Model> backup;
  internal::FaultQueue faults;
  Hooks hooks;
  std::vector<RecordEventParams> events;
  std::size_t expired_events = 0;  // number of expired Events at the front of `events`
  std::vector<Call> journal;
  std::map<Operation, std::int64_t> call_counts;
  std::int64_t call_number = 0;
  bool watches_paused = false;
  std::int64_t bookmark_number = 0;
  std::int64_t break_number = 0;
  absl::Status break_status;
};

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_IMPL_H_
