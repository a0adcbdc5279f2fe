// The nodes, driver and workloads of one test, which no other test uses and which are deleted when the test ends.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_WORLD_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_WORLD_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "control_plane.h"
#include "node_timeline.h"

namespace driverupgrade::e2e {

// A pod with this annotation does not become Ready (kubernetes/stages.yaml).
inline constexpr char kHold[] = "sim/hold";

struct Workload {
  std::string name = "work";
  int replicas = 1;
  std::string node;                    // node on which the pods must run; empty = any node
  std::optional<int> unavailable_max;  // limit of the disruption budget; nullopt = no budget
  bool uses_gpu = true;
  std::string stop_delay = "100ms";  // time that a pod needs to stop
};

struct DriverPod {
  std::string name;
  std::string node;
  std::string revision;
  bool is_ready = false;
  bool is_held = false;  // the pod has kHold
};

struct NodeEvent {
  std::string node;
  std::string type;
  std::string reason;
  std::string message;
  int count = 0;
};

// All waits have a time limit, after which they throw a std::runtime_error that names the missing condition.
class World {
 public:
  // Creates two namespaces, and `nodes` nodes that are Ready. Only one world may exist at a time, because an upgrade
  // includes every node that has the world's labels. With kByPlugin, the nodes offer GPUs through a device plugin. With
  // kByClaims, the test publishes the devices itself.
  enum class Gpus { kByPlugin, kByClaims };
  World(ControlPlane& control_plane, const std::string& name, int nodes, Gpus gpus = Gpus::kByPlugin);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  ControlPlane& control_plane() const { return control_plane_; }
  const std::vector<std::string>& nodes() const { return nodes_; }
  const std::string& driver_ns() const { return driver_ns_; }
  const std::string& workload_ns() const { return workload_ns_; }
  // Label selector for the nodes of this world.
  const std::string& selector() const { return selector_; }

  // Deploys a DaemonSet `driver` (OnDelete, label app=driver). Returns when it is Ready on every node. Afterwards, the
  // operator is allowed to delete pods in the DaemonSet's namespace.
  void DeployDriver() const;

  // Gives the driver a new template. The pods of the new revision take `start_delay` ("1500ms") to become Ready. Does
  // not wait.
  void ChangeDriver(const std::string& image, const std::string& start_delay = "100ms") const;

  // Same as ChangeDriver, except that the pods of the new revision are held.
  void ChangeDriverAndHold(const std::string& image) const;

  // Deploys a DaemonSet `validator` (label app=validator) whose pods are held. Returns when every node has a validator
  // pod.
  void DeployHeldValidator() const;

  // Removes the hold on a pod, or on the validator pod on `node`, so that the pod becomes Ready.
  void Release(const std::string& ns, const std::string& pod) const;
  void ReleaseValidator(const std::string& node) const;

  // Creates a Deployment with an optional disruption budget. Returns when all its pods are Ready.
  void Deploy(const Workload& workload) const;

  // Cordons the node as an administrator.
  void Cordon(const std::string& node) const;

  std::map<std::string, NodeVersion> Nodes() const;
  std::vector<DriverPod> DriverPods() const;
  // Returns the driver pod on `node`. Throws std::runtime_error unless there is exactly one.
  DriverPod DriverPodOn(const std::string& node) const;
  std::string NewestDriverRevision() const;
  std::set<std::string> WorkloadPods() const;
  // Returns the pods on `node` with the label app=`app`.
  std::set<std::string> WorkloadPodsOn(const std::string& node, const std::string& app) const;
  // Returns the driver upgrade Events about this world's nodes.
  std::vector<NodeEvent> UpgradeEvents() const;

 private:
  void GiveRights() const;
  void MakeNodes(Gpus gpus) const;
  void PatchDriver(const std::string& image, const std::string& annotation) const;
  void DeleteAll(const std::string& path) const;
  void WaitUntilReady(const std::string& what, const Kubectl::Arguments& get, const char* counter, int wanted) const;
  std::string Fill(std::string_view manifest, const Workload& workload) const;

  ControlPlane& control_plane_;
  std::string name_;
  std::string driver_ns_;
  std::string workload_ns_;
  std::string selector_;
  std::vector<std::string> nodes_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_WORLD_H_
