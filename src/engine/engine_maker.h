// Creates engines without threads, for simulations, which run everything in one thread and in their own order.
#ifndef DRIVERUPGRADE_SRC_ENGINE_ENGINE_MAKER_H_
#define DRIVERUPGRADE_SRC_ENGINE_ENGINE_MAKER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/task_runner.h"
#include "driverupgrade/upgrade_engine.h"
#include "read/hook_calls.h"

namespace driverupgrade::internal {

class EngineMaker {
 public:
  // Same as UpgradeEngine::Create. `runner` makes the calls; null: threads, or the pass itself if calls_in_flight is 1.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<UpgradeEngine>> Create(const DriverIdentity& identity,
                                                                             std::shared_ptr<ClusterFacade> cluster,
                                                                             EngineOptions options,
                                                                             std::shared_ptr<TaskRunner> runner,
                                                                             HookThread hooks = HookThread::kOwn);
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_ENGINE_ENGINE_MAKER_H_
