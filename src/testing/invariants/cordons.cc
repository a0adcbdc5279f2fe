// Checks cordons: which client set a node's cordon, and what a finished upgrade leaves on the node (I3).
#include "fmt/format.h"
#include "testing/invariants/checker_impl.h"
#include "testing/invariants/program_at_work.h"

namespace driverupgrade::testing {

using internal::Maker;
using internal::NodeTruth;
using internal::StateOf;

namespace {

// Returns true if a driver is named on the node's cordon.
bool IsShared(const Node& node) { return node.annotations.contains(std::string(kCordonedByAnnotation)); }

// Returns all marks by which drivers of this library decide who owns a cordon, except for the set of names.
StringMap MarksOf(const Node& node) {
  StringMap marks;
  for (const auto& [key, value] : node.labels) {
    if (key.ends_with("-driver-upgrade-state")) marks.emplace(key, value);
  }
  for (const auto& [key, value] : node.annotations) {
    if (key.ends_with("-driver-upgrade.node-initial-state.unschedulable")) marks.emplace(key, value);
  }
  return marks;
}

}  // namespace

// Records the current owner of the node's cordon, or that the owner is uncertain.
void InvariantChecker::Impl::NoteCordon(const Node* before, const Node& after, Maker maker, NodeTruth& truth) {
  if (before == nullptr) return;
  const bool by_upgrade = maker == Maker::kEngine || maker == Maker::kPeer;
  if (!by_upgrade) {
    const auto differs = [&](const StringMap& a, const StringMap& b, const std::string& key) {
      const auto x = a.find(key);
      const auto y = b.find(key);
      return (x == a.end()) != (y == b.end()) || (x != a.end() && x->second != y->second);
    };
    if (differs(before->annotations, after.annotations, keys.cordoned_by) ||
        differs(before->annotations, after.annotations, keys.initial) ||
        differs(before->labels, after.labels, keys.state)) {
      truth.uncertain = true;
    }
    if (options.shares_nodes && maker == Maker::kAdministrator && MarksOf(*before) != MarksOf(after)) {
      truth.uncertain = true;
    }
  }
  if (!before->unschedulable && after.unschedulable) {
    // Drivers of this library share the cordon; the last driver that finishes lifts it.
    truth.cordon = by_upgrade ? Maker::kEngine : maker;
    // If a client cordons a node whose marks still show an upgrade, nothing shows who set the cordon.
    const bool says_so = internal::IsBusy(StateOf(*before, keys)) || !internal::LiveName(after, keys).empty();
    // The maintenance operator also cordons nodes in progress, but then a NodeMaintenance shows who set the cordon.
    // However, if no driver on the node requested the maintenance, a driver that is about to cordon the node treats the
    // operator's cordon as its own (ADR 0004).
    const bool joins = options.requestor_id.empty() && StateOf(*before, keys) == UpgradeState::kCordonRequired &&
                       internal::WhoRelies(after, keys).empty();
    const bool claimed = internal::IsMarked(after, keys) || joins || (maker != Maker::kOperator && says_so);
    if (!by_upgrade && claimed) truth.uncertain = true;
  } else if (before->unschedulable && !after.unschedulable) {
    truth.cordon = Maker::kNobody;
  }
  // A driver that waits to be loaded shares the cordon of an evacuated rival, which may wait for it.
  const bool joins_rival =
      maker == Maker::kEngine && internal::IsMarked(after, keys) && !internal::IsMarked(*before, keys);
  if (truth.cordon == Maker::kRival && joins_rival) truth.cordon = Maker::kEngine;
  const auto state = StateOf(after, keys);
  // If a driver that is not named on the cordon or another program relies on it, Release leaves the cordon on the node.
  // From then on, the cordon does not belong to any upgrade of this library.
  const bool released_now = maker == Maker::kEngine && writer != nullptr && writer->releases;
  const bool is_needed =
      (internal::OtherDriverAtWork(after, keys) && !IsShared(after)) || !internal::ProgramAtWork(after).empty();
  if (released_now && after.unschedulable && is_needed) truth.cordon = Maker::kRival;
  if (maker == Maker::kEngine && !after.unschedulable && !internal::IsBusy(state)) truth.uncertain = false;
}

// I3, checked before the change is recorded. A patch is a compare-and-set, so the marks on the node at that time
// decide, regardless of the client that wrote them. If no other client has touched the marks, the client that set the
// cordon also decides, regardless of the marks.
void InvariantChecker::Impl::JudgeCordon(const Node& before, const Node& after, const NodeTruth& truth) {
  if (!before.unschedulable || after.unschedulable) return;
  if (std::string why = internal::WhyCordonStays(before, keys, Starts(before, after)); !why.empty()) {
    Fail("I3", fmt::format("node {}: its cordon was lifted, but {}", after.name, why));
  }
  if (truth.uncertain) return;
  if (truth.cordon == Maker::kAdministrator) {
    Fail("I3", fmt::format("node {}: the cordon that was lifted was an administrator's", after.name));
  } else if (truth.cordon == Maker::kRival) {
    Fail("I3", fmt::format("node {}: the cordon that was lifted was another driver's", after.name));
  } else if (truth.cordon == Maker::kOperator) {
    Fail("I3", fmt::format("node {}: the cordon that was lifted was the maintenance operator's", after.name));
  }
}

// Checks the marks and the cordon that a finished upgrade leaves on a node (I3).
void InvariantChecker::Impl::JudgeEnd(const Node& before, const Node& after, const NodeTruth& truth) {
  const auto from = StateOf(before, keys);
  const auto to = StateOf(after, keys);
  const bool gives_back = to == UpgradeState::kUnknown && writer != nullptr;
  if (to != UpgradeState::kDone && !gives_back) return;
  const bool ours_by_marks =
      before.unschedulable && internal::WhyCordonStays(before, keys, Starts(before, after)).empty();
  // In requestor mode, we must not lift a cordon on which we are not named (dep-F13), regardless of the client that set
  // it. The cordon then belongs to a driver that is not named on it; that driver will lift the cordon (dep-F8).
  const bool is_left = before.annotations.contains(keys.requestor_mode) && !internal::IsMarked(before, keys) &&
                       internal::UnnamedDriverMadeCordon(before, keys);
  const bool ours =
      truth.cordon == Maker::kEngine && !truth.uncertain && !is_left && internal::WhoRelies(after, keys).empty();
  if (after.unschedulable && (ours_by_marks || ours)) {
    Fail("I3", fmt::format("node {} is done or released, but our cordon is still set", after.name));
  }
  for (const std::string& key : keys.written) {
    if (key == keys.cordoned_by ? internal::IsMarked(after, keys) : after.annotations.contains(key)) {
      Fail("I3", fmt::format("node {} is done or released, but annotation {} is still set", after.name, key));
    }
  }
  if (internal::Steers(after, keys))
    Fail("I3", fmt::format("node {} is done or released, but our taint is still set", after.name));
  if (to == UpgradeState::kDone && internal::IsBusy(from)) ++upgrades;
}

}  // namespace driverupgrade::testing
