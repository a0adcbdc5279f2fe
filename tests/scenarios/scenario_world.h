/// The world of a scenario: a fake cluster, a clock that stands at t=1000, and one engine for each driver.
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

/// One driver with its operator's options and its engine.
struct ScenarioDriver {
  DriverIdentity identity;
  /// Of its DaemonSets, all of which have pods with the label app=driver.
  std::string ns = {};
  StateMachineOptions options = {};
  /// The pod filter: pods that this selects use the driver. nullopt: no filter.
  std::optional<LabelSelector> pod_filter = std::nullopt;
  /// Pods for which the filter fails.
  std::set<std::string> pod_filter_failures = {};
  /// The restart-only predicate is SameTemplate.
  bool restart_only = false;
  /// It fails.
  bool restart_only_fails = false;
  UpgradePolicy policy = {.auto_upgrade = true};
  /// From the first policy with a rollout on: a ConfigMap `ledger` in `ns`.
  bool has_ledger = false;
  std::unique_ptr<UpgradeEngine> engine = nullptr;
  /// The operator is being removed: its engine makes no further pass until it is started anew.
  bool released = false;
  /// Of the last pass.
  Plan last_plan = {};
};

/// A call on one object that is to fail, so many times.
struct PlannedFault {
  Operation operation = Operation::kGetNode;
  std::string object = {};
  absl::Status status = {};
  int times = 1;
};

/// What engines are given instead of the fake cluster itself.
using FacadeOver = std::function<std::shared_ptr<ClusterFacade>(std::shared_ptr<ClusterFacade>)>;

/// Told of every pass before it. `revisions`: all ControllerRevisions.
using BeforePass = std::function<void(const ScenarioDriver& driver, const testing::FakeCluster& cluster,
                                      const std::map<std::string, ControllerRevision>& revisions, absl::Time now)>;

class ScenarioWorld {
 public:
  /// `over`: null for the cluster itself. `before_pass`: null for nobody.
  explicit ScenarioWorld(const testing::FakeClusterOptions& options = {}, const FacadeOver& over = nullptr,
                         BeforePass before_pass = nullptr);

  const std::shared_ptr<testing::FakeClock>& clock() const { return clock_; }
  testing::FakeCluster& cluster() { return *cluster_; }
  std::map<std::string, ScenarioDriver>& drivers() { return drivers_; }
  /// Made at first use.
  ScenarioDriver& driver(const std::string& name);

  /// One pass of the driver's engine, with all invariants checked. Throws ScenarioError for one that is broken.
  absl::StatusOr<ReconcileResult> Pass(ScenarioDriver& driver);
  /// Gives all nodes back (dep-F9). Throws ScenarioError for an invariant that is broken.
  absl::StatusOr<ReconcileResult> Release(ScenarioDriver& driver);
  /// Once a fault is planned, reads of our own would use it up: Step is not run a second time any more.
  void NoteFault() { faults_used_ = true; }
  /// For a call on a certain object: a node's name, `namespace/pod`, or for lists the node or the namespace.
  void PlanFault(PlannedFault fault);

  void ExpectStuck(const std::string& node) { stuck_.insert(node); }
  /// Goes on as an operator does, with a pass when the cluster changes and at `wake_at`, and at no other time. In the
  /// end every node is done, but for those that are expected to be stuck.
  void CheckLiveness();
  /// Whether no node of any driver has anything to do or to wait for.
  bool AllDone();

  /// Texts with the domain's prefix of keys, generated pod names and UIDs shortened.
  std::string Readable(std::string text) const;

 private:
  void Watch(const testing::Change& change);
  void StartEngine(ScenarioDriver& driver);
  void CheckPurity(const ScenarioDriver& driver);
  /// The world before a pass of the driver's engine, which is there afterwards.
  PassRecord BeginPass(ScenarioDriver& driver);
  SnapshotOptions Snapshot(const ScenarioDriver& driver) const;
  std::vector<std::string> Unfinished();
  absl::Time PassAll();

  std::shared_ptr<testing::FakeClock> clock_;
  std::shared_ptr<testing::FakeCluster> cluster_;
  std::shared_ptr<ClusterFacade> facade_;
  std::map<std::string, ScenarioDriver> drivers_;
  std::vector<NodeCommit> commits_;
  std::map<std::string, std::string> aliases_;  // of pods' names and UIDs
  std::set<std::string> stuck_;
  bool faults_used_ = false;
  std::vector<PlannedFault> faults_;
  BeforePass before_pass_;
  std::map<std::string, ControllerRevision> revisions_;  // by name
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_WORLD_H_
