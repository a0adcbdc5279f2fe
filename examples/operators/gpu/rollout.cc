#include "gpu/rollout.h"

#include <memory>
#include <utility>

#include "gpu/driver_digest.h"
#include "gpu/gpu_filter.h"
#include "gpu/policy_director.h"
#include "support/spare_skipped_pods.h"
#include "support/upgrade_service.h"

namespace gpu_operator {
namespace {

using driverupgrade::CallContext;
using driverupgrade::ControllerRevision;
using driverupgrade::DriverIdentity;
using driverupgrade::EngineOptions;
using driverupgrade::EngineSpec;
using driverupgrade::LabelSelector;
using driverupgrade::LogSink;
using driverupgrade::Pod;
using examples::Misconfigured;
using examples::OperatorOptions;

// Selects the validator pods of NVIDIA's operator.
constexpr char kValidationSelector[] = "app=nvidia-operator-validator";

absl::StatusOr<OperatorOptions> MakeOperatorOptions(const Options& options, const Configuration& configuration,
                                                    const examples::Connection& connection,
                                                    const DriverIdentity& identity) {
  OperatorOptions made{
      .arguments = options.service,
      .service = {.identity = identity,
                  .parallel_total = options.parallel_total,
                  // The NodeKeeper receives changes through its own scope.
                  .more_scopes = {{.ns = options.service.ns, .driver_labels = configuration.labels.nvidia_driver}},
                  .reported = {.gpu_pods = true, .defaults = "gpu-operator"},
                  .aliases = driverupgrade::GpuOperatorAliases(identity.Name())},
      .probe_labels = configuration.labels.cluster_policy};
  EngineOptions& engine = made.service.engine;
  engine.clock = driverupgrade::SystemClock();
  engine.snapshot.uses_driver = GpuPodFilter(connection.objects);
  engine.snapshot.restart_only = [](const CallContext&, const Pod&, const ControllerRevision& running,
                                    const ControllerRevision& wanted) { return LoadsSameDriver(running, wanted); };
  engine.state_machine.requestor = configuration.requestor;
  const std::string validation =
      options.validation_selector.value_or(options.cluster_policy ? kValidationSelector : "");
  if (validation.empty()) return made;
  absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(validation);
  if (!selector.ok()) return examples::About("--validation-selector", selector.status());
  engine.state_machine.validation_selector = *std::move(selector);
  engine.state_machine.early_validation = options.early_validation;
  return made;
}

absl::StatusOr<EngineSpec> SpecOf(const Options& options, const Configuration& configuration,
                                  const DriverIdentity& identity) {
  if (!configuration.policy.auto_upgrade && options.service.until_done) {
    return absl::InvalidArgumentError("autoUpgrade is false: no node would ever be upgraded");
  }
  EngineSpec spec{.driver_labels = configuration.labels.cluster_policy, .policy = configuration.policy};
  const absl::Status spared = examples::SpareSkippedPods(identity, spec.policy);
  if (!spared.ok()) return spared;
  return spec;
}

}  // namespace

int RunRollout(const Options& options, const Configuration& configuration, const examples::Connection& connection,
               const LogSink& log, std::stop_token stop) {
  const absl::StatusOr<DriverIdentity> identity = examples::IdentityOf(options.service);
  if (!identity.ok()) return Misconfigured(log, identity.status());
  const absl::StatusOr<OperatorOptions> made = MakeOperatorOptions(options, configuration, connection, *identity);
  if (!made.ok()) return Misconfigured(log, made.status());
  const auto bell = std::make_shared<driverupgrade::Doorbell>();
  if (!options.cluster_policy) {
    absl::StatusOr<EngineSpec> spec = SpecOf(options, configuration, *identity);
    if (!spec.ok()) return Misconfigured(log, spec.status());
    FileDirector director(*std::move(spec),
                          NodeKeeper(connection.cluster, *identity, options.mark_nodes.value_or(options.cluster_policy),
                                     made->service.engine.clock),
                          bell);
    return examples::RunService(*made, connection, director, bell, log, std::move(stop));
  }
  ClusterPolicyDirector director(connection.objects, connection.cluster,
                                 {.identity = *identity,
                                  .labels = configuration.labels,
                                  .release_deleted = options.release_deleted,
                                  .mark_nodes = options.mark_nodes.value_or(options.cluster_policy),
                                  .write_state = options.write_state.value_or(options.mark_nodes.value_or(true)),
                                  .ns = options.service.ns,
                                  .daemon_sets = options.daemon_sets,
                                  .bell = bell,
                                  .log = log});
  director.Start();
  return examples::RunService(*made, connection, director, bell, log, std::move(stop));
}

}  // namespace gpu_operator
