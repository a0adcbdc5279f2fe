// Tests tasks that run on the threads of an embedding program instead of the engine's own threads.
#include "write/worker_pool.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/late_tasks.h"

namespace driverupgrade::internal {
namespace {

using tests::LateTasks;

TEST_CASE("A runner without threads runs the tasks when the pool waits for them") {
  const auto runner = std::make_shared<LateTasks>();
  WorkerPool pool(8, runner);
  int runs = 0;
  pool.Submit([&] { ++runs; });
  pool.Submit([&] { ++runs; });
  CHECK(runs == 0);
  pool.WaitIdle();
  CHECK(runs == 2);
}

TEST_CASE("A pool waits for tasks on the threads of a runner") {
  struct Threads final : TaskRunner {
    void Submit(std::function<void()> task) override { threads.emplace_back(std::move(task)); }
    std::vector<std::jthread> threads;
  };
  const auto runner = std::make_shared<Threads>();
  WorkerPool pool(1, runner);
  std::atomic<int> runs = 0;
  for (int i = 0; i < 4; ++i) pool.Submit([&] { ++runs; });
  pool.WaitIdle();
  CHECK(runs == 4);
}

TEST_CASE("The pool does not wait for a task that the runner has dropped") {
  const auto runner = std::make_shared<LateTasks>();
  WorkerPool pool(8, runner);
  pool.Submit([] {});
  runner->TakeOne() = nullptr;
  pool.WaitIdle();
}

TEST_CASE("A task that starts after its pool was destroyed does nothing") {
  const auto runner = std::make_shared<LateTasks>();
  bool ran = false;
  std::optional<WorkerPool> pool(std::in_place, 8, runner);
  pool->Submit([&] { ran = true; });
  pool.reset();
  runner->RunAll();
  CHECK_FALSE(ran);
}

}  // namespace
}  // namespace driverupgrade::internal
