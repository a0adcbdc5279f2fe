// Creates policies of gpu_operator as custom resources, runs the operator with them, and waits for nodes.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_POLICIES_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_POLICIES_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "control_plane.h"
#include "kubectl.h"
#include "operator_program.h"
#include "world.h"

namespace driverupgrade::e2e {

inline constexpr std::chrono::seconds kRolloutLimit{90};

inline constexpr std::string_view kClusterPolicy = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec:
  somethingElse: {of: NVIDIA's}
  driver:
    upgradePolicy: {autoUpgrade: true, maxParallelUpgrades: 1, maxUnavailable: 50%}
)";

inline constexpr std::string_view kNvidiaDrivers = R"(
apiVersion: nvidia.com/v1alpha1
kind: NVIDIADriver
metadata: {name: a}
spec: {nodeSelector: {pool: a}, upgradePolicy: {maxParallelUpgrades: 2, maxUnavailable: 100%}}
---
apiVersion: nvidia.com/v1alpha1
kind: NVIDIADriver
metadata: {name: b}
spec: {nodeSelector: {pool: b}, upgradePolicy: {maxParallelUpgrades: 2, maxUnavailable: 100%}}
---
apiVersion: nvidia.com/v1alpha1
kind: NVIDIADriver
metadata: {name: c}
spec: {nodeSelector: {pool: c}, upgradePolicy: {autoUpgrade: false}}
)";

// Custom resources of one test. The destructor deletes them.
class Policies {
 public:
  Policies(ControlPlane& control_plane, std::string_view manifest);
  ~Policies();
  Policies(const Policies&) = delete;
  Policies& operator=(const Policies&) = delete;

  void Patch(const std::string& kind, const std::string& name, const std::string& patch) const;
  // Returns a condition as `status: message`.
  std::string Condition(const std::string& kind, const std::string& name,
                        const std::string& type = "UpgradePolicyValid") const;

 private:
  const Kubectl& admin_;
};

// Runs gpu_operator, or another `program`, with policies from custom resources and the given options.
OperatorProgram Start(const World& world, std::vector<std::string> options = {},
                      const std::string& program = "gpu_operator");

int CountInState(const World& world, const std::string& state);

// Returns whether `count` nodes reach upgrade-done in time.
bool AwaitDone(const World& world, int count);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_POLICIES_H_
