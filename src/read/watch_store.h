// WatchStore shares an ObjectStore among threads: watches change the store, and engines read it. It wakes an engine
// when the store has changes for that engine.
#ifndef DRIVERUPGRADE_SRC_READ_WATCH_STORE_H_
#define DRIVERUPGRADE_SRC_READ_WATCH_STORE_H_

#include <functional>
#include <mutex>
#include <vector>

#include "read/object_store.h"

namespace driverupgrade::internal {

class WatchStore {
 public:
  explicit WatchStore(std::size_t drivers) : store_(drivers), subscribers_(drivers) {}

  // Calls `read` with the store, and returns the result of `read`, which must not keep a reference to the store.
  template <typename F>
  auto Read(F read) const {
    const std::lock_guard lock(mutex_);
    return read(store_);
  }
  // Calls `change` with the store, and returns its result. Other threads see the changes only after `change` has
  // returned. Then wakes each driver that now has changes to take but had no changes before.
  template <typename F>
  auto Change(F change) {
    const Waker waker(*this);
    return change(store_);
  }

  // Sets the callback that wakes the driver. The callback must not block. When Subscribe returns, no earlier callback
  // is running.
  void Subscribe(std::size_t driver, std::function<void()> on_change);
  void WakeAll();
  CacheChanges Take(std::size_t driver);
  void Attach(std::size_t driver);

 private:
  struct Subscriber {
    std::function<void()> on_change = nullptr;
    bool has_changes = true;  // true until the changes are taken; meanwhile the driver need not be woken again
  };
  // Holds the lock while the store is changed, and wakes drivers after releasing the lock.
  class Waker {
   public:
    explicit Waker(WatchStore& shared) : shared_(shared), lock_(shared.mutex_) {}
    ~Waker() {
      const std::vector<std::size_t> drivers = shared_.NewlyChanged();
      lock_.unlock();
      if (!drivers.empty()) shared_.Wake(drivers);
    }
    Waker(const Waker&) = delete;
    Waker& operator=(const Waker&) = delete;

   private:
    WatchStore& shared_;
    std::unique_lock<std::mutex> lock_;
  };

  std::vector<std::size_t> NewlyChanged();
  void Wake(const std::vector<std::size_t>& drivers);

  mutable std::mutex mutex_;
  std::mutex calling_;  // held while subscribers are called
  ObjectStore store_;
  std::vector<Subscriber> subscribers_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_WATCH_STORE_H_
