/// An operator's main loop: leads, runs the engines that its director wants, and is seen by kubelet and Prometheus.
///
/// Defines ServiceOptions and RunService.
///
///     const auto bell = std::make_shared<examples::Doorbell>();
///     MyDirector director(bell);
///     return examples::RunService({.arguments = arguments, .identity = gpu, .engine = {...}}, connection, director, bell,
///                                 log, stop.token());
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_UPGRADE_SERVICE_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_UPGRADE_SERVICE_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "driverupgrade/driver_identity.h"
#include "driverupgrade/log_sink.h"
#include "driverupgrade/prometheus/metrics_collector.h"
#include "driverupgrade/upgrade_engine.h"
#include "support/director.h"
#include "support/doorbell.h"
#include "support/operator_process.h"
#include "support/service_arguments.h"

namespace examples {

struct ServiceOptions {
  ServiceArguments arguments = {};
  driverupgrade::DriverIdentity identity;
  /// What all engines have in common; their labels and policies are the director's. `snapshot.ns`, Events, the
  /// operator's own pod and the ledger are set from `arguments`.
  driverupgrade::EngineOptions engine = {};
  /// Whose absence or refusal is told before anything begins.
  driverupgrade::LabelSelector probe_labels = {};
  std::vector<driverupgrade::DriverScope> more_scopes = {};
  std::vector<driverupgrade::MetricAlias> aliases = {};
  std::optional<int> parallel_total = std::nullopt;
};

/// Until `stop`, or as --once and --until-done say; returns the exit code. The director's bell is `bell`.
int RunService(const ServiceOptions& options, const Connection& connection, Director& director,
               const std::shared_ptr<Doorbell>& bell, const driverupgrade::LogSink& log, std::stop_token stop);

/// Says what is wrong with the configuration; returns kExitUsage.
int Misconfigured(const driverupgrade::LogSink& log, const absl::Status& status);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_UPGRADE_SERVICE_H_
