#include "testing/invariants/tries.h"

#include <optional>
#include <string>

#include "absl/strings/numbers.h"

namespace driverupgrade::testing::internal {
namespace {

// Returns the count in the annotation `<count>@<unix seconds>`; 0 for any other text.
int FailuresOf(const Node& node, const std::string& key) {
  const auto found = node.annotations.find(key);
  int count = 0;
  const bool is_there = found != node.annotations.end();
  return is_there && absl::SimpleAtoi(found->second.substr(0, found->second.find('@')), &count) ? count : 0;
}

}  // namespace

// An administrator can also return a node to upgrade-required. Only the engine ends an upgrade, or queues a node again
// because a new pod template has made the node's driver pod out of date.
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
