/// Runs an operator's service according to the command line: indefinitely, until a rollout has ended, or for one pass.
///
/// Defines OperatorOptions, RunService and Misconfigured.
///
///     const auto bell = std::make_shared<driverupgrade::Doorbell>();
///     MyDirector director(bell);
///     return examples::RunService({.arguments = arguments, .service = {.identity = gpu}}, connection, director, bell,
///                                 log, stop.token());
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_UPGRADE_SERVICE_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_UPGRADE_SERVICE_H_

#include <memory>
#include <stop_token>

#include "driverupgrade/observer.h"
#include "driverupgrade/service/director.h"
#include "driverupgrade/service/upgrade_service.h"
#include "support/operator_process.h"
#include "support/service_arguments.h"

namespace examples {

struct OperatorOptions {
  ServiceArguments arguments = {};
  /// The operator's own options. RunService sets the namespace, Events, the operator's own pod, the ledger, the
  /// election and the addresses from `arguments`, and the remaining fields from its other parameters.
  driverupgrade::ServiceOptions service;
  /// Labels of objects that are read before anything starts, to report a missing object or permission early.
  driverupgrade::LabelSelector probe_labels = {};
};

/// Runs until `stop`, or according to --once and --until-done; returns the exit code. `bell` must be the director's
/// bell.
int RunService(const OperatorOptions& options, const Connection& connection, driverupgrade::Director& director,
               const std::shared_ptr<driverupgrade::Doorbell>& bell, const driverupgrade::LogSink& log,
               std::stop_token stop);

/// Logs a configuration error, and returns kExitUsage.
int Misconfigured(const driverupgrade::LogSink& log, const absl::Status& status);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_UPGRADE_SERVICE_H_
