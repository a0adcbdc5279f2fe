// Runs queued tasks in threads.
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
  // With a runner, the runner runs the tasks. Otherwise, with `threads` below 2, tasks run in the thread that submits
  // them, one at a time and deterministically.
  explicit WorkerPool(int threads, std::shared_ptr<TaskRunner> runner = nullptr);
  // Waits for the running tasks; the others never start.
  ~WorkerPool();

  void Submit(std::function<void()> task);
  // Returns the number of tasks that have not started.
  std::size_t queued();
  // Returns when every task submitted before has ended.
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
  std::vector<std::jthread> threads_;  // last: joined before the rest is destroyed
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_WORKER_POOL_H_
