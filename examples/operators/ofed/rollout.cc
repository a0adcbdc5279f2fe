#include "ofed/rollout.h"

#include <memory>
#include <utility>

#include "ofed/decide.h"
#include "ofed/ofed_director.h"
#include "support/upgrade_service.h"

namespace ofed_operator {

using driverupgrade::DriverIdentity;
using examples::Misconfigured;

int RunRollout(const Options& options, const Configuration& configuration, const examples::Connection& connection,
               const driverupgrade::LogSink& log, std::stop_token stop) {
  const absl::StatusOr<DriverIdentity> identity = examples::IdentityOf(options.service);
  if (!identity.ok()) return Misconfigured(log, identity.status());
  if (configuration.policy && !configuration.policy->auto_upgrade && options.service.until_done) {
    return Misconfigured(log, absl::InvalidArgumentError("autoUpgrade is false: no node would ever be upgraded"));
  }
  const auto bell = std::make_shared<driverupgrade::Doorbell>();
  OfedDirector director(connection, {.identity = *identity,
                                     .ns = options.service.ns,
                                     .driver_labels = configuration.driver_labels,
                                     .policy = configuration.policy,
                                     .migrate = !options.disable_migration,
                                     .requestor = configuration.requestor,
                                     .daemon_sets = options.daemon_sets,
                                     .init_image = options.init_image,
                                     .write_state = options.write_state.value_or(true),
                                     .release_deleted = options.release_deleted,
                                     .bell = bell,
                                     .log = log});
  director.Start();
  // The NodeKeeper receives changes through its own scope, because each engine consumes the changes of its scope.
  examples::OperatorOptions made{
      .arguments = options.service,
      .service = {.identity = *identity,
                  .parallel_total = options.parallel_total,
                  .more_scopes = {{.ns = options.service.ns, .driver_labels = OfAnyOwner(configuration.driver_labels)}},
                  .reported = {.defaults = "network-operator"}},
      .probe_labels = configuration.driver_labels};
  made.service.engine.state_machine.requestor = configuration.requestor;
  return examples::RunService(made, connection, director, bell, log, std::move(stop));
}

}  // namespace ofed_operator
