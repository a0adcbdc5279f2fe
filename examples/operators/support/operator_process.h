/// Provides the common parts of operator processes: a log, termination by a signal, and a connection to the cluster.
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
#include "driverupgrade/observer.h"

namespace examples {

/// Returns `{"time":"...","logger":"...","level":"info","msg":"node moved","node":"gpu-7"}`. All values are strings, in
/// which `?` replaces characters that are not ASCII. Pure.
std::string FormatJson(const driverupgrade::LogRecord& record, const std::string& logger, absl::Time time);

/// Writes one line per record, with the time and `logger`, as logfmt or as a JSON object. Thread-safe.
driverupgrade::LogSink StderrLog(std::string logger, bool json = false);

/// Returns the message of `status`, for a field of a log line.
std::string Words(const absl::Status& status);

/// Receives SIGINT and SIGTERM on a thread, without a signal handler, so that stopping is an ordinary call. Create a
/// StopOnSignal before any thread is started, because threads started earlier do not block these signals, which would
/// then end the process.
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

/// One transport with two uses: the engines send requests through the facade, and the operator sends requests about its
/// own objects.
struct Connection {
  std::shared_ptr<driverupgrade::ClusterFacade> cluster = nullptr;
  /// Same as `cluster` but without retries, so that a refusal by the server is known immediately. Null: use `cluster`.
  std::shared_ptr<driverupgrade::ClusterFacade> once = nullptr;
  std::shared_ptr<const driverupgrade::ObjectClient> objects = nullptr;
  /// Decides who may read the rollout page over the network. Null if the page is not served over the network.
  std::shared_ptr<driverupgrade::AccessReview> readers = nullptr;
  /// Counts all requests, including each retry. Null: requests are not counted.
  std::shared_ptr<const driverupgrade::RequestMeter> requests = nullptr;
};

/// `transport` is one of TransportNames. `component` is this program's name in Events and as a field manager. Errors:
/// the errors of the backend.
absl::StatusOr<Connection> Connect(std::string_view transport, const driverupgrade::KubeConfig& config,
                                   const std::string& component);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_OPERATOR_PROCESS_H_
