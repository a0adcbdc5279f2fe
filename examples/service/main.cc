// An operator that upgrades the driver of an FPGA. It runs until it is stopped.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "driverupgrade/kubernetes/curl_transport.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "service/fpga_operator.h"

using namespace driverupgrade;

namespace {

void Log(const LogRecord& record) { std::fprintf(stderr, "%s\n", FormatLogfmt(record).c_str()); }

int Fail(const absl::Status& status) {
  Log({.severity = Severity::kError, .message = "ended", .fields = {{"error", std::string(status.message())}}});
  return 1;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Blocks SIGTERM, which a kubelet sends to stop a pod, in every thread. One thread waits for the signal and requests
// the stop.
std::stop_token StopOnSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::stop_source stop;
  std::thread([signals, stop]() mutable {
    int signal = 0;
    sigwait(&signals, &signal);
    stop.request_stop();
  }).detach();
  return stop.get_token();
}

absl::StatusOr<std::shared_ptr<ClusterFacade>> Connect(std::shared_ptr<RequestMeter> requests) {
  const auto config = KubeConfig::InCluster(
      {.host = Environment("KUBERNETES_SERVICE_HOST"), .port = Environment("KUBERNETES_SERVICE_PORT")});
  if (!config.ok()) return config.status();
  const auto transport = MakeCurlTransport(*config, {});
  if (!transport.ok()) return transport.status();
  const auto metered = MakeMeteredTransport(*transport, std::move(requests));
  return MakeRestCluster(MakeRetryingTransport(metered), {.event_component = "fpga-operator"});
}

}  // namespace

int main() {
  const std::stop_token stop = StopOnSignal();  // before any thread is started
  const auto requests = std::make_shared<RequestMeter>();
  const auto cluster = Connect(requests);
  if (!cluster.ok()) return Fail(cluster.status());

  const std::string pod = Environment("POD_NAME");
  auto options = fpga_operator::MakeOptions({.ns = Environment("POD_NAMESPACE"),
                                             .pod = pod,
                                             .pod_uid = Environment("POD_UID"),
                                             .node = Environment("NODE_NAME"),
                                             .identity = pod + "_" + std::to_string(absl::ToUnixNanos(absl::Now()))});
  if (!options.ok()) return Fail(options.status());
  options->requests = requests;
  options->log = Log;

  fpga_operator::PolicyFile policy(options->identity, "/etc/fpga-operator/policy.yaml", Log);
  const auto service = UpgradeService::Create(*cluster, policy, *std::move(options));
  if (!service.ok()) return Fail(service.status());
  const absl::Status ended = (*service)->Run({.stop = stop});
  return ended.ok() ? 0 : Fail(ended);
}
