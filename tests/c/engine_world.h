// A fleet behind an in-memory API server, with a new driver revision. The C interface's engine tests start from this
// fleet.
#ifndef DRIVERUPGRADE_TESTS_C_ENGINE_WORLD_H_
#define DRIVERUPGRADE_TESTS_C_ENGINE_WORLD_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c/engine_host.h"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/testing/invariants.h"
#include "driverupgrade/upgrade_engine.h"
#include "simulation/wire/api_server.h"
#include "support/catch.h"

namespace driverupgrade::tests {

inline constexpr std::string_view kPolicy =
    R"({"autoUpgrade":true,"maxParallelUpgrades":2,"maxUnavailable":"50%","drain":{"enable":true},"podDeletion":{}})";
inline constexpr std::string_view kOptions =
    R"({"identity":{"domain":"nvidia.com","driver":"gpu"},"namespace":"driver-system","driverLabels":"app=driver",)"
    R"("podDeletion":true)";

inline absl::StatusOr<bool> UsesGpu(const CallContext&, const Pod& pod) {
  return std::binary_search(pod.resource_names.begin(), pod.resource_names.end(), "nvidia.com/gpu");
}

// A fleet with a new driver revision, and with a pod that uses a GPU on the first node.
struct World {
  explicit World(int nodes = 4) {
    fleet = testing::AddFleet(*cluster, {.node_count = nodes});
    cluster->AddPod(testing::PodBuilder("team-b", "training")
                        .OnNode(fleet.node_names[0])
                        .OwnedByReplicaSet("training")
                        .WithResource("nvidia.com/gpu")
                        .Build());
    cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  }

  std::shared_ptr<HttpTransport> Server() {
    testing::WireSeam seam{.cluster = checker.Guard("host")};
    seam.list_version = [cluster = cluster] { return std::to_string(cluster->revision()); };
    return std::make_shared<ApiServer>(std::move(seam));
  }
  EngineHost Host(EngineHost::Network network = [](const auto& send) { return send(); }) {
    EngineHost host({.options = std::string(kOptions) + "}", .ns = "driver-system", .driver_labels = "app=driver"},
                    Server(), std::move(network));
    host.SetObserver(checker.MakeObserver());
    return host;
  }

  // Returns the cordon, the labels and the annotations of each node, and the revision of its driver pod.
  std::vector<std::string> End() const {
    std::vector<std::string> end;
    for (const Node& node : cluster->nodes()) {
      std::string line = node.name + (node.unschedulable ? " cordoned" : "");
      for (const auto& [key, value] : node.labels) line += " " + key + "=" + value;
      for (const auto& [key, value] : node.annotations) line += " " + key + "=" + value;
      end.push_back(line);
    }
    for (const Pod& pod : cluster->daemon_set_pods(fleet.ns, fleet.daemon_set)) {
      end.push_back(pod.node_name + " runs " + std::string(RevisionHash(pod)));
    }
    std::sort(end.begin(), end.end());
    return end;
  }

  std::shared_ptr<testing::FakeClock> clock = std::make_shared<testing::FakeClock>();
  std::shared_ptr<testing::FakeCluster> cluster = std::make_shared<testing::FakeCluster>(clock);
  testing::Fleet fleet;
  const DriverIdentity identity = *DriverIdentity::Create("nvidia.com", "gpu");
  const UpgradePolicy policy = *ParseUpgradePolicyJson(kPolicy);
  EngineOptions options = {.snapshot = {.ns = "driver-system",
                                        .driver_labels = LabelSelector::FromMatchLabels({{"app", "driver"}}),
                                        .uses_driver = UsesGpu},
                           .clock = clock};
  testing::InvariantChecker checker{cluster, testing::InvariantsOf(identity, options, policy)};
};

// Runs `passes` passes of the host, two seconds apart, and checks the invariants after each pass.
inline void RollOut(World& world, EngineHost& host, int passes = 400) {
  for (int pass = 0; pass < passes; ++pass) {
    host.Pass(std::nullopt, kPolicy, world.clock->Now());
    REQUIRE(world.checker.Report() == "");
    world.cluster->Advance(absl::Seconds(2));
  }
}

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_C_ENGINE_WORLD_H_
