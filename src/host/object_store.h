// What a host has handed in of one driver's cluster: lists, and the lines of the watches that follow them.
#ifndef DRIVERUPGRADE_SRC_HOST_OBJECT_STORE_H_
#define DRIVERUPGRADE_SRC_HOST_OBJECT_STORE_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/cluster_types.h"
#include "host/collection.h"

namespace driverupgrade::internal {

// As in driverupgrade/c/driverupgrade.h.
enum class ObjectKind { kNode, kDriverPod, kDaemonSet, kControllerRevision, kNodeMaintenance };

// What has changed since it was taken last.
struct StoreChanges {
  std::set<std::string> nodes = {};
  // May concern any node.
  bool everything = false;
  bool driver = true;
  // The cluster was set back to an earlier state: UIDs and versions may come again.
  bool set_back = false;
};

// The same rules as WatchStore has for the watches of an engine with threads. Not thread-safe.
class HostStore {
 public:
  // Each parses and takes. Errors: InvalidArgument for what is no such list or line, and for a line before a list; nothing
  // is changed then.
  absl::Status Put(ObjectKind kind, std::string_view list);
  absl::Status WatchLine(ObjectKind kind, std::string_view line);

  // As the answer to a write has it. It may come after the watch has told of something newer, or of the node's end.
  void NodeWritten(Node node);

  // The pods of a node, from a list. False: they say nothing about the time after the node's cordon, or there is no such node.
  // Errors: InvalidArgument for what is no list of pods, or has no version.
  absl::StatusOr<bool> PutPods(const std::string& node, std::string_view list);
  // The host could not read them.
  void PodsFailed(const std::string& node, std::string why);
  // Forgets the pods of all other nodes.
  void KeepPodsOf(const std::set<std::string>& nodes);

  // Whether each kind that is needed has been put.
  bool Complete() const { return nodes_ && driver_pods_ && daemon_sets_ && revisions_; }
  StoreChanges Take();

  std::shared_ptr<const Node> FindNode(const std::string& name) const;
  std::vector<std::string> NodeNames() const;
  std::vector<Pod> DriverPods(const std::string& node) const { return ValuesOf(driver_pods_, pods_by_node_, node); }
  std::vector<DaemonSet> DaemonSets() const { return Values(daemon_sets_); }
  std::vector<ControllerRevision> Revisions() const { return Values(revisions_); }
  // nullopt: they were not put, or one of them may be any node's.
  std::optional<std::vector<NodeMaintenance>> Maintenances(const std::string& node) const;
  // nullptr: not read since the node was cordoned.
  const std::vector<Pod>* PodsOn(const std::string& node) const;
  // Why they are not known; empty if they are, or nobody has tried.
  std::string WhyNoPods(const std::string& node) const;

 private:
  // Whether its objects have been put.
  bool IsListed(ObjectKind kind) const;
  struct NodePods {
    // Of the node when what was known about its pods became void: a list has to be newer.
    std::string void_since = {};
    std::optional<std::vector<Pod>> pods = std::nullopt;
    std::string failure = {};
  };

  void NodesListed(std::vector<Node> nodes, const std::string& at);
  bool IsSetBack(const std::vector<Node>& nodes, const std::string& at) const;
  void PutNode(Node node);
  void DropNode(const std::string& name);
  void ForgetPods(const Node& node);
  template <typename T>
  void Changed(const std::string& node);
  template <typename T>
  void Drop(Collection<T>& collection, KeysByNode& by_node, const std::string& key);
  template <typename T>
  void Put(Collection<T>& collection, KeysByNode& by_node, T object);
  template <typename T>
  void Listed(Collection<T>& collection, KeysByNode& by_node, std::vector<T> objects);
  template <typename T, typename OnChange, typename OnDelete>
  absl::Status Line(std::string_view line, OnChange on_change, OnDelete on_delete);

  Collection<Node> nodes_ = std::nullopt;
  std::string nodes_at_ = {};  // the latest version that was told of
  Collection<Pod> driver_pods_ = std::nullopt;
  KeysByNode pods_by_node_ = {};
  Collection<DaemonSet> daemon_sets_ = std::nullopt;
  Collection<ControllerRevision> revisions_ = std::nullopt;
  Collection<NodeMaintenance> maintenances_ = std::nullopt;
  KeysByNode maintenances_by_node_ = {};
  std::map<std::string, NodePods> pods_ = {};  // of each node
  StoreChanges changes_ = {};
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_HOST_OBJECT_STORE_H_
