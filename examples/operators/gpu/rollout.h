// Runs a service of examples/operators/support as the operator of the NVIDIA driver.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_ROLLOUT_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_ROLLOUT_H_

#include <stop_token>

#include "driverupgrade/observer.h"
#include "gpu/options.h"
#include "support/operator_process.h"

namespace gpu_operator {

/// Runs the operator as the options specify, until its work is done or `stop` is requested, and returns the exit code.
/// If the policy comes from a file, `connection.objects` may be null; ResourceClaims of pods are then ignored.
int RunRollout(const Options& options, const Configuration& configuration, const examples::Connection& connection,
               const driverupgrade::LogSink& log, std::stop_token stop);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_ROLLOUT_H_
