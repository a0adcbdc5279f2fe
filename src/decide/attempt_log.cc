#include "decide/attempt_log.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "base/status_macros.h"

namespace driverupgrade::internal {
namespace {

constexpr absl::Duration kAcceptedEvictionRepeats = absl::Seconds(30);
constexpr absl::Duration kRefusedEvictionFirst = absl::Seconds(5);
constexpr absl::Duration kRefusedEvictionMax = absl::Seconds(40);
// Upper limit for the delay that a server requests. The server may be wrong, or a proxy may have sent the response.
constexpr absl::Duration kRetryAfterMax = absl::Minutes(5);
constexpr absl::Duration kPatchRetryFirst = absl::Seconds(1);
// Once the server has refused a patch because the node has changed, it refuses the patch again until a newer version of
// the node is read. This delay applies if no newer version arrives, for example because the server returned the 409 by
// mistake.
constexpr absl::Duration kConflictRetryFirst = absl::Seconds(15);
constexpr absl::Duration kPatchRetryMax = absl::Seconds(30);
constexpr absl::Duration kLabelFirst = absl::Seconds(10);
constexpr absl::Duration kLabelMax = absl::Hours(1);

bool TouchesTheSame(const std::map<std::string, std::optional<std::string>>& a,
                    const std::map<std::string, std::optional<std::string>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.has_value() == other.second.has_value();
  });
}

// Returns true if two patches of the same node at the same version have the same effect. Compares only the keys of
// annotations, because budgets do not use their values.
bool HaveOneEffect(const PatchNodeParams& a, const PatchNodeParams& b) {
  return a.labels == b.labels && a.unschedulable == b.unschedulable && a.taints == b.taints &&
         TouchesTheSame(a.annotations, b.annotations);
}

// Keeps at most two patches with the same effect: a clear refusal removes the last patch, but an earlier patch with an
// unknown outcome must stay.
void AddPossible(const PatchNodeParams& patch, std::vector<PatchNodeParams>& possible) {
  const auto is_same = [&](const PatchNodeParams& other) { return HaveOneEffect(patch, other); };
  if (std::count_if(possible.begin(), possible.end(), is_same) > 1) {
    possible.erase(std::find_if(possible.begin(), possible.end(), is_same));
  }
  possible.push_back(patch);
}

// Returns the value of the label in the last patch that changed the label: nullptr if no patch changed it, nullopt if
// the last patch removed it.
const std::optional<std::string>* WrittenTo(const std::string& label, const PatchAttempt& attempt) {
  for (auto patch = attempt.possible.rbegin(); patch != attempt.possible.rend(); ++patch) {
    if (const auto written = patch->labels.find(label); written != patch->labels.end()) return &written->second;
  }
  return nullptr;
}

// Returns the time at which the call may be made or repeated for the object that was read.
template <typename Call>
absl::Time NextCallDue(const ObjectAttempt<Call>& attempt, const Call& call) {
  if (!attempt.outcome) return absl::InfiniteFuture();
  // If the object has been read at a newer version, or the kind of call differs, this is a new call, whatever the
  // outcome of the last one.
  if (attempt.based_on != call.object.resource_version || attempt.kind != call.kind) return absl::InfinitePast();
  const absl::Duration delay = Doubled(kRefusedEvictionFirst, kRefusedEvictionMax, attempt.count);
  return attempt.answered_at + Spread(delay, call.object.name, attempt.count);
}

template <typename Call>
void NoteSent(const Call& call, ObjectAttempt<Call>& attempt) {
  if (attempt.based_on != call.object.resource_version || attempt.kind != call.kind) attempt.count = 0;
  attempt.kind = call.kind;
  attempt.based_on = call.object.resource_version;
  ++attempt.count;
  attempt.outcome.reset();
}

template <typename Call>
void NoteAnswered(std::map<std::string, ObjectAttempt<Call>>& attempts, const std::string& name, Outcome outcome,
                  std::string message, absl::Time now) {
  const auto found = attempts.find(name);
  if (found == attempts.end()) return;
  found->second.outcome = outcome;
  found->second.answered_at = now;
  found->second.message = std::move(message);
}

bool IsDecimal(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool IsNewerVersion(std::string_view a, std::string_view b) {
  if (!IsDecimal(a) || !IsDecimal(b)) return a != b;
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

bool IsOlderVersion(std::string_view a, std::string_view b) {
  return IsDecimal(a) && IsDecimal(b) && IsNewerVersion(b, a);
}

bool IsSettled(const PatchAttempt& attempt, const Node& node) {
  if (!attempt.outcome) return false;
  // A clear refusal of the last attempt does not settle an earlier attempt with an unknown outcome at the same version.
  return IsNewerVersion(node.resource_version, attempt.based_on) || attempt.possible.empty();
}

absl::Time NextPatchDue(const PatchAttempt& attempt, const Node& node) {
  if (!attempt.outcome) return absl::InfiniteFuture();
  const absl::Duration first = *attempt.outcome == Outcome::kConflict ? kConflictRetryFirst : kPatchRetryFirst;
  const absl::Duration backoff = Spread(Doubled(first, kPatchRetryMax, attempt.count), node.uid, attempt.count);
  switch (*attempt.outcome) {
    case Outcome::kApplied:
      return IsSettled(attempt, node) ? absl::InfinitePast() : attempt.answered_at + kStaleReadPatience;
    case Outcome::kNotApplied: return attempt.answered_at + backoff;
    case Outcome::kUnclear:
    case Outcome::kConflict: return IsSettled(attempt, node) ? absl::InfinitePast() : attempt.answered_at + backoff;
  }
  return absl::InfinitePast();
}

absl::Time NextPodRequestDue(const PodAttempt& attempt, std::string_view pod_uid) {
  if (!attempt.outcome) return absl::InfiniteFuture();
  if (*attempt.outcome == Outcome::kApplied) return attempt.answered_at + kAcceptedEvictionRepeats;
  const absl::Duration delay = std::max(std::min(attempt.retry_after, kRetryAfterMax),
                                        Doubled(kRefusedEvictionFirst, kRefusedEvictionMax, attempt.count));
  return attempt.answered_at + Spread(delay, pod_uid, attempt.count);
}

absl::Time NextLabelDue(const LabelLoss& loss) { return loss.last + Doubled(kLabelFirst, kLabelMax, loss.count); }

absl::Time LabelLossEnds(const LabelLoss& loss) { return loss.last + 2 * kLabelMax; }

absl::Time NextMaintenanceCallDue(const MaintenanceAttempt& attempt, const MaintenanceCall& call) {
  return NextCallDue(attempt, call);
}

absl::Time NextDeviceCallDue(const DeviceAttempt& attempt, const DeviceCall& call) {
  return NextCallDue(attempt, call);
}

Outcome OutcomeOf(const absl::Status& answer) {
  if (answer.ok()) return Outcome::kApplied;
  if (absl::IsAborted(answer)) return Outcome::kConflict;
  return WasNotApplied(answer) ? Outcome::kNotApplied : Outcome::kUnclear;
}

void AttemptLog::PatchSent(const Node& node, const PatchNodeParams& patch, absl::Time now) {
  std::optional<PatchAttempt>& attempt = nodes_[node.uid].patch;
  if (!attempt) attempt.emplace();
  if (attempt->based_on != node.resource_version) {
    attempt->based_on = node.resource_version;
    attempt->possible.clear();
  }
  AddPossible(patch, attempt->possible);
  ++attempt->count;
  attempt->sent_at = now;
  attempt->outcome.reset();
  attempt->message.clear();
}

void AttemptLog::PatchAnswered(const std::string& node_uid, Outcome outcome, std::string message, absl::Time now) {
  const auto found = nodes_.find(node_uid);
  if (found == nodes_.end() || !found->second.patch) return;
  PatchAttempt& attempt = *found->second.patch;
  attempt.outcome = outcome;
  attempt.answered_at = now;
  attempt.message = std::move(message);
  if (outcome == Outcome::kApplied) {
    attempt.count = 0;
    // An empty patch does not change the node's version, so the effect of the patch never becomes visible.
    std::erase_if(attempt.possible, [](const PatchNodeParams& patch) { return patch.empty(); });
  }
  if (outcome == Outcome::kNotApplied && !attempt.possible.empty()) attempt.possible.pop_back();
}

void AttemptLog::PodRequestSent(const std::string& node_uid, std::string_view node_version, const std::string& pod_uid,
                                absl::Time now) {
  NodeAttempts& attempts = nodes_[node_uid];
  if (!IsOlderVersion(node_version, attempts.read_version)) attempts.read_version = node_version;
  PodAttempt& attempt = attempts.pods[pod_uid];
  ++attempt.count;
  attempt.sent_at = now;
  attempt.outcome.reset();
}

void AttemptLog::PodRequestAnswered(const std::string& node_uid, const std::string& pod_uid, PodAttempt answer) {
  const auto node = nodes_.find(node_uid);
  if (node == nodes_.end()) return;
  const auto pod = node->second.pods.find(pod_uid);
  if (pod == node->second.pods.end()) return;
  answer.count = pod->second.count;
  answer.sent_at = pod->second.sent_at;
  pod->second = std::move(answer);
}

void AttemptLog::MaintenanceCallSent(const std::string& node_uid, const MaintenanceCall& call) {
  NoteSent(call, nodes_[node_uid].maintenances[call.object.name]);
}

void AttemptLog::MaintenanceCallAnswered(const std::string& node_uid, const std::string& name, Outcome outcome,
                                         std::string message, absl::Time now) {
  const auto node = nodes_.find(node_uid);
  if (node == nodes_.end()) return;
  NoteAnswered(node->second.maintenances, name, outcome, std::move(message), now);
}

void AttemptLog::MaintenancesOver(const std::string& node_uid) {
  const auto found = nodes_.find(node_uid);
  if (found == nodes_.end()) return;
  std::erase_if(found->second.maintenances, [](const auto& attempt) { return attempt.second.outcome.has_value(); });
  if (found->second.empty()) nodes_.erase(found);
}

void AttemptLog::DeviceCallSent(const std::string& node_uid, const DeviceCall& call) {
  NoteSent(call, nodes_[node_uid].devices[call.object.name]);
}

void AttemptLog::DeviceCallAnswered(const std::string& node_uid, const std::string& name, Outcome outcome,
                                    std::string message, absl::Time now) {
  const auto node = nodes_.find(node_uid);
  if (node == nodes_.end()) return;
  NoteAnswered(node->second.devices, name, outcome, std::move(message), now);
}

void AttemptLog::DevicesOver(const std::string& node_uid) {
  const auto found = nodes_.find(node_uid);
  if (found == nodes_.end()) return;
  std::erase_if(found->second.devices, [](const auto& attempt) { return attempt.second.outcome.has_value(); });
  if (found->second.empty()) nodes_.erase(found);
}

void AttemptLog::NodeRead(const Node& node, const std::set<std::string>* live_pods) {
  const auto found = nodes_.find(node.uid);
  if (found == nodes_.end()) return;
  NodeAttempts& attempts = found->second;
  if (!IsOlderVersion(node.resource_version, attempts.read_version)) attempts.read_version = node.resource_version;
  // A refused patch is kept, because its backoff applies until another patch is applied.
  if (attempts.patch && attempts.patch->outcome && IsSettled(*attempts.patch, node) &&
      *attempts.patch->outcome != Outcome::kNotApplied) {
    attempts.patch.reset();
  }
  if (live_pods != nullptr) {
    // The attempt for a deleted pod is kept until a patch that reports the deletion has been sent and was not refused.
    const bool told = attempts.patch && attempts.patch->outcome != Outcome::kNotApplied;
    std::erase_if(attempts.pods, [&](const auto& pod) {
      return pod.second.outcome && !live_pods->contains(pod.first) &&
             (told || *pod.second.outcome != Outcome::kApplied);
    });
  }
  if (attempts.empty()) nodes_.erase(found);
}

void AttemptLog::StateLabelRead(const Node& node, const std::string& key, bool is_in_progress) {
  const auto label = node.labels.find(key);
  const auto found = nodes_.find(node.uid);
  // The node may have been read before our patch was applied.
  if (found != nodes_.end() && found->second.patch && !IsSettled(*found->second.patch, node)) return;
  std::optional<LabelLoss> loss = found == nodes_.end() ? std::nullopt : found->second.label_loss;
  const bool is_over = loss && now_ >= LabelLossEnds(*loss);
  if (is_over) loss.reset();
  if (label != node.labels.end() && !label->second.empty()) {
    labelled_.insert(node.uid);
  } else {
    const bool was_patched =
        found != nodes_.end() && found->second.patch && found->second.patch->outcome == Outcome::kApplied;
    const std::optional<std::string>* sent = was_patched ? WrittenTo(key, *found->second.patch) : nullptr;
    const bool had_it = labelled_.erase(node.uid) > 0;
    if (sent != nullptr ? sent->has_value() : had_it || (is_in_progress && !loss)) {
      loss = {.count = (loss ? loss->count : 0) + 1, .last = now_};
    }
  }
  if (loss || is_over) nodes_[node.uid].label_loss = loss;
}

void AttemptLog::SetBack(absl::Time now) {
  for (auto& [uid, node] : nodes_) {
    if (node.label_loss) node.label_loss->last = std::min(node.label_loss->last, now);
    if (node.patch) {
      node.patch->sent_at = std::min(node.patch->sent_at, now);
      node.patch->answered_at = std::min(node.patch->answered_at, now);
    }
    for (auto& [pod, attempt] : node.pods) {
      attempt.sent_at = std::min(attempt.sent_at, now);
      attempt.answered_at = std::min(attempt.answered_at, now);
    }
    for (auto& [name, attempt] : node.maintenances) attempt.answered_at = std::min(attempt.answered_at, now);
    for (auto& [name, attempt] : node.devices) attempt.answered_at = std::min(attempt.answered_at, now);
  }
}

void AttemptLog::KeepOnly(const std::set<std::string>& node_uids) {
  std::erase_if(nodes_, [&](const auto& node) { return !node_uids.contains(node.first); });
  std::erase_if(labelled_, [&](const std::string& uid) { return !node_uids.contains(uid); });
}

NodeAttempts AttemptLog::ForNode(const std::string& node_uid) const {
  const auto found = nodes_.find(node_uid);
  return found == nodes_.end() ? NodeAttempts{} : found->second;
}

}  // namespace driverupgrade::internal

namespace driverupgrade {

PodAttempt AttemptOf(const absl::Status& answer, absl::Time now) {
  return {.outcome = internal::OutcomeOf(answer),
          .answered_at = now,
          .refusal = answer.ok() ? Refusal::kNone : Refusal::kOther,
          .message = std::string(internal::Message(answer))};
}

PodAttempt AttemptOf(const absl::StatusOr<EvictionAnswer>& answer, absl::Time now) {
  if (!answer.ok()) return AttemptOf(answer.status(), now);
  return {.outcome = answer->refusal == Refusal::kNone ? Outcome::kApplied : Outcome::kNotApplied,
          .answered_at = now,
          .refusal = answer->refusal,
          .retry_after = answer->retry_after,
          .budget = answer->budget,
          .message = answer->message};
}

void NodeAttempts::PodAnswered(const std::string& pod_uid, PodAttempt answer) {
  PodAttempt& attempt = pods[pod_uid];
  answer.count = attempt.count + 1;
  answer.sent_at = answer.answered_at;
  attempt = std::move(answer);
}

}  // namespace driverupgrade
