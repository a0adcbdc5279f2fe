// Assembles the view of one node for Step. Engines that list objects, engines that read from a cache, and hosts in
// other languages share this code.
#ifndef DRIVERUPGRADE_SRC_READ_NODE_VIEWS_H_
#define DRIVERUPGRADE_SRC_READ_NODE_VIEWS_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "decide/attempt_log.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/label_selector.h"
#include "model/unreadable.h"
#include "read/object_source.h"

namespace driverupgrade::internal {

// Adds a finding for each object that could not be read. `node`: the node to which the objects belong, or empty.
template <typename T>
void NoteUnreadable(std::string_view kind, const std::vector<T>& objects, const std::string& node,
                    std::vector<Finding>& findings) {
  for (const T& object : objects) {
    if (!IsUnreadable(object)) continue;
    findings.push_back({.code = FindingCode::kUnreadable, .node = node, .message = CannotBeRead(kind, object)});
  }
}

// Data shared by all nodes of the driver, with findings about that data.
struct DriverParts {
  std::shared_ptr<const DriverFacts> facts = std::make_shared<const DriverFacts>();
  std::vector<ControllerRevision> revisions = {};
  std::vector<Finding> findings = {};
};
// Returns a finding about a driver pod that is bound to, or waits for, a missing node.
Finding NodeMissing(const std::string& node, const Pod& pod);
// Returns a finding that reports that a node's pods could not be read. `status` must not be OK; DataLoss means that a
// single pod cannot be read.
Finding PodsNotRead(const std::string& node, const absl::Status& status);
// Assembles the data that all nodes share. `unbound_pods` and `unbound_maintenances`: driver pods and NodeMaintenances
// that name no node.
DriverParts MakeDriverParts(const std::vector<DaemonSet>& daemon_sets, std::vector<ControllerRevision> revisions,
                            const std::vector<Pod>& unbound_pods,
                            const std::vector<NodeMaintenance>& unbound_maintenances);

struct NodeParts {
  Node node = {};
  std::vector<Pod> driver_pods = {};  // bound to the node, or waiting to be scheduled to it
  std::optional<std::vector<NodeMaintenance>> maintenances = std::nullopt;
  std::optional<absl::StatusOr<NodeDevices>> devices = std::nullopt;  // nullopt: not requested
};

// The embedding operator's callbacks: PodFilter and RestartOnlyPredicate (snapshot_builder.h). After an error, the node
// waits until a later call succeeds. The only exception is NotFound from RestartOnly, which means that one of the
// revisions is unknown. The node is then upgraded in full.
class NodeHooks {
 public:
  virtual ~NodeHooks() = default;
  virtual absl::StatusOr<bool> UsesDriver(const Pod& pod) = 0;
  virtual absl::StatusOr<bool> RestartOnly(const Pod& pod, const ControllerRevision& running,
                                           const ControllerRevision& wanted) = 0;
  // Called before the node's view is created.
  virtual void Begin(const std::string&) {}
  virtual void Forget(const std::string&) {}
  // Called after an error that is recorded in the view. Returns true if a new result will arrive without another call.
  virtual bool WillTell(const NodeView&) const { return false; }
};

// Selects the driver's objects and the callbacks to call. See SnapshotOptions.
struct ViewScope {
  std::string ns = {};
  LabelSelector driver_labels = {};
  LabelSelector node_selector = {};
  std::optional<RequestorOptions> requestor = std::nullopt;
  std::vector<std::string> devices = {};  // DRA drivers
  bool asks_uses_driver = false;
  bool asks_restart_only = false;
};

// Creates node views. Remembers the result of a hook until the hook's input changes. Not thread-safe.
class NodeViews {
 public:
  NodeViews(DriverIdentity identity, ViewScope scope);

  // Returns true if the node selector of the engine selects the node.
  bool IsSelected(const Node& node) const;
  // Returns true if the engine must manage the node for the driver.
  bool IsManaged(const NodeParts& parts) const;
  // Returns the view of the node. Of the node's pods, the view contains only the driver pods. Drops requests from `log`
  // if the node already shows their outcome.
  NodeView Make(NodeHooks& hooks, NodeParts parts, const DriverParts& driver, AttemptLog& log,
                std::vector<Finding>& findings);
  // Adds the node's other pods to the view. `pods` must contain every pod on the node; driver pods are skipped. Drops
  // requests from `log` if the pods already show their outcome.
  void AddPods(NodeHooks& hooks, const ObjectSource& objects, std::vector<Pod> pods, NodeView& view, AttemptLog& log,
               std::vector<Finding>& findings);
  // Must be called instead of AddPods if the node's pods are unknown. Drops the logged attempts for all pods that the
  // view does not contain, unless the node is in progress.
  void DropOldAttempts(NodeView& view, AttemptLog& log) const;
  // Returns the view in its final form: complete and decoded.
  std::shared_ptr<const NodeView> Share(NodeView view) const { return ShareView(std::move(view), identity_); }
  // Forgets the hook results for all nodes that are not in `nodes`.
  void KeepOnly(const std::set<std::string>& nodes);
  void Forget(const std::string& node) { memory_.erase(node); }

 private:
  struct UsesDriver {
    std::string resource_version;
    bool answer = false;
  };
  struct RestartOnly {
    std::string resource_version;
    std::string wanted;
    bool answer = false;
  };
  struct Memory {
    std::map<std::string, UsesDriver> uses_driver = {};    // by pod UID
    std::map<std::string, RestartOnly> restart_only = {};  // by pod UID
  };
  bool MayBeBusy(const NodeView& view) const;
  bool MayHaveClaims(const NodeView& view) const;
  bool MayHaveRules(const NodeView& view) const;
  bool IsOurs(const DeviceTaintRule& rule) const;
  void AddHolders(const ObjectSource& objects, NodeView& view) const;
  void RunFilter(NodeHooks& hooks, NodeView& view, std::vector<Finding>& findings);
  void CompareRevisions(NodeHooks& hooks, const DriverParts& driver, NodeView& view, std::vector<Finding>& findings);
  absl::StatusOr<bool> NeedsRestartOnly(NodeHooks& hooks, const Pod& pod, const DriverParts& driver,
                                        const std::map<std::string, RestartOnly>& known,
                                        std::map<std::string, RestartOnly>& seen);

  DriverIdentity identity_;
  ViewScope scope_;
  std::map<std::string, Memory> memory_;  // by node
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_NODE_VIEWS_H_
