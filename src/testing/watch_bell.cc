#include "testing/watch_bell.h"

namespace driverupgrade::testing::internal {

void WatchBell::Ring() {
  {
    std::lock_guard lock(mutex_);
    ++rings_;
    idle_ = 0;
  }
  rung_.notify_all();
}

void WatchBell::AwaitIdle(int count) {
  std::unique_lock lock(mutex_);
  idle_changed_.wait(lock, [&] { return running_ >= count && idle_ == running_; });
}

WatchBell::Watcher::Watcher(WatchBell& bell) : bell_(bell) {
  std::lock_guard lock(bell_.mutex_);
  ++bell_.running_;
}

WatchBell::Watcher::~Watcher() {
  std::lock_guard lock(bell_.mutex_);
  --bell_.running_;
  bell_.idle_changed_.notify_all();
}

std::uint64_t WatchBell::Watcher::rings() const {
  std::lock_guard lock(bell_.mutex_);
  return bell_.rings_;
}

void WatchBell::Watcher::Wait(std::uint64_t rings, const std::stop_token& stop) {
  std::unique_lock lock(bell_.mutex_);
  if (bell_.rings_ != rings) return;
  ++bell_.idle_;
  bell_.idle_changed_.notify_all();
  bell_.rung_.wait(lock, stop, [&] { return bell_.rings_ != rings; });
  // If the bell was rung in the meantime, the ring has already reset `idle_`.
  if (bell_.rings_ == rings) --bell_.idle_;
}

}  // namespace driverupgrade::testing::internal
