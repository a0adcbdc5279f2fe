// Records the engine's requests to the API server and their responses, and paces further requests.
//
//     log.PatchSent(node, patch, clock.Now());
//     ...  // send it
//     log.PatchAnswered(node.uid, Outcome::kApplied, /*message=*/"", clock.Now());
//
// - While a request for an object has no response, no further request for that object is sent.
// - If the response to a patch is 409, or the outcome of the patch is unknown, the patch may have been applied. Until a
//   newer version of the node is read, the node counts in both its old and its new state. The patch is retried after
//   one second. The delay doubles with each retry, up to 30 s. After a 409, the first delay is 15 s, because the next
//   patch will most likely be refused as well.
// - An accepted eviction is not repeated for 30 s. A refused eviction is repeated after a delay that starts at 5 s and
//   doubles up to 40 s, or after Retry-After if that is longer. A hash varies this delay by up to 10 %, which spreads
//   evictions without random numbers.
//
// If the log is lost in a crash, requests may be repeated, but no rule is violated. AttemptLog is a value type, and is
// not thread-safe.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ATTEMPT_LOG_H_
#define DRIVERUPGRADE_SRC_DECIDE_ATTEMPT_LOG_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_snapshot.h"

namespace driverupgrade::internal {

// Time within which a watch usually delivers a change.
inline constexpr absl::Duration kStaleReadPatience = absl::Seconds(5);

// Returns true if resource version `a` is newer than `b`. If `a` or `b` is not a decimal number, returns true if they
// differ.
bool IsNewerVersion(std::string_view a, std::string_view b);
// Returns true if resource version `a` is certainly older than `b`. Returns false if `a` or `b` is not a decimal
// number.
bool IsOlderVersion(std::string_view a, std::string_view b);
// Returns true if the outcome of the last patch is known: its response has arrived, and either the node has been read
// at a newer version or the patch was clearly refused.
bool IsSettled(const PatchAttempt& attempt, const Node& node);
// Returns the time at which the node may be patched again, given the version of `node`. Returns InfiniteFuture() while
// a response is outstanding.
absl::Time NextPatchDue(const PatchAttempt& attempt, const Node& node);
// Returns the time at which the request for the pod may be repeated; InfiniteFuture() while a response is outstanding.
absl::Time NextPodRequestDue(const PodAttempt& attempt, std::string_view pod_uid);
// Returns the time at which a patch that only restores the label is due. The delay after the first loss is 10 s, and
// doubles with each further loss, up to 1 h.
absl::Time NextLabelDue(const LabelLoss& loss);
// Returns the time at which a loss is forgotten: 2 h after the label was last found missing.
absl::Time LabelLossEnds(const LabelLoss& loss);
// Returns the time at which the call may be made; InfiniteFuture() while a response is outstanding.
absl::Time NextMaintenanceCallDue(const MaintenanceAttempt& attempt, const MaintenanceCall& call);
absl::Time NextDeviceCallDue(const DeviceAttempt& attempt, const DeviceCall& call);

// Returns the outcome of a write, given the status of its response.
Outcome OutcomeOf(const absl::Status& answer);

class AttemptLog {
 public:
  void PatchSent(const Node& node, const PatchNodeParams& patch, absl::Time now);
  void PatchAnswered(const std::string& node_uid, Outcome outcome, std::string message, absl::Time now);
  // `node_version`: the node version on which the decision to send the request was based.
  void PodRequestSent(const std::string& node_uid, std::string_view node_version, const std::string& pod_uid,
                      absl::Time now);
  // Ignores `answer.count` and `answer.sent_at`, because the log keeps its own values.
  void PodRequestAnswered(const std::string& node_uid, const std::string& pod_uid, PodAttempt answer);
  void MaintenanceCallSent(const std::string& node_uid, const MaintenanceCall& call);
  void MaintenanceCallAnswered(const std::string& node_uid, const std::string& name, Outcome outcome,
                               std::string message, absl::Time now);
  // Forgets the calls for a node that needs no further calls.
  void MaintenancesOver(const std::string& node_uid);
  void DeviceCallSent(const std::string& node_uid, const DeviceCall& call);
  void DeviceCallAnswered(const std::string& node_uid, const std::string& name, Outcome outcome, std::string message,
                          absl::Time now);
  // Forgets the device calls for a node that neither has nor needs rules.
  void DevicesOver(const std::string& node_uid);
  // Forgets requests that this read has settled: finished patches and, if `live_pods` is not null, requests for pods
  // outside `live_pods`.
  void NodeRead(const Node& node, const std::set<std::string>* live_pods);
  // Records the start of a pass. Until the next pass, all data counts as read at `now`.
  void PassBegan(absl::Time now) { now_ = now; }
  // Records whether the node that was read has the state label `key`. A missing label counts as lost if the node had
  // the label before, if a patch that sets the label was applied, or if `is_in_progress` is true. `is_in_progress`:
  // true if an upgrade of the node is in progress. Must be called before NodeRead.
  void StateLabelRead(const Node& node, const std::string& key, bool is_in_progress);
  // Must be called when the engine itself removes the labels, so that missing labels do not count as lost.
  void LabelsRemoved() { labelled_.clear(); }
  // Limits all recorded times to `now`. Must be called when the clock has been set back.
  void SetBack(absl::Time now);
  // Forgets a node that no longer exists.
  void Forget(const std::string& node_uid) {
    nodes_.erase(node_uid);
    labelled_.erase(node_uid);
  }
  // Forgets nodes that no longer exist.
  void KeepOnly(const std::set<std::string>& node_uids);
  // Returns the number of nodes with entries.
  std::size_t size() const { return nodes_.size(); }
  // Returns the attempts for the node; empty if no attempt is known.
  NodeAttempts ForNode(const std::string& node_uid) const;

 private:
  std::map<std::string, NodeAttempts> nodes_;
  std::set<std::string> labelled_;  // UIDs of nodes that were last read with the state label
  absl::Time now_ = absl::InfinitePast();
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ATTEMPT_LOG_H_
