/// What the engine has asked of the API server and what it heard: facts that Step decides by.
///
/// Defines Outcome, PatchAttempt, PodAttempt, MaintenanceAttempt, NodeAttempts, AttemptLog and the pacing that follows
/// from them.
///
///     log.PatchSent(node, patch, clock.Now());
///     ...  // send it
///     log.PatchAnswered(node.uid, Outcome::kApplied, /*message=*/"", clock.Now());
///
/// - An object with an unanswered request gets no new one.
/// - A node whose patch was answered by 409, or not clearly, counts at its old and its new state until a newer version
///   has been read: the patch may have been applied. Until then it is repeated after 1 s, doubling to 30 s; one that was
///   answered by 409 after 15 s, doubling likewise, as the next will be most likely, too.
/// - An accepted eviction is not repeated for 30 s. A refused one is due after max(Retry-After, 5 s doubling to 40 s),
///   varied by up to 10 % by a hash, so that evictions spread without a random number.
/// Losing the log (a crash) costs repeated requests, never a broken rule. A value; not thread-safe.
#ifndef DRIVERUPGRADE_ATTEMPT_LOG_H_
#define DRIVERUPGRADE_ATTEMPT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"

namespace driverupgrade {

/// What an answer says about a write.
enum class Outcome : std::uint8_t {
  kApplied,     ///< Accepted by the server.
  kNotApplied,  ///< Clearly refused.
  kUnclear,     ///< Lost answer, server error: it may have been applied.
  /// 409: the object is of another version by now, which an earlier try of ours may have made.
  kConflict,
};

/// A write to a node at one of its versions.
struct PatchAttempt {
  /// The version the patches below were based on. They can apply to no other.
  std::string based_on = {};
  /// Every patch sent at that version that was not clearly refused: each may have been applied.
  std::vector<PatchNodeParams> possible = {};
  /// Tries since the last that was applied.
  int count = 0;
  absl::Time sent_at = absl::UnixEpoch();
  /// nullopt: not answered yet.
  std::optional<Outcome> outcome = std::nullopt;
  absl::Time answered_at = absl::UnixEpoch();
  /// What the server said, for people; empty if applied.
  std::string message = {};
  friend bool operator==(const PatchAttempt&, const PatchAttempt&) = default;
};

/// An eviction or a deletion of one pod (one UID).
struct PodAttempt {
  int count = 0;
  absl::Time sent_at = absl::UnixEpoch();
  std::optional<Outcome> outcome = std::nullopt;
  absl::Time answered_at = absl::UnixEpoch();
  Refusal refusal = Refusal::kNone;
  absl::Duration retry_after = absl::ZeroDuration();
  /// Name of the refusing disruption budget, if known.
  std::string budget = {};
  std::string message = {};
  friend bool operator==(const PodAttempt&, const PodAttempt&) = default;
};

/// The last call about one NodeMaintenance.
struct MaintenanceAttempt {
  MaintenanceCall::Kind kind = MaintenanceCall::Kind::kCreate;
  /// The version that was judged; empty: there was none.
  std::string based_on = {};
  int count = 0;
  /// nullopt: not answered yet.
  std::optional<Outcome> outcome = std::nullopt;
  absl::Time answered_at = absl::UnixEpoch();
  std::string message = {};
  friend bool operator==(const MaintenanceAttempt&, const MaintenanceAttempt&) = default;
};

/// How often another client has removed the state label of a node.
struct LabelLoss {
  /// At least 1.
  int count = 0;
  /// When the label was last found missing.
  absl::Time last = absl::UnixEpoch();
  friend bool operator==(const LabelLoss&, const LabelLoss&) = default;
};

struct NodeAttempts {
  std::optional<PatchAttempt> patch = std::nullopt;
  /// nullopt: no other client has removed the label within the last two hours.
  std::optional<LabelLoss> label_loss = std::nullopt;
  /// By pod UID.
  std::map<std::string, PodAttempt> pods = {};
  /// By name of the NodeMaintenance.
  std::map<std::string, MaintenanceAttempt> maintenances = {};
  /// The newest version of the node that is known to have been read: a list may be older than the one before.
  std::string read_version = {};
  /// Adds the answer to a request about a pod, for callers that have one request in flight at a time:
  ///
  ///     const auto answer = cluster.EvictPod(context, {.pod = pod});
  ///     attempts.PodAnswered(pod.uid, AttemptOf(answer, clock.Now()));
  void PodAnswered(const std::string& pod_uid, PodAttempt answer);
  bool empty() const { return !patch && !label_loss && pods.empty() && maintenances.empty(); }
  friend bool operator==(const NodeAttempts&, const NodeAttempts&) = default;
};

/// Whether resource version `a` is newer than `b`. Versions that are not decimal numbers are newer when
/// they differ.
bool IsNewerVersion(std::string_view a, std::string_view b);
/// Whether resource version `a` is certainly older than `b`: of versions that are not decimal numbers
/// nobody knows.
bool IsOlderVersion(std::string_view a, std::string_view b);
/// Whether the outcome of the last patch is known: it was answered, and the node has been read at a newer version or
/// the patch was clearly refused.
bool IsSettled(const PatchAttempt& attempt, const Node& node);
/// When a node may be patched again at the version `node` has; InfiniteFuture() while an answer is outstanding.
absl::Time NextPatchDue(const PatchAttempt& attempt, const Node& node);
/// When the same request for the pod may be sent again; InfiniteFuture() while an answer is outstanding.
absl::Time NextPodRequestDue(const PodAttempt& attempt, std::string_view pod_uid);
/// When a patch that does nothing but write the label again is due: 10 s after the first loss, doubling to 1 h.
absl::Time NextLabelDue(const LabelLoss& loss);
/// When a loss is forgotten: 2 h after the label was last found missing.
absl::Time LabelLossEnds(const LabelLoss& loss);
/// When the call may be made; InfiniteFuture() while an answer is outstanding.
absl::Time NextMaintenanceCallDue(const MaintenanceAttempt& attempt, const MaintenanceCall& call);

/// Returns what the answer to an eviction says, for NodeAttempts::PodAnswered and AttemptLog::PodRequestAnswered. `now`:
/// when the answer came.
PodAttempt AttemptOf(const absl::StatusOr<EvictionAnswer>& answer, absl::Time now);
/// The same of a deletion.
PodAttempt AttemptOf(const absl::Status& answer, absl::Time now);
/// Returns what the answer to a write says about its effect.
Outcome OutcomeOf(const absl::Status& answer);

class AttemptLog {
 public:
  void PatchSent(const Node& node, const PatchNodeParams& patch, absl::Time now);
  void PatchAnswered(const std::string& node_uid, Outcome outcome, std::string message, absl::Time now);
  /// `node_version`: that of the node as it was read when the request was decided.
  void PodRequestSent(const std::string& node_uid, std::string_view node_version, const std::string& pod_uid,
                      absl::Time now);
  /// `answer.count` and `answer.sent_at` are kept as they are in the log.
  void PodRequestAnswered(const std::string& node_uid, const std::string& pod_uid, PodAttempt answer);
  void MaintenanceCallSent(const std::string& node_uid, const MaintenanceCall& call);
  void MaintenanceCallAnswered(const std::string& node_uid, const std::string& name, Outcome outcome,
                               std::string message, absl::Time now);
  /// Forgets the calls about a node that nothing is asked for any more.
  void MaintenancesOver(const std::string& node_uid);
  /// Forgets what a read has settled: patches that are over, pods that are not in `live_pods`, if given.
  void NodeRead(const Node& node, const std::set<std::string>* live_pods);
  /// A pass has started: what is read from now on was read at `now` or later.
  void PassBegan(absl::Time now) { now_ = now; }
  /// Notes whether a node that was read carries its state label `key`. The label is lost if the node carried it before, or
  /// was sent it, or if it is missing from a node whose upgrade `is_in_progress`. To be called before NodeRead.
  void StateLabelRead(const Node& node, const std::string& key, bool is_in_progress);
  /// The engine removes the labels on its own: a label that is missing is not lost.
  void LabelsRemoved() { labelled_.clear(); }
  /// The clock has been set back to `now`: nothing has happened later than that.
  void SetBack(absl::Time now);
  /// Forgets a node that no longer exists.
  void Forget(const std::string& node_uid) {
    nodes_.erase(node_uid);
    labelled_.erase(node_uid);
  }
  /// Forgets nodes that no longer exist.
  void KeepOnly(const std::set<std::string>& node_uids);
  /// Nodes of which something is known.
  std::size_t size() const { return nodes_.size(); }
  /// Empty if there is nothing about the node.
  NodeAttempts ForNode(const std::string& node_uid) const;

 private:
  std::map<std::string, NodeAttempts> nodes_;
  std::set<std::string> labelled_;  // UIDs of nodes that were last read with the state label
  absl::Time now_ = absl::InfinitePast();
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_ATTEMPT_LOG_H_
