// An operator for the OFED driver, based on the library. Follows the NicClusterPolicy, rolls out the driver, and logs
// to standard error.
#include <variant>

#include "ofed/ofed_director.h"
#include "ofed/options.h"
#include "ofed/rollout.h"
#include "support/operator_process.h"

namespace {

using driverupgrade::LogSink;
using driverupgrade::Severity;

int Fail(const LogSink& log, const absl::Status& status) {
  log({.severity = Severity::kError, .message = "cannot start", .fields = {{"error", examples::Words(status)}}});
  return ofed_operator::kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = ofed_operator::ParseOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  const auto& options = std::get<ofed_operator::Options>(parsed);

  const LogSink log = examples::StderrLog("controllers.Upgrade", options.service.json_log);
  const auto configuration = ofed_operator::Load(options);
  if (!configuration.ok()) return Fail(log, configuration.status());
  for (const std::string& warning : configuration->kube.warnings) {
    log({.severity = Severity::kWarning, .message = "kubeconfig", .fields = {{"detail", warning}}});
  }
  const examples::StopOnSignal stop;
  const auto connection =
      examples::Connect(options.service.cluster.transport, configuration->kube, ofed_operator::kComponent);
  if (!connection.ok()) return Fail(log, connection.status());
  return ofed_operator::RunRollout(options, *configuration, *connection, log, stop.token());
}
