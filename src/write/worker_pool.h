// Runs queued tasks on a fixed number of threads, or on a runner of the embedding program.
#ifndef DRIVERUPGRADE_SRC_WRITE_WORKER_POOL_H_
#define DRIVERUPGRADE_SRC_WRITE_WORKER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "driverupgrade/engine_options.h"

namespace driverupgrade::internal {

class WorkerPool {
 public:
  // If `threads` is below 2, each task runs in the thread that submits it, which makes the order deterministic. If
  // `runner` is set, the runner runs the tasks instead.
  explicit WorkerPool(int threads, std::shared_ptr<TaskRunner> runner = nullptr);
  // Waits for running tasks, and drops queued tasks.
  ~WorkerPool();

  void Submit(std::function<void()> task);
  // Returns the number of tasks that have not started.
  std::size_t queued();
  // Waits until all submitted tasks have finished.
  void WaitIdle();

 private:
  class Lent;
  void Work();

  const std::shared_ptr<TaskRunner> runner_;
  const std::shared_ptr<Lent> lent_;  // null without a runner
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> queue_;
  int running_ = 0;
  bool stopping_ = false;
  std::vector<std::jthread> threads_;  // last member: joined before the other members are destroyed
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_WORKER_POOL_H_
