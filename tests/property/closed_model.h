/// A small world around the state machine in which time goes on and requests have effects.
///
/// Defines ClosedModel.
///
///     ClosedModel model(MakeRandomCluster(seed));
///     CHECK(model.Settle() == "");
///     model.last().Step();  // what the engine sees and says when nothing happens any more
///
/// Each round does what UpgradeEngine::Reconcile does: read, step, read the pods asked for, step, apply. Evicted and
/// deleted pods go, unless their fate says otherwise; deleted driver pods come back at the wanted revision; some writes
/// fail. No person and no other operator does anything. It starts as a fresh engine does: without attempts.
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

/// What becomes of a pod that is to go.
enum class PodFate {
  kLeaves,
  kRefused,         ///< Its disruption budget never lets it go; a deletion does.
  kSeveralBudgets,  ///< The same, with two budgets.
  kFails,           ///< Its eviction fails for ever.
  kStuck,           ///< A finalizer keeps it terminating for ever.
};

/// What becomes of the driver pod that a DaemonSet makes.
enum class DriverFate { kReady, kSlow, kNeverReady, kCrashes, kNeverMade };

class ClosedModel {
 public:
  explicit ClosedModel(RandomCluster cluster);

  /// Rounds until nothing has happened for days. Returns what is broken: an invariant, or that it never ends.
  std::string Settle();

  /// The world as the last step saw it.
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
  int quiet_ = 0;  // rounds without any change
  int pods_made_ = 0;
  bool changed_ = false;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_PROPERTY_CLOSED_MODEL_H_
