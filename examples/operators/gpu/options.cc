#include "gpu/options.h"

#include <utility>

#include "CLI/CLI.hpp"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/version.h"
#include "gpu/gpu_pods.h"

namespace gpu_operator {
namespace {

using driverupgrade::LabelSelector;
using driverupgrade::RequestorOptions;

absl::StatusOr<std::optional<RequestorOptions>> LoadRequestor(const Options& options) {
  absl::StatusOr<std::optional<RequestorOptions>> requestor = examples::ReadRequestorArguments(options.requestor);
  if (requestor.ok() && *requestor) (*requestor)->resource_name_filters = GpuResourceFilters();
  return requestor;
}

absl::Status LoadLabels(const std::string& option, const std::string& text, LabelSelector& labels) {
  absl::StatusOr<LabelSelector> parsed = LabelSelector::Parse(text);
  if (!parsed.ok()) return examples::About(option, parsed.status());
  labels = *std::move(parsed);
  return absl::OkStatus();
}

void AddPolicy(CLI::App& app, Options& options) {
  app.add_option("--driver-labels", options.driver_labels, "selector of the driver's DaemonSets and pods: app=driver")
      ->capture_default_str();
  auto* policy = app.add_option_group("policy", "Location of the policy");
  policy->add_option("--policy", options.policy, "YAML or JSON file with the upgradePolicy section")
      ->check(CLI::ExistingFile);
  auto* watched = policy->add_flag("--cluster-policy", options.cluster_policy,
                                   "watch the ClusterPolicies and NVIDIADrivers of the cluster");
  policy->require_option(1);
  app.add_option("--nvidia-driver-labels", options.nvidia_driver_labels,
                 "selector of the DaemonSets and pods of NVIDIADrivers")
      ->needs(watched)
      ->capture_default_str();
  examples::AddOnDelete(app, options.release_deleted)->needs(watched);
  app.add_option("--max-parallel-total", options.parallel_total,
                 "maximum number of nodes in progress at the same time, across all NVIDIADrivers")
      ->needs(watched)
      ->check(CLI::PositiveNumber);
  examples::AddDriverDaemonSets(app, options.daemon_sets)->needs(watched);
  app.add_flag("--openshift", options.openshift,
               "treat the Driver Toolkit's DaemonSets as the driver's, unless a ClusterPolicy turns the toolkit off")
      ->needs(watched);
  app.add_option_function<std::string>(
         "--node-marks", [&options](const std::string& text) { options.mark_nodes = text == "Write"; },
         "owner labels and the annotation for driver managers: Write them, or Leave them to NVIDIA's operator "
         "(default: Write with --cluster-policy, otherwise Leave)")
      ->check(CLI::IsMember({"Write", "Leave"}));
  examples::AddResourceState(app, options.write_state)->needs(watched);
  app.add_option("--validation-selector", options.validation_selector,
                 "selector of pods that must be ready before a node returns to service; empty for none (default: "
                 "app=nvidia-operator-validator with --cluster-policy, otherwise none)");
  app.add_option_function<std::string>(
         "--early-validation",
         [&options](const std::string& text) { options.early_validation = *driverupgrade::ParseEarlyValidation(text); },
         "treatment of validation pods that became ready before the new driver pod: Restart deletes them; Ask waits "
         "until an administrator restarts them; Count accepts them, as NVIDIA's operator does (default: Restart)")
      ->check(CLI::IsMember({"Restart", "Ask", "Count"}));
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Rolls the NVIDIA driver across the nodes of a cluster.\n"
      "Exit codes: 0 done; 1 a node failed or the timeout expired; 2 usage or configuration; 3 the cluster refused a "
      "request or cannot be reached."};
  app.set_version_flag("--version", DRIVERUPGRADE_VERSION_STRING);
  examples::AddServiceArguments(app, options.service);
  examples::AddDriverIdentity(app, options.service);
  AddPolicy(app, options);
  examples::AddRequestorArguments(app, options.requestor);
  app.add_option("--device-drivers", options.service.device_drivers,
                 "DRA drivers whose devices the policy may isolate instead of nodes; their objects are watched: "
                 "gpu.nvidia.com,compute-domain.nvidia.com")
      ->delimiter(',');
  app.get_option("--max-parallel-total")->excludes(app.get_option("--once"));
  if (const auto end = examples::ParseServiceArguments(app, argc, argv, options.service)) return *end;
  return options;
}

absl::StatusOr<Configuration> Load(const Options& options) {
  Configuration configuration;
  absl::StatusOr<driverupgrade::KubeConfig> kube = examples::LoadKubeConfig(options.service.cluster);
  if (!kube.ok()) return kube.status();
  configuration.kube = *std::move(kube);

  absl::Status labels = LoadLabels("--driver-labels", options.driver_labels, configuration.labels.cluster_policy);
  if (!labels.ok()) return labels;
  labels = LoadLabels("--nvidia-driver-labels", options.nvidia_driver_labels, configuration.labels.nvidia_driver);
  if (!labels.ok()) return labels;

  if (options.openshift) {
    configuration.labels.toolkit = LabelSelector::FromMatchLabels({{"openshift.driver-toolkit", "true"}});
  }

  if (!options.cluster_policy) {
    const absl::StatusOr<std::string> document = examples::ReadFile(options.policy);
    if (!document.ok()) return document.status();
    absl::StatusOr<driverupgrade::UpgradePolicy> policy =
        driverupgrade::ParseUpgradePolicy(*document, driverupgrade::PolicyDefaults::GpuOperator());
    if (!policy.ok()) return examples::About(options.policy, policy.status());
    configuration.policy = *std::move(policy);
  }

  absl::StatusOr<std::optional<RequestorOptions>> requestor = LoadRequestor(options);
  if (!requestor.ok()) return requestor.status();
  configuration.requestor = *std::move(requestor);
  return configuration;
}

}  // namespace gpu_operator
