// Creates a service with a web server, but does not run the service. A cluster that supports no operations is therefore
// sufficient.
#include <memory>
#include <optional>
#include <vector>

#include "driverupgrade/service/upgrade_service.h"

struct NoCluster final : driverupgrade::ClusterFacade {
  bool Supports(driverupgrade::Operation) const override { return false; }
};
struct NoPolicy final : driverupgrade::Director {
  std::optional<std::vector<driverupgrade::EngineSpec>> Wanted() override { return std::nullopt; }
};

int main() {
  const auto identity = driverupgrade::DriverIdentity::Create("nvidia.com", "gpu");
  if (!identity.ok()) return 1;
  NoPolicy director;
  const auto service = driverupgrade::UpgradeService::Create(std::make_shared<NoCluster>(), director,
                                                             {.identity = *identity, .health_address = "127.0.0.1:0"});
  return service.ok() && (*service)->Healthy().ok() ? 0 : 1;
}
