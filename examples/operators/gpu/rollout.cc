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
using driverupgrade::LabelSelector;
using driverupgrade::LogSink;
using driverupgrade::Pod;
using examples::Misconfigured;
using examples::ServiceOptions;

absl::StatusOr<ServiceOptions> MakeServiceOptions(const Options& options, const Configuration& configuration,
                                                  const examples::Connection& connection,
                                                  const DriverIdentity& identity) {
  ServiceOptions service{.arguments = options.service,
                         .identity = identity,
                         .probe_labels = configuration.labels.cluster_policy,
                         .aliases = driverupgrade::GpuOperatorAliases(identity.Name()),
                         .parallel_total = options.parallel_total};
  service.engine.snapshot.uses_driver = GpuPodFilter(connection.objects);
  service.engine.snapshot.restart_only = [](const CallContext&, const Pod&, const ControllerRevision& running,
                                            const ControllerRevision& wanted) {
    return LoadsSameDriver(running, wanted);
  };
  service.engine.state_machine.requestor = configuration.requestor;
  if (options.validation_selector.empty()) return service;
  absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(options.validation_selector);
  if (!selector.ok()) return examples::About("--validation-selector", selector.status());
  service.engine.state_machine.validation_selector = *std::move(selector);
  return service;
}

absl::StatusOr<examples::EngineSpec> SpecOf(const Options& options, const Configuration& configuration,
                                            const DriverIdentity& identity) {
  if (!configuration.policy.auto_upgrade && options.service.until_done) {
    return absl::InvalidArgumentError("autoUpgrade is false: nothing would ever be done");
  }
  examples::EngineSpec spec{.driver_labels = configuration.labels.cluster_policy, .policy = configuration.policy};
  const absl::Status spared = examples::SpareSkippedPods(identity, spec.policy);
  if (!spared.ok()) return spared;
  return spec;
}

}  // namespace

int RunRollout(const Options& options, const Configuration& configuration, const examples::Connection& connection,
               const LogSink& log, std::stop_token stop) {
  const absl::StatusOr<DriverIdentity> identity = DriverIdentity::Create("nvidia.com", "gpu");
  if (!identity.ok()) return Misconfigured(log, identity.status());
  const absl::StatusOr<ServiceOptions> service = MakeServiceOptions(options, configuration, connection, *identity);
  if (!service.ok()) return Misconfigured(log, service.status());
  const auto bell = std::make_shared<examples::Doorbell>();
  if (!options.cluster_policy) {
    absl::StatusOr<examples::EngineSpec> spec = SpecOf(options, configuration, *identity);
    if (!spec.ok()) return Misconfigured(log, spec.status());
    FileDirector director(*std::move(spec));
    return examples::RunService(*service, connection, director, bell, log, std::move(stop));
  }
  ClusterPolicyDirector director(connection.objects,
                                 {.identity = *identity, .labels = configuration.labels, .bell = bell, .log = log});
  director.Start();
  return examples::RunService(*service, connection, director, bell, log, std::move(stop));
}

}  // namespace gpu_operator
