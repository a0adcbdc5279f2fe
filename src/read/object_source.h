// Defines the interface to the objects on which a Core bases its decisions.
#ifndef DRIVERUPGRADE_SRC_READ_OBJECT_SOURCE_H_
#define DRIVERUPGRADE_SRC_READ_OBJECT_SOURCE_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/gate.h"

namespace driverupgrade::internal {

struct DriverObjects {
  std::vector<DaemonSet> daemon_sets = {};
  std::vector<ControllerRevision> revisions = {};
};

class ObjectSource {
 public:
  virtual ~ObjectSource() = default;

  // Returns OK if the stored objects show the current or a very recent state of the cluster, otherwise Unavailable.
  virtual absl::Status Ready() const = 0;
  virtual CacheChanges Take() = 0;
  virtual std::optional<Node> FindNode(const std::string& name) const = 0;
  // Returns the driver's pods on the node, or the driver's pods without a node if `node` is empty.
  virtual std::vector<Pod> DriverPods(const std::string& node) const = 0;
  // Returns the NodeMaintenances of the node; nullopt if they are unknown.
  virtual std::optional<std::vector<NodeMaintenance>> Maintenances(const std::string& node) const = 0;
  // Returns the DRA objects of the node. Called only if the scope names DRA drivers. Errors: see WatchCache::Devices.
  virtual absl::StatusOr<NodeDevices> Devices(const std::string& node) const = 0;
  // Returns false if the claim has not been read since it was allocated. Called only if the scope names DRA drivers.
  virtual bool KnowsClaim(const std::string& ns, const std::string& name) const = 0;
  // Returns the objects of the driver. Called after Take has reported a change to the driver. After an error, the next
  // pass calls this function again.
  virtual absl::StatusOr<DriverObjects> Driver() = 0;
  // Returns findings about failed reads, except for reads that concern a single node.
  virtual std::vector<Finding> Findings() const { return {}; }

  // Returns all pods on the node; nullopt if they are unknown.
  virtual std::optional<std::vector<Pod>> PodsOn(const std::string& node) const = 0;
  virtual bool KnowsPodsOn(const std::string& node) const = 0;
  // Returns why the node's pods could not be read, or OK if no failure is known. DataLoss means that a single pod is
  // unreadable.
  virtual absl::Status PodsStatus(const std::string&) const { return absl::OkStatus(); }
  // Sets the nodes whose pods are kept. Returns nodes that must be examined again.
  virtual std::vector<std::string> SetInterest(const std::set<std::string>& nodes) = 0;
  // Accepts a node from the response to a write.
  virtual void NodeWritten(const Node& node) = 0;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_OBJECT_SOURCE_H_
