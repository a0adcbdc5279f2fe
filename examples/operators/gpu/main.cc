// An operator for the NVIDIA driver, based on the library. Reads a policy, rolls out the driver, and logs to standard
// error.
#include <variant>

#include "gpu/options.h"
#include "gpu/policy_director.h"
#include "gpu/rollout.h"
#include "support/operator_process.h"

namespace {

using driverupgrade::LogSink;
using driverupgrade::Severity;

int Fail(const LogSink& log, const absl::Status& status) {
  log({.severity = Severity::kError, .message = "cannot start", .fields = {{"error", examples::Words(status)}}});
  return gpu_operator::kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = gpu_operator::ParseOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  const auto& options = std::get<gpu_operator::Options>(parsed);

  // NVIDIA's documentation tells administrators to search the log for this logger name.
  const LogSink log = examples::StderrLog("controllers.Upgrade", options.service.json_log);
  const auto configuration = gpu_operator::Load(options);
  if (!configuration.ok()) return Fail(log, configuration.status());
  for (const std::string& warning : configuration->kube.warnings) {
    log({.severity = Severity::kWarning, .message = "kubeconfig", .fields = {{"detail", warning}}});
  }
  const examples::StopOnSignal stop;
  const auto connection =
      examples::Connect(options.service.cluster.transport, configuration->kube, gpu_operator::kComponent);
  if (!connection.ok()) return Fail(log, connection.status());
  return gpu_operator::RunRollout(options, *configuration, *connection, log, stop.token());
}
