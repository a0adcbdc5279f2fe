// An operator for the NVIDIA driver, on the library: reads a policy, rolls the driver, logs to standard error.
#include <csignal>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>

#include "absl/time/clock.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/metered_transport.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/kubernetes/retrying_transport.h"
#include "driverupgrade/log_sink.h"
#include "fmt/format.h"
#include "gpu_operator/options.h"
#include "gpu_operator/rollout.h"
#include "support/chosen_transport.h"

namespace {

using driverupgrade::LogRecord;
using driverupgrade::Severity;

// The seeds tell administrators to grep for this name.
constexpr char kLogger[] = "controllers.Upgrade";

void LogToStderr(const LogRecord& record) {
  const std::string line =
      fmt::format("time={} logger={} {}\n", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()),
                  kLogger, driverupgrade::FormatLogfmt(record));
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::fputs(line.c_str(), stderr);
}

int Fail(int exit_code, const absl::Status& status) {
  LogToStderr(
      {.severity = Severity::kError, .message = "cannot start", .fields = {{"error", std::string(status.message())}}});
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
  std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_;
  std::stop_source source_;
  std::thread thread_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = gpu_operator::ParseOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  const auto& options = std::get<gpu_operator::Options>(parsed);

  const auto configuration = gpu_operator::Load(options);
  if (!configuration.ok()) return Fail(gpu_operator::kExitUsage, configuration.status());
  for (const std::string& warning : configuration->kube.warnings) {
    LogToStderr({.severity = Severity::kWarning, .message = "kubeconfig", .fields = {{"detail", warning}}});
  }
  const StopOnSignal stop;
  const auto transport = examples::MakeChosenTransport(options.transport, configuration->kube);
  if (!transport.ok()) return Fail(gpu_operator::kExitUsage, transport.status());
  const auto requests = std::make_shared<driverupgrade::RequestMeter>();
  // Each try is a request of its own.
  const auto metered = driverupgrade::MakeMeteredTransport(*transport, requests);
  auto cluster =
      driverupgrade::MakeRestCluster(driverupgrade::MakeRetryingTransport(metered, driverupgrade::SystemClock()),
                                     {.event_component = "nvidia-gpu-operator"});
  return gpu_operator::RunRollout(options, *configuration, std::move(cluster), LogToStderr, stop.token(), requests);
}
