#include "ofed/options.h"

#include <utility>

#include "CLI/CLI.hpp"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/version.h"

namespace ofed_operator {

using examples::Environment;

Options OptionsFromEnvironment() {
  Options options;
  options.service.ns = Environment("POD_NAMESPACE").value_or("nvidia-network-operator");
  options.disable_migration = Environment("DISABLE_MIGRATION") == "true";
  options.init_image = Environment("OFED_INIT_CONTAINER_IMAGE").value_or("");
  if (Environment("MAINTENANCE_OPERATOR_ENABLED") != "true") return options;
  // The id has no default. An empty id is an error that is reported later.
  options.requestor.id = Environment("MAINTENANCE_OPERATOR_REQUESTOR_ID").value_or("");
  options.requestor.ns = Environment("MAINTENANCE_OPERATOR_REQUESTOR_NAMESPACE").value_or(options.requestor.ns);
  options.requestor.name_prefix =
      Environment("MAINTENANCE_OPERATOR_NODE_MAINTENANCE_PREFIX").value_or(options.requestor.name_prefix);
  return options;
}

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options = OptionsFromEnvironment();
  CLI::App app{
      "Rolls out the OFED driver to the nodes of a cluster, according to its NicClusterPolicy or its\n"
      "NicNodePolicies.\n"
      "Environment variables, if an option is not given: POD_NAMESPACE, DISABLE_MIGRATION, OFED_INIT_CONTAINER_IMAGE,\n"
      "MAINTENANCE_OPERATOR_ENABLED,\n"
      "MAINTENANCE_OPERATOR_REQUESTOR_ID, MAINTENANCE_OPERATOR_REQUESTOR_NAMESPACE,\n"
      "MAINTENANCE_OPERATOR_NODE_MAINTENANCE_PREFIX.\n"
      "Exit codes: 0 done; 1 a node failed or the timeout expired; 2 usage or configuration; 3 the cluster refused a "
      "request or cannot be reached."};
  app.set_version_flag("--version", DRIVERUPGRADE_VERSION_STRING);
  examples::AddServiceArguments(app, options.service);
  examples::AddDriverIdentity(app, options.service);
  app.add_option("--driver-labels", options.driver_labels, "selector of the driver's DaemonSets and pods")
      ->capture_default_str();
  auto* policy =
      app.add_option("--policy", options.policy,
                     "YAML or JSON file with the upgradePolicy section (default: the custom resources of the cluster)")
          ->check(CLI::ExistingFile);
  examples::AddOnDelete(app, options.release_deleted)->excludes(policy);
  examples::AddDriverDaemonSets(app, options.daemon_sets)->excludes(policy);
  examples::AddResourceState(app, options.write_state)->excludes(policy);
  app.add_option("--init-container-image", options.init_image,
                 "image of the init container of these DaemonSets, safe_load_init");
  app.add_option("--max-parallel-total", options.parallel_total,
                 "maximum number of nodes in progress at the same time, across all NicNodePolicies")
      ->excludes(policy)
      ->excludes(app.get_option("--once"))
      ->check(CLI::PositiveNumber);
  app.add_flag("--disable-migration", options.disable_migration, "do not migrate objects of earlier versions");
  examples::AddRequestorArguments(app, options.requestor);
  if (const auto end = examples::ParseServiceArguments(app, argc, argv, options.service)) return *end;
  return options;
}

absl::StatusOr<Configuration> Load(const Options& options) {
  Configuration configuration;
  absl::StatusOr<driverupgrade::KubeConfig> kube = examples::LoadKubeConfig(options.service.cluster);
  if (!kube.ok()) return kube.status();
  configuration.kube = *std::move(kube);

  absl::StatusOr<driverupgrade::LabelSelector> labels = driverupgrade::LabelSelector::Parse(options.driver_labels);
  if (!labels.ok()) return examples::About("--driver-labels", labels.status());
  configuration.driver_labels = *std::move(labels);

  if (!options.policy.empty()) {
    const absl::StatusOr<std::string> document = examples::ReadFile(options.policy);
    if (!document.ok()) return document.status();
    absl::StatusOr<driverupgrade::UpgradePolicy> policy =
        driverupgrade::ParseUpgradePolicy(*document, driverupgrade::PolicyDefaults::NetworkOperator());
    if (!policy.ok()) return examples::About(options.policy, policy.status());
    configuration.policy = *std::move(policy);
  }

  auto requestor = examples::ReadRequestorArguments(options.requestor);
  if (!requestor.ok()) return requestor.status();
  configuration.requestor = *std::move(requestor);
  return configuration;
}

}  // namespace ofed_operator
