// Runs a service of examples/operators/support as the operator of the OFED driver.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_ROLLOUT_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_ROLLOUT_H_

#include <stop_token>

#include "driverupgrade/observer.h"
#include "ofed/options.h"
#include "support/operator_process.h"

namespace ofed_operator {

/// Runs the operator as the options specify, until its work is done or `stop` is requested, and returns the exit code.
int RunRollout(const Options& options, const Configuration& configuration, const examples::Connection& connection,
               const driverupgrade::LogSink& log, std::stop_token stop);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_ROLLOUT_H_
