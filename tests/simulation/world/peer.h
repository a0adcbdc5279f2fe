// A second driver that this library upgrades on the same nodes: its DaemonSet and templates, its policy, and the
// checker for its engines.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_PEER_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_PEER_H_

#include <memory>
#include <string>

#include "simulation/world/actors.h"
#include "simulation/world/world.h"

namespace driverupgrade::testing::internal {

class Peer {
 public:
  explicit Peer(World& world);

  Driver driver() const;
  // Passes a change in the cluster to the peer's checker, and the checker's finding to the world's checker.
  void See(const Change& change);
  void SetTemplate(std::string hash);
  void SetPolicy(const UpgradePolicy& policy);

 private:
  void JudgeUncordon(const Change& change);

  World& world_;
  const Setup setup_;
  const DriverIdentity identity_;
  const LabelSelector labels_;
  UpgradePolicy policy_;
  std::string hash_ = "rev-1";
  std::unique_ptr<InvariantChecker> checker_;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_PEER_H_
