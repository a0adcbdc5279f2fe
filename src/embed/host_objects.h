// Stores the objects that a host has passed in.
#ifndef DRIVERUPGRADE_SRC_EMBED_HOST_OBJECTS_H_
#define DRIVERUPGRADE_SRC_EMBED_HOST_OBJECTS_H_

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "embed/object_documents.h"
#include "read/object_source.h"
#include "read/object_store.h"

namespace driverupgrade::internal {

class HostObjects final : public ObjectSource {
 public:
  explicit HostObjects(std::vector<std::string> dra_drivers) {
    store_.FollowDevices(kHostDriver, std::move(dra_drivers));
  }
  ObjectStore& store() { return store_; }

  absl::Status Ready() const override {
    const bool has_all = store_.IsListed<Node>(kHostDriver) && store_.IsListed<Pod>(kHostDriver) &&
                         store_.IsListed<DaemonSet>(kHostDriver) && store_.IsListed<ControllerRevision>(kHostDriver);
    return has_all ? absl::OkStatus()
                   : absl::UnavailableError(
                         "some kinds of objects have not been put yet, or not since the cluster was restored");
  }
  CacheChanges Take() override { return store_.Take(kHostDriver); }
  std::optional<Node> FindNode(const std::string& name) const override { return store_.FindNode(name); }
  std::vector<Pod> DriverPods(const std::string& node) const override { return store_.DriverPods(kHostDriver, node); }
  std::optional<std::vector<NodeMaintenance>> Maintenances(const std::string& node) const override {
    return store_.Maintenances(kHostDriver, node);
  }
  absl::StatusOr<NodeDevices> Devices(const std::string& node) const override {
    return store_.Devices(kHostDriver, node);
  }
  bool KnowsClaim(const std::string& ns, const std::string& name) const override { return store_.KnowsClaim(ns, name); }
  std::vector<Finding> Findings() const override { return store_.DeviceFindings(kHostDriver); }
  absl::StatusOr<DriverObjects> Driver() override {
    return DriverObjects{.daemon_sets = store_.DaemonSets(kHostDriver), .revisions = store_.Revisions(kHostDriver)};
  }
  std::optional<std::vector<Pod>> PodsOn(const std::string& node) const override { return store_.PodsOn(node); }
  bool KnowsPodsOn(const std::string& node) const override { return store_.KnowsPodsOn(node); }
  absl::Status PodsStatus(const std::string& node) const override {
    const std::string why = store_.WhyNoPods(node);
    return why.empty() ? absl::OkStatus() : absl::UnavailableError(why);
  }
  std::vector<std::string> SetInterest(const std::set<std::string>& nodes) override {
    return store_.SetInterest(kHostDriver, nodes);
  }
  void NodeWritten(const Node& node) override { store_.NodeWritten(node); }

 private:
  ObjectStore store_{1};
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_EMBED_HOST_OBJECTS_H_
