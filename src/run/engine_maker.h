// An engine whose calls are made where its maker says: for the simulation, which has one thread and an order of its own.
#ifndef DRIVERUPGRADE_SRC_RUN_ENGINE_MAKER_H_
#define DRIVERUPGRADE_SRC_RUN_ENGINE_MAKER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/task_runner.h"
#include "driverupgrade/upgrade_engine.h"

namespace driverupgrade::internal {

class EngineMaker {
 public:
  // As UpgradeEngine::Create. `runner`: null for threads.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<UpgradeEngine>> Create(const DriverIdentity& identity,
                                                                             std::shared_ptr<ClusterFacade> cluster,
                                                                             EngineOptions options,
                                                                             std::shared_ptr<TaskRunner> runner);
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_RUN_ENGINE_MAKER_H_
