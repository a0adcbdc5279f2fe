// A stand-in for NVIDIA's maintenance operator, which cordons and drains nodes on behalf of NodeMaintenances.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_MAINTENANCE_OPERATOR_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_MAINTENANCE_OPERATOR_H_

#include <rapidjson/document.h>

#include <filesystem>
#include <string>

#include "control_plane.h"
#include "kubectl.h"

namespace driverupgrade::e2e {

// Behaves like the real operator (rules M0 to M10 of its states), but uses an administrator's kubectl and none of our
// code. It acts only in Step, so a test can hold it at any point. Not implemented: deadlines, OpenShift, and the
// deletion of old objects.
class MaintenanceOperator {
 public:
  // Handles the objects in namespace `ns`, at most `parallel_max` nodes at a time. Installs the resource
  // NodeMaintenance in the API server.
  MaintenanceOperator(ControlPlane& control_plane, std::string ns, int parallel_max);

  // Moves each object by one state, if a move is due.
  void Step();

 private:
  using Object = rapidjson::Value;

  void Advance(const Object& object);
  void Adopt(const Object& object);
  void Schedule(const Object& object);
  void Accept(const Object& object);
  void Cordon(const Object& object);
  void WaitForPods(const Object& object);
  void Drain(const Object& object);
  void ReportFailure(const Object& object);
  void GiveBack(const Object& object, const std::string& reason);

  rapidjson::Document PodsOf(const Object& object, const std::string& selector) const;
  void Evict(const Object& pod);
  void SetReason(const Object& object, const std::string& reason);
  void Patch(const Object& object, const std::string& patch);
  void RunPatch(const Object& object, const Kubectl::Arguments& what);

  const Kubectl& kubectl_;
  const std::filesystem::path eviction_file_;
  const std::string ns_;
  const int parallel_max_;
  int under_way_ = 0;  // number of objects that have left Pending
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_MAINTENANCE_OPERATOR_H_
