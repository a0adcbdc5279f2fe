// A TaskRunner that keeps the tasks until the test runs them, or until the engine waits for all tasks.
#ifndef DRIVERUPGRADE_TESTS_SUPPORT_LATE_TASKS_H_
#define DRIVERUPGRADE_TESTS_SUPPORT_LATE_TASKS_H_

#include <functional>
#include <utility>
#include <vector>

#include "driverupgrade/engine_options.h"

namespace driverupgrade::tests {

class LateTasks final : public TaskRunner {
 public:
  void Submit(std::function<void()> task) override { tasks_.push_back(std::move(task)); }
  void BeforeWait() override { RunAll(); }
  void RunAll() {
    for (const std::function<void()>& task : std::exchange(tasks_, {})) task();
  }
  // Removes the last task from the queue and returns it. If the test does not run this task, the task is dropped.
  std::function<void()> TakeOne() {
    std::function<void()> task = std::move(tasks_.back());
    tasks_.pop_back();
    return task;
  }

 private:
  std::vector<std::function<void()>> tasks_;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SUPPORT_LATE_TASKS_H_
