// Expectations for every rollout that succeeds, checked against the records of the witnesses.
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

// A world before its rollout, and the witnesses of the rollout. Create this object immediately before the driver
// changes.
struct Rollout {
  explicit Rollout(const World& world);

  const World& world;
  std::map<std::string, NodeVersion> nodes_before;
  std::set<std::string> workload_pods_before;
  std::set<std::string> cordoned_before;  // by an administrator
  AuditLog audit;
  WatchWitness watch;
};

// The Go library ignores our annotations, and leaves them on the nodes if it completes an upgrade that we started.
enum class EndedBy { kUs, kGoLibraryToo };

// Expects that every node is upgrade-done with one Ready driver pod of the newest revision, and has none of our labels
// and annotations left. Every node must be schedulable unless an administrator had cordoned it.
void ExpectEveryNodeUpgraded(Rollout& rollout, EndedBy by = EndedBy::kUs);

// Returns the largest number of nodes that were in progress at the same time, and the largest number that were
// unschedulable at the same time. Only the second number includes nodes that an administrator cordoned. Uses both
// witnesses: every node version in the audit log or in the watch counts.
Peaks MeasurePeaks(Rollout& rollout, bool (*holds_slot)(std::string_view) = IsInProgress);

// Expects that the two numbers of MeasurePeaks never exceeded their limits. Nodes that another operator started during
// a turn in `unjudged` are counted, but their starts may exceed the limit.
void ExpectBudgetsKept(Rollout& rollout, int in_progress_max, int unschedulable_max,
                       bool (*holds_slot)(std::string_view state) = IsInProgress,
                       const std::vector<Turn>& unjudged = {});

// Expects that both witnesses are complete: the last state of every node is in the watch and in the audit log.
void ExpectWitnessesSawTheEnd(Rollout& rollout);

// Expects that the audit log and the watch report the same versions of every node. Do not use this function if the
// operator was killed, because the audit log does not record the result of a request whose sender has died.
void ExpectWitnessesAgree(Rollout& rollout);

// Same as ExpectPodsMovedByEvictionOnly, except that workload pods that existed before the rollout may still exist.
void ExpectNothingElseWritten(Rollout& rollout);

// Expects that the operator has only changed nodes, evicted workload pods, deleted driver pods, and written Events and
// the objects that replicas share (the Lease and the ledger). Every workload pod that existed before the rollout must
// have been evicted.
void ExpectPodsMovedByEvictionOnly(Rollout& rollout);

// Expects that no node was stuck during the rollout: no node has shown its gate, and the operator sent at most
// `per_node` requests for each node plus `at_start` more. Evictions, watches, Leases and Events do not count.
void ExpectUsualRequests(Rollout& rollout, int per_node, int at_start);

// Returns how many of the operator's patches changed the annotation that shows the node's gate.
int CountShownGates(AuditLog& audit, const std::string& node);

// Expects one Event for every state on the way from upgrade-required to upgrade-done.
void ExpectOneEventForEachState(Rollout& rollout);

// The annotation that shows a node's gate.
inline constexpr char kWaitingFor[] = "nvidia.com/gpu-driver-upgrade.waiting-for";

// Returns the message of the Event that reports this state.
std::string StateMessage(const std::string& state);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_ROLLOUT_EXPECTATIONS_H_
