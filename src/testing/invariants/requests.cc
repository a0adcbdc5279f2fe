// Checks requests before they are applied: their preconditions (I5), the removal of pods (I2, I4), and whether the
// policy allows the request (I8).
#include <algorithm>

#include "fmt/format.h"
#include "testing/invariants/checker_impl.h"

namespace driverupgrade::testing {

using internal::StateOf;

namespace {

// Minimum time between two eviction requests of one sender for the same pod. Allows for clocks that run at half or
// double speed.
constexpr absl::Duration kPodRequestsApart = absl::Seconds(2);
// dep-F11: on a node that is not ready, a pod is lost one second after its grace period, because Kubernetes reports
// whole seconds.
bool IsLost(const Pod& pod, bool node_ready, absl::Time now) {
  if (!pod.deletion_timestamp || node_ready) return false;
  return absl::FromUnixSeconds(absl::ToUnixSeconds(*pod.deletion_timestamp)) + absl::Seconds(1) <= now;
}

// Returns true if the policy forbids evicting the pod, which prevents pod deletion from evacuating the node. Meaningful
// only for pods that pod deletion selects and that were not terminating.
bool BlocksDeletion(const Pod& pod, const PodDeletionPolicy& deletion) {
  return (pod.has_empty_dir && !deletion.delete_empty_dir) || (ControllerOf(pod) == nullptr && !deletion.force);
}

}  // namespace

// dep-F9: only an engine that releases its nodes may change a frozen cluster.
void InvariantChecker::Impl::JudgePolicy(const std::string& object) {
  if (writer != nullptr && writer->releases) return;
  if (!PolicyOf(writer).auto_upgrade) Fail("I8", fmt::format("{}: a write although autoUpgrade is off", object));
}

void InvariantChecker::Impl::CheckVersion(const char* kind, const std::string& name,
                                          const std::string& resource_version) {
  if (resource_version.empty()) Fail("I5", fmt::format("{} {}: a write without resourceVersion", kind, name));
}

void InvariantChecker::Impl::NoteSent(const Writer& sender, const PatchNodeParams& params) {
  const auto label = params.labels.find(keys.state);
  const bool starts =
      label != params.labels.end() && label->second && internal::IsBusy(ParseUpgradeState(*label->second));
  Attempt& attempt = attempts_[{sender.name, params.uid}];
  if (attempt.resource_version == params.resource_version && (attempt.starts || !starts)) return;
  attempt = {.resource_version = params.resource_version,
             .starts = starts,
             .policy = sender.policy ? sender.policy : policy,
             .nodes_read = sender.nodes_read,
             .time = cluster->Now()};
}

void InvariantChecker::Impl::NoteSent(const Writer& sender, const PatchNodeMaintenanceParams& params) {
  maintenance_attempts_.insert({sender.name, params.name});
}

bool InvariantChecker::Impl::HasSent(const Writer& sender, const Node& node) const {
  return attempts_.contains({sender.name, node.uid}) ||
         std::any_of(maintenance_attempts_.begin(), maintenance_attempts_.end(), [&](const auto& attempt) {
           return attempt.first == sender.name && attempt.second.ends_with("-" + node.name);
         });
}

void InvariantChecker::Impl::CheckPatch(const PatchNodeParams& params) {
  CheckVersion("node", params.name, params.resource_version);
  if (params.uid.empty()) Fail("I5", fmt::format("node {}: a patch without a UID", params.name));
  JudgePolicy("node " + params.name);
  JudgeEndOfWait(params);
  CountRequest(params.name);
}

bool InvariantChecker::Impl::IsDriverPod(const Pod& pod) const {
  return pod.ref.ns == options.driver_ns && options.driver_labels.Matches(pod.labels);
}

// Returns the latest time that the writer's clock can have shown when the writer made its decision.
absl::Time InvariantChecker::Impl::WritersTime() const {
  const auto ahead = writer == nullptr ? std::nullopt : writer->clock_ahead;
  return cluster->Now() + ahead.value_or(options.clock_skew_max);
}

// Returns the revision up to which the writer has read the node's pods.
std::int64_t InvariantChecker::Impl::PodsRead(const std::string& node) const {
  const auto listed = writer->pods_read.find(node);
  return std::max(listed == writer->pods_read.end() ? 0 : listed->second, writer->pods_followed);
}

// Returns true if the writer must know that the pod is on its node. Pods are read after the node was cordoned
// (arch-A11), so the writer knows every pod that was on the node when it was cordoned. A request sent before the last
// cordon relies on an earlier cordon.
bool InvariantChecker::Impl::IsKnown(const Pod& pod) const {
  const auto bound = bound_.find(pod.ref.uid);
  if (bound == bound_.end() || writer == nullptr) return true;
  const auto node = nodes.find(pod.node_name);
  const std::int64_t cordoned = node == nodes.end() || writer->late ? 0 : node->second.cordoned_at;
  return bound->second <= std::max(PodsRead(pod.node_name), cordoned);
}

// Returns the revision of the last cordon that the writer has read; 0 if it has read no cordon.
std::int64_t InvariantChecker::Impl::CordonRead(const std::string& node) const {
  const auto truth = nodes.find(node);
  if (truth == nodes.end()) return 0;
  const std::int64_t read = NodeRead(node);
  if (truth->second.cordoned_at <= read) return truth->second.cordoned_at;
  const std::vector<internal::NodeFacts>& history = truth->second.history;
  std::int64_t cordoned = 0;
  for (std::size_t at = internal::IndexAt(history, read) + 1; at > 0 && history[at - 1].unschedulable; --at)
    cordoned = history[at - 1].since;
  return cordoned;
}

// Returns true if the writer may still use labels that the pod no longer has, because the writer need not have read the
// pod again.
bool InvariantChecker::Impl::MayGoByOldLabels(const Pod& pod) const {
  if (!relabelled_.contains(pod.ref.uid) || writer == nullptr) return false;
  const std::int64_t cordoned = writer->late ? 0 : CordonRead(pod.node_name);
  return std::max(PodsRead(pod.node_name), cordoned) < bound_.at(pod.ref.uid);
}

// Returns true if the pod tolerates the cordon, and arrived after such pods were evicted from the node, after its upgrade
// began, or after it was cordoned.
bool InvariantChecker::Impl::CameBack(const Pod& pod) const {
  const auto node = nodes.find(pod.node_name);
  if (node == nodes.end() || !pod.tolerates_cordon_since) return false;
  const internal::NodeTruth& truth = node->second;
  // Creation times are whole seconds.
  return *pod.tolerates_cordon_since + absl::Seconds(1) > std::min(truth.tolerant_evicted, truth.first_write) ||
         bound_.at(pod.ref.uid) > truth.cordoned_at;
}

bool InvariantChecker::Impl::Stays(const Pod& pod) const {
  if (options.own_pod && pod.ref.ns == options.own_pod->ns && pod.ref.name == options.own_pod->name) return true;
  return pod.mirror || (IsDaemonSetPod(pod) && !IsFinished(pod));
}

// Returns true if a claim for devices that depend on the driver is reserved for the pod.
bool InvariantChecker::Impl::HoldsDevices(const Pod& pod, const IsolationPolicy& isolation) const {
  if (isolation.scope == IsolationScope::kNode || pod.resource_claims.empty()) return false;
  const std::vector<ResourceClaim> claims = cluster->resource_claims();
  return std::any_of(claims.begin(), claims.end(), [&](const ResourceClaim& claim) {
    const auto is_pod = [&](const ClaimConsumer& consumer) { return consumer.uid == pod.ref.uid; };
    const auto is_followed = [&](const AllocatedPool& pool) {
      const auto& followed = isolation.device_drivers;
      return std::find(followed.begin(), followed.end(), pool.driver) != followed.end();
    };
    return std::any_of(claim.reserved_for.begin(), claim.reserved_for.end(), is_pod) &&
           std::any_of(claim.allocated.begin(), claim.allocated.end(), is_followed);
  });
}

bool InvariantChecker::Impl::Uses(const Pod& pod, const UpgradePolicy& the_policy) const {
  if (options.uses_driver) {
    const absl::StatusOr<bool> uses = options.uses_driver({}, pod);
    if (uses.ok() && *uses) return true;
  }
  if (HoldsDevices(pod, the_policy.isolation)) return true;
  const auto& deletion = the_policy.pod_deletion;
  return deletion && !deletion->pod_selector.empty() && deletion->pod_selector.Matches(pod.labels);
}

// Returns why the pod must stay, or an empty string if a section of the policy allows the removal. `by_deletion`: the
// pod is deleted without the Eviction API, after the section's deadline.
std::string InvariantChecker::Impl::WhyNotToRemove(const Pod& pod, const UpgradePolicy& the_policy,
                                                   bool by_deletion) const {
  if (Stays(pod)) return "it belongs to a DaemonSet, to the node or to the operator";
  std::string why = "the policy does not select it";
  const auto allows = [&](bool force, bool delete_empty_dir, OnTimeout on_timeout) {
    const bool leaves_anyway = IsFinished(pod) || pod.deletion_timestamp;
    if (by_deletion && on_timeout == OnTimeout::kFail) {
      why = "the policy allows evictions only";
    } else if (pod.has_empty_dir && !leaves_anyway && !delete_empty_dir) {
      why = "it has emptyDir volumes";
    } else if (ControllerOf(pod) == nullptr && !leaves_anyway && !force) {
      why = "nothing would replace it";
    } else {
      return true;
    }
    return false;
  };
  const PodDeletionPolicy deletion = the_policy.pod_deletion.value_or(PodDeletionPolicy{});
  if (Uses(pod, the_policy) && allows(deletion.force, deletion.delete_empty_dir, deletion.on_timeout)) return "";
  const auto& drain = the_policy.drain;
  if (drain && drain->pod_selector.Matches(pod.labels) &&
      allows(drain->force, drain->delete_empty_dir, drain->on_timeout)) {
    return "";
  }
  return why;
}

void InvariantChecker::Impl::JudgeRemoval(const Pod& pod, bool by_deletion, const char* what) {
  const UpgradePolicy& its_policy = PolicyOf(writer);
  std::string why = MayGoByOldLabels(pod) && !Stays(pod) ? "" : WhyNotToRemove(pod, its_policy, by_deletion);
  if (why.empty()) why = WhyNotNow(pod, its_policy, by_deletion);
  if (!why.empty()) Fail("I4", fmt::format("pod {} was {}, but {}", pod.ref.ToString(), what, why));
}

bool InvariantChecker::Impl::DeletesPods(const UpgradePolicy& the_policy) const {
  return options.uses_driver || the_policy.isolation.scope != IsolationScope::kNode ||
         (the_policy.pod_deletion && !the_policy.pod_deletion->pod_selector.empty());
}

// Returns how long an engine must try to evict a pod before it may delete the pod.
absl::Duration InvariantChecker::Impl::EvictionTime(const std::optional<UpgradeState>& state,
                                                    const UpgradePolicy& the_policy) const {
  const absl::Duration drain = the_policy.drain ? the_policy.drain->timeout : absl::InfiniteDuration();
  const bool of_drain = state == UpgradeState::kDrainRequired || !DeletesPods(the_policy);
  return of_drain ? drain : the_policy.pod_deletion.value_or(PodDeletionPolicy{}).timeout;
}

// Returns the revision up to which the writer has read the node: in a list, in a watch, or in the response to a patch.
// A facade's lists must be consistent (docs/the-parts.md), because a client that receives an old list uses it
// regardless of earlier responses.
std::int64_t InvariantChecker::Impl::NodeRead(const std::string& node) const {
  const auto answered = writer->nodes_answered.find(node);
  return answered == writer->nodes_answered.end() ? writer->nodes_read : std::max(writer->nodes_read, answered->second);
}

// Returns why the pod must not be removed from its node now, or an empty string. When the writer read the node, the
// node must have been cordoned or its devices isolated, because the writer then knows all earlier pods (arch-A11). At
// that time or later, the node must have been in a state that allows removals. If the node has been created again since
// the writer read it, the removal cannot be checked.
std::string InvariantChecker::Impl::WhyNotNow(const Pod& pod, const UpgradePolicy& the_policy, bool by_deletion) const {
  const auto node = nodes.find(pod.node_name);
  if (node == nodes.end() || writer == nullptr) return "";
  const std::vector<internal::NodeFacts>& history = node->second.history;
  const std::int64_t known = NodeRead(pod.node_name);
  if (history.front().since > known) return "";
  const auto read = history.begin() + static_cast<std::ptrdiff_t>(internal::IndexAt(history, known));
  if (!read->unschedulable && !read->isolated) {
    return fmt::format("its node was not cordoned when the writer read the node, at {}", known);
  }
  const auto evacuates = [](const internal::NodeFacts& facts) {
    // Only a state with a timer leaves a mark. A node whose label was removed in another state repeats earlier states.
    return internal::IsEvacuating(facts.state) || (facts.unlabelled && internal::IsBusy(facts.state));
  };
  if (std::none_of(read, history.end(), evacuates)) return "its node is not in a state that allows the removal";
  if (!by_deletion) return "";
  const absl::Duration time = EvictionTime(read->state, the_policy);
  const bool over = read->stage_began && *read->stage_began + time <= WritersTime();
  return over ? "" : "the timeout of its eviction had not expired";
}

// Returns true if the patch takes the node out of wait-for-jobs-required, according to the announced paths.
bool InvariantChecker::Impl::EndsWait(const Node& node, const PatchNodeParams& params) const {
  const auto label = params.labels.find(keys.state);
  const auto announced = paths_.find(node.uid);
  if (label == params.labels.end() || !label->second || announced == paths_.end()) return false;
  const auto to = ParseUpgradeState(*label->second);
  return std::any_of(announced->second.begin(), announced->second.end(), [&](const Path& one) {
    if (one.resource_version != params.resource_version || one.path.back() != to) return false;
    const auto waits = std::find(one.path.begin(), one.path.end(), UpgradeState::kWaitForJobsRequired);
    return one.from == UpgradeState::kWaitForJobsRequired || (waits != one.path.end() && waits + 1 != one.path.end());
  });
}

// The wait for jobs may end when none of the jobs that the writer must know of is active, or when the wait's time limit
// has expired. From then on, jobs are treated like other pods.
void InvariantChecker::Impl::JudgeEndOfWait(const PatchNodeParams& params) {
  const auto& jobs = PolicyOf(writer).wait_for_completion;
  if (!jobs || jobs->pod_selector.empty()) return;
  const std::optional<Node> node = cluster->node(params.name);
  if (!node || node->resource_version != params.resource_version || !EndsWait(*node, params)) return;
  const bool waited = internal::TimedState(*node, keys) == UpgradeState::kWaitForJobsRequired;
  const auto began = waited ? internal::PresentStageBegan(*node, keys) : std::nullopt;
  if (began && *began + jobs->timeout <= WritersTime()) return;
  for (const Pod& pod : cluster->pods_on(params.name)) {
    const bool at_work = pod.phase == PodPhase::kRunning || pod.phase == PodPhase::kPending;
    const bool ends = !IsDaemonSetPod(pod) && !pod.mirror;
    if (!at_work || !ends || !jobs->pod_selector.Matches(pod.labels) || !IsKnown(pod)) continue;
    return Fail("I4", fmt::format("node {} did not wait for job {}", params.name, pod.ref.ToString()));
  }
}

void InvariantChecker::Impl::CheckEviction(const EvictPodParams& params) {
  const std::string object = "pod " + params.pod.ToString();
  JudgePolicy(object);
  if (params.pod.uid.empty()) Fail("I4", fmt::format("{}: an eviction without a UID", object));
  const std::optional<Pod> pod = cluster->pod(params.pod.ns, params.pod.name);
  if (!pod || pod->ref.uid != params.pod.uid) return;
  JudgeRemoval(*pod, /*by_deletion=*/false, "evicted");
  if (writer->late) return;
  const absl::Time now = cluster->Now();
  const auto [last, first] = asked_.try_emplace({writer->name, pod->ref.uid}, now);
  // An upgrade that has started again may send its requests again.
  const auto truth = nodes.find(pod->node_name);
  const bool anew = truth != nodes.end() && truth->second.busy_since > last->second;
  if (options.check_pacing && !first && !anew && now - last->second < kPodRequestsApart) {
    Fail("I13", fmt::format("{}: evicted again after {}", object, absl::FormatDuration(now - last->second)));
  }
  last->second = now;
}

void InvariantChecker::Impl::CheckDeletion(const DeletePodParams& params) {
  const std::string object = "pod " + params.pod.ToString();
  JudgePolicy(object);
  if (params.pod.uid.empty()) Fail("I4", fmt::format("{}: a deletion without a UID", object));
  const std::optional<Pod> pod = cluster->pod(params.pod.ns, params.pod.name);
  if (!pod || pod->ref.uid != params.pod.uid) return;
  if (IsDriverPod(*pod)) return CheckRestart(*pod);
  JudgeRemoval(*pod, /*by_deletion=*/true, "deleted");
}

// Returns true if the pod has finished, and its volumes are unmounted. A terminating pod has its final phase before that
// (kubernetes#120917).
bool HasEnded(const Pod& pod) { return IsFinished(pod) && (pod.released || !pod.deletion_timestamp); }

// Returns the pods that must have left before the driver pod is deleted: the pods that use the driver. If a drain takes
// over from pod deletion, or is the only step, these are all pods that the drain selects. A node whose devices are
// isolated is not drained.
std::vector<const Pod*> InvariantChecker::Impl::Protected(const std::vector<Pod>& pods, bool isolated,
                                                          const UpgradePolicy& the_policy) const {
  const PodDeletionPolicy deletion = the_policy.pod_deletion.value_or(PodDeletionPolicy{});
  const bool deletes = DeletesPods(the_policy);
  std::vector<const Pod*> result;
  bool blocked = false;
  for (const Pod& pod : pods) {
    if (!deletes || Stays(pod) || HasEnded(pod) || !Uses(pod, the_policy)) continue;
    blocked |= !pod.deletion_timestamp && BlocksDeletion(pod, deletion);
    result.push_back(&pod);
  }
  if (!the_policy.drain || isolated || (deletes && !blocked)) return result;
  result.clear();
  for (const Pod& pod : pods) {
    if (Stays(pod) || HasEnded(pod) ||
        (!pod.deletion_timestamp && CameBack(pod) && !(deletes && Uses(pod, the_policy))))
      continue;
    if (the_policy.drain->pod_selector.Matches(pod.labels)) result.push_back(&pod);
  }
  return result;
}

bool InvariantChecker::Impl::MayOnlyRestart(const Pod& driver_pod, std::string_view wanted_hash) const {
  const auto running = revisions_.find(RevisionHash(driver_pod));
  const auto wanted = revisions_.find(wanted_hash);
  if (running == revisions_.end() || wanted == revisions_.end()) return false;
  const absl::StatusOr<bool> answer = options.restart_only({}, driver_pod, running->second, wanted->second);
  return answer.ok() && *answer;
}

// I2: no pod that uses the driver is on the node when the driver pod is deleted.
void InvariantChecker::Impl::CheckRestart(const Pod& driver_pod) {
  const UpgradePolicy& its_policy = PolicyOf(writer);
  const std::optional<Node> node = cluster->node(driver_pod.node_name);
  if (!node) return;
  if (const auto only = node->annotations.find(keys.restart_only); only != node->annotations.end()) {
    const std::string target = only->second.substr(only->second.rfind('@') + 1);
    if (!options.restart_only || MayOnlyRestart(driver_pod, target)) return;
  }
  // A drain takes over if pod deletion is blocked by a pod that the writer knows.
  std::vector<Pod> pods = cluster->pods_on(driver_pod.node_name);
  // A pod may have blocked pod deletion while it had its old labels, so a drain may have taken over.
  const PodDeletionPolicy deletion = its_policy.pod_deletion.value_or(PodDeletionPolicy{});
  // A pod may have blocked pod deletion before another client deleted it.
  const auto may_block = [&](const Pod& pod) {
    return (MayGoByOldLabels(pod) || pod.deletion_timestamp) && BlocksDeletion(pod, deletion);
  };
  const bool may_be_drained = its_policy.drain && std::any_of(pods.begin(), pods.end(), may_block);
  std::erase_if(pods, [&](const Pod& pod) { return !IsKnown(pod); });
  const auto truth = nodes.find(node->name);
  const bool is_ready = node->ready && (writer == nullptr || truth->second.ready_at <= NodeRead(node->name));
  const bool isolated = node->annotations.contains(keys.isolated_devices);
  for (const Pod* pod : Protected(pods, isolated, its_policy)) {
    if (may_be_drained && !its_policy.drain->pod_selector.Matches(pod->labels)) continue;
    if (IsDriverPod(*pod) || IsLost(*pod, is_ready, WritersTime())) continue;
    return Fail("I2", fmt::format("driver pod {} was deleted while {} was on node {}", driver_pod.ref.ToString(),
                                  pod->ref.ToString(), node->name));
  }
}

}  // namespace driverupgrade::testing
