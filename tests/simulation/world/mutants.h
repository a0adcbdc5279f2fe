// Defects that are planted on purpose, to show that the simulation finds them: incorrect requests, incorrect reads, and
// an incorrect policy.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_MUTANTS_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_MUTANTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/upgrade_policy.h"
#include "simulation/world/world.h"

namespace driverupgrade::testing::internal {

struct Mutant {
  // Mode that reveals the defect. Every seed of the test runs in this mode.
  enum class Mode : std::uint8_t { kAny, kWire, kRequestor, kRestartOnly, kRolling, kGangs };
  std::string name = {};
  Mode mode = Mode::kAny;
  // Change the policy, nodes and pods that the engine sees.
  std::function<void(UpgradePolicy&)> policy = nullptr;
  std::function<void(Node&)> node = nullptr;
  std::function<void(std::vector<Pod>&)> pods = nullptr;
  std::function<void(DaemonSet&)> daemon_set = nullptr;
  std::function<void(NodeMaintenance&)> maintenance = nullptr;
  // Change the engine's requests. The facade is the cluster that receives the request.
  std::function<void(ClusterFacade&, PatchNodeParams&)> patch = nullptr;
  std::function<void(PodRef&)> pod_request = nullptr;
  bool keeps_maintenances = false;
  bool deletes_any_maintenance = false;
  // Result that the engine's comparison of revisions always returns.
  bool restarts_only = false;
  // Change the bytes of requests (target and body), and of responses and lines.
  std::function<void(std::string&, std::string&)> change_request = nullptr;
  std::function<void(std::string&)> change_answer = nullptr;
  bool deletes_for_evictions = false;
  bool evicts_twice = false;
  bool evicts_neighbours = false;
  bool ignores_the_election = false;
  bool writes_when_idle = false;
  bool deaf_to_templates = false;
  bool deaf_to_deletions = false;
};

// Returns the defects that only one particular mode reveals.
std::vector<Mutant> ModeMutants();
const std::vector<Mutant>& Mutants();
// Returns nullptr if the options plant no defect.
const Mutant* MutantOf(const SimulationOptions& options);
// Returns a facade through which the engine calls the cluster. The facade adds the defect to these calls.
std::shared_ptr<ClusterFacade> Mutate(const Mutant& mutant, std::shared_ptr<ClusterFacade> cluster);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_MUTANTS_H_
