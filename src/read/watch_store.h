// What the watches of WatchCache have told: immutable objects, and who has yet to hear of which change. Does no I/O and
// has no threads, so that it can be driven step by step.
#ifndef DRIVERUPGRADE_SRC_READ_WATCH_STORE_H_
#define DRIVERUPGRADE_SRC_READ_WATCH_STORE_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/watch_cache.h"
#include "read/collection.h"
#include "read/packed.h"

namespace driverupgrade::internal {

class WatchStore {
 public:
  explicit WatchStore(std::size_t drivers) : drivers_(drivers) {}

  // Nodes are of concern to all drivers; what else there is, to one.
  // `at`: the version that they were read at. Returns whether the cluster was set back to an earlier state; then
  // `on_set_back` was called before anybody could see a node of that state. It must not block nor call the store.
  bool NodesListed(const std::vector<Node>& nodes, std::string_view at,
                   const std::function<void()>& on_set_back = nullptr);
  void NodeChanged(const Node& node);
  void NodeDeleted(const Node& node);
  // As the answer to a write has it. It may come after the watch has told of something newer, or of the node's end.
  void NodeWritten(const Node& node);

  void DaemonSetsListed(std::size_t driver, std::vector<DaemonSet> objects);
  void DaemonSetChanged(std::size_t driver, DaemonSet object);
  void DaemonSetDeleted(std::size_t driver, const DaemonSet& object);

  void RevisionsListed(std::size_t driver, std::vector<ControllerRevision> objects);
  void RevisionChanged(std::size_t driver, ControllerRevision object);
  void RevisionDeleted(std::size_t driver, const ControllerRevision& object);

  void DriverPodsListed(std::size_t driver, std::vector<Pod> pods);
  void DriverPodChanged(std::size_t driver, Pod pod);
  void DriverPodDeleted(std::size_t driver, const Pod& pod);

  void MaintenancesListed(std::size_t driver, std::vector<NodeMaintenance> objects);
  void MaintenanceChanged(std::size_t driver, NodeMaintenance object);
  void MaintenanceDeleted(std::size_t driver, const NodeMaintenance& object);

  // The watch on all pods begins anew: what happened between is not known.
  void PodsBegin();
  // Pods that cannot be read are not kept: the pods of their nodes are not known any more, and the next list says what
  // is wrong with which.
  void PodChanged(const Pod& pod);
  void PodDeleted(const Pod& pod);

  void Subscribe(std::size_t driver, std::function<void()> on_change);
  // Calls all subscribers, changes or not.
  void WakeEverybody();
  CacheChanges Take(std::size_t driver);
  // Somebody new takes the changes: he is told everything, and what his predecessor was interested in is not his.
  void Attach(std::size_t driver);

  std::shared_ptr<const Node> FindNode(const std::string& name) const;
  std::vector<Pod> DriverPods(std::size_t driver, const std::string& node) const;
  std::vector<DaemonSet> DaemonSets(std::size_t driver) const;
  std::vector<ControllerRevision> Revisions(std::size_t driver) const;
  std::optional<std::vector<NodeMaintenance>> Maintenances(std::size_t driver, const std::string& node) const;
  std::optional<std::vector<Pod>> PodsOn(const std::string& node) const;
  bool KnowsPodsOn(const std::string& node) const;
  void SetInterest(std::size_t driver, std::set<std::string> nodes);

  // Around a list of the node's pods: what the watch tells between the two is kept. There may be several at once. The
  // ticket is void if the watch has begun anew, the cordon has changed, or nobody is interested any more.
  std::optional<int> BeginPodList(const std::string& node);
  bool EndPodList(const std::string& node, int ticket, const std::vector<Pod>& pods);
  void AbandonPodList(const std::string& node, int ticket);

 private:
  struct Driver {
    Collection<DaemonSet> daemon_sets = std::nullopt;
    Collection<ControllerRevision> revisions = std::nullopt;
    Collection<Pod> pods = std::nullopt;
    KeysByNode pods_by_node = {};  // keys in `pods`
    Collection<NodeMaintenance> maintenances = std::nullopt;
    KeysByNode maintenances_by_node = {};
    std::set<std::string> interest = {};
    CacheChanges changes = {.everything = true, .driver = true};
    std::function<void()> on_change = nullptr;
  };
  // The pods of a node of interest.
  struct NodePods {
    bool known = false;
    std::set<int> lists = {};            // tickets of those under way
    PackedPods pods = {};                // by far the most of what is stored
    std::set<std::string> deleted = {};  // UIDs, while lists are under way
    bool IsFollowed() const { return known || !lists.empty(); }
  };
  class Notice;

  bool IsSetBack(const std::vector<Node>& nodes, std::string_view at) const;
  void ForgetNodes(Notice& notice);
  void PutNode(const Node& node, Notice& notice);
  void DropNode(const std::string& name, Notice& notice);
  void PutDriverPod(std::size_t driver, Pod pod, Notice& notice);
  void DropDriverPod(std::size_t driver, const std::string& key, Notice& notice);
  void PutMaintenance(std::size_t driver, NodeMaintenance object, Notice& notice);
  void DropMaintenance(std::size_t driver, const std::string& key, Notice& notice);
  void MaintenanceDiffers(std::size_t driver, const std::string& node, Notice& notice);
  void AllNodesChanged(std::size_t driver, Notice& notice);
  void ForgetPods(const std::string& node, Notice& notice);
  void ForgetPodsAround(const Pod& unreadable, Notice& notice);
  bool IsWanted(const std::string& node) const;

  mutable std::mutex mutex_;
  std::mutex calling_;  // held while subscribers are called
  // By name; nullopt until the first list.
  std::optional<std::map<std::string, PackedNode>> nodes_ = std::nullopt;
  std::string nodes_at_ = {};  // the latest version that was told of
  std::vector<Driver> drivers_;
  std::map<std::string, NodePods> pods_;
  bool pods_watched_ = false;  // the watch on all pods has begun
  int last_ticket_ = 0;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_WATCH_STORE_H_
