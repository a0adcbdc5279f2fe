// The records of the model behind FakeCluster: the objects with their hidden state, and the queued effects.
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
  /// Hash of the template from which new pods are created. Differs from spec.hash until the controller has observed the
  /// new template.
  std::string observed_hash = {};
  std::vector<CrashRule> crash_rules = {};
  /// Pod templates by hash, as JSON. Contains only templates that the test has specified.
  std::map<std::string, std::string> templates = {};
  /// For RollingUpdate: whether pods of an earlier template may exist, and whether a check by the controller is queued.
  bool rolling = false;
  bool roll_queued = false;
};

struct WorkloadRecord {
  WorkloadSpec spec = {};
  std::string uid = {};
  /// Devices that each new pod claims, one claim for each request, and names of claims that the pods share.
  std::vector<DeviceRequest> own_claims = {};
  std::vector<std::string> shared_claims = {};
  /// Pod names of a StatefulSet.
  std::set<std::string> identities = {};
  /// Number of the workload's pods that count towards the replicas.
  int active = 0;
  /// Number of the workload's pods on each node that has any. `nodes_by_load` contains only nodes that accept more
  /// pods, and is ordered by this number.
  std::map<std::string, int> pods_on_node = {};
  std::set<std::pair<int, std::string>> nodes_by_load = {};
  /// Name at which the search for a free node starts: every suitable open node with a smaller name already has a pod of
  /// the workload, except nodes opened after `openings_seen`.
  std::string free_from = {};
  std::size_t openings_seen = 0;
};

/// The sequence of opened nodes. Finds the smallest name among the nodes opened since a given point.
class Openings {
 public:
  void Note(const std::string& node) {
    ++count_;
    while (!smallest_.empty() && smallest_.back().second >= node) smallest_.pop_back();
    smallest_.emplace_back(count_, node);
  }
  std::size_t count() const { return count_; }
  /// Returns nullptr if no node has been opened since the first `seen` openings.
  const std::string* SmallestSince(std::size_t seen) const {
    const auto found = std::upper_bound(smallest_.begin(), smallest_.end(), seen,
                                        [](std::size_t number, const auto& opening) { return number < opening.first; });
    return found == smallest_.end() ? nullptr : &found->second;
  }

 private:
  std::size_t count_ = 0;
  /// Openings with their numbers. Each name is smaller than all names after it.
  std::vector<std::pair<std::size_t, std::string>> smallest_;
};

struct BudgetRecord {
  DisruptionBudgetSpec spec = {};
  std::string uid = {};
  /// Number of matching pods that are ready, not being deleted, and on a ready node.
  int healthy = 0;
  /// Number of matching pods by UID of their controller; the key is empty for pods without a controller.
  std::map<std::string, int> pods_by_owner = {};
};

/// A NodeMaintenance, and the state that the operator stores in its metadata or in memory.
struct MaintenanceRecord {
  NodeMaintenance object = {};
  /// Position in the order of creation.
  std::int64_t number = 0;
  std::int64_t generation = 1;
  bool has_finalizer = false;
  /// Data of the operator's annotations: whether the node was unschedulable before the cordon, when the wait started,
  /// and whether the object was Ready.
  std::optional<bool> initially_unschedulable = {};
  std::optional<absl::Time> wait_start = {};
  bool ready_stamped = false;
  /// The drain request, if one exists: its start, and the pods to evict.
  std::optional<absl::Time> drain_start = {};
  std::vector<PodRef> drain_pods = {};
  /// Time of the operator's next step for the object.
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

/// A queued effect of the cluster. The object may be deleted and created again before the effect is due, so the effect
/// applies only to an object with this UID.
struct Effect {
  EffectKind kind = EffectKind::kSchedule;
  /// Namespace and name of a Pod, DaemonSet, NodeMaintenance or DeviceTaintRule.
  Key key = {};
  std::string uid = {};
  std::string node_name = {};
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_RECORDS_H_
