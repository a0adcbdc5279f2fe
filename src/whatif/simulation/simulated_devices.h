// Simulates the devices of the user's cluster, and the claims of its pods.
#ifndef DRIVERUPGRADE_SRC_WHATIF_SIMULATION_SIMULATED_DEVICES_H_
#define DRIVERUPGRADE_SRC_WHATIF_SIMULATION_SIMULATED_DEVICES_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/device_types.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "whatif/situation.h"

namespace driverupgrade::whatif {

// Devices are interchangeable: a claim takes as many devices as in the user's cluster, and accepts any devices of its
// driver on a single node. If the dump has no slice of the driver, the claim can be allocated on every node. A dump
// does not show whether the cluster serves DeviceTaintRules. Like a plan of a dump, the simulation assumes that the
// cluster serves them.
class SimulatedDevices {
 public:
  // `drivers` are the DRA drivers, most important first. `engine_follows` is true if the engine reads devices, and
  // would therefore wait for claims that do not exist. `situation` must outlive this object.
  SimulatedDevices(const Situation& situation, const std::vector<std::string>& drivers, bool engine_follows);

  // Publishes the devices of the node, as plugins do once the driver is ready.
  void Publish(const std::string& node, testing::FakeCluster& cluster) const;
  void Withdraw(const std::string& node, testing::FakeCluster& cluster) const;
  // Returns the pod's claims for devices on the pod's node. A claim for several of the drivers becomes a claim for the
  // first of them.
  std::vector<testing::ResourceClaimSpec> ClaimsOf(const Pod& pod) const;
  // If the engine would wait for claims that ClaimsOf does not return, removes them from the pod.
  void DropUnknownClaims(Pod& pod) const;

 private:
  using Pools = std::map<std::pair<std::string, std::string>, ResourceSlice>;  // by node and driver

  // Adds the devices of nodes that publish none because their driver is being replaced. The number comes from an
  // annotation on the node.
  void AddIsolated(Pools& pools) const;
  testing::DeviceRequest RequestOf(const ResourceClaim& claim, const std::string& driver,
                                   const std::string& node) const;

  const Situation& situation_;
  const std::vector<std::string> drivers_;
  const bool engine_follows_;
  std::set<std::string> publishing_;                                            // drivers that have slices
  std::map<std::string, std::vector<ResourceSlice>> slices_;                    // by node: one slice of each driver
  std::map<std::pair<std::string, std::string>, const ResourceClaim*> claims_;  // by namespace and name
};

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_SIMULATION_SIMULATED_DEVICES_H_
