// Detects new attempts to upgrade a node, and checks the number of requests in each attempt (I13).
#include "testing/invariants/tries.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "fmt/format.h"
#include "testing/invariants/checker_impl.h"

namespace driverupgrade::testing::internal {
namespace {

// Returns the count in the annotation `<count>@<unix seconds>`; 0 for any other string.
int FailuresOf(const Node& node, const std::string& key) {
  const auto found = node.annotations.find(key);
  int count = 0;
  const bool is_there = found != node.annotations.end();
  return is_there && absl::SimpleAtoi(found->second.substr(0, found->second.find('@')), &count) ? count : 0;
}

}  // namespace

// An attempt ends when its node leaves upgrade-failed, when an administrator returns the node to upgrade-required, or
// when the engine ends the upgrade. It also ends when the engine queues the node again because a new pod template has
// made the node's driver pod out of date.
bool BeginsAnotherTry(const TryChange& change, const Keys& keys, const DriverIdentity& identity) {
  const std::string& failures = identity.FailuresAnnotation();
  // An attempt that starts and fails in one patch does not change the state.
  if (change.by_engine && FailuresOf(change.after, failures) > FailuresOf(change.before, failures)) return true;
  const std::optional<UpgradeState> from = StateOf(change.before, keys);
  const std::optional<UpgradeState> to = StateOf(change.after, keys);
  if (from == to) return false;
  const bool queues_again = from == UpgradeState::kUncordonRequired && to == UpgradeState::kUpgradeRequired;
  const bool is_over =
      to == UpgradeState::kDone || to == UpgradeState::kUnknown || (queues_again && change.is_new_template);
  const bool by_administrator = !change.by_engine && to == UpgradeState::kUpgradeRequired;
  return from == UpgradeState::kFailed || by_administrator || (change.by_engine && is_over);
}

}  // namespace driverupgrade::testing::internal

namespace driverupgrade::testing {

using internal::NodeTruth;

namespace {

// Factor by which faults raise the limit on requests per upgrade.
constexpr int kWithFaults = 3;
// Additional factor for this limit if the clocks of replicas differ, because the next leader may ignore a timer of the
// previous leader.
constexpr int kWithClocksApart = 2;
// Number of additional requests for a new template during an upgrade: another driver pod is deleted, and another timer
// is written.
constexpr int kForTemplate = 2;

}  // namespace

// I13. The limit grows with the number of pods that leave the node and with the number of changes by other clients. It
// also grows after faults, because requests are then retried.
void InvariantChecker::Impl::CountRequest(const std::string& node) {
  const auto found = nodes.find(node);
  if (found == nodes.end() || options.writes_per_upgrade_max <= 0) return;
  // A late request does not count, because its sender has given up on it and sent it again.
  if (writer != nullptr && writer->late) return;
  NodeTruth& truth = found->second;
  if (truth.writes == 0) {
    truth.templates = templates_;
    truth.first_write = cluster->Now();
  }
  ++truth.writes;
  const bool with_faults = disturbed || last_fault >= truth.first_write - kAftermath;
  const bool begins_anew = clocks_apart >= truth.first_write;
  const int times = (with_faults ? kWithFaults : 1) * (begins_anew ? kWithClocksApart : 1);
  const UpgradePolicy& policy = PolicyOf(writer);
  // With gangs, a patch without changes precedes the evictions of a node, whether the evictions are accepted or
  // refused.
  const int confirmations = policy.rollout && policy.rollout->gangs ? truth.pods_gone + truth.refusals : 0;
  const int allowed = times * options.writes_per_upgrade_max + truth.pods_gone + confirmations + truth.meddled +
                      kForTemplate * (templates_ - truth.templates);
  if (truth.writes <= allowed) return;
  Fail("I13", fmt::format("node {}: {} patches, deletions and evictions for one upgrade, but {} are allowed", node,
                          truth.writes, allowed));
}

// Counts the removal as a request. An accepted removal also raises the limit, unless the pod is a driver pod, because
// every upgrade deletes driver pods.
void InvariantChecker::Impl::NoteRemoval(const Pod& pod, bool accepted) {
  const bool goes = accepted && !pod.deletion_timestamp && !IsDriverPod(pod);
  if (const auto found = nodes.find(pod.node_name); found != nodes.end()) {
    absl::Time& evicted = found->second.tolerant_evicted;
    found->second.pods_gone += goes;
    if (goes && pod.tolerates_cordon_since) evicted = std::min(evicted, cluster->Now());
  }
  CountRequest(pod.node_name);
}

// Refused evictions do not count as requests, because the engine must retry them.
void InvariantChecker::Impl::NoteRefusal(const Pod& pod) {
  if (const auto found = nodes.find(pod.node_name); found != nodes.end()) ++found->second.refusals;
}

}  // namespace driverupgrade::testing
