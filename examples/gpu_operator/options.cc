#include "gpu_operator/options.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <utility>

#include "CLI/CLI.hpp"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/version.h"
#include "fmt/format.h"
#include "gpu_operator/gpu_pods.h"
#include "support/chosen_transport.h"

namespace gpu_operator {
namespace {

using driverupgrade::KubeConfig;
using driverupgrade::LabelSelector;
using driverupgrade::RequestorOptions;

std::string_view Message(const absl::Status& status) { return {status.message().data(), status.message().size()}; }

absl::Status Named(std::string_view what, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", what, Message(status)));
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Another process is another candidate, also one of the same host with the same number, in another container (A56).
std::string DefaultIdentity() {
  std::array<char, 256> host = {};
  const bool named = gethostname(host.data(), host.size() - 1) == 0;
  std::random_device random;
  return fmt::format("{}_{:08x}{:08x}", named ? host.data() : "gpu-operator", random(), random());
}

absl::StatusOr<KubeConfig> LoadKubeConfig(const Options& options) {
  if (!options.in_cluster) return KubeConfig::LoadFile(options.kubeconfig);
  return KubeConfig::InCluster(
      {.host = Environment("KUBERNETES_SERVICE_HOST"), .port = Environment("KUBERNETES_SERVICE_PORT")});
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(fmt::format("{}: cannot be opened", path));
  std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return absl::UnavailableError(fmt::format("{}: cannot be read", path));
  return content;
}

absl::StatusOr<std::optional<RequestorOptions>> LoadRequestor(const Options& options) {
  absl::StatusOr<std::optional<RequestorOptions>> requestor = examples::ReadRequestorArguments(options.requestor);
  if (requestor.ok() && *requestor) (*requestor)->resource_name_filters = GpuResourceFilters();
  return requestor;
}

absl::Status CheckDuration(const std::string& text, absl::Duration& duration) {
  if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("`{}` is no positive duration like 90s, 10m or 1h", text));
}

// CLI11 validators return the error, or nothing.
auto DurationInto(absl::Duration& duration) {
  return [&duration](const std::string& text) {
    if (const absl::Status status = CheckDuration(text, duration); !status.ok()) {
      throw CLI::ValidationError(std::string(Message(status)));
    }
  };
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  std::string events = "all";
  CLI::App app{
      "Rolls the NVIDIA driver across the nodes of a cluster.\n"
      "Exit codes: 0 done; 1 some node failed or the time ran out; 2 usage or configuration; "
      "3 the cluster refused or cannot be reached."};
  app.set_version_flag("--version", DRIVERUPGRADE_VERSION_STRING);
  auto* cluster = app.add_option_group("cluster", "Which cluster");
  cluster->add_option("--kubeconfig", options.kubeconfig, "kubeconfig file")->check(CLI::ExistingFile);
  cluster->add_flag("--in-cluster", options.in_cluster, "the cluster whose pod this is");
  cluster->require_option(1);
  options.transport = examples::TransportNames().front();
  app.add_option("--transport", options.transport, "HTTP library")
      ->check(CLI::IsMember(examples::TransportNames()))
      ->capture_default_str();
  app.add_option("--namespace", options.ns, "namespace of the driver's DaemonSets")->required();
  app.add_option("--driver-labels", options.driver_labels, "selects the driver's DaemonSets and pods: app=driver")
      ->required();
  app.add_option("--policy", options.policy, "YAML or JSON file: the upgradePolicy section")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--validation-selector", options.validation_selector,
                 "pods that must be ready before a node is given back; none if absent");
  auto* mode = app.add_option_group("mode", "How long to run");
  mode->add_flag("--once", options.once, "one pass over all nodes");
  mode->add_flag("--until-done", options.until_done, "until no node is left to upgrade; without either: for good");
  mode->require_option(0, 1);
  app.add_option_function<std::string>("--timeout", DurationInto(options.timeout),
                                       "give up after: 10m; never if absent")
      ->type_name("DURATION");
  app.add_option("--events", events, "Kubernetes Events on the nodes: all, or only those of transitions, or none")
      ->check(CLI::IsMember({"all", "transitions", "none"}))
      ->capture_default_str();
  auto* elect = app.add_flag("--leader-elect", options.leader_elect, "work only while holding a Lease: for replicas");
  app.add_option("--lease-namespace", options.lease_namespace, "of the Lease; that of --namespace if absent")
      ->needs(elect);
  app.add_option("--lease-name", options.lease_name, "name of the Lease")->needs(elect)->capture_default_str();
  app.add_option("--identity", options.identity, "this replica among the candidates; host name and process if absent")
      ->needs(elect);
  const auto add_lease_time = [&](const char* name, absl::Duration& time, const char* meaning) {
    app.add_option_function<std::string>(name, DurationInto(time), meaning)
        ->needs(elect)
        ->type_name("DURATION")
        ->default_str(absl::FormatDuration(time));
  };
  add_lease_time("--lease-duration", options.lease_duration, "how long candidates wait after the last renewal");
  add_lease_time("--renew-deadline", options.renew_deadline, "how long the leader goes on without a renewal");
  add_lease_time("--retry-period", options.retry_period, "between two attempts to acquire or renew");
  auto* ledger =
      app.add_flag("--ledger", options.ledger, "grant slots in a ConfigMap: the limits hold for all replicas");
  app.add_option("--ledger-namespace", options.ledger_namespace, "of the ConfigMap; that of --namespace if absent")
      ->needs(ledger);
  app.add_option("--ledger-name", options.ledger_name, "name of the ConfigMap")->needs(ledger)->capture_default_str();
  app.add_option("--health-address", options.health_address, "where /healthz and /readyz are served: 0.0.0.0:8081");
  app.add_option("--metrics-address", options.metrics_address,
                 "where /metrics is served for Prometheus: 0.0.0.0:8080; may be the same as --health-address");
  examples::AddRequestorArguments(app, options.requestor);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  options.transition_events = events != "none";
  options.finding_events = events == "all";
  if (options.lease_namespace.empty()) options.lease_namespace = options.ns;
  if (options.ledger_namespace.empty()) options.ledger_namespace = options.ns;
  if (options.identity.empty()) options.identity = DefaultIdentity();
  return options;
}

absl::StatusOr<Configuration> Load(const Options& options) {
  Configuration configuration;
  absl::StatusOr<KubeConfig> kube = LoadKubeConfig(options);
  if (!kube.ok()) return kube.status();
  configuration.kube = *std::move(kube);

  absl::StatusOr<LabelSelector> labels = LabelSelector::Parse(options.driver_labels);
  if (!labels.ok()) return Named("--driver-labels", labels.status());
  configuration.driver_labels = *std::move(labels);

  const absl::StatusOr<std::string> document = ReadFile(options.policy);
  if (!document.ok()) return document.status();
  absl::StatusOr<driverupgrade::UpgradePolicy> policy =
      driverupgrade::ParseUpgradePolicy(*document, driverupgrade::PolicyDefaults::GpuOperator());
  if (!policy.ok()) return Named(options.policy, policy.status());
  configuration.policy = *std::move(policy);

  absl::StatusOr<std::optional<RequestorOptions>> requestor = LoadRequestor(options);
  if (!requestor.ok()) return requestor.status();
  configuration.requestor = *std::move(requestor);
  return configuration;
}

}  // namespace gpu_operator
