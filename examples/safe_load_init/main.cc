// The init container of a driver pod: holds the driver back until its node is evacuated.
#include <csignal>
#include <cstdio>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>

#include "absl/time/clock.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/log_sink.h"
#include "fmt/format.h"
#include "safe_load_init/one_node_facade.h"
#include "safe_load_init/options.h"
#include "safe_load_init/safe_load.h"

namespace {

using driverupgrade::LogRecord;
using driverupgrade::Severity;

void LogToStderr(const LogRecord& record) {
  const std::string time = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
  std::fputs(fmt::format("time={} logger=safe-load {}\n", time, driverupgrade::FormatLogfmt(record)).c_str(), stderr);
}

int Fail(int exit_code, const absl::Status& status) {
  LogToStderr({.severity = Severity::kError,
               .message = "the driver may not be loaded",
               .fields = {{"error", std::string(status.message())}}});
  return exit_code;
}

// SIGINT and SIGTERM, taken by one thread instead of a handler, so that stopping is an ordinary call.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);  // inherited by every thread started from now on
    thread_ = std::thread([this] {
      int signal = 0;
      sigwait(&signals_, &signal);
      source_.request_stop();
    });
  }
  ~StopOnSignal() {
    pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
  std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_;
  std::stop_source source_;
  std::thread thread_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = safe_load_init::ParseOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  const auto& options = std::get<safe_load_init::Options>(parsed);

  const StopOnSignal stop;
  const auto transport = examples::ConnectTo(options.cluster, [](const std::string& warning) {
    LogToStderr({.severity = Severity::kWarning, .message = "kubeconfig", .fields = {{"detail", warning}}});
  });
  if (!transport.ok()) return Fail(safe_load_init::kExitUsage, transport.status());
  safe_load_init::OneNodeFacade cluster(driverupgrade::MakeRestCluster(*transport), *transport,
                                        options.safe_load.node_name);
  const absl::Status loaded = safe_load_init::AwaitSafeLoad(options.safe_load, cluster, *driverupgrade::SystemClock(),
                                                            LogToStderr, stop.token());
  return loaded.ok() ? safe_load_init::kExitLoad : Fail(safe_load_init::ExitCodeOf(loaded), loaded);
}
