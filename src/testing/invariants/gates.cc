// Checks the gates and totals that a replica reports. Each node that is not done must have exactly one gate, and this
// gate must be correct (L5). The totals must also be correct (L6).
#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "model/node_service.h"
#include "testing/invariants/checker_impl.h"
#include "testing/invariants/program_at_work.h"

namespace driverupgrade::testing {

using internal::IsBusy;
using internal::StateOf;

namespace {

template <class F>
bool Any(const std::vector<Pod>& pods, F predicate) {
  return std::any_of(pods.begin(), pods.end(), predicate);
}

bool HasRules(const FakeCluster& cluster, const Node& node) {
  const std::vector<DeviceTaintRule> rules = cluster.device_taint_rules();
  return std::any_of(rules.begin(), rules.end(), [&](const auto& rule) { return rule.node_name == node.name; });
}

// Returns true if a driver that is not named on the cordon has set the cordon or relies on it, or if another program
// relies on it. Drivers that are named on the cordon do not block us: the last of them lifts the cordon for all.
bool OtherDriverHolds(const Node& node, const internal::Keys& keys) {
  return node.unschedulable &&
         (internal::UnnamedDriverMadeCordon(node, keys) || internal::UnnamedDriverIsMaintained(node, keys) ||
          internal::FactsOf(node, keys).unnamed_driver_relies || !internal::ProgramAtWork(node).empty());
}

// Returns true if a stage has its own limit, which applies in addition to the policy's limit and is reported by the
// same gate.
bool SomeStageHasALimit(const UpgradePolicy& policy) {
  const auto has_limit = [](const RolloutStage& stage) { return stage.max_parallel.has_value(); };
  return policy.rollout && std::any_of(policy.rollout->stages.begin(), policy.rollout->stages.end(), has_limit);
}

bool StartTogether(const UpgradePolicy& policy) {
  return policy.rollout && policy.rollout->groups && policy.rollout->groups->mode == GroupMode::kTogether;
}

bool HasGangs(const UpgradePolicy& policy) { return policy.rollout && policy.rollout->gangs; }

// Returns true if an attempt can start from this state.
bool MayBegin(const std::optional<UpgradeState>& state) { return !IsBusy(state) || state == UpgradeState::kFailed; }

std::string LabelOf(const Node& node, const std::string& key) {
  const auto label = node.labels.find(key);
  return label == node.labels.end() ? "" : label->second;
}

// Returns true if the labels and names show that `first` must not precede `second` in the queue. The number of pods
// that would be evicted may have changed since the queue was formed, so a criterion that uses this number, and all
// later criteria, are ignored.
bool IsOutOfOrder(const Node& first, const Node& second, const std::vector<RolloutOrder>& order) {
  for (const RolloutOrder& by : order) {
    if (by.by == OrderBy::kIdle || by.by == OrderBy::kFewestPods) return false;
    if (by.by == OrderBy::kName) break;
    const std::string of_first = LabelOf(first, by.label);
    const std::string of_second = LabelOf(second, by.label);
    if (of_first == of_second) continue;
    if (by.by == OrderBy::kTopology) return of_first.empty() || (!of_second.empty() && of_second < of_first);
    std::int64_t priority_of_first = 0;
    std::int64_t priority_of_second = 0;
    // A label that is not a number counts as 0.
    if (!absl::SimpleAtoi(of_first, &priority_of_first)) priority_of_first = 0;
    if (!absl::SimpleAtoi(of_second, &priority_of_second)) priority_of_second = 0;
    if (priority_of_first != priority_of_second) return priority_of_first < priority_of_second;
  }
  return second.name < first.name;
}

bool IsDone(const std::optional<UpgradeState>& state) { return state == UpgradeState::kDone; }

}  // namespace

// Returns true if the writer has requested an eviction of the pod.
bool InvariantChecker::Impl::Asked(const Writer& who, const Pod& pod) const {
  return asked_.contains({who.name, pod.ref.uid});
}

bool InvariantChecker::Impl::MayBeRefused(const Writer& who, const Pod& pod, bool by_budget) const {
  const auto answer = eviction_answers_.find({who.name, pod.ref.uid});
  if (answer == eviction_answers_.end() || !answer->second) return !by_budget || Asked(who, pod);
  return by_budget == (answer->second == Refusal::kDisruptionBudget || answer->second == Refusal::kSeveralBudgets);
}

// Returns nodes that may be in progress although their state does not show it: nodes with a grant, nodes that the plan
// is about to start, and nodes that wait for the result of an earlier request or for the ledger.
InvariantChecker::Impl::Uids InvariantChecker::Impl::MayBeUnderWay(const Plan& plan) const {
  Uids result;
  for (const std::string& line : granted_) result.insert(line.substr(0, line.find(' ')));
  for (const NodePlan& node : plan.nodes) {
    if (!node.path.empty() && IsBusy(node.path.back())) result.insert(node.uid);
  }
  for (const NodeGate& gate : plan.gates) {
    const bool may_be = gate.gate.reason == GateReason::kUnsettled || gate.gate.reason == GateReason::kLedger;
    if (const auto node = nodes.find(gate.node); may_be && node != nodes.end()) result.insert(node->second.uid);
  }
  return result;
}

// Returns true if nodes that are or may be in progress exhaust the budget, so no further node can start. Each node
// counts once.
bool InvariantChecker::Impl::BudgetIsOut(const Writer& who, GateReason reason, const Uids& more) const {
  const UpgradePolicy& its_policy = PolicyOf(&who);
  Uids taken = more;
  if (reason == GateReason::kMaxParallel) {
    for (const auto& [name, truth] : nodes) {
      if (truth.slot) taken.insert(truth.uid);
    }
    return its_policy.max_parallel && static_cast<int>(taken.size()) >= *its_policy.max_parallel;
  }
  if (!its_policy.max_unavailable || NeverLimits(*its_policy.max_unavailable)) return false;
  for (const auto& [name, truth] : nodes) {
    if (truth.unavailable && with_driver_.contains(name)) taken.insert(truth.uid);
  }
  return static_cast<int>(taken.size()) >=
         UnavailableLimit(*its_policy.max_unavailable, static_cast<int>(with_driver_.size()));
}

// Nodes that start together start only if there is room for all of them, so every other node in the group may block
// this node.
InvariantChecker::Impl::Uids InvariantChecker::Impl::WithItsGroup(const UpgradePolicy& the_policy, const Node& node,
                                                                  Uids uids) const {
  if (!StartTogether(the_policy)) return uids;
  const NodeGroups& groups = *the_policy.rollout->groups;
  const std::string group = LabelOf(node, groups.by);
  if (group.empty()) return uids;
  for (const auto& [name, truth] : nodes) {
    const std::optional<Node> other = cluster->node(name);
    if (other && name != node.name && LabelOf(*other, groups.by) == group) uids.insert(truth.uid);
  }
  return uids;
}

bool InvariantChecker::Impl::FailuresAreOut(const UpgradePolicy& the_policy) const {
  if (!the_policy.failure_policy || failed_ == 0) return false;
  const FailurePolicy& failures = *the_policy.failure_policy;
  const int total = static_cast<int>(with_driver_.size());
  if (failed_ >= FailedLimit(failures.max_failures, total)) return true;
  return std::any_of(failures.by_class.begin(), failures.by_class.end(), [&](const auto& budget) {
    const auto failed = std::count_if(nodes.begin(), nodes.end(), [&](const auto& node) {
      return node.second.has_label && node.second.history.back().failure_class == budget.first;
    });
    return failed >= FailedLimit(budget.second, total);
  });
}

std::vector<Pod> InvariantChecker::Impl::DriverPodsOn(const Node& node) const {
  std::vector<Pod> pods = cluster->pods_on(node.name);
  std::erase_if(pods, [&](const Pod& pod) { return !IsDriverPod(pod); });
  return pods;
}

// Returns true if the driver pod is terminating or must be replaced.
bool InvariantChecker::Impl::HasToGo(const Node& node, const Pod& driver_pod) const {
  const auto restart = node.annotations.find(keys.restart_pod);
  const bool asked_for = restart != node.annotations.end() && restart->second == driver_pod.ref.uid;
  return driver_pod.deletion_timestamp || ControllerOf(driver_pod) == nullptr ||
         RevisionHash(driver_pod) != newest_hash_ || asked_for;
}

bool InvariantChecker::Impl::RevisionIsUnknown(const Node& node) const {
  std::vector<DaemonSet> all = cluster->daemon_sets();
  std::erase_if(all, [&](const DaemonSet& one) {
    return one.ns != options.driver_ns || !options.driver_labels.Matches(one.labels);
  });
  const auto unobserved = [](const DaemonSet& one) { return one.observed_generation != one.generation; };
  return std::any_of(all.begin(), all.end(), unobserved) || Any(DriverPodsOn(node), [&](const Pod& pod) {
           const OwnerReference* owner = ControllerOf(pod);
           return RevisionHash(pod).empty() || owner == nullptr ||
                  std::none_of(all.begin(), all.end(), [&](const DaemonSet& one) { return one.uid == owner->uid; });
         });
}

bool InvariantChecker::Impl::IsMaintained(const Node& node) const {
  return StateOf(node, keys) == UpgradeState::kNodeMaintenanceRequired ||
         node.annotations.contains(keys.requestor_mode) || claims_.contains(node.name);
}

// Returns true if neither we nor the maintenance operator set the cordon. The marks on the node decide (dep-F7): after
// an administrator has removed our name, the cordon no longer counts as ours.
bool InvariantChecker::Impl::IsForeignCordon(const Node& node) const {
  const internal::NodeTruth& truth = nodes.at(node.name);
  if (!node.unschedulable || truth.cordon == internal::Maker::kOperator) return false;
  return truth.cordon != internal::Maker::kEngine || (truth.uncertain && !internal::IsMarked(node, keys));
}

// Returns true if the gate is correct, as far as the server's objects show.
bool InvariantChecker::Impl::IsTrue(const Writer& who, const Node& node, const Gate& gate, const Uids& more) const {
  const UpgradePolicy& its_policy = PolicyOf(&who);
  const std::optional<UpgradeState> state = StateOf(node, keys);
  const auto label = node.labels.find(keys.skip);
  switch (gate.reason) {
    case GateReason::kMaxParallel: return BudgetIsOut(who, gate.reason, more) || SomeStageHasALimit(its_policy);
    // The nodes of a gang depend on the gang's pods, which the checker does not read.
    case GateReason::kMaxUnavailable:
      return HasGangs(its_policy) || BudgetIsOut(who, gate.reason, WithItsGroup(its_policy, node, more));
    case GateReason::kMaxFailures: return FailuresAreOut(its_policy);
    case GateReason::kWindow:
    case GateReason::kNoWindow: return its_policy.rollout && MayBeClosed(*its_policy.rollout);
    case GateReason::kHalted:
    case GateReason::kStage:
    case GateReason::kSoak:
    case GateReason::kApproval:
    case GateReason::kGroup: return its_policy.rollout.has_value();
    case GateReason::kGangRuns: return HasGangs(its_policy);
    case GateReason::kPaused: return its_policy.paused;
    case GateReason::kFrozen: return !its_policy.auto_upgrade;
    // If the ledger could not be read or written, the node waits for another attempt.
    case GateReason::kLedger: return gate.not_before || !granted_.contains(node.uid + " " + node.resource_version);
    case GateReason::kSkipLabel: return label != node.labels.end() && label->second == "true";
    case GateReason::kCordoned: return its_policy.cordoned_nodes == CordonedNodes::kIgnore && IsForeignCordon(node);
    case GateReason::kNodeNotReady: return !node.ready || !::driverupgrade::internal::WhyDegraded(node).empty();
    case GateReason::kNodeTainted: return !node.taints.empty();
    case GateReason::kNodeLeaves: return !::driverupgrade::internal::WhyLeaving(node).empty();
    case GateReason::kMachineConfig: return !::driverupgrade::internal::WhyMachineConfig(node).empty();
    // The other driver may be a requestor: a NodeMaintenance that we have released stays until the other requestor also
    // releases it.
    case GateReason::kOtherDriver:
      return OtherDriverHolds(node, keys) || !::driverupgrade::internal::WhyReconfigured(node).empty() ||
             claims_.contains(node.name);
    case GateReason::kUnsettled: return HasSent(who, node);
    case GateReason::kUnknownState: return !state;
    case GateReason::kUnreadable: return !node.unreadable.empty();
    // An operator that is not a requestor cannot handle a node under maintenance.
    case GateReason::kUnhandledState:
      return state == UpgradeState::kPostMaintenanceRequired || (options.requestor_id.empty() && IsMaintained(node));
    case GateReason::kMaintenance: return !options.requestor_id.empty() && IsMaintained(node);
    // Before a node starts, the engine calls only the restart-only hook; afterwards, only the uses-driver hook.
    case GateReason::kHook:
      return (state == UpgradeState::kUpgradeRequired ? options.restart_only != nullptr
                                                      : options.uses_driver != nullptr);
    case GateReason::kSafeLoad: return node.annotations.contains(keys.safe_load);
    case GateReason::kFailed: return state == UpgradeState::kFailed;
    // If nodes start together or the policy has gangs, the pods of a node and of its group must also be known before
    // the node starts.
    case GateReason::kPodsUnknown:
      return internal::WillBeCordoned(state) ||
             ((StartTogether(its_policy) || HasGangs(its_policy)) && MayBegin(state));
    case GateReason::kJobs:
      return its_policy.wait_for_completion && Any(cluster->pods_on(node.name), [&](const Pod& pod) {
               return its_policy.wait_for_completion->pod_selector.Matches(pod.labels) && !IsFinished(pod);
             });
    case GateReason::kPodsTerminating:
      return Any(cluster->pods_on(node.name),
                 [&](const Pod& pod) { return pod.deletion_timestamp || Asked(who, pod); });
    // The server's response may be outdated, because engines do not follow budgets.
    case GateReason::kDisruptionBudget:
    case GateReason::kSeveralBudgets:
      return Any(cluster->pods_on(node.name),
                 [&](const Pod& pod) { return pod.deletion_timestamp || MayBeRefused(who, pod, /*by_budget=*/true); });
    // The eviction may have been refused for a reason other than a budget.
    case GateReason::kEvictionRefused:
      return Any(cluster->pods_on(node.name), [&](const Pod& pod) {
        return MayBeRefused(who, pod, /*by_budget=*/false) &&
               WhyNotToRemove(pod, its_policy, /*by_deletion=*/false).empty();
      });
    case GateReason::kUndeletablePods:
      return Any(cluster->pods_on(node.name), [&](const Pod& pod) {
        return !Stays(pod) && !IsFinished(pod) && !WhyNotToRemove(pod, its_policy, /*by_deletion=*/false).empty();
      });
    // After a change to the policy, a node may still have DeviceTaintRules, and waits until they are removed.
    case GateReason::kDevicesTainted:
      return its_policy.isolation.scope != IsolationScope::kNode || HasRules(*cluster, node);
    case GateReason::kDevicesUnfit: return its_policy.isolation.scope != IsolationScope::kNode;
    case GateReason::kDevicesInUse:
    case GateReason::kDevicesMissing: return HasRules(*cluster, node);
    case GateReason::kDriverPodMissing: return DriverPodsOn(node).empty();
    case GateReason::kDriverPodTerminating:
      return Any(DriverPodsOn(node), [&](const Pod& pod) { return HasToGo(node, pod); });
    case GateReason::kDriverPodNotReady: return Any(DriverPodsOn(node), [](const Pod& pod) { return !IsReady(pod); });
    case GateReason::kRevisionUnknown: return RevisionIsUnknown(node);
    case GateReason::kValidation:
      return options.validation.empty() || !Any(cluster->pods_on(node.name), [&](const Pod& pod) {
               return options.validation.Matches(pod.labels) && IsReady(pod);
             });
  }
  return false;
}

void InvariantChecker::Impl::CheckGates(const Writer& who, const Plan& plan) {
  std::map<std::string_view, const NodeGate*> gates;
  for (const NodeGate& gate : plan.gates) {
    if (!gates.emplace(gate.node, &gate).second) Fail("L5", fmt::format("node {} has two gates", gate.node));
  }
  std::set<std::string_view> moving;
  for (const NodePlan& node : plan.nodes) {
    if (!node.empty()) moving.insert(node.node);
  }
  const Uids more = MayBeUnderWay(plan);
  std::map<int, Node> queue;
  for (const auto& [name, truth] : nodes) {
    const auto gate = gates.find(name);
    if (moving.contains(name) || (gate == gates.end() && IsDone(truth.state))) continue;
    if (gate == gates.end()) {
      // A node without a label may be a node that the operator does not manage.
      if (truth.has_label) Fail("L5", fmt::format("node {} is not done, and no reason is reported", name));
      continue;
    }
    const std::optional<Node> node = cluster->node(name);
    // In requestor mode, a node that keeps its NodeMaintenance counts as in progress and comes before all other nodes.
    const bool is_under_way = more.contains(truth.uid) || truth.claimed_until == absl::InfiniteFuture();
    if (const int place = gate->second->gate.place; place > 0 && !is_under_way) queue[place] = *node;
    if (IsTrue(who, *node, gate->second->gate, more)) continue;
    Fail("L5", fmt::format("node {} is reported to be waiting for {} ({}), but is not", name,
                           ToString(gate->second->gate.reason), gate->second->gate.detail));
  }
  // The node on which the operator itself runs comes last.
  const std::optional<Pod> own =
      options.own_pod ? cluster->pod(options.own_pod->ns, options.own_pod->name) : std::nullopt;
  if (own && !PolicyOf(&who).rollout && !queue.empty()) {
    for (const auto& [place, node] : queue) {
      if (node.name == own->node_name && place != queue.rbegin()->first) {
        Fail("L5",
             fmt::format("node {}, on which the operator runs, must be last among the waiting nodes, but has place {}",
                         node.name, place));
      }
    }
  }
  // A group that starts together takes the place of the group's first node in the queue, so the other nodes of the
  // group may be out of order.
  const std::optional<RolloutPolicy>& rollout = PolicyOf(&who).rollout;
  if (!rollout || options.own_pod || rollout->gangs || StartTogether(PolicyOf(&who))) return;
  const auto wrong = std::adjacent_find(queue.begin(), queue.end(), [&](const auto& first, const auto& second) {
    return IsOutOfOrder(first.second, second.second, rollout->order);
  });
  if (wrong == queue.end()) return;
  Fail("L5", fmt::format("node {} is ahead of node {} in the queue, contrary to the order of the rollout",
                         wrong->second.name, std::next(wrong)->second.name));
}

void InvariantChecker::Impl::CheckTotals(const Tally& totals) {
  int done = 0;
  int pending = 0;
  int in_progress = 0;
  int failed = 0;
  for (const auto& [name, truth] : nodes) {
    if (truth.may_go_on) return;
    failed += truth.state == UpgradeState::kFailed;
    done += IsDone(truth.state);
    pending += truth.state == UpgradeState::kUpgradeRequired;
    in_progress += IsBusy(truth.state);
  }
  if (totals.done + totals.not_ready == done && totals.pending == pending && totals.in_progress == in_progress &&
      totals.failed == failed && totals.failed - totals.failed_reloads == failed_) {
    return;
  }
  Fail("L6",
       fmt::format("{} nodes are reported done, {} pending, {} in progress, {} failed ({} of them reloads), but the "
                   "true numbers are {}, {}, {}, {} and {}",
                   totals.done + totals.not_ready, totals.pending, totals.in_progress, totals.failed,
                   totals.failed_reloads, done, pending, in_progress, failed, failed - failed_));
}

}  // namespace driverupgrade::testing
