// What FakeCluster holds: the model under a lock, the clock, the faults, the watches, and the journal.
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
  /// Null: none. Shared, so that they are called without the lock.
  struct Hooks {
    std::shared_ptr<const FaultHook> before = {};
    std::shared_ptr<const FaultHook> after = {};
  };

  /// Holds the lock, and rings the bell at its end if the model has changed.
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

  /// Lets happen what is due, then runs `use(model)` at the clock's time. Takes the lock.
  template <class F>
  auto With(F use) {
    Section section(*this);
    Settle();
    return use(model);
  }

  /// One call through the facade, faults and journal included. `describe` gives object and parameters;
  /// `apply` runs on the model. See fake_cluster_run.h.
  template <class T, class Describe, class Apply>
  absl::StatusOr<T> Run(const CallContext& context, Operation operation, Describe describe, Apply apply);
  /// The same without what is between the hooks, which `body(call)` is then.
  template <class T, class Describe, class Body>
  absl::StatusOr<T> RunAround(const CallContext& context, Operation operation, Describe describe, Body body);

  /// One watch, or a part of it. See fake_cluster_watch.cc.
  template <class T>
  struct Feed;
  template <class T>
  struct Delivery;
  template <class T>
  absl::Status Watch(const CallContext& context, const WatchParams& params, bool follow, WatchSink<T>& sink);
  /// What the watch ends with if it cannot begin. Takes the lock.
  template <class T>
  std::optional<absl::Status> BeginWatch(Feed<T>& feed, Call& call);
  /// What the watch is given next. Takes the lock.
  template <class T>
  Delivery<T> Next(Feed<T>& feed);
  /// Needs the lock.
  template <class T>
  Delivery<T> NextChange(Feed<T>& feed);

  /// Needs the lock.
  void Settle();
  /// What keeps the call from the model; OK if nothing does. Counts and journals it. Takes the lock.
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
  std::size_t expired_events = 0;  // of `events`, the first ones
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
