#include "support/operator_process.h"

#include <cstdio>
#include <mutex>
#include <utility>

#include "absl/time/clock.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/metered_transport.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/kubernetes/retrying_transport.h"
#include "fmt/format.h"
#include "support/chosen_transport.h"

namespace examples {

driverupgrade::LogSink StderrLog(std::string logger) {
  return [logger = std::move(logger)](const driverupgrade::LogRecord& record) {
    const std::string line = fmt::format("time={} logger={} {}\n",
                                         absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()),
                                         logger, driverupgrade::FormatLogfmt(record));
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::fputs(line.c_str(), stderr);
  };
}

std::string Words(const absl::Status& status) { return std::string(status.message()); }

StopOnSignal::StopOnSignal() {
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

StopOnSignal::~StopOnSignal() {
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

absl::StatusOr<Connection> Connect(std::string_view transport, const driverupgrade::KubeConfig& config,
                                   const std::string& component) {
  const auto chosen = MakeChosenTransport(transport, config);
  if (!chosen.ok()) return chosen.status();
  const auto requests = std::make_shared<driverupgrade::RequestMeter>();
  const auto metered = driverupgrade::MakeMeteredTransport(*chosen, requests);
  const auto retrying = driverupgrade::MakeRetryingTransport(metered, driverupgrade::SystemClock());
  return Connection{.cluster = driverupgrade::MakeRestCluster(retrying, {.event_component = component}),
                    .once = driverupgrade::MakeRestCluster(metered, {.event_component = component}),
                    .objects = std::make_shared<const driverupgrade::ObjectClient>(retrying, component),
                    .requests = requests};
}

}  // namespace examples
