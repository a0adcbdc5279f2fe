// What FakeCluster holds: the model under a lock, the clock, the faults, and the journal.
#ifndef DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_IMPL_H_
#define DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_IMPL_H_

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "driverupgrade/testing/fake_cluster.h"
#include "testing/fake_cluster_faults.h"
#include "testing/fake_cluster_model.h"

namespace driverupgrade::inline v1::testing {

struct FakeCluster::Impl {
  /// Null: none. Shared, so that they are called without the lock.
  struct Hooks {
    std::shared_ptr<const FaultHook> before = {};
    std::shared_ptr<const FaultHook> after = {};
  };

  Impl(std::shared_ptr<FakeClock> the_clock, const FakeClusterOptions& the_options)
      : clock(std::move(the_clock)), options(the_options), model(the_options) {}

  /// Lets happen what is due, then runs `use(model)` at the clock's time. Takes the lock.
  template <class F>
  auto With(F use) {
    std::lock_guard lock(mutex);
    Settle();
    return use(model);
  }

  /// One call through the facade, faults and journal included. `describe` gives object and parameters;
  /// `apply` runs on the model.
  template <class T, class Describe, class Apply>
  absl::StatusOr<T> Run(const CallContext& context, Operation operation, Describe describe, Apply apply);

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
  std::mutex mutex;
  // Guarded by mutex.
  internal::Model model;
  internal::FaultQueue faults;
  Hooks hooks;
  std::vector<RecordEventParams> events;
  std::vector<Call> journal;
  std::map<Operation, std::int64_t> call_counts;
  std::int64_t call_number = 0;
};

}  // namespace driverupgrade::inline v1::testing

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_IMPL_H_
