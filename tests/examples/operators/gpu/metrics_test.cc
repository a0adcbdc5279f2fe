// Tests the pages that the program serves while it runs on the fake cluster, without the program's own transport.
#include <future>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "gpu/rollout.h"
#include "support/catch.h"
#include "support/http_get.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeClock;
using testing::FakeCluster;

/// Runs gpu_operator as a service until it is destroyed.
struct Service {
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(std::make_shared<FakeClock>());
  testing::Fleet fleet = AddFleet(*cluster, {.node_count = 3});
  gpu_operator::Options options = {
      .service = {
          .ns = fleet.ns, .driver = "gpu", .health_address = "127.0.0.1:0", .metrics_address = "127.0.0.1:0"}};
  gpu_operator::Configuration configuration = {
      .labels = {.cluster_policy = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}}),
                 .nvidia_driver = LabelSelector::FromMatchLabels({{"component", "nvidia-driver"}})},
      .policy = {.auto_upgrade = false}};
  std::stop_source stop = {};
  std::promise<int> port = {};
  std::promise<void> waits = {};
  int told = 0;
  std::shared_ptr<RequestMeter> requests = std::make_shared<RequestMeter>();

  int Run() {
    requests->Count({.verb = "list", .resource = "nodes", .code = "200"});
    const LogSink log = [this](const LogRecord& record) {
      if (record.message == "listening") port.set_value(std::stoi(record.fields.back().second));
      // All three nodes wait because autoUpgrade is off. Their messages show that a pass has finished.
      if (record.message == "node waits" && ++told == 3) waits.set_value();
    };
    return gpu_operator::RunRollout(options, configuration, {.cluster = cluster, .requests = requests}, log,
                                    stop.get_token());
  }
};

TEST_CASE("gpu_operator serves its metrics and probes at one address") {
  Service service;
  std::future<int> exit_code = std::async(std::launch::async, [&] { return service.Run(); });
  const int port = service.port.get_future().get();
  service.waits.get_future().wait();
  const std::string page = HttpGet(port, "/metrics");
  CHECK(page.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n") != std::string::npos);
  for (const char* line : {"driverupgrade_nodes{driver=\"nvidia.com/gpu\",state=\"unknown\"} 3\n",
                           "driverupgrade_nodes_blocked{driver=\"nvidia.com/gpu\",reason=\"Frozen\"} 3\n",
                           "driverupgrade_leader{driver=\"nvidia.com/gpu\"} 1\n",
                           "driverupgrade_watch_restarts_total{reason=\"failed\"} 0\n",
                           "driverupgrade_api_requests_total{verb=\"list\",resource=\"nodes\",code=\"200\"} 1\n",
                           "gpu_operator_nodes_upgrades_pending 0\n"}) {
    CAPTURE(line, page);
    CHECK(page.find(line) != std::string::npos);
  }
  CHECK(HttpGet(port, "/healthz").starts_with("HTTP/1.1 200"));
  service.stop.request_stop();
  CHECK(exit_code.get() == gpu_operator::kExitDone);
}

TEST_CASE("gpu_operator does not start if it cannot serve its probes and metrics") {
  Service service;
  service.options.service.metrics_address = "localhost";
  CHECK(service.Run() == gpu_operator::kExitUsage);
}

}  // namespace
}  // namespace driverupgrade::tests
