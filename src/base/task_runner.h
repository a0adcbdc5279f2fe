// Runs the tasks of a WorkerPool instead of the pool's own threads: in one thread, in an order that the runner chooses.
#ifndef DRIVERUPGRADE_SRC_BASE_TASK_RUNNER_H_
#define DRIVERUPGRADE_SRC_BASE_TASK_RUNNER_H_

#include <functional>

namespace driverupgrade::internal {

class TaskRunner {
 public:
  virtual ~TaskRunner() = default;
  // Stores the task for later.
  virtual void Submit(std::function<void()> task) = 0;
  // Runs all stored tasks, in any order.
  virtual void WaitIdle() = 0;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_BASE_TASK_RUNNER_H_
