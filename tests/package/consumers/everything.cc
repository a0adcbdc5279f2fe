// A consumer of every component: an engine with either HTTP library, a service on the fake cluster, and a metrics page.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driverupgrade/kubernetes/cpprest_transport.h"
#include "driverupgrade/kubernetes/curl_transport.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/prometheus/metrics_collector.h"
#include "driverupgrade/service/upgrade_service.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"

using namespace driverupgrade;

struct NoPolicy final : Director {
  std::optional<std::vector<EngineSpec>> Wanted() override { return std::nullopt; }
};

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
  auto cluster = std::make_shared<testing::FakeCluster>(clock);
  testing::AddFleet(*cluster, {.node_count = 3});
  NoPolicy director;
  const auto service = UpgradeService::Create(cluster, director, {.identity = *identity, .health_address = ":0"});
  if (!service.ok()) return 1;
  const MetricsObserver metrics(*identity);
  std::fputs(MetricsCollector({[&] { return metrics.Snapshot(); }}).Text().c_str(), stdout);
}
