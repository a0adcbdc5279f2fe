// What must be true during and after every rollout that ends well, from what the witnesses saw.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_ROLLOUT_EXPECTATIONS_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_ROLLOUT_EXPECTATIONS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "audit_log.h"
#include "node_timeline.h"
#include "watch_witness.h"
#include "world.h"

namespace driverupgrade::e2e {

// A world before its rollout, and the witnesses of the rollout. Make it right before the driver is changed.
struct Rollout {
  explicit Rollout(const World& world);

  const World& world;
  std::map<std::string, NodeVersion> nodes_before;
  std::set<std::string> workload_pods_before;
  std::set<std::string> cordoned_before;  // by an administrator
  AuditLog audit;
  WatchWitness watch;
};

// The Go library knows no annotations of ours, and leaves them where it ends what we have begun.
enum class EndedBy { kUs, kGoLibraryToo };

// Every node is upgrade-done with one Ready driver pod of the newest revision, nothing of ours is left on it,
// and it is schedulable unless an administrator had cordoned it.
void ExpectEveryNodeUpgraded(Rollout& rollout, EndedBy by = EndedBy::kUs);

// The most nodes that were in progress (those of an administrator not counted) and unschedulable (those counted) at one
// time, by both witnesses: every version of every node that is in the audit log or was seen by the watch.
Peaks MeasurePeaks(Rollout& rollout, bool (*holds_slot)(std::string_view) = IsInProgress);

// There were never more of either than allowed. What somebody else began, in one of `unjudged`, is counted and not
// judged.
void ExpectBudgetsKept(Rollout& rollout, int in_progress_max, int unschedulable_max,
                       bool (*holds_slot)(std::string_view state) = IsInProgress,
                       const std::vector<Turn>& unjudged = {});

// Both witnesses have come to the end: the last state of every node is in the watch and in the audit log.
void ExpectWitnessesSawTheEnd(Rollout& rollout);

// The audit log tells the same story of every node as the watch. Not so if the operator was killed: of a
// request whose sender is gone the audit log does not say what came of it.
void ExpectWitnessesAgree(Rollout& rollout);

// As ExpectPodsMovedByEvictionOnly, but some of the workload pods may have been left alone.
void ExpectNothingElseWritten(Rollout& rollout);

// The operator has written nothing but nodes, evictions of workload pods, deletions of driver pods,
// Events, and the objects by which replicas agree: Lease and ledger. Every workload pod of before the rollout was
// evicted.
void ExpectPodsMovedByEvictionOnly(Rollout& rollout);

// Expects a rollout in which no node was stuck: no node has shown its gate, and the operator sent at most `per_node` requests for each node
// and `at_start` more. Evictions, watches, Leases and Events do not count.
void ExpectUsualRequests(Rollout& rollout, int per_node, int at_start);

// How many of the operator's patches changed the annotation of the node that shows its gate.
int CountShownGates(AuditLog& audit, const std::string& node);

// One Event for every state on the way from upgrade-required to upgrade-done.
void ExpectOneEventForEachState(Rollout& rollout);

// The annotation by which a node shows its gate.
inline constexpr char kWaitingFor[] = "nvidia.com/gpu-driver-upgrade.waiting-for";

// How the states of a rollout read in an Event.
std::string StateMessage(const std::string& state);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_ROLLOUT_EXPECTATIONS_H_
