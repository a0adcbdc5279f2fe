/// The world of a scenario: a fake cluster, a clock that starts at t=1000, and one engine for each driver.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_WORLD_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_WORLD_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "scenarios/scenario_invariants.h"

namespace driverupgrade::tests {

// The DRA driver of all devices.
inline constexpr char kDeviceDriver[] = "gpu.nvidia.com";

/// One driver with its operator's options and its engine.
struct ScenarioDriver {
  DriverIdentity identity;
  /// Namespace of its DaemonSets, whose pods all have the label app=driver.
  std::string ns = {};
  StateMachineOptions options = {};
  /// The pod filter, which selects the pods that use the driver. nullopt: no filter.
  std::optional<LabelSelector> pod_filter = std::nullopt;
  /// Pods for which the filter fails.
  std::set<std::string> pod_filter_failures = {};
  /// True if the operator has a restart-only predicate, which is SameTemplate.
  bool restart_only = false;
  /// True if this predicate fails.
  bool restart_only_fails = false;
  UpgradePolicy policy = {.auto_upgrade = true};
  /// True from the first policy with a rollout on: the ledger is the ConfigMap `ledger` in `ns`.
  bool has_ledger = false;
  std::unique_ptr<UpgradeEngine> engine = nullptr;
  /// True if the operator is being removed: its engine makes no further pass until it is started again.
  bool released = false;
  /// Plan of the last pass.
  Plan last_plan = {};
};

/// An error that is returned by the next `times` calls on one object.
struct PlannedFault {
  Operation operation = Operation::kGetNode;
  std::string object = {};
  absl::Status status = {};
  int times = 1;
};

/// Returns the facade that engines use instead of the fake cluster itself.
using FacadeOver = std::function<std::shared_ptr<ClusterFacade>(std::shared_ptr<ClusterFacade>)>;

/// Called before every pass. `revisions` are all ControllerRevisions.
using BeforePass = std::function<void(const ScenarioDriver& driver, const testing::FakeCluster& cluster,
                                      const std::map<std::string, ControllerRevision>& revisions, absl::Time now)>;

class ScenarioWorld {
 public:
  /// Null `over`: engines use the cluster itself. Null `before_pass`: no call.
  explicit ScenarioWorld(const testing::FakeClusterOptions& options = {}, const FacadeOver& over = nullptr,
                         BeforePass before_pass = nullptr);

  const std::shared_ptr<testing::FakeClock>& clock() const { return clock_; }
  testing::FakeCluster& cluster() { return *cluster_; }
  std::map<std::string, ScenarioDriver>& drivers() { return drivers_; }
  /// Returns the driver, which is created at its first use.
  ScenarioDriver& driver(const std::string& name);

  /// Makes one pass of the driver's engine, and checks all invariants. Throws ScenarioError for a broken one.
  absl::StatusOr<ReconcileResult> Pass(ScenarioDriver& driver);
  /// Releases all nodes (dep-F9). Throws ScenarioError for a broken invariant.
  absl::StatusOr<ReconcileResult> Release(ScenarioDriver& driver);
  /// Must be called when a fault is planned. After that, Step no longer runs a second time, because its reads would use
  /// up the fault.
  void NoteFault() { faults_used_ = true; }
  /// Plans a fault for calls on one object: a node's name, `namespace/pod`, or for lists the node or the namespace.
  void PlanFault(PlannedFault fault);

  void ExpectStuck(const std::string& node) { stuck_.insert(node); }
  /// Continues like an operator, with passes only when the cluster changes and at `wake_at`. In the end every node must
  /// be done, except for those that are expected to be stuck.
  void CheckLiveness();
  /// Returns true if no node of any driver waits or has work left.
  bool AllDone();

  /// Returns the text with shortened key domains, generated pod names and UIDs.
  std::string Readable(std::string text) const;

 private:
  void Watch(const testing::Change& change);
  void StartEngine(ScenarioDriver& driver);
  void CheckPurity(const ScenarioDriver& driver);
  /// Returns the world before a pass of the driver's engine. Creates the engine if necessary.
  PassRecord BeginPass(ScenarioDriver& driver);
  SnapshotOptions Snapshot(const ScenarioDriver& driver) const;
  std::vector<std::string> Unfinished();
  absl::Time PassAll();

  std::shared_ptr<testing::FakeClock> clock_;
  std::shared_ptr<testing::FakeCluster> cluster_;
  std::shared_ptr<ClusterFacade> facade_;
  std::map<std::string, ScenarioDriver> drivers_;
  std::vector<NodeCommit> commits_;
  std::map<std::string, std::string> aliases_;  // for names and UIDs of pods
  std::set<std::string> stuck_;
  bool faults_used_ = false;
  std::vector<PlannedFault> faults_;
  BeforePass before_pass_;
  std::map<std::string, ControllerRevision> revisions_;  // by name
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_WORLD_H_
