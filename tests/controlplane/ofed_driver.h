// The OFED driver of one world, and the NicClusterPolicy that controls its rollout.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_OFED_DRIVER_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_OFED_DRIVER_H_

#include <string>
#include <vector>

#include "operator_program.h"
#include "world.h"

namespace driverupgrade::e2e {

inline constexpr char kOfedState[] = "nvidia.com/ofed-driver-upgrade-state";

// The driver runs in the namespace of the world's workloads, where ofed_operator has its permissions. The destructor
// deletes all policies.
class OfedDriver {
 public:
  // Creates a NicClusterPolicy, and a DaemonSet `mofed` on every node. Throws std::runtime_error if the DaemonSet does
  // not become Ready.
  explicit OfedDriver(const World& world);
  // Sets the label `rack` on the nodes, with one value for each of `racks`. For each value, creates a NicNodePolicy
  // `rack-<value>` with autoUpgrade, and its DaemonSet `mofed-<value>`.
  OfedDriver(const World& world, const std::vector<std::string>& racks);
  ~OfedDriver();
  OfedDriver(const OfedDriver&) = delete;
  OfedDriver& operator=(const OfedDriver&) = delete;

  const std::string& ns() const { return world_.workload_ns(); }
  const World& world() const { return world_; }

  // Starts ofed_operator, with the permissions of deploy/rbac/ofed.
  OperatorProgram Start(const std::vector<std::string>& more_options = {}) const;

  // Gives the DaemonSet a new template. Does not wait.
  void Change(const std::string& image, const std::string& daemon_set = "mofed") const;

  // Same as Change for the DaemonSet `mofed`, except that new pods do not become Ready before ReleasePods is called.
  void ChangeAndHold(const std::string& image) const;
  void ReleasePods() const;

  // Returns how many nodes have the label with this value.
  int Count(const std::string& label, const std::string& value) const;

 private:
  void Prepare() const;
  void Deploy(const std::string& name, const std::string& owner, const std::string& node_label) const;

  const World& world_;
};

// Returns whether all nodes of the world are schedulable.
bool NobodyIsCordoned(const World& world);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_OFED_DRIVER_H_
