// A stand-in for NVIDIA's maintenance operator, which cordons and drains nodes for those who ask by a NodeMaintenance.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_MAINTENANCE_OPERATOR_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_MAINTENANCE_OPERATOR_H_

#include <rapidjson/document.h>

#include <filesystem>
#include <string>

#include "control_plane.h"
#include "kubectl.h"

namespace driverupgrade::e2e {

// Does what the real one does (rules M0 to M10 of its states), with an administrator's kubectl and no code of ours. It
// runs when it is stepped, so that a test can hold it at any point. Left out: deadlines, OpenShift, and the collection
// of old objects.
class MaintenanceOperator {
 public:
  // For the objects in namespace `ns`; at most `parallel_max` nodes at a time. Makes the API server know the resource.
  MaintenanceOperator(ControlPlane& control_plane, std::string ns, int parallel_max);

  // Takes each object one state further, if that is due.
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
  int under_way_ = 0;  // objects past Pending
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_MAINTENANCE_OPERATOR_H_
