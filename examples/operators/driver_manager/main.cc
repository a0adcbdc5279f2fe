// The init container of a driver pod: prepares the node for another driver. See README.md.
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>

#include "driver_manager/environment.h"
#include "driver_manager/linux_host.h"
#include "driver_manager/lookups.h"
#include "driver_manager/options.h"
#include "driver_manager/uninstall.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/observer.h"
#include "support/chosen_transport.h"
#include "support/operator_process.h"

namespace {

using driver_manager::Settings;
using driverupgrade::HttpTransport;
using driverupgrade::KubeConfig;
using driverupgrade::LogRecord;
using driverupgrade::Severity;

void Log(const LogRecord& record) {
  static const driverupgrade::LogSink kLog = examples::StderrLog("driver-manager");
  kLog(record);
}

int Fail(int exit_code, const char* message, const absl::Status& status) {
  Log({.severity = Severity::kError, .message = message, .fields = {{"error", std::string(status.message())}}});
  return exit_code;
}

std::map<std::string, std::string> Environment() {
  std::map<std::string, std::string> environment;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string text = *at;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

absl::StatusOr<std::shared_ptr<HttpTransport>> Connect(const Settings& settings, const std::string& transport,
                                                       const std::map<std::string, std::string>& environment) {
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  const absl::StatusOr<KubeConfig> config =
      settings.kubeconfig.empty()
          ? KubeConfig::InCluster({.host = value("KUBERNETES_SERVICE_HOST"), .port = value("KUBERNETES_SERVICE_PORT")})
          : KubeConfig::LoadFile(settings.kubeconfig);
  if (!config.ok()) return config.status();
  auto chosen = examples::MakeChosenTransport(transport, *config);
  if (!chosen.ok()) return chosen.status();
  return driverupgrade::MakeRetryingTransport(*std::move(chosen));
}

int Uninstall(const driver_manager::Options& options) {
  auto environment = Environment();
  for (const auto& [name, value] : options.variables) environment[name] = value;
  const auto parsed = driver_manager::ParseEnvironment(environment);
  if (!parsed.ok()) return Fail(driver_manager::kExitUsage, "cannot start", parsed.status());
  for (const std::string& warning : parsed->warnings) {
    Log({.severity = Severity::kWarning, .message = "environment", .fields = {{"detail", warning}}});
  }
  const examples::StopOnSignal stop;
  const auto transport = Connect(parsed->settings, options.transport, environment);
  if (!transport.ok()) return Fail(driver_manager::kExitUsage, "cannot start", transport.status());
  const driver_manager::Parts parts{
      .cluster = driverupgrade::MakeRestCluster(*transport, {.event_component = "nvidia-driver-manager"}),
      .host = std::make_shared<driver_manager::LinuxHost>(driver_manager::LinuxHostOptions{.root = options.host_root}),
      .clock = driverupgrade::SystemClock(),
      .log = Log,
      .lookups = driver_manager::MakeLookups(std::make_shared<const driverupgrade::ObjectClient>(*transport))};
  const absl::Status done = driver_manager::UninstallDriver(parsed->settings, parts, stop.token());
  if (!done.ok()) return Fail(driver_manager::kExitNotDone, "the driver is not uninstalled", done);
  Log({.message = "the driver may be installed"});
  return driver_manager::kExitDone;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = driver_manager::ParseOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  const auto& options = std::get<driver_manager::Options>(parsed);
  if (options.command == driver_manager::Command::kPreflightCheck) return driver_manager::kExitDone;
  return Uninstall(options);
}
