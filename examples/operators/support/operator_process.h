/// What every operator's process has: a log, an end by signal, a connection to its cluster.
///
/// Defines FormatJson, StderrLog, StopOnSignal, Connection and Connect.
///
///     const LogSink log = examples::StderrLog("controllers.Upgrade");
///     const examples::StopOnSignal stop;  // before any thread is started
///     absl::StatusOr<examples::Connection> cluster = examples::Connect("cpprest", kube, "nvidia-gpu-operator");
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_OPERATOR_PROCESS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_OPERATOR_PROCESS_H_

#include <csignal>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/metrics_snapshot.h"
#include "driverupgrade/observer.h"

namespace examples {

/// `{"time":"...","logger":"...","level":"info","msg":"node moved","node":"gpu-7"}`: all values are texts; what is not
/// ASCII in them is `?`. Pure.
std::string FormatJson(const driverupgrade::LogRecord& record, const std::string& logger, absl::Time time);

/// One line each, with the time and `logger`: logfmt, or a JSON object. Thread-safe.
driverupgrade::LogSink StderrLog(std::string logger, bool json = false);

/// The message of `status`, for a field of a log line.
std::string Words(const absl::Status& status);

/// SIGINT and SIGTERM, taken by one thread instead of a handler, so that stopping is an ordinary call. Threads that
/// were started before it may still be killed by them.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
  std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_;
  std::stop_source source_;
  std::thread thread_;
};

/// One transport, used in two ways: by the engines through the seam, and by the operator for its own objects.
struct Connection {
  std::shared_ptr<driverupgrade::ClusterFacade> cluster = nullptr;
  /// The same without repetitions: what the server refuses is known at once. Null: `cluster`.
  std::shared_ptr<driverupgrade::ClusterFacade> once = nullptr;
  std::shared_ptr<const driverupgrade::ObjectClient> objects = nullptr;
  /// Decides who may read the page of the rollout over the network. Null: the page is not served there.
  std::shared_ptr<driverupgrade::AccessReview> readers = nullptr;
  /// All requests; each try is one of its own. Null: not counted.
  std::shared_ptr<const driverupgrade::RequestMeter> requests = nullptr;
};

/// `transport`: one of TransportNames. `component`: who writes, in Events and field managers. Errors: those of the
/// backend.
absl::StatusOr<Connection> Connect(std::string_view transport, const driverupgrade::KubeConfig& config,
                                   const std::string& component);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_OPERATOR_PROCESS_H_
