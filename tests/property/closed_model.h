/// A small world around the state machine, in which time passes and requests take effect.
///
/// Defines ClosedModel.
///
///     ClosedModel model(MakeRandomCluster(seed));
///     CHECK(model.Settle() == "");
///     model.last().Step();  // the engine's plan once nothing more happens
///
/// Each round consists of the same steps as UpgradeEngine::Reconcile: read, step, read the requested pods, step, apply.
/// Evicted and deleted pods disappear unless their fate is different; deleted driver pods are replaced at the target
/// revision; some writes fail. Administrators and other operators do nothing. The model starts without attempts, like a
/// new engine.
#ifndef DRIVERUPGRADE_TESTS_PROPERTY_CLOSED_MODEL_H_
#define DRIVERUPGRADE_TESTS_PROPERTY_CLOSED_MODEL_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "decide/attempt_log.h"
#include "driverupgrade/cluster_snapshot.h"
#include "property/random_cluster.h"

namespace driverupgrade::tests {

/// Fate of a pod that must leave its node.
enum class PodFate {
  kLeaves,
  kRefused,         ///< Its disruption budget never allows an eviction, but it can be deleted.
  kSeveralBudgets,  ///< Its eviction always fails because of several disruption budgets, but it can be deleted.
  kFails,           ///< Its eviction always fails for another reason, but it can be deleted.
  kStuck,           ///< A finalizer keeps it terminating indefinitely.
};

/// Fate of a driver pod that a DaemonSet creates.
enum class DriverFate { kReady, kSlow, kNeverReady, kCrashes, kNeverMade };

class ClosedModel {
 public:
  explicit ClosedModel(RandomCluster cluster);

  /// Runs rounds until nothing has happened for days. Returns the broken invariant, or a message if the model never
  /// becomes quiet.
  std::string Settle();

  /// Returns the world as seen by the last step.
  const RandomCluster& last() const { return seen_; }
  const Plan& plan() const { return plan_; }
  int rounds() const { return rounds_; }

  PodFate FateOf(const PodRef& pod) const;
  DriverFate DriverFateOf(const std::string& node) const;
  bool JobEnds(const Pod& pod) const;

 private:
  struct World {
    Node node = {};
    std::vector<Pod> driver_pods = {};
    Workloads workloads = {};
  };
  SeededRandom RandomOf(const std::string& key) const;

  std::string Round();
  void Read();
  void ReadPods(const std::vector<std::string>& interest);
  void Apply(const NodePlan& plan);
  bool ApplyPatch(World& world, const NodePlan& plan);
  void Request(World& world, const PodRef& pod, bool eviction);
  Pod* Find(World& world, const PodRef& pod);

  void PassTime();
  void Reap(World& world);
  void RunDaemonSet(World& world);
  void Ripen(World& world);
  void HeartBeat();
  absl::Time NextEvent() const;

  std::map<std::string, World> worlds_;
  RandomCluster seen_;
  Plan plan_;
  internal::AttemptLog log_;
  SeededRandom faults_;
  int rounds_ = 0;
  int quiet_ = 0;  // rounds without a change
  int pods_made_ = 0;
  bool changed_ = false;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_PROPERTY_CLOSED_MODEL_H_
