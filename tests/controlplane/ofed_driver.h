// The OFED driver of one world, and the NicClusterPolicy that it is rolled by.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_OFED_DRIVER_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_OFED_DRIVER_H_

#include <string>
#include <vector>

#include "operator_program.h"
#include "world.h"

namespace driverupgrade::e2e {

inline constexpr char kOfedState[] = "nvidia.com/ofed-driver-upgrade-state";

// In the namespace of the world's workloads, which ofed_operator gets the rights for. All policies are gone when it is
// destroyed.
class OfedDriver {
 public:
  // A NicClusterPolicy, and a DaemonSet `mofed` on every node. Throws std::runtime_error if it does not get Ready.
  explicit OfedDriver(const World& world);
  // For each of `racks` the nodes with the label `rack` of that value, a NicNodePolicy `rack-<value>` for them with
  // autoUpgrade, and its DaemonSet `mofed-<value>`.
  OfedDriver(const World& world, const std::vector<std::string>& racks);
  ~OfedDriver();
  OfedDriver(const OfedDriver&) = delete;
  OfedDriver& operator=(const OfedDriver&) = delete;

  const std::string& ns() const { return world_.workload_ns(); }
  const World& world() const { return world_; }

  // ofed_operator, with the rights of deploy/rbac/ofed.
  OperatorProgram Start(const std::vector<std::string>& more_options = {}) const;

  // Gives the DaemonSet a new template, and waits for nothing.
  void Change(const std::string& image, const std::string& daemon_set = "mofed") const;

  // The same of the DaemonSet `mofed`, whose new pods do not get Ready before ReleasePods.
  void ChangeAndHold(const std::string& image) const;
  void ReleasePods() const;

  // How many nodes have the label with that value.
  int Count(const std::string& label, const std::string& value) const;

 private:
  void Prepare() const;
  void Deploy(const std::string& name, const std::string& owner, const std::string& node_label) const;

  const World& world_;
};

// Whether all nodes of the world are schedulable.
bool NobodyIsCordoned(const World& world);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_OFED_DRIVER_H_
