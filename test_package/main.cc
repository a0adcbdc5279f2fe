// Uses at least one type or function of each component that the package contains.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driverupgrade/c/driverupgrade.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#ifdef HAS_transport_cpprest
#include "driverupgrade/kubernetes/cpprest_transport.h"
#endif
#ifdef HAS_transport_curl
#include "driverupgrade/kubernetes/curl_transport.h"
#endif
#ifdef HAS_prometheus
#include "driverupgrade/prometheus/metrics_collector.h"
#endif
#ifdef HAS_service
#include "driverupgrade/service/upgrade_service.h"
#endif

using namespace driverupgrade;

[[maybe_unused]] static bool Report(const char* what, const absl::StatusOr<std::shared_ptr<HttpTransport>>& transport) {
  std::printf("%s: %s\n", what, transport.ok() ? "ok" : std::string(transport.status().message()).c_str());
  return transport.ok() && MakeRestCluster(*transport) != nullptr;
}

#ifdef HAS_service
struct NoPolicy final : Director {
  std::optional<std::vector<EngineSpec>> Wanted() override { return std::nullopt; }
};
#endif

int main() {
  auto clock = std::make_shared<testing::FakeClock>();
  auto cluster = std::make_shared<testing::FakeCluster>(clock);
  testing::AddFleet(*cluster, {.node_count = 3});
  const auto identity = DriverIdentity::Create("nvidia.com", "gpu");
  EngineOptions options{.snapshot = {.ns = "gpu-operator", .driver_labels = *LabelSelector::Parse("app=driver")}};
  options.clock = clock;
  const auto engine = UpgradeEngine::Create(*identity, cluster, options);
  std::printf("an engine on a fake cluster: %s\n", engine.ok() ? "ok" : std::string(engine.status().message()).c_str());
  if (!engine.ok()) return 1;

  if (du_abi_version() == 0) return 1;
  std::puts("C interface: ok");

  [[maybe_unused]] const KubeConfig config{.server = "http://127.0.0.1:8001"};
#ifdef HAS_transport_cpprest
  if (!Report("cpprestsdk", MakeCpprestTransport(config, {}))) return 1;
#endif
#ifdef HAS_transport_curl
  if (!Report("libcurl", MakeCurlTransport(config, {}))) return 1;
#endif
#ifdef HAS_prometheus
  const MetricsObserver metrics(*identity);
  if (MetricsCollector({[&] { return metrics.Snapshot(); }}).Text().empty()) return 1;
  std::puts("prometheus: ok");
#endif
#ifdef HAS_service
  NoPolicy director;
  if (!UpgradeService::Create(cluster, director, {.identity = *identity, .health_address = ":0"}).ok()) return 1;
  std::puts("service: ok");
#endif
}
