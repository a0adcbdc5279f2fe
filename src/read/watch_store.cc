#include "read/watch_store.h"

#include <numeric>
#include <utility>

namespace driverupgrade::internal {

std::vector<std::size_t> WatchStore::NewlyChanged() {
  std::vector<std::size_t> drivers;
  for (std::size_t driver = 0; driver < subscribers_.size(); ++driver) {
    if (store_.HasChanges(driver) && !std::exchange(subscribers_[driver].has_changes, true)) drivers.push_back(driver);
  }
  return drivers;
}

void WatchStore::Wake(const std::vector<std::size_t>& drivers) {
  const std::lock_guard calling(calling_);
  for (const std::size_t driver : drivers) {
    std::unique_lock lock(mutex_);
    const std::function<void()> on_change = subscribers_[driver].on_change;
    lock.unlock();
    if (on_change) on_change();
  }
}

void WatchStore::Subscribe(std::size_t driver, std::function<void()> on_change) {
  const std::lock_guard calling(calling_);
  const std::lock_guard lock(mutex_);
  subscribers_[driver].on_change = std::move(on_change);
}

void WatchStore::WakeAll() {
  std::vector<std::size_t> all(subscribers_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  Wake(all);
}

CacheChanges WatchStore::Take(std::size_t driver) {
  const std::lock_guard lock(mutex_);
  subscribers_[driver].has_changes = false;
  return store_.Take(driver);
}

void WatchStore::Attach(std::size_t driver) {
  const std::lock_guard lock(mutex_);
  subscribers_[driver].has_changes = true;
  store_.Attach(driver);
}

}  // namespace driverupgrade::internal
