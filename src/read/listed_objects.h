// The objects of one round of lists.
#ifndef DRIVERUPGRADE_SRC_READ_LISTED_OBJECTS_H_
#define DRIVERUPGRADE_SRC_READ_LISTED_OBJECTS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/call_context.h"
#include "driverupgrade/cluster_facade.h"
#include "read/node_views.h"
#include "read/object_source.h"

namespace driverupgrade::internal {

class ListedObjects final : public ObjectSource {
 public:
  // Lists everything but the pods of nodes, which are forgotten. Errors: those of the lists but the one of NodeMaintenances: then
  // they are not known.
  absl::Status List(const CallContext& context, ClusterReader& cluster, const ViewScope& scope);
  // Take the pods of these nodes, by a list for each, or by one list of all pods. Both return how it went; of a node whose pods
  // could not be read, they stay unknown.
  std::map<std::string, absl::Status> ListPodsOf(const CallContext& context, ClusterReader& cluster,
                                                 const std::set<std::string>& nodes);
  std::map<std::string, absl::Status> ListAllPods(const CallContext& context, ClusterReader& cluster,
                                                  const std::set<std::string>& nodes);

  std::vector<std::string> Uids() const;
  // All nodes with what is theirs, by name, for a caller that asks once: they are moved. Adds to `missing` the driver pods of
  // nodes that do not exist.
  std::vector<NodeParts> TakeAll(std::vector<Finding>& missing);

  absl::Status Ready() const override { return absl::OkStatus(); }
  // After List everything, and then nothing.
  CacheChanges Take() override;
  std::optional<Node> FindNode(const std::string& name) const override;
  std::vector<Pod> DriverPods(const std::string& node) const override;
  std::optional<std::vector<NodeMaintenance>> Maintenances(const std::string& node) const override;
  absl::StatusOr<DriverObjects> Driver() override { return driver_; }
  std::vector<Finding> Findings() const override { return findings_; }
  std::optional<std::vector<Pod>> PodsOn(const std::string& node) const override;
  bool KnowsPodsOn(const std::string& node) const override { return pods_.contains(node); }
  std::vector<std::string> SetInterest(const std::set<std::string>&) override { return {}; }
  // The next round lists it.
  void NodeWritten(const Node&) override {}

 private:
  void ListMaintenances(const CallContext& context, ClusterReader& cluster, const ViewScope& scope);
  absl::Status TakePods(const std::string& node, absl::StatusOr<std::vector<Pod>> pods);

  bool is_new_ = false;
  std::map<std::string, Node> nodes_;
  std::map<std::string, std::vector<Pod>> driver_pods_;                              // by node
  std::optional<std::map<std::string, std::vector<NodeMaintenance>>> maintenances_;  // by node
  DriverObjects driver_;
  std::vector<Finding> findings_;
  std::map<std::string, std::vector<Pod>> pods_;  // by node
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_LISTED_OBJECTS_H_
