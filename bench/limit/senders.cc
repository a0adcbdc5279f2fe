#include "limit/senders.h"

#include <utility>

namespace driverupgrade::bench {

Senders::Senders(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this](const std::stop_token& stop) { Work(stop); });
}

Senders::~Senders() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

void Senders::Post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_one();
}

void Senders::Work(const std::stop_token& stop) {
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !tasks_.empty(); }) || stop.stop_requested()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace driverupgrade::bench
