#include "base/worker_pool.h"

#include <utility>

namespace driverupgrade::internal {

WorkerPool::WorkerPool(int threads, std::shared_ptr<TaskRunner> runner) : runner_(std::move(runner)) {
  if (runner_ || threads < 2) return;
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  wake_.notify_all();
}

void WorkerPool::Submit(std::function<void()> task) {
  if (runner_) return runner_->Submit(std::move(task));
  if (threads_.empty()) return task();
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  wake_.notify_one();
}

std::size_t WorkerPool::queued() {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void WorkerPool::WaitIdle() {
  if (runner_) return runner_->WaitIdle();
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return queue_.empty() && running_ == 0; });
}

void WorkerPool::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> task = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    --running_;
    if (queue_.empty() && running_ == 0) idle_.notify_all();
  }
}

}  // namespace driverupgrade::internal
