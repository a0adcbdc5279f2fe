// Counts the nodes that engines are processing, regardless of the nodes' labels (I19).
#include <algorithm>
#include <limits>

#include "fmt/format.h"
#include "testing/invariants/checker_impl.h"

namespace driverupgrade::testing {

using internal::Maker;
using internal::NodeTruth;

namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();

bool ChangesOurAnnotations(const Node& before, const Node& after, const internal::Keys& keys) {
  const auto value = [](const Node& node, const std::string& key) {
    const auto found = node.annotations.find(key);
    return found == node.annotations.end() ? std::optional<std::string>() : found->second;
  };
  return std::any_of(keys.written.begin(), keys.written.end(),
                     [&](const std::string& key) { return value(before, key) != value(after, key); });
}

// Returns true if the change sets the state label to another value. Removing the label does not count.
bool SetsState(const Node& before, const Node& after, const internal::Keys& keys) {
  const auto label = after.labels.find(keys.state);
  if (label == after.labels.end()) return false;
  const auto earlier = before.labels.find(keys.state);
  return earlier == before.labels.end() || earlier->second != label->second;
}

}  // namespace

// Returns how many nodes engines may process at the same time under the policy. Failed nodes count toward
// maxParallelUpgrades. If the policy has a `failurePolicy`, the failed nodes that it tolerates are allowed in addition.
int InvariantChecker::Impl::HandsAllowed(const UpgradePolicy& the_policy, const Node& started) const {
  if (!the_policy.max_parallel) return kNoLimit;
  if (!the_policy.failure_policy) return *the_policy.max_parallel;
  const int failed = FailedLimit(the_policy.failure_policy->max_failures, NodesWithDriver(Known(started)));
  return *the_policy.max_parallel + std::max(0, failed - 1);
}

// Counts the node if an engine has started it and nothing shows that its upgrade has succeeded.
void InvariantChecker::Impl::CountHand(NodeTruth& truth) {
  in_hands_ -= truth.in_hand;
  // An unlabeled node that an administrator has uncordoned counts only while no driver is ready on it.
  const bool is_interrupted = truth.unlabelled_mark && (truth.cordoned || truth.ready_drivers.empty());
  truth.in_hand = truth.hands_allowed && (truth.slot || truth.driver_taken || is_interrupted);
  in_hands_ += truth.in_hand;
}

void InvariantChecker::Impl::NoteHands(const Node& before, const Node& after, Maker maker, NodeTruth& truth) {
  // For a node with a label, the rules for slots decide (dep-F8).
  truth.unlabelled_mark = internal::IsMarked(after, keys) && !internal::HasLabel(after, keys);
  truth.cordoned = after.unschedulable;
  CountHand(truth);
  const auto from = StateOf(before, keys);
  const auto to = StateOf(after, keys);
  if (maker != Maker::kEngine) {
    // If an administrator sets another state or edits our annotations, engines are no longer responsible for the node.
    const bool edits = maker != Maker::kPeer && ChangesOurAnnotations(before, after, keys);
    if (edits || SetsState(before, after, keys)) LetGo(truth);
    return;
  }
  if (writer != nullptr && writer->releases) return LetGo(truth);
  // A failed node that waits for another attempt has released its slot.
  if (from == UpgradeState::kFailed && to == UpgradeState::kUpgradeRequired) return LetGo(truth);
  // In upgrade-done and in uncordon-required, the new driver works. In uncordon-required, the node does not hold a slot
  // while it waits for another driver (dep-F8).
  const bool is_over = to == UpgradeState::kDone || to == UpgradeState::kUncordonRequired;
  if (is_over && !truth.driver_taken) return LetGo(truth);
  if (internal::IsBusy(from) || !internal::IsBusy(to)) return;
  // If another client removed the label during an upgrade, the engine writes it again. The engine also continues a node
  // if another client wrote our name, or a label that is not a state.
  const bool is_marked = internal::IsMarked(before, keys);
  if (is_marked && (truth.hands_allowed || !internal::HasLabel(before, keys))) return;
  if (truth.hands_allowed && truth.driver_taken) return;
  LetGo(truth);
  // A node that an administrator had cordoned needs no slot (dep-F14).
  if (after.annotations.contains(keys.initial)) return;
  truth.hands_allowed = HandsAllowed(PolicyOf(writer), before);
  if (const Attempt* first = FirstAttempt(before)) {
    truth.hands_allowed = std::max(*truth.hands_allowed, HandsAllowed(*first->policy, before));
  }
  CountHand(truth);
  JudgeHands(after.name, *truth.hands_allowed);
}

void InvariantChecker::Impl::LetGo(NodeTruth& truth) {
  truth.hands_allowed.reset();
  truth.driver_taken = false;
  CountHand(truth);
}

void InvariantChecker::Impl::NoteDriverPod(const Change& change) {
  const Pod* before = change.pod.before;
  const Pod* after = change.pod.after;
  const Pod& pod = after != nullptr ? *after : *before;
  const auto found = nodes.find(pod.node_name);
  if (found == nodes.end() || !IsDriverPod(pod)) return;
  NodeTruth& truth = found->second;
  if (after != nullptr && !after->deletion_timestamp && IsReady(*after)) {
    truth.ready_drivers.insert(pod.ref.uid);
  } else {
    truth.ready_drivers.erase(pod.ref.uid);
  }
  const bool by_engine = change.actor == Actor::kClient && writer != nullptr && !writer->late;
  const bool goes = before != nullptr && !before->deletion_timestamp && (after == nullptr || after->deletion_timestamp);
  const bool taken = by_engine && goes && truth.hands_allowed;
  truth.driver_taken = (truth.driver_taken || taken) && truth.ready_drivers.empty();
  CountHand(truth);
  if (taken) JudgeHands(pod.node_name, *truth.hands_allowed);
}

// Once the driver is removed, no node waits for a driver pod.
void InvariantChecker::Impl::NoteDriverRemoved() {
  for (auto& [name, truth] : nodes) {
    truth.driver_taken = false;
    CountHand(truth);
  }
}

// `allowed` is the limit of the policy under which the node was started. The largest limit among all nodes in progress
// counts, because nodes continue if a new policy lowers the limit.
void InvariantChecker::Impl::JudgeHands(const std::string& taken, int allowed) {
  if (in_hands_ <= allowed || !options.check_budget || !options.requestor_id.empty()) return;
  std::string names;
  for (const auto& [name, truth] : nodes) {
    if (!truth.in_hand) continue;
    allowed = std::max(allowed, *truth.hands_allowed);
    names += (names.empty() ? "" : ", ") + name;
  }
  if (in_hands_ <= allowed) return;
  Fail("I19", fmt::format("node {} is one of {} nodes that engines process, but {} are allowed: {}", taken, in_hands_,
                          allowed, names));
}

}  // namespace driverupgrade::testing
