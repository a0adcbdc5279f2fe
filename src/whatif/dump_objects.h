// A cluster that is a dump.
#ifndef DRIVERUPGRADE_SRC_WHATIF_DUMP_OBJECTS_H_
#define DRIVERUPGRADE_SRC_WHATIF_DUMP_OBJECTS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/wire/kubernetes_json.h"
#include "read/node_views.h"
#include "read/object_source.h"

namespace driverupgrade::whatif {

// Pods without a UID, which only dumps written by hand have, get one from their names. A dump is not selected by a server, which
// knows what it has stored: an object that cannot be read may be of the driver, and an unreadable pod without a node may be on any node.
class DumpObjects final : public internal::ObjectSource {
 public:
  DumpObjects(ClusterObjects objects, const internal::ViewScope& scope);

  absl::Status Ready() const override { return absl::OkStatus(); }
  CacheChanges Take() override { return std::exchange(changes_, {}); }
  std::optional<Node> FindNode(const std::string& name) const override;
  std::vector<Pod> DriverPods(const std::string& node) const override;
  std::optional<std::vector<NodeMaintenance>> Maintenances(const std::string& node) const override;
  absl::StatusOr<internal::DriverObjects> Driver() override { return driver_; }
  // A dump has the pods of every node.
  std::optional<std::vector<Pod>> PodsOn(const std::string& node) const override;
  bool KnowsPodsOn(const std::string& node) const override { return WhyNoPods(node).empty(); }
  std::string WhyNoPods(const std::string& node) const override;
  std::vector<std::string> SetInterest(const std::set<std::string>&) override { return {}; }
  void NodeWritten(const Node&) override {}

 private:
  using PodsByNode = std::map<std::string, std::vector<Pod>>;

  void TakePods(std::vector<Pod> pods, const internal::ViewScope& scope);

  CacheChanges changes_ = {.everything = true, .driver = true};
  std::map<std::string, Node> nodes_;
  PodsByNode driver_pods_;
  PodsByNode pods_;
  std::map<std::string, std::string> unreadable_;  // why a node's pods cannot be told, by node
  bool has_maintenances_ = false;
  std::map<std::string, std::vector<NodeMaintenance>> maintenances_;  // by node
  internal::DriverObjects driver_;
};

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_DUMP_OBJECTS_H_
