// Where tasks run that a WorkerPool is given, in place of threads of its own: one thread, in an order of the runner's.
#ifndef DRIVERUPGRADE_SRC_BASE_TASK_RUNNER_H_
#define DRIVERUPGRADE_SRC_BASE_TASK_RUNNER_H_

#include <functional>

namespace driverupgrade::internal {

class TaskRunner {
 public:
  virtual ~TaskRunner() = default;
  // Keeps it for later.
  virtual void Submit(std::function<void()> task) = 0;
  // Runs what it has been given, in whatever order.
  virtual void WaitIdle() = 0;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_BASE_TASK_RUNNER_H_
