// State that all parts of a simulation share: the cluster, the clock, the checker, and the drawn values.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_WORLD_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_WORLD_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/testing/invariants.h"
#include "simulation/simulation.h"
#include "simulation/world/setup.h"
#include "simulation/world/trace.h"

namespace driverupgrade::testing::internal {

inline constexpr char kDriverNs[] = "driver-system";
inline constexpr char kDriver[] = "driver";
inline constexpr char kWorkloadNs[] = "team-a";
inline constexpr char kDoomedNs[] = "doomed";
inline constexpr char kMaintenanceNs[] = "maintenance";
inline constexpr char kRequestor[] = "nvidia.gpu-operator";
inline constexpr char kOtherRequestor[] = "nvidia.network-operator";
// Name of the DRA driver in Mode::kDevices.
inline constexpr char kDeviceDriver[] = "gpu.nvidia.com";
inline constexpr char kOtherDomain[] = "nvidia.com";
inline constexpr char kOtherDriver[] = "ofed";
// The DaemonSets whose pods validate a driver, and the operator's own pod.
inline constexpr char kValidator[] = "validator";
inline constexpr char kSecondValidator[] = "validator-2";
inline constexpr char kOperatorPod[] = "operator";
// With Setup::selects_nodes: selector of the operator's nodes. Other nodes have the driver as well.
inline constexpr char kOwnNodes[] = "pool!=other";
// With Mode::kRollouts: number of racks into which the nodes are divided.
inline constexpr int kRacks = 3;

// Returns the image of a revision. With restartOnly, two consecutive revisions share an image and differ only in the
// restartedAt annotation.
std::string ImageOf(const std::string& hash);
// Returns the template of the revision. If the result is empty, the cluster derives the template from the hash.
std::string TemplateOf(const Setup& setup, const std::string& hash);
// Returns the tolerations of the driver's DaemonSet, which cover the taint that some nodes always have.
inline std::vector<Toleration> DriverTolerations() { return {{.key = "example.com/team", .op = "Exists"}}; }

struct World;
// Adds the first DaemonSet of validation pods unless it already exists.
void AddValidator(World& world);

class Peer;

// A driver whose replicas take part in a simulation, and their settings.
struct Driver {
  const DriverIdentity& identity;
  std::string ns;
  std::string daemon_set;
  const LabelSelector& labels;
  const Setup& setup;
  const UpgradePolicy& policy;
  const std::string& hash;
  InvariantChecker& checker;
};

struct World {
  World(std::uint64_t seed, const SimulationOptions& options);
  ~World();

  // Returns the main driver of the simulation.
  Driver driver() const;

  // Returns a random node, or an empty name if no node was found.
  std::string AnyNode(Random& random) const;
  std::string NodeName(int number) const;
  // Returns the node's initial rack, with Mode::kRollouts.
  std::string RackOf(const std::string& node) const;
  void AddNode(const std::string& name);
  // Removes pods of an orphaned DaemonSet, because no operator evicts such pods without force.
  void RemoveOrphans();
  // Attributes the following edits to the operator of the other driver.
  void SetRivalActs(bool acts);
  // Sets the revision of the driver's DaemonSet.
  void SetTemplate(std::string new_hash);
  // With Mode::kRollouts: approves all stages of the current revision.
  void ApproveAll();
  // Sets the policy for all replicas.
  void SetPolicy(UpgradePolicy policy);
  // Counts a fault that has happened.
  void Fired(Fault fault);
  // Notes that the effects of a fault may last for a while.
  void NoteFault();
  // Counts an effect of the mode.
  void CameBy(Mode mode, std::int64_t times = 1) { result.modes[static_cast<std::size_t>(mode)] += times; }
  // Returns whether this fault may happen now.
  bool May(Fault fault) const { return chaos && setup.Has(fault); }
  bool Broken() const { return checker->violation().has_value(); }
  absl::Time Now() const { return clock->Now(); }

  const std::uint64_t seed;
  const SimulationOptions options;
  const Setup setup;
  const std::shared_ptr<FakeClock> clock;
  const std::shared_ptr<FakeCluster> cluster;
  const DriverIdentity identity;
  const DriverIdentity other_identity;
  const LabelSelector driver_labels;
  // Another driver that this library upgrades, or null.
  std::unique_ptr<Peer> peer;
  std::unique_ptr<InvariantChecker> checker;
  Trace trace;
  SimulationResult result;
  UpgradePolicy policy;
  bool chaos = true;
  // F26: end of the current outage of the API server.
  absl::Time outage_until = absl::InfinitePast();
  // Whether the operator is being removed, when it is installed again, and the number of its processes.
  bool releasing = false;
  absl::Time installed_at = absl::InfinitePast();
  int processes = 0;
  struct Cordon {
    std::int64_t revision = 0;  // cluster revision
    std::string version;        // node version
  };
  // The last cordon of each node, by name.
  std::map<std::string, Cordon> cordoned = {};
  // L4: name of a node whose patches fail; empty if there is no such node.
  std::string unwritable;
  // Number of engine requests that reached the cluster: patches, evictions and deletions.
  std::int64_t writes = 0;
  int nodes_made = 0;
  // Revision that the driver's DaemonSet must have.
  std::string hash = "rev-1";
  int hashes_made = 1;
  absl::Time template_changed = absl::InfiniteFuture();

  // Returns whether the driver's replicas belong to the operator that is occasionally removed.
  bool IsOfOperator(const Driver& other) const { return &other.checker == checker.get(); }

  // Lets time pass for everything except the calling replica. The simulation sets this function.
  std::function<void(absl::Duration)> elapse;
  std::function<void(const UpgradePolicy&)> on_policy;
  std::function<void()> on_release;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_WORLD_H_
