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

// Name of the DRA driver of all devices.
inline constexpr char kDeviceDriver[] = "gpu.nvidia.com";

/// A driver, its operator's options, and its engine.
struct ScenarioDriver {
  DriverIdentity identity;
  /// Namespace of the driver's DaemonSets. All their pods have the label app=driver.
  std::string ns = {};
  StateMachineOptions options = {};
  /// Selects the pods that use the driver; nullopt if the operator has no pod filter.
  std::optional<LabelSelector> pod_filter = std::nullopt;
  /// Pods for which the filter fails.
  std::set<std::string> pod_filter_failures = {};
  /// True if the operator has a restart-only predicate, which is SameTemplate.
  bool restart_only = false;
  /// True if the restart-only predicate fails.
  bool restart_only_fails = false;
  UpgradePolicy policy = {.auto_upgrade = true};
  /// True once a policy has contained a rollout. The ledger is then the ConfigMap `ledger` in `ns`.
  bool has_ledger = false;
  std::unique_ptr<UpgradeEngine> engine = nullptr;
  /// True if the operator is being removed. Its engine then runs no further pass until the operator is started again.
  bool released = false;
  /// Plan of the last pass.
  Plan last_plan = {};
};

/// An error that the next `times` calls on one object return.
struct PlannedFault {
  Operation operation = Operation::kGetNode;
  std::string object = {};
  absl::Status status = {};
  int times = 1;
};

/// Returns the facade that engines use instead of the fake cluster itself.
using FacadeOver = std::function<std::shared_ptr<ClusterFacade>(std::shared_ptr<ClusterFacade>)>;

/// Callback before every pass. `revisions` contains all ControllerRevisions.
using BeforePass = std::function<void(const ScenarioDriver& driver, const testing::FakeCluster& cluster,
                                      const std::map<std::string, ControllerRevision>& revisions, absl::Time now)>;

class ScenarioWorld {
 public:
  /// If `over` is null, engines use the cluster itself. If `before_pass` is null, nothing is called.
  explicit ScenarioWorld(const testing::FakeClusterOptions& options = {}, const FacadeOver& over = nullptr,
                         BeforePass before_pass = nullptr);

  const std::shared_ptr<testing::FakeClock>& clock() const { return clock_; }
  testing::FakeCluster& cluster() { return *cluster_; }
  std::map<std::string, ScenarioDriver>& drivers() { return drivers_; }
  /// Returns the driver and creates it at the first use of its name.
  ScenarioDriver& driver(const std::string& name);

  /// Runs one pass of the driver's engine and checks all invariants. Throws ScenarioError if an invariant is broken.
  absl::StatusOr<ReconcileResult> Pass(ScenarioDriver& driver);
  /// Releases all nodes (dep-F9). Throws ScenarioError if an invariant is broken.
  absl::StatusOr<ReconcileResult> Release(ScenarioDriver& driver);
  /// Must be called when a fault is planned. Afterwards, Pass no longer plans twice to compare the plans, because the
  /// reads of the second run would use up the fault.
  void NoteFault() { faults_used_ = true; }
  /// Plans a fault for calls on one object. The object is a node's name or `namespace/pod`; for lists it is the node or
  /// the namespace.
  void PlanFault(PlannedFault fault);

  void ExpectStuck(const std::string& node) { stuck_.insert(node); }
  /// Continues as an operator would, with passes only when the cluster changes and at `wake_at`. At the end, every node
  /// must be done, except for nodes that are expected to be stuck.
  void CheckLiveness();
  /// Returns true if no node of any driver waits or has work left.
  bool AllDone();

  /// Returns the text with short forms of key domains, generated pod names and UIDs.
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
  std::map<std::string, std::string> aliases_;  // readable names for generated pod names and UIDs
  std::set<std::string> stuck_;
  bool faults_used_ = false;
  std::vector<PlannedFault> faults_;
  BeforePass before_pass_;
  std::map<std::string, ControllerRevision> revisions_;  // by name
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_WORLD_H_
