// The init container of a driver pod: holds the driver back until the pod's node is evacuated.
#include <memory>
#include <string>
#include <variant>

#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/observer.h"
#include "safe_load_init/one_node_facade.h"
#include "safe_load_init/options.h"
#include "safe_load_init/safe_load.h"
#include "support/operator_process.h"

namespace {

using driverupgrade::LogRecord;
using driverupgrade::Severity;

void Log(const LogRecord& record) {
  static const driverupgrade::LogSink kLog = examples::StderrLog("safe-load");
  kLog(record);
}

int Fail(int exit_code, const absl::Status& status) {
  Log({.severity = Severity::kError,
       .message = "the driver must not be loaded",
       .fields = {{"error", std::string(status.message())}}});
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = safe_load_init::ParseOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  const auto& options = std::get<safe_load_init::Options>(parsed);

  const examples::StopOnSignal stop;
  const auto transport = examples::ConnectTo(options.cluster, [](const std::string& warning) {
    Log({.severity = Severity::kWarning, .message = "kubeconfig", .fields = {{"detail", warning}}});
  });
  if (!transport.ok()) return Fail(safe_load_init::kExitUsage, transport.status());
  safe_load_init::OneNodeFacade cluster(driverupgrade::MakeRestCluster(*transport), *transport,
                                        options.safe_load.node_name);
  const absl::Status loaded =
      safe_load_init::AwaitSafeLoad(options.safe_load, cluster, *driverupgrade::SystemClock(), Log, stop.token());
  return loaded.ok() ? safe_load_init::kExitLoad : Fail(safe_load_init::ExitCodeOf(loaded), loaded);
}
