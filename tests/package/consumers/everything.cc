// What needs every component: an engine behind either HTTP library, the fake cluster, and a page of metrics.
#include <cstdio>
#include <memory>
#include <string>

#include "driverupgrade/kubernetes/cpprest_transport.h"
#include "driverupgrade/kubernetes/curl_transport.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/prometheus/metrics_collector.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_clock.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"

using namespace driverupgrade;

int main() {
  const auto identity = DriverIdentity::Create("nvidia.com", "gpu");
  const EngineOptions options{.snapshot = {.ns = "gpu-operator", .driver_labels = *LabelSelector::Parse("app=driver")}};
  const KubeConfig config{.server = "http://127.0.0.1:8001"};
  for (const auto& transport : {MakeCpprestTransport(config, {}), MakeCurlTransport(config, {})}) {
    const auto engine = UpgradeEngine::Create(*identity, MakeRestCluster(transport.value()), options);
    if (engine.ok()) continue;
    std::puts(std::string(engine.status().message()).c_str());
    return 1;
  }
  auto clock = std::make_shared<testing::FakeClock>();
  testing::FakeCluster cluster(clock);
  testing::AddFleet(cluster, {.node_count = 3});
  const MetricsObserver metrics(*identity);
  std::fputs(MetricsCollector({[&] { return metrics.Snapshot(); }}).Text().c_str(), stdout);
}
