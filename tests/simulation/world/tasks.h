// Keeps several calls of a replica in flight in a single thread. Tasks that an engine would hand to its threads wait
// here and start in random order, if possible while another task is in the middle of a call.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_TASKS_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_TASKS_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/engine_options.h"
#include "simulation/world/faulty_cluster.h"
#include "simulation/world/random.h"
#include "simulation/world/world.h"

namespace driverupgrade::testing::internal {

class Tasks final : public TaskRunner {
 public:
  Tasks(World& world, std::shared_ptr<FaultyCluster> cluster, Random& random)
      : world_(world), cluster_(std::move(cluster)), random_(random) {}

  void Submit(std::function<void()> task) override;
  void BeforeWait() override;
  // Starts one of the tasks. Other tasks may start and end before this task ends.
  void RunNext();
  // Drops the tasks that have not started.
  void Drop() { queue_.clear(); }

  bool AnyDue() const { return !queue_.empty() && running_ < kInFlightMax; }
  bool idle() const { return queue_.empty() && running_ == 0; }
  bool running() const { return running_ > 0; }

 private:
  static constexpr int kInFlightMax = 4;

  struct Task {
    std::function<void()> run = {};
    // The replica's knowledge at the time when it decided on the call.
    Writer writer = {};
  };

  World& world_;
  const std::shared_ptr<FaultyCluster> cluster_;
  Random& random_;
  std::vector<Task> queue_;
  int running_ = 0;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_TASKS_H_
