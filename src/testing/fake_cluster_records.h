// What the model behind FakeCluster holds: objects with what is behind them, and what will happen to them.
#ifndef DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_RECORDS_H_
#define DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_RECORDS_H_

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
};

/// Something that the cluster will do. What it is about may be gone by then: the UID tells.
struct Effect {
  EffectKind kind = EffectKind::kSchedule;
  /// Pod, DaemonSet or NodeMaintenance.
  Key key = {};
  std::string uid = {};
  std::string node_name = {};
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_RECORDS_H_
