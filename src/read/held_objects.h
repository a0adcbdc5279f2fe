// Stores a complete set of objects, from one round of lists or from a dump.
#ifndef DRIVERUPGRADE_SRC_READ_HELD_OBJECTS_H_
#define DRIVERUPGRADE_SRC_READ_HELD_OBJECTS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "read/device_objects.h"
#include "read/object_source.h"

namespace driverupgrade::internal {

class HeldObjects : public ObjectSource {
 public:
  absl::Status Ready() const override { return absl::OkStatus(); }
  // The first call after HoldNodes reports that everything has changed. Later calls report no changes.
  CacheChanges Take() override;
  std::optional<Node> FindNode(const std::string& name) const override;
  std::vector<Pod> DriverPods(const std::string& node) const override;
  std::optional<std::vector<NodeMaintenance>> Maintenances(const std::string& node) const override;
  absl::StatusOr<NodeDevices> Devices(const std::string& node) const override {
    return devices_.On(node, dra_drivers_);
  }
  bool KnowsClaim(const std::string& ns, const std::string& name) const override {
    return devices_.KnowsClaim(ns, name);
  }
  absl::StatusOr<DriverObjects> Driver() override { return driver_; }
  std::optional<std::vector<Pod>> PodsOn(const std::string& node) const override;
  std::vector<std::string> SetInterest(const std::set<std::string>&) override { return {}; }
  void NodeWritten(const Node&) override {}

 protected:
  using PodsByNode = std::map<std::string, std::vector<Pod>>;

  void HoldNodes(std::vector<Node> nodes);
  void HoldDriverPod(Pod pod);
  // Replaces the NodeMaintenances. `objects`: nullopt if the objects could not be listed.
  void HoldMaintenances(std::optional<std::vector<NodeMaintenance>> objects);
  // Drops all DRA objects, and returns the container to fill with the objects of `dra_drivers`.
  DeviceObjects& BeginDevices(const std::vector<std::string>& dra_drivers);

  std::map<std::string, Node> nodes_;
  PodsByNode driver_pods_;
  DriverObjects driver_;
  PodsByNode pods_;
  DeviceObjects devices_;

 private:
  bool is_new_ = false;
  std::vector<std::string> dra_drivers_;
  std::optional<std::map<std::string, std::vector<NodeMaintenance>>> maintenances_;  // by node
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_HELD_OBJECTS_H_
