// Nodes, a driver and workloads of one test, which nobody else sees and which are gone when it ends.
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

// A pod with this annotation does not become Ready (stages.yaml).
inline constexpr char kHold[] = "sim/hold";

struct Workload {
  std::string name = "work";
  int replicas = 1;
  std::string node;                    // empty = any; otherwise its pods run on this one only
  std::optional<int> unavailable_max;  // of its disruption budget (named after it); absent = no budget
  bool uses_gpu = true;
  std::string stop_delay = "100ms";  // how long its pods take to go
};

struct DriverPod {
  std::string name;
  std::string node;
  std::string revision;
  bool is_ready = false;
  bool is_held = false;  // it carries kHold
};

struct NodeEvent {
  std::string node;
  std::string type;
  std::string reason;
  std::string message;
  int count = 0;
};

// All waits are bounded and throw std::runtime_error that says what was waited for.
class World {
 public:
  // Makes two namespaces and `nodes` nodes that are Ready. Only one world at a time: an upgrade looks at
  // every node that carries its labels.
  // `gpus`: whether the nodes offer GPUs by a device plugin. Without one, a test publishes devices itself.
  enum class Gpus { kByPlugin, kByClaims };
  World(ControlPlane& control_plane, const std::string& name, int nodes, Gpus gpus = Gpus::kByPlugin);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  ControlPlane& control_plane() const { return control_plane_; }
  const std::vector<std::string>& nodes() const { return nodes_; }
  const std::string& driver_ns() const { return driver_ns_; }
  const std::string& workload_ns() const { return workload_ns_; }
  // Selects the nodes of this world.
  const std::string& selector() const { return selector_; }

  // A DaemonSet `driver` (OnDelete, label app=driver); returns when it is Ready on every node. The operator
  // may delete pods in its namespace from then on.
  void DeployDriver() const;

  // Gives the driver a new template. The pods of the new revision take `start_delay` ("1500ms") to get Ready.
  // Does not wait for anything.
  void ChangeDriver(const std::string& image, const std::string& start_delay = "100ms") const;

  // Does not wait either. The pods of the new revision are held.
  void ChangeDriverAndHold(const std::string& image) const;

  // A DaemonSet `validator` (label app=validator), whose pods are held; returns when there is one on every node.
  void DeployHeldValidator() const;

  // Lets a held pod become Ready; that of the validator on `node`.
  void Release(const std::string& ns, const std::string& pod) const;
  void ReleaseValidator(const std::string& node) const;

  // A Deployment with an optional disruption budget; returns when all its pods are Ready.
  void Deploy(const Workload& workload) const;

  // As an administrator does it.
  void Cordon(const std::string& node) const;

  std::map<std::string, NodeVersion> Nodes() const;
  std::vector<DriverPod> DriverPods() const;
  // The one on `node`; throws std::runtime_error if it has none or several.
  DriverPod DriverPodOn(const std::string& node) const;
  std::string NewestDriverRevision() const;
  std::set<std::string> WorkloadPods() const;
  // Those of the pods with label app=`app` that are on `node`.
  std::set<std::string> WorkloadPodsOn(const std::string& node, const std::string& app) const;
  // The Events about the nodes of this world that a driver upgrade reported.
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
