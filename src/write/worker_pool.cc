#include "write/worker_pool.h"

#include <utility>

#include "absl/cleanup/cleanup.h"

namespace driverupgrade::internal {

// Tracks the tasks that were handed to a runner. Each task shares ownership of this object, because the runner may
// start or drop the task after the pool has been destroyed.
class WorkerPool::Lent : public std::enable_shared_from_this<Lent> {
 public:
  // Returns a function that runs the task unless the pool has been destroyed. Until the function itself is destroyed,
  // the task counts as unfinished.
  std::function<void()> Lend(std::function<void()> task) {
    Count(open_, 1);
    std::shared_ptr<Lent> open(this, [self = shared_from_this()](Lent* lent) { lent->Count(lent->open_, -1); });
    return [open = std::move(open), task = std::move(task)] { open->Run(task); };
  }

  void WaitIdle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ == 0; });
  }

  void Stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.wait(lock, [this] { return running_ == 0; });
  }

 private:
  void Count(int& number, int change) {
    const std::lock_guard lock(mutex_);
    number += change;
    changed_.notify_all();
  }

  void Run(const std::function<void()>& task) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      ++running_;
    }
    const absl::Cleanup ended = [this] { Count(running_, -1); };
    task();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int open_ = 0;
  int running_ = 0;
  bool stopping_ = false;
};

WorkerPool::WorkerPool(int threads, std::shared_ptr<TaskRunner> runner)
    : runner_(std::move(runner)), lent_(runner_ ? std::make_shared<Lent>() : nullptr) {
  if (runner_ || threads < 2) return;
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

WorkerPool::~WorkerPool() {
  if (lent_) lent_->Stop();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  wake_.notify_all();
}

void WorkerPool::Submit(std::function<void()> task) {
  if (runner_) return runner_->Submit(lent_->Lend(std::move(task)));
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
  if (runner_) {
    runner_->BeforeWait();
    return lent_->WaitIdle();
  }
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
