// ObjectStore keeps the objects that lists, watches and responses to writes have reported: the nodes, the objects of
// each driver, and all pods of the nodes in which a driver is interested. It records which changes each driver has not
// taken yet. The store does no I/O and has no lock: WatchStore adds one, and the host of the C interface does not need
// one.
#ifndef DRIVERUPGRADE_SRC_READ_OBJECT_STORE_H_
#define DRIVERUPGRADE_SRC_READ_OBJECT_STORE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/cluster_types.h"
#include "read/collection.h"
#include "read/device_objects.h"
#include "read/packed.h"

namespace driverupgrade::internal {

class ObjectStore {
 public:
  // `drivers`: number of drivers. Drivers are numbered from 0. All drivers share the nodes, the pods of nodes and the
  // DRA objects. The objects of all other kinds are stored for each driver separately.
  explicit ObjectStore(std::size_t drivers) : drivers_(drivers) {}

  // ----- nodes

  // Accepts a list of all nodes, read at version `at`. Returns true if the list shows that the cluster was restored
  // from a backup. In that case, all nodes that were known before are dropped, and the other kinds must be listed again.
  bool NodesListed(const std::vector<Node>& nodes, std::string_view at);
  void NodeChanged(const Node& node);
  void NodeDeleted(const Node& node);
  // Accepts a node from the response to a write. Ignores the response if a watch has already reported a newer version
  // or the deletion of the node.
  void NodeWritten(const Node& node);
  std::optional<Node> FindNode(const std::string& name) const;

  // ----- objects of a driver: DaemonSet, ControllerRevision, Pod (the driver's own) and NodeMaintenance

  // Accepts a list of all objects of the kind.
  template <typename T>
  void Listed(std::size_t driver, std::vector<T> objects);
  // Changed and Deleted do nothing before the first list, so that a single object is never mistaken for the complete
  // list of its kind.
  template <typename T>
  void Changed(std::size_t driver, T object);
  template <typename T>
  void Deleted(std::size_t driver, const T& object);
  // Returns true if the kind T has been listed, and listed again since the cluster was last restored from a backup. T can
  // also be Node.
  template <typename T>
  bool IsListed(std::size_t driver) const;
  std::vector<DaemonSet> DaemonSets(std::size_t driver) const { return Of<DaemonSet>(driver).All(); }
  std::vector<ControllerRevision> Revisions(std::size_t driver) const { return Of<ControllerRevision>(driver).All(); }
  // Returns the driver's pods on the node, or the driver's pods without a node if `node` is empty.
  std::vector<Pod> DriverPods(std::size_t driver, const std::string& node) const { return Of<Pod>(driver).On(node); }
  // Returns the NodeMaintenances of the node; nullopt if NodeMaintenances must be listed first, or if an unreadable
  // NodeMaintenance may belong to the node.
  std::optional<std::vector<NodeMaintenance>> Maintenances(std::size_t driver, const std::string& node) const;

  // ----- DRA objects
  //
  // All drivers share these objects.

  // Selects the DRA drivers whose objects are kept for `driver`. Must be called before any object is added.
  void FollowDevices(std::size_t driver, std::vector<std::string> dra_drivers);
  // Changes DRA objects. `change` modifies the objects and returns the nodes whose data has changed.
  template <typename F>
  void ChangeDevices(F change) {
    NoteDevices(change(devices_));
  }
  template <typename T>
  bool AreDevicesListed() const {
    return devices_.IsListed<T>();
  }
  absl::StatusOr<NodeDevices> Devices(std::size_t driver, const std::string& node) const {
    return devices_.On(node, drivers_[driver].dra_drivers);
  }
  bool KnowsClaim(const std::string& ns, const std::string& name) const { return devices_.KnowsClaim(ns, name); }
  // Returns findings about DRA objects that cannot be read and may belong to any node; empty if the driver does not use
  // DRA objects.
  std::vector<Finding> DeviceFindings(std::size_t driver) const;

  // ----- all pods of a node
  //
  // A node's pods are known only from a list that was read after the node's cordon last changed. There are two kinds of
  // callers, which ensure this in different ways:
  // - WatchCache gets a ticket before it requests the list. The list has no version (ClusterReader::ListPods). The
  //   watch on all pods reports changes while the list is read, and these changes must be merged with the list.
  // - A host passes the version of the list, because a host could mix up tickets (ADR 0016). Hosts have no watch on all
  //   pods: each list replaces the previous one.

  // Sets the nodes whose pods are kept for the driver; the pods of other nodes are forgotten, unless another driver is
  // interested in them. Returns the nodes whose data was dropped.
  std::vector<std::string> SetInterest(std::size_t driver, std::set<std::string> nodes);
  // Returns all pods on the node; nullopt if they are unknown.
  std::optional<std::vector<Pod>> PodsOn(const std::string& node) const;
  bool KnowsPodsOn(const std::string& node) const;

  // Must be called whenever the watch on all pods starts or restarts, because the changes between two watches are
  // unknown.
  void PodsBegin();
  // Stores the pod if it can be read. Otherwise the pods of the node are unknown until they are listed again.
  void PodChanged(const Pod& pod);
  void PodDeleted(const Pod& pod);
  // Returns a ticket for a list of the node's pods; nullopt if the watch has not started, or if no driver is interested
  // in the node. Several lists can be in progress.
  std::optional<int> BeginPodList(const std::string& node);
  // Accepts the list for which the ticket was issued. Returns false if the ticket has become invalid because the watch
  // restarted, the cordon changed, or no driver is interested in the node any longer.
  bool EndPodList(const std::string& node, int ticket, const std::vector<Pod>& pods);
  void AbandonPodList(const std::string& node, int ticket);

  // Accepts a list of the node's pods, read at version `at`, and adds the node to the driver's interest. Returns false
  // if the node does not exist, or if the list is older than the node's cordon or the interest in its pods. Also
  // returns false if a pod cannot be read; the pods of the node are then unknown, and WhyNoPods names the unreadable
  // pod.
  bool PutPods(std::size_t driver, const std::string& node, std::string_view at, const std::vector<Pod>& pods);
  void PodsFailed(std::size_t driver, const std::string& node, std::string why);
  // Returns why the last list of the node's pods failed; empty if that list succeeded.
  std::string WhyNoPods(const std::string& node) const;

  // ----- changes

  bool HasChanges(std::size_t driver) const { return !drivers_[driver].changes.empty(); }
  // Returns the changes since the last call; the first call returns everything.
  CacheChanges Take(std::size_t driver);
  // Resets the driver for another engine: the next Take returns everything, and the driver is no longer interested in
  // any node.
  void Attach(std::size_t driver);

 private:
  struct Driver {
    std::tuple<Collection<DaemonSet>, Collection<ControllerRevision>, Collection<Pod>, Collection<NodeMaintenance>>
        objects = {};
    std::vector<std::string> dra_drivers = {};
    std::set<std::string> interest = {};
    CacheChanges changes = {.everything = true, .driver = true};
  };
  // The pods of a node in which a driver is interested.
  struct NodePods {
    bool known = false;
    std::set<int> lists = {};            // tickets of the lists in progress
    std::string void_since = {};         // node version that a list must have reached to be valid
    std::string failure = {};            // error of the last list
    PackedPods pods = {};                // most of the stored data
    std::set<std::string> deleted = {};  // UIDs of pods that were deleted while lists were in progress
    bool IsFollowed() const { return known || !lists.empty(); }
  };

  template <typename T>
  Collection<T>& Of(std::size_t driver) {
    return std::get<Collection<T>>(drivers_[driver].objects);
  }
  template <typename T>
  const Collection<T>& Of(std::size_t driver) const {
    return std::get<Collection<T>>(drivers_[driver].objects);
  }
  // Stores `object`, and moves from it.
  template <typename T>
  void Put(std::size_t driver, T& object);
  template <typename T>
  void Drop(std::size_t driver, const std::string& key);

  bool IsSetBack(const std::vector<Node>& nodes, std::string_view at) const;
  void PutNode(const Node& node, bool listed);
  void DropNode(const std::string& name);

  // Returns the version of the node; empty if the node does not exist.
  std::string VersionOf(const std::string& node) const;

  NodePods& Follow(const std::string& node);
  // Returns the pods of the node, and adds the node to the driver's interest. Returns nullptr if the node does not
  // exist.
  NodePods* FollowFor(std::size_t driver, const std::string& node);
  void ForgetPods(const std::string& node);
  void ForgetPodsAround(const Pod& unreadable);

  void NoteChange(std::size_t driver, const std::string& node);
  void NoteChangeForAll(const std::string& node);
  void NoteAllNodes(std::size_t driver);
  void NoteDevices(const ChangedNodes& nodes);

  // The nodes by name; nullopt until the first list.
  std::optional<std::map<std::string, PackedNode>> nodes_ = std::nullopt;
  std::string nodes_at_ = {};  // latest version that a list or watch has reported
  std::vector<Driver> drivers_;
  DeviceObjects devices_ = {};
  std::map<std::string, NodePods> pods_ = {};
  bool pods_watched_ = false;  // true if the watch on all pods has started
  int last_ticket_ = 0;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_OBJECT_STORE_H_
