/// An operator's program: its service as the command line says, for good, until a rollout is over, or for one pass.
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
  /// What is this operator's. Namespace, Events, the operator's own pod, the ledger, the election and the addresses are
  /// set from `arguments`, and what RunService is given as well.
  driverupgrade::ServiceOptions service;
  /// Whose absence or refusal is told before anything begins.
  driverupgrade::LabelSelector probe_labels = {};
};

/// Until `stop`, or as --once and --until-done say; returns the exit code. The director's bell is `bell`.
int RunService(const OperatorOptions& options, const Connection& connection, driverupgrade::Director& director,
               const std::shared_ptr<driverupgrade::Doorbell>& bell, const driverupgrade::LogSink& log,
               std::stop_token stop);

/// Says what is wrong with the configuration; returns kExitUsage.
int Misconfigured(const driverupgrade::LogSink& log, const absl::Status& status);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_UPGRADE_SERVICE_H_
