// Budgets: counts nodes, and checks whether one more node may start (I1).
#include <algorithm>
#include <variant>

#include "absl/strings/numbers.h"
#include "fmt/format.h"
#include "model/node_service.h"
#include "testing/invariants/checker_impl.h"

namespace driverupgrade::testing {

using internal::Maker;
using internal::NodeTruth;

namespace {

// Maximum number of stored counts of nodes with the driver. The data that a client has read is seldom older than the
// oldest of these counts.
constexpr std::size_t kDriverNodesKept = 256;

}  // namespace

int UnavailableLimit(const CountOrPercent& limit, int nodes) {
  if (const Count* count = std::get_if<Count>(&limit)) return count->value;
  return static_cast<int>((std::int64_t{std::get<Percent>(limit).value} * nodes + 99) / 100);
}

bool NeverLimits(const CountOrPercent& limit) {
  const Percent* percent = std::get_if<Percent>(&limit);
  return percent != nullptr && percent->value >= 100;
}

int FailedLimit(const CountOrPercent& limit, int nodes) {
  if (const Count* count = std::get_if<Count>(&limit)) return count->value;
  return std::max(1, static_cast<int>(std::int64_t{std::get<Percent>(limit).value} * nodes / 100));
}

void InvariantChecker::Impl::CountNode(const NodeTruth& truth, int sign) {
  unavailable_ += truth.unavailable && truth.has_label ? sign : 0;
  failed_ += !truth.history.empty() && truth.history.back().failed ? sign : 0;
  open_ += truth.has_label && truth.state != UpgradeState::kDone ? sign : 0;
}

// Records how the node counts towards the budgets, and since when.
void InvariantChecker::Impl::NoteShares(const Node& after, Maker maker, std::int64_t revision, absl::Time time,
                                        NodeTruth& truth) {
  truth.revision = revision;
  truth.changed_by_engine = maker == Maker::kEngine;
  const std::optional<UpgradeState> state = StateOf(after, keys);
  CountNode(truth, -1);
  truth.state = state;
  truth.has_label = internal::HasLabel(after, keys) || internal::IsMarked(after, keys) ||
                    (after.unschedulable && internal::IsBusy(StateOf(after, keys)));
  truth.may_go_on = internal::MayGoOn(after, keys);
  internal::Remember(internal::FactsOf(after, keys), revision, truth.history);
  const bool slot = internal::HoldsSlot(truth.history.back(), *policy);
  if (slot != truth.slot) {
    slots_ += slot ? 1 : -1;
    truth.slot_since = revision;
    truth.slot_by_engine = maker == Maker::kEngine;
  }
  truth.slot = slot;
  const bool busy = internal::IsBusy(state);
  if (busy && !truth.busy) truth.busy_since = time;
  truth.busy = busy;
  const bool ours = internal::WillBeCordoned(state) || (after.unschedulable && truth.cordon == Maker::kEngine) ||
                    after.annotations.contains(keys.isolated_devices);
  const bool unavailable =
      ours || after.unschedulable || !after.ready || !driverupgrade::internal::WhyLeaving(after).empty();
  if (unavailable && !truth.unavailable) {
    truth.unavailable_since = revision;
    // If the node was already unavailable, its start needs no additional room, so `unavailable_since` does not change.
    truth.unavailable_by_engine = maker == Maker::kEngine;
  }
  truth.unavailable = unavailable;
  CountNode(truth, +1);
  truth.unavailable_by_engine = truth.unavailable_by_engine && ours;
}

void InvariantChecker::Impl::SetPolicy(const UpgradePolicy& the_policy) {
  policy = std::make_shared<const UpgradePolicy>(the_policy);
  slots_ = 0;
  for (auto& [name, truth] : nodes) {
    const std::optional<std::int64_t> since = internal::SlotSince(truth.history, *policy);
    // No client requested a slot that exists only because of the new policy. Such a slot counts only for clients that
    // have read the node since `slot_since`.
    if (since) {
      truth.slot_by_engine = truth.slot && truth.slot_by_engine && *since <= truth.slot_since;
      truth.slot_since = *since;
    }
    truth.slot = since.has_value();
    slots_ += truth.slot;
    CountHand(truth);
  }
}

// I1. If the outcome of a request is unknown, the writer repeats the request, and the node keeps its slot in the
// meantime. A node that another client started therefore counts only if the writer knew of that node's start before the
// writer first requested the start that is checked here. Requests for earlier versions of the node do not matter,
// because the server rejects them.
void InvariantChecker::Impl::JudgeBudget(const Node& before, const Node& after) {
  // The maintenance operator has its own budget. If the NodeMaintenance is already ready, the node continues in the
  // same write.
  if (after.annotations.contains(options.identity.RequestorModeAnnotation())) return;
  std::string why = WhyOverBudget(PolicyOf(writer), before, after);
  const Attempt* first = FirstAttempt(before);
  // The policy of the first attempt may have granted the slot.
  if (!why.empty() && first != nullptr && *first->policy != PolicyOf(writer)) {
    why = WhyOverBudget(*first->policy, before, after);
  }
  if (!why.empty()) Fail("I1", fmt::format("node {} was started {}", after.name, why));
}

const InvariantChecker::Impl::Attempt* InvariantChecker::Impl::FirstAttempt(const Node& started) const {
  if (writer == nullptr) return nullptr;
  const auto attempt = attempts_.find({writer->name, started.uid});
  if (attempt == attempts_.end() || !attempt->second.starts) return nullptr;
  return attempt->second.resource_version == started.resource_version ? &attempt->second : nullptr;
}

// Returns the limit that the start exceeds, or an empty string if the policy allows one more node.
std::string InvariantChecker::Impl::WhyOverBudget(const UpgradePolicy& the_policy, const Node& before,
                                                  const Node& after) const {
  if (the_policy.max_parallel && !internal::HoldsSlot(internal::FactsOf(before, keys), the_policy) &&
      internal::HoldsSlot(internal::FactsOf(after, keys), the_policy)) {
    const int slots = SlotsKnown(the_policy, before);
    if (slots > *the_policy.max_parallel) {
      return fmt::format("with {} nodes in progress (limit {})", slots, *the_policy.max_parallel);
    }
  }
  // If an administrator requested the upgrade to repair a node that is not ready, maxUnavailable does not limit its
  // start.
  const auto requested = before.annotations.find(options.identity.UpgradeRequestedAnnotation());
  const bool repairs = !before.ready && requested != before.annotations.end() && requested->second == "true";
  const bool limits = the_policy.max_unavailable && !NeverLimits(*the_policy.max_unavailable);
  const bool is_unavailable = before.unschedulable || before.annotations.contains(keys.isolated_devices);
  if (limits && !is_unavailable && !repairs) {
    const int limit = UnavailableLimit(*the_policy.max_unavailable, NodesWithDriver(Known(before)));
    // The number of unavailable nodes that the client knew about matters only if too many nodes are unavailable now.
    const int itself = before.ready ? 1 : 0;
    const int unavailable = (unavailable_ - itself < limit ? unavailable_ : UnavailableKnown(before)) - itself;
    if (unavailable >= limit) {
      return fmt::format("with {} nodes unavailable (must be less than {})", unavailable, limit);
    }
  }
  return "";
}

// Returns the revision of the node data on which the start was based.
std::int64_t InvariantChecker::Impl::Known(const Node& started) const {
  if (const Attempt* first = FirstAttempt(started)) return first->nodes_read;
  // A writer that does not report its requests may have sent this request as soon as this version of the node existed.
  std::int64_t version = 0;
  if (!absl::SimpleAtoi(started.resource_version, &version) || writer == nullptr) return 0;
  return std::min(version, writer->nodes_read);
}

// Returns the number of used slots that the writer must have known about, including the started node's slot.
int InvariantChecker::Impl::SlotsKnown(const UpgradePolicy& the_policy, const Node& started) const {
  const bool in_force = the_policy == *policy;
  // Under the current policy, the result is at most `slots_`. The client's knowledge matters only if `slots_` exceeds
  // the limit.
  if (in_force && slots_ <= the_policy.max_parallel.value_or(slots_)) return slots_;
  const std::int64_t known = Known(started);
  int slots = 1;
  for (const auto& [name, truth] : nodes) {
    if (name == started.name) continue;
    if (in_force) {
      slots += truth.slot && (truth.slot_by_engine || truth.slot_since <= known);
    } else {
      // Nodes may have started under the current policy after this start was requested.
      const std::optional<std::int64_t> since = internal::SlotSince(truth.history, the_policy);
      slots += since && *since <= known;
    }
  }
  return slots;
}

int InvariantChecker::Impl::UnavailableKnown(const Node& started) const {
  const std::int64_t known = Known(started);
  int count = 0;
  for (const auto& [name, truth] : nodes) {
    if (!truth.unavailable || !truth.has_label) continue;
    // If the started node is not ready, its start makes no further node unavailable. In this case, nodes that engines
    // made unavailable after `known` do not count, because they may have been started at the same time.
    count += truth.unavailable_since <= known || (truth.unavailable_by_engine && started.ready);
  }
  return count;
}

// Returns the number of nodes that had failed when the start was decided and have not recovered since then. Nodes that
// have recovered do not count, because they may have recovered in the same pass.
int InvariantChecker::Impl::FailedKnown(const Node& started, std::optional<FailureClass> failure) const {
  const std::int64_t known = Known(started);
  const auto counts = [&](const internal::NodeFacts& facts) {
    return facts.failed && (!failure || facts.failure_class == failure);
  };
  int count = 0;
  for (const auto& [name, truth] : nodes) {
    if (!counts(truth.history.back()) || !truth.has_label) continue;
    const auto other = std::find_if_not(truth.history.rbegin(), truth.history.rend(), counts);
    // The node counts if its current failure started no later than `known`.
    count += std::prev(other)->since <= known;
  }
  return count;
}

bool InvariantChecker::Impl::IsPastFailures(const UpgradePolicy& the_policy, const Node& started) const {
  if (!the_policy.failure_policy) return false;
  const int limit = FailedLimit(the_policy.failure_policy->max_failures, NodesWithDriver(Known(started)));
  return failed_ >= limit && FailedKnown(started) >= limit;
}

std::optional<FailureClass> InvariantChecker::Impl::ClassPastFailures(const UpgradePolicy& the_policy,
                                                                      const Node& started) const {
  if (!the_policy.failure_policy) return std::nullopt;
  for (const auto& [failure, budget] : the_policy.failure_policy->by_class) {
    if (FailedKnown(started, failure) >= FailedLimit(budget, NodesWithDriver(Known(started)))) return failure;
  }
  return std::nullopt;
}

// Checks I8, and I20 for individual failure classes. The policy of the first attempt may have allowed the start (see
// JudgeBudget).
void InvariantChecker::Impl::JudgeFailures(const Node& started) {
  const Attempt* first = FirstAttempt(started);
  if (IsPastFailures(PolicyOf(writer), started) && (first == nullptr || IsPastFailures(*first->policy, started))) {
    Fail("I8", fmt::format("node {} was started although {} nodes had failed", started.name, FailedKnown(started)));
  }
  const std::optional<FailureClass> failure = ClassPastFailures(PolicyOf(writer), started);
  if (!failure || (first != nullptr && !ClassPastFailures(*first->policy, started))) return;
  Fail("I20", fmt::format("node {} was started although {} nodes had failed with the class {}", started.name,
                          FailedKnown(started, failure), ToString(*failure)));
}

// Returns the highest count since `known`, because a reader counts the nodes and pods that it has read, and may not
// have read the latest changes.
int InvariantChecker::Impl::NodesWithDriver(std::int64_t known) const {
  int count = 0;
  for (auto it = driver_nodes_.rbegin(); it != driver_nodes_.rend(); ++it) {
    count = std::max(count, it->second);
    if (it->first <= known) break;
  }
  return count;
}

// A node belongs to the driver if it has the state label, the marks of an upgrade in progress, or a driver pod.
void InvariantChecker::Impl::CountDriverNode(const std::string& node, std::int64_t revision) {
  const auto truth = nodes.find(node);
  const bool counts =
      truth != nodes.end() && truth->second.selected && (truth->second.has_label || driver_pods_.contains(node));
  const bool counted = with_driver_.contains(node);
  if (counts == counted) return;
  if (counts) {
    with_driver_.insert(node);
  } else {
    with_driver_.erase(node);
  }
  const int count = static_cast<int>(with_driver_.size());
  if (!driver_nodes_.empty() && driver_nodes_.back().first == revision) driver_nodes_.pop_back();
  driver_nodes_.emplace_back(revision, count);
  if (driver_nodes_.size() > kDriverNodesKept) driver_nodes_.pop_front();
}

}  // namespace driverupgrade::testing
