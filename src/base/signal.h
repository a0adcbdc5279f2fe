// Notifies a listener that there is work to do.
#ifndef DRIVERUPGRADE_SRC_BASE_SIGNAL_H_
#define DRIVERUPGRADE_SRC_BASE_SIGNAL_H_

#include <functional>
#include <mutex>
#include <utility>

namespace driverupgrade::internal {

// Thread-safe.
class Signal {
 public:
  // Sets the listener; null removes it. Returns once no earlier listener is running.
  void Listen(std::function<void()> listener) {
    const std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
  }
  // The listener must not call this object.
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
