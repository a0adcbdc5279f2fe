// One rollout: the engine in a loop.
#ifndef DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_ROLLOUT_H_
#define DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_ROLLOUT_H_

#include <memory>
#include <stop_token>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/log_sink.h"
#include "driverupgrade/request_meter.h"
#include "gpu_operator/options.h"

namespace gpu_operator {

/// Runs until every node is done or cannot go on, or `stop`; returns the exit code. `requests`: those of `cluster`, for
/// the metrics; null: not shown.
int RunRollout(const Options& options, const Configuration& configuration,
               std::shared_ptr<driverupgrade::ClusterFacade> cluster, const driverupgrade::LogSink& log,
               std::stop_token stop, std::shared_ptr<const driverupgrade::RequestMeter> requests = nullptr);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_ROLLOUT_H_
