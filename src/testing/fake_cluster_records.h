// What the model behind FakeCluster holds: objects with what is behind them, and what will happen to them.
#ifndef DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_RECORDS_H_
#define DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_RECORDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/testing/fake_cluster.h"

namespace driverupgrade::testing::internal {

inline constexpr char kRevisionHashLabel[] = "controller-revision-hash";

/// Namespace and name.
using Key = std::pair<std::string, std::string>;

struct PodRecord {
  /// Not null; shared with the log.
  std::shared_ptr<const Pod> pod = {};
  PodBehavior behavior = {};
};

struct CrashRule {
  std::string hash = {};
  std::string node_name = {};
};

struct DaemonSetRecord {
  DaemonSet daemon_set = {};
  DaemonSetSpec spec = {};
  /// What new pods are made from: lags behind spec.hash until the controller has observed the template.
  std::string observed_hash = {};
  std::vector<CrashRule> crash_rules = {};
  /// Pod templates by hash, as JSON, where they were given.
  std::map<std::string, std::string> templates = {};
  /// RollingUpdate: there may be pods of an earlier template, and whether the controller will look at them.
  bool rolling = false;
  bool roll_queued = false;
};

struct WorkloadRecord {
  WorkloadSpec spec = {};
  std::string uid = {};
  /// Pod names of a StatefulSet.
  std::set<std::string> identities = {};
  /// Its pods that count towards the replicas.
  int active = 0;
  /// Its pods by node, and those of these nodes that can take more, ordered by that number.
  std::map<std::string, int> pods_on_node = {};
  std::set<std::pair<int, std::string>> nodes_by_load = {};
  /// No open node before this one that fits is without a pod of it, but those that were opened after `openings_seen`.
  std::string free_from = {};
  std::size_t openings_seen = 0;
};

/// Nodes that have been opened, in order: of those since any of them, the first by name.
class Openings {
 public:
  void Note(const std::string& node) {
    ++count_;
    while (!smallest_.empty() && smallest_.back().second >= node) smallest_.pop_back();
    smallest_.emplace_back(count_, node);
  }
  std::size_t count() const { return count_; }
  /// nullptr: none has been opened since there were `seen`.
  const std::string* SmallestSince(std::size_t seen) const {
    const auto found = std::upper_bound(smallest_.begin(), smallest_.end(), seen,
                                        [](std::size_t number, const auto& opening) { return number < opening.first; });
    return found == smallest_.end() ? nullptr : &found->second;
  }

 private:
  std::size_t count_ = 0;
  /// With its number; each is smaller by name than all that came after it.
  std::vector<std::pair<std::size_t, std::string>> smallest_;
};

struct BudgetRecord {
  DisruptionBudgetSpec spec = {};
  std::string uid = {};
  /// Matching pods that are ready, not being deleted, and on a ready node.
  int healthy = 0;
  /// Matching pods by UID of the controller; empty for none.
  std::map<std::string, int> pods_by_owner = {};
};

/// A NodeMaintenance, and what else the operator keeps in it.
struct MaintenanceRecord {
  NodeMaintenance object = {};
  /// Order of creation.
  std::int64_t number = 0;
  std::int64_t generation = 1;
  bool has_finalizer = false;
  /// Annotations: what the node was when it was to be cordoned; when the wait began; that it was Ready.
  std::optional<bool> initially_unschedulable = {};
  std::optional<absl::Time> wait_start = {};
  bool ready_stamped = false;
  /// The drain request, if there is one: since when, and the pods that were to be evicted.
  std::optional<absl::Time> drain_start = {};
  std::vector<PodRef> drain_pods = {};
  /// When the operator looks at the object next.
  absl::Time next_step = absl::InfiniteFuture();
};

enum class EffectKind : std::uint8_t {
  kPodStarted,
  kPodCrashed,
  kPodFinished,
  kPodStopped,
  kSchedule,
  kCollectPods,
  kSyncDaemonSet,
  kRollDaemonSet,
  kObserveTemplate,
  kSyncWorkload,
  kStepMaintenance,
  kStepDeviceTaintRule,
};

/// Something that the cluster will do. What it is about may be gone by then: the UID tells.
struct Effect {
  EffectKind kind = EffectKind::kSchedule;
  /// Pod, DaemonSet, NodeMaintenance or DeviceTaintRule.
  Key key = {};
  std::string uid = {};
  std::string node_name = {};
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_RECORDS_H_
