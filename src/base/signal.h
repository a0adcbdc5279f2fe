// Notifies a listener of new work.
#ifndef DRIVERUPGRADE_SRC_BASE_SIGNAL_H_
#define DRIVERUPGRADE_SRC_BASE_SIGNAL_H_

#include <functional>
#include <mutex>
#include <utility>

namespace driverupgrade::internal {

// Thread-safe.
class Signal {
 public:
  // Sets the listener; null removes it. Waits for any running call of the previous listener to return.
  void Listen(std::function<void()> listener) {
    const std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
  }
  // Calls the listener, if any. The listener must not call this object.
  void Raise() {
    const std::lock_guard lock(mutex_);
    if (listener_) listener_();
  }

 private:
  std::mutex mutex_;
  std::function<void()> listener_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_BASE_SIGNAL_H_
