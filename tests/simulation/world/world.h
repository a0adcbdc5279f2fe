// What everybody in a simulation shares: the cluster, the clock, who checks, what was drawn.
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
inline constexpr char kOtherDomain[] = "nvidia.com";
inline constexpr char kOtherDriver[] = "ofed";
// The DaemonSets whose pods validate a driver, and the operator's own pod.
inline constexpr char kValidator[] = "validator";
inline constexpr char kSecondValidator[] = "validator-2";
inline constexpr char kOperatorPod[] = "operator";
// With Setup::selects_nodes: the operator's, beside which others have the driver, too.
inline constexpr char kOwnNodes[] = "pool!=other";
// How many racks the nodes stand in, with Mode::kRollouts.
inline constexpr int kRacks = 3;

// With restartOnly: two revisions of a number share an image, and differ in nothing but when they were asked for.
std::string ImageOf(const std::string& hash);
// Empty: what the cluster makes of the hash.
std::string TemplateOf(const Setup& setup, const std::string& hash);

struct World;
// The first of the DaemonSets that validate, unless it is there.
void AddValidator(World& world);

class Peer;

// A driver whose replicas are in a simulation, and what they are told.
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

  // The one that most of this is about.
  Driver driver() const;

  // A node at random; empty if there is none.
  std::string AnyNode(Random& random) const;
  std::string NodeName(int number) const;
  // Where the node stands unless somebody moves it, with Mode::kRollouts.
  std::string RackOf(const std::string& node) const;
  void AddNode(const std::string& name);
  // Pods of a DaemonSet that was orphaned are drained by nobody without force.
  void RemoveOrphans();
  // What people do now is another driver's operator's doing.
  void SetRivalActs(bool acts);
  // The DaemonSet of the driver is to have this revision from now on.
  void SetTemplate(std::string new_hash);
  // With Mode::kRollouts: all stages of the revision of now.
  void ApproveAll();
  // The policy from now on, for all replicas.
  void SetPolicy(UpgradePolicy policy);
  // Counts a fault that has happened.
  void Fired(Fault fault);
  // What happens now may be felt for a while.
  void NoteFault();
  // Counts what a mode is there for.
  void CameBy(Mode mode, std::int64_t times = 1) { result.modes[static_cast<std::size_t>(mode)] += times; }
  // Whether faults of that kind are to happen now.
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
  // Another driver of this library; null: there is none.
  std::unique_ptr<Peer> peer;
  std::unique_ptr<InvariantChecker> checker;
  Trace trace;
  SimulationResult result;
  UpgradePolicy policy;
  bool chaos = true;
  // F26: until then nobody reaches the API server.
  absl::Time outage_until = absl::InfinitePast();
  // The operator is being removed; when it is there again; and how many processes of it there are.
  bool releasing = false;
  absl::Time installed_at = absl::InfinitePast();
  int processes = 0;
  struct Cordon {
    std::int64_t revision = 0;  // of the cluster
    std::string version;        // of the node
  };
  // By node: when it was last cordoned.
  std::map<std::string, Cordon> cordoned = {};
  // L4: patches of this node fail.
  std::string unwritable;
  // Requests of engines that reached the cluster: patches, evictions, deletions.
  std::int64_t writes = 0;
  int nodes_made = 0;
  // Of the driver: what the DaemonSet is to have.
  std::string hash = "rev-1";
  int hashes_made = 1;
  absl::Time template_changed = absl::InfiniteFuture();

  // Whether that process is of the operator that is removed now and then.
  bool IsOfOperator(const Driver& other) const { return &other.checker == checker.get(); }

  // Lets time pass for everybody but the replica that asks; set by the simulation.
  std::function<void(absl::Duration)> elapse;
  std::function<void(const UpgradePolicy&)> on_policy;
  std::function<void()> on_release;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_WORLD_H_
