// What makes a service of examples/operators/support the operator of the NVIDIA driver.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_ROLLOUT_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_ROLLOUT_H_

#include <stop_token>

#include "driverupgrade/observer.h"
#include "gpu/options.h"
#include "support/operator_process.h"

namespace gpu_operator {

/// Runs as the options say, or until `stop`; returns the exit code. `connection.objects` may be null with a policy from
/// a file: then the ResourceClaims of pods are not looked at.
int RunRollout(const Options& options, const Configuration& configuration, const examples::Connection& connection,
               const driverupgrade::LogSink& log, std::stop_token stop);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_ROLLOUT_H_
