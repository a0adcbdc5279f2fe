#include "support/service_arguments.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "support/parse_arguments.h"

namespace examples {
namespace {

// Returns an identity that is unique to each process, even if a process in another container on the same host has the
// same process ID (api-A56).
std::string DefaultIdentity() {
  std::array<char, 256> host = {};
  const bool named = gethostname(host.data(), host.size() - 1) == 0;
  std::random_device random;
  return fmt::format("{}_{:08x}{:08x}", named ? host.data() : "operator", random(), random());
}

// Returns a callback that parses a duration. The callback throws on errors, because CLI11 expects exceptions.
auto DurationInto(absl::Duration& duration) {
  return [&duration](const std::string& text) {
    if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration()) return;
    throw CLI::ValidationError(fmt::format("`{}` is not a positive duration such as 90s, 10m or 1h", text));
  };
}

void AddCluster(CLI::App& app, ServiceArguments& arguments) {
  AddClusterArguments(app, arguments.cluster);
  auto* ns = app.add_option("--namespace", arguments.ns, "namespace of the driver's DaemonSets");
  if (arguments.ns.empty()) {
    ns->required();
  } else {
    ns->capture_default_str();
  }
}

void AddMode(CLI::App& app, ServiceArguments& arguments) {
  auto* mode = app.add_option_group("mode", "Time to run");
  mode->add_flag("--once", arguments.once, "run one pass over all nodes, then exit");
  mode->add_flag("--until-done", arguments.until_done,
                 "run until no node is left to upgrade (default: run indefinitely)");
  mode->require_option(0, 1);
  app.add_option_function<std::string>("--timeout", DurationInto(arguments.timeout),
                                       "timeout, such as 10m (default: none)")
      ->type_name("DURATION");
  const auto set_events = [&arguments](const std::string& events) {
    arguments.transition_events = events != "none";
    arguments.finding_events = events == "all";
  };
  app.add_option_function<std::string>("--events", set_events,
                                       "Kubernetes Events to create on the nodes: all, only transitions, or none")
      ->check(CLI::IsMember({"all", "transitions", "none"}))
      ->default_str("all");
}

void AddReplicas(CLI::App& app, ServiceArguments& arguments) {
  auto* elect =
      app.add_flag("--leader-elect", arguments.leader_elect, "elect a leader with a Lease, for several replicas");
  app.add_option("--lease-namespace", arguments.lease_namespace,
                 "namespace of the Lease (default: the value of --namespace)")
      ->needs(elect);
  app.add_option("--lease-name", arguments.lease_name, "name of the Lease")->needs(elect)->capture_default_str();
  app.add_option("--identity", arguments.identity,
                 "name of this replica in the election (default: host name and a random suffix)")
      ->needs(elect);
  const auto add_lease_time = [&](const char* name, absl::Duration& time, const char* meaning) {
    app.add_option_function<std::string>(name, DurationInto(time), meaning)
        ->needs(elect)
        ->type_name("DURATION")
        ->default_str(absl::FormatDuration(time));
  };
  add_lease_time("--lease-duration", arguments.lease_duration, "time that candidates wait after the last renewal");
  add_lease_time("--renew-deadline", arguments.renew_deadline, "time that the leader continues without a renewal");
  add_lease_time("--retry-period", arguments.retry_period, "time between two attempts to acquire or renew the Lease");
  auto* ledger = app.add_flag("--ledger", arguments.ledger,
                              "grant slots in a ConfigMap, so that the limits hold for all replicas");
  app.add_option("--ledger-namespace", arguments.ledger_namespace,
                 "namespace of the ConfigMap (default: the value of --namespace)")
      ->needs(ledger);
  app.add_option("--ledger-name", arguments.ledger_name, "name of the ConfigMap")->needs(ledger)->capture_default_str();
}

void AddOwnPod(CLI::App& app, ServiceArguments& arguments) {
  app.add_option("--pod-name", arguments.pod_name, "name of this pod, which is not evicted")->envname("POD_NAME");
  app.add_option("--pod-namespace", arguments.pod_namespace,
                 "namespace of this pod (default: the value of --namespace)")
      ->envname("POD_NAMESPACE");
  app.add_option("--pod-uid", arguments.pod_uid, "UID of this pod, for Events about it")->envname("POD_UID");
  app.add_option("--node-name", arguments.node_name, "node of this pod, which is upgraded last")->envname("NODE_NAME");
}

}  // namespace

void AddServiceArguments(CLI::App& app, ServiceArguments& arguments) {
  AddCluster(app, arguments);
  AddMode(app, arguments);
  AddReplicas(app, arguments);
  AddOwnPod(app, arguments);
  app.add_option("--health-address", arguments.health_address, "address of /healthz and /readyz, such as 0.0.0.0:8081");
  app.add_option("--metrics-address", arguments.metrics_address,
                 "address of /metrics for Prometheus, such as 0.0.0.0:8080; may be the same as --health-address");
  app.add_option("--rollout-address", arguments.rollout_address,
                 "address of the rollout page for kubectl port-forward, such as 127.0.0.1:8082");
  app.add_option("--rollout-secure-address", arguments.rollout_secure_address,
                 "address of the same page with TLS, for upgradectl and for clients whose token may `get` /rollout, "
                 "such as 0.0.0.0:8443");
  app.add_option_function<std::string>(
         "--log-format", [&arguments](const std::string& text) { arguments.json_log = text == "json"; },
         "format of the log lines: logfmt or JSON objects")
      ->check(CLI::IsMember({"logfmt", "json"}))
      ->default_str("logfmt");
}

void AddDriverIdentity(CLI::App& app, ServiceArguments& arguments) {
  app.add_option("--domain", arguments.domain, "domain of the labels and annotations on nodes")->capture_default_str();
  app.add_option("--driver", arguments.driver,
                 "name of the driver in these labels and annotations; if the vendor's operator also runs, choose a "
                 "domain or a name that it does not use")
      ->capture_default_str();
}

absl::StatusOr<driverupgrade::DriverIdentity> IdentityOf(const ServiceArguments& arguments) {
  auto identity = driverupgrade::DriverIdentity::Create(arguments.domain, arguments.driver);
  return identity.ok() ? std::move(identity) : About("--domain, --driver", identity.status());
}

CLI::Option* AddOnDelete(CLI::App& app, bool& release_deleted) {
  return app
      .add_option_function<std::string>(
          "--on-delete", [&release_deleted](const std::string& text) { release_deleted = text == "Release"; },
          "nodes of a deleted policy: Release them, or Freeze them as they are")
      ->check(CLI::IsMember({"Release", "Freeze"}))
      ->default_str("Release");
}

CLI::Option* AddDriverDaemonSets(CLI::App& app, DriverDaemonSets& mode) {
  return app
      .add_option_function<std::string>(
          "--driver-daemonsets",
          [&mode](const std::string& text) {
            mode = text == "Make" ? DriverDaemonSets::kMake : DriverDaemonSets::kLeave;
          },
          "DaemonSets of policies that name a version: Make them, or Leave them to the vendor's operator")
      ->check(CLI::IsMember({"Make", "Leave"}))
      ->default_str("Leave");
}

CLI::Option* AddResourceState(CLI::App& app, std::optional<bool>& write_state) {
  return app
      .add_option_function<std::string>(
          "--resource-state", [&write_state](const std::string& text) { write_state = text == "Write"; },
          "status.state of the policies (ready or notReady): Write it, or Leave it to the vendor's operator")
      ->check(CLI::IsMember({"Write", "Leave"}));
}

std::optional<int> ParseServiceArguments(CLI::App& app, int argc, char** argv, ServiceArguments& arguments) {
  try {
    ParseArguments(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  if (arguments.lease_namespace.empty()) arguments.lease_namespace = arguments.ns;
  if (arguments.ledger_namespace.empty()) arguments.ledger_namespace = arguments.ns;
  if (arguments.pod_namespace.empty()) arguments.pod_namespace = arguments.ns;
  if (arguments.identity.empty()) arguments.identity = DefaultIdentity();
  return std::nullopt;
}

void SetOwnPod(const ServiceArguments& arguments, driverupgrade::StateMachineOptions& options) {
  if (!arguments.pod_name.empty()) {
    options.own_pod = {.ns = arguments.pod_namespace, .name = arguments.pod_name, .uid = arguments.pod_uid};
  }
  options.own_node = arguments.node_name;
}

std::optional<std::string> Environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(fmt::format("{}: cannot be opened", path));
  std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return absl::UnavailableError(fmt::format("{}: cannot be read", path));
  return content;
}

absl::Status About(const std::string& what, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", what, std::string(status.message())));
}

}  // namespace examples
