#include "support/cluster_arguments.h"

#include <cstdlib>

#include "CLI/CLI.hpp"
#include "driverupgrade/kubernetes/http_transport.h"
#include "support/chosen_transport.h"

namespace examples {
namespace {

using driverupgrade::KubeConfig;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// If an option is misspelled, the intended option is also missing, so the message contains both errors.
std::string Failure(const CLI::App* app, const CLI::Error& error) {
  std::string unknown;
  for (const std::string& word : app->remaining(true)) unknown += " " + word;
  const bool tells = unknown.empty() || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  return std::string(error.what()) + (tells ? "" : "\nUnknown:" + unknown) +
         "\nRun with --help for more information.\n";
}

}  // namespace

void AddClusterArguments(CLI::App& app, ClusterArguments& arguments) {
  app.failure_message(Failure);
  auto* cluster = app.add_option_group("cluster", "Cluster");
  cluster->add_option("--kubeconfig", arguments.kubeconfig, "kubeconfig file")->check(CLI::ExistingFile);
  cluster->add_flag("--in-cluster", arguments.in_cluster, "use the cluster in which this pod runs");
  cluster->require_option(1);
  app.add_flag("--allow-exec", arguments.allow_exec, "run the credential plugin that the kubeconfig names");
  arguments.transport = TransportNames().front();
  app.add_option("--transport", arguments.transport, "HTTP library")
      ->check(CLI::IsMember(TransportNames()))
      ->capture_default_str();
}

absl::StatusOr<KubeConfig> LoadKubeConfig(const ClusterArguments& arguments) {
  if (!arguments.in_cluster) {
    return KubeConfig::LoadFile(arguments.kubeconfig, {.allow_exec = arguments.allow_exec});
  }
  return KubeConfig::InCluster(
      {.host = Environment("KUBERNETES_SERVICE_HOST"), .port = Environment("KUBERNETES_SERVICE_PORT")});
}

absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>> ConnectTo(
    const ClusterArguments& arguments, const std::function<void(const std::string&)>& warn) {
  const absl::StatusOr<KubeConfig> config = LoadKubeConfig(arguments);
  if (!config.ok()) return config.status();
  if (warn) {
    for (const std::string& warning : config->warnings) warn(warning);
  }
  auto transport = MakeChosenTransport(arguments.transport, *config);
  if (!transport.ok()) return transport.status();
  return driverupgrade::MakeRetryingTransport(*std::move(transport));
}

}  // namespace examples
