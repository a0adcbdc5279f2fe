// Commits: what may become of a node (I1, I3, I6-I8, I10, I13).
#include <algorithm>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "testing/invariants/checker_impl.h"
#include "transitions/transition_table.h"

namespace driverupgrade::inline v1::testing {

using internal::Maker;
using internal::NodeTruth;
using internal::StateOf;

namespace {

// A timer on a node may have been written by a replica whose clock is late.
constexpr absl::Duration kTimerSkewMax = absl::Minutes(5);

// Whether some driver's name stands on the node's cordon.
bool IsShared(const Node& node) { return node.annotations.contains(std::string(kCordonedByAnnotation)); }

// Everything by which drivers of this library tell whose a cordon is, but for the set of names.
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

// A person, too, may put a failed node back for another try; that it is done, or given back, only the engine says.
void BeginTryAfterEnd(const std::optional<UpgradeState>& from, const std::optional<UpgradeState>& to, bool by_engine,
                      NodeTruth& truth) {
  const bool over = to == UpgradeState::kDone || to == UpgradeState::kUnknown;
  const bool ended = from == UpgradeState::kFailed || (by_engine && over);
  if (from == to || !ended) return;
  truth.writes = truth.pods_gone = truth.meddled = 0;
}

// Changes of the number of nodes with the driver: what a sender has read is seldom older.
constexpr std::size_t kDriverNodesKept = 256;

std::string_view NameOf(const std::optional<UpgradeState>& state) { return state ? ToString(*state) : "no state"; }

}  // namespace

int UnavailableLimit(const CountOrPercent& limit, int nodes) {
  if (const Count* count = std::get_if<Count>(&limit)) return count->value;
  return static_cast<int>((std::int64_t{std::get<Percent>(limit).value} * nodes + 99) / 100);
}

void InvariantChecker::Impl::OnChange(const Change& change) {
  if (violation && violation->revision == 0) violation->revision = change.revision;
  const bool had = violation.has_value();
  if (change.node.before != nullptr || change.node.after != nullptr) OnNode(change);
  if (change.pod.before != nullptr || change.pod.after != nullptr) OnPod(change);
  OnMaintenance(change);
  OnOther(change);
  if (violation && !had) {
    violation->time = change.time;
    violation->revision = change.revision;
  }
  if (listener) listener(change);
}

void InvariantChecker::Impl::OnPod(const Change& change) {
  const Pod* after = change.pod.after;
  const auto is_unbound = [&](const Pod* pod) { return pod != nullptr && pod->node_name.empty() && IsDriverPod(*pod); };
  unbound_ += is_unbound(after) - is_unbound(change.pod.before);
  const auto count_on_node = [&](const Pod* pod, int sign) {
    if (pod == nullptr || pod->node_name.empty() || !IsDriverPod(*pod)) return;
    if ((driver_pods_[pod->node_name] += sign) == 0) driver_pods_.erase(pod->node_name);
  };
  count_on_node(after, +1);
  count_on_node(change.pod.before, -1);
  for (const Pod* pod : {change.pod.before, after}) {
    if (pod != nullptr && IsDriverPod(*pod)) CountDriverNode(pod->node_name, change.revision);
  }
  if (after == nullptr) {
    bound_.erase(change.pod.before->ref.uid);
  } else if (!after->node_name.empty()) {
    bound_.try_emplace(after->ref.uid, change.revision);
    // One that its DaemonSet has lost is another kind of pod from then on.
    const bool orphaned = change.pod.before != nullptr && !change.pod.before->owners.empty() && after->owners.empty();
    if (orphaned) bound_[after->ref.uid] = change.revision;
  }
}

// The ledger, and the revision that the driver pods are to have.
void InvariantChecker::Impl::OnOther(const Change& change) {
  const bool lease = change.lease.before != nullptr || change.lease.after != nullptr;
  const bool config_map = change.config_map.before != nullptr || change.config_map.after != nullptr;
  if (!lease && !config_map) revision_ = change.revision;
  if (config_map) {
    granted_.clear();
    if (change.config_map.after != nullptr) {
      for (const auto& [key, value] : change.config_map.after->data) {
        const std::set<std::string> lines = absl::StrSplit(value, '\n', absl::SkipEmpty());
        granted_.insert(lines.begin(), lines.end());
      }
    }
  }
  const ControllerRevision* made = change.controller_revision.after;
  if (made == nullptr || made->ns != options.driver_ns || !options.driver_labels.Matches(made->labels)) return;
  if (made->owner_uid.empty() || (made->owner_uid == newest_owner_ && made->revision < newest_)) return;
  ++templates_;
  newest_owner_ = made->owner_uid;
  newest_ = made->revision;
  const auto hash = made->labels.find("controller-revision-hash");
  if (hash != made->labels.end()) newest_hash_ = hash->second;
}

void InvariantChecker::Impl::OnNode(const Change& change) {
  const Node* before = change.node.before;
  const Node* after = change.node.after;
  if (after == nullptr) {
    const auto gone = nodes.find(before->name);
    slots_ -= gone->second.slot;
    CountNode(gone->second, -1);
    paths_.erase(before->uid);
    nodes.erase(gone);
    CountDriverNode(before->name, change.revision);
    return;
  }
  const bool by_peer = change.actor == Actor::kClient && options.shares_nodes && writer == nullptr;
  const bool by_engine = change.actor == Actor::kClient && !by_peer;
  const Maker maker = by_engine                         ? Maker::kEngine
                      : by_peer                         ? Maker::kPeer
                      : change.actor == Actor::kCluster ? Maker::kOperator
                      : rival_acts                      ? Maker::kRival
                                                        : Maker::kAdministrator;
  NodeTruth& truth = nodes[after->name];
  if (truth.uid != after->uid) {
    slots_ -= truth.slot;
    CountNode(truth, -1);
    truth = {.uid = after->uid, .created = change.time};
    if (after->unschedulable) {
      truth.cordon = Maker::kAdministrator;
      truth.cordoned_at = change.revision;
    }
  }
  if (!by_engine && before != nullptr) ++truth.meddled;
  if (before != nullptr) BeginTryAfterEnd(StateOf(*before, keys), StateOf(*after, keys), by_engine, truth);
  if (before != nullptr && by_engine) JudgeCordon(*before, *after, truth);
  NoteCordon(before, *after, maker, truth);
  if (before != nullptr && !before->unschedulable && after->unschedulable) truth.cordoned_at = change.revision;
  NoteShares(*after, maker, change.revision, change.time, truth);
  CountDriverNode(after->name, change.revision);
  if (before != nullptr && by_engine) Judge(*before, *after, truth);
}

// Whose cordon the node carries now, as far as anybody can tell.
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
    // Who of them is done last lifts it.
    truth.cordon = by_upgrade ? Maker::kEngine : maker;
    // Somebody who cordons a node that still says that we did leaves no trace.
    // The maintenance operator does on a node in progress, and that is no secret.
    const bool claimed =
        internal::IsMarked(after, keys) || (maker != Maker::kOperator && internal::IsBusy(StateOf(*before, keys)));
    if (!by_upgrade && claimed) truth.uncertain = true;
  } else if (before->unschedulable && !after.unschedulable) {
    truth.cordon = Maker::kNobody;
  }
  const auto state = StateOf(after, keys);
  // What Release leaves to a driver that relies on it without a name is no upgrade's of this library any more.
  const bool released_now = maker == Maker::kEngine && writer != nullptr && writer->releases;
  if (released_now && after.unschedulable && internal::OtherDriverAtWork(after, keys) && !IsShared(after)) {
    truth.cordon = Maker::kRival;
  }
  if (maker == Maker::kEngine && !after.unschedulable && !internal::IsBusy(state)) truth.uncertain = false;
}

void InvariantChecker::Impl::CountNode(const NodeTruth& truth, int sign) {
  unavailable_ += truth.unavailable && truth.has_label ? sign : 0;
  failed_ += truth.state == UpgradeState::kFailed ? sign : 0;
  open_ += truth.has_label && truth.state != UpgradeState::kDone ? sign : 0;
}

// What the node counts for the budgets now, and since when.
void InvariantChecker::Impl::NoteShares(const Node& after, Maker maker, std::int64_t revision, absl::Time time,
                                        NodeTruth& truth) {
  truth.revision = revision;
  truth.changed_by_engine = maker == Maker::kEngine;
  const std::optional<UpgradeState> state = StateOf(after, keys);
  CountNode(truth, -1);
  truth.state = state;
  const auto label = after.labels.find(keys.state);
  truth.has_label = label != after.labels.end() && !label->second.empty();
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
  const bool ours = internal::WillBeCordoned(state) || (after.unschedulable && truth.cordon == Maker::kEngine);
  const bool unavailable = ours || after.unschedulable || !after.ready;
  if (unavailable && !truth.unavailable) truth.unavailable_since = revision;
  truth.unavailable = unavailable;
  CountNode(truth, +1);
  truth.unavailable_by_engine = ours && (truth.unavailable_by_engine || maker == Maker::kEngine);
}

void InvariantChecker::Impl::SetPolicy(const UpgradePolicy& the_policy) {
  policy = std::make_shared<const UpgradePolicy>(the_policy);
  slots_ = 0;
  for (auto& [name, truth] : nodes) {
    const std::optional<std::int64_t> since = internal::SlotSince(truth.history, *policy);
    // A slot that only the new policy sees was asked of nobody: who is to count it has to have read it.
    if (since) {
      truth.slot_by_engine = truth.slot && truth.slot_by_engine && *since <= truth.slot_since;
      truth.slot_since = *since;
    }
    truth.slot = since.has_value();
    slots_ += truth.slot;
  }
}

void InvariantChecker::Impl::Judge(const Node& before, const Node& after, NodeTruth& truth) {
  if (std::string key = internal::ForeignChange(before, after, keys); !key.empty()) {
    Fail("I6", fmt::format("node {}: {} was changed, which is not ours", after.name, key));
  }
  JudgePath(before, after);
  if (!internal::IsBusy(StateOf(before, keys)) && internal::IsBusy(StateOf(after, keys))) JudgeStart(before, after);
  if (StateOf(before, keys) != StateOf(after, keys)) JudgeEnd(before, after, truth);
  JudgeMaintenance(before, after, truth);
  const auto began = internal::StageBegan(after, keys);
  if (began && *began + kTimerSkewMax < truth.created) {
    Fail("I10", fmt::format("node {}: a timer that is older than the node is on it", after.name));
  }
}

// I7: the labels are the ends of a path of transitions that some plan for this version announced.
void InvariantChecker::Impl::JudgePath(const Node& before, const Node& after) {
  const auto from = StateOf(before, keys);
  const auto to = StateOf(after, keys);
  if (from == to) return;
  // A node is given back from wherever it is, and whatever its label says.
  if (writer != nullptr && writer->releases && to == UpgradeState::kUnknown) return;
  const auto bad = [&](const char* why) {
    Fail("I7", fmt::format("node {}: {} -> {}: {}", after.name, NameOf(from), NameOf(to), why));
  };
  if (!to) return bad("the label is no state");
  if (!from) return bad("a label that is no state is not ours to change");
  // A node that nobody has changed may have been judged again under another policy: one of the plans is to explain it.
  const bool one_state = PolicyOf(writer).pacing == Pacing::kEveryState && *from != UpgradeState::kFailed;
  const Path* announced = nullptr;
  for (const Path& path : paths_[before.uid]) {
    if (path.resource_version != before.resource_version || path.from != *from || path.path.back() != *to) continue;
    if (announced == nullptr || (one_state && path.path.size() == 1)) announced = &path;
  }
  if (announced == nullptr) return bad("no plan for this version of the node announced it");
  UpgradeState at = *from;
  for (const UpgradeState next : announced->path) {
    if (!IsLegalEdge(at, next)) return bad("not by legal transitions");
    ++edges[{at, next}];
    at = next;
  }
  if (one_state && announced->path.size() > 1) bad("several states in one write, although the policy says one");
}

// The node was idle, and is in progress now.
void InvariantChecker::Impl::JudgeStart(const Node& before, const Node& after) {
  const UpgradePolicy& its_policy = PolicyOf(writer);
  const auto skip = before.labels.find(keys.skip);
  if (skip != before.labels.end() && skip->second == "true") {
    Fail("I8", fmt::format("node {} was started although it carries the skip label", after.name));
  }
  if (its_policy.paused) Fail("I8", fmt::format("node {} was started although the policy is paused", after.name));
  if (options.check_budget) JudgeBudget(before, after);
}

// I1. What others did counts if the writer knew of it before he first asked for this start: a request that was not
// answered clearly is repeated with the slot that it had, and no earlier request can be for this version of the node.
void InvariantChecker::Impl::JudgeBudget(const Node& before, const Node& after) {
  // The maintenance operator has its own. Where its object is ready already the node goes on in the same write.
  if (after.annotations.contains(options.identity.RequestorModeAnnotation())) return;
  std::string why = WhyOverBudget(PolicyOf(writer), before, after);
  const Attempt* first = FirstAttempt(before);
  // The slot may be one that the policy of the first try gave.
  if (!why.empty() && first != nullptr && *first->policy != PolicyOf(writer)) {
    why = WhyOverBudget(*first->policy, before, after);
  }
  if (!why.empty()) Fail("I1", fmt::format("node {} was started {}", after.name, why));
}

const InvariantChecker::Impl::Attempt* InvariantChecker::Impl::FirstAttempt(const Node& started) const {
  if (writer == nullptr) return nullptr;
  const auto attempt = attempts_.find({writer->name, started.uid});
  const bool asked = attempt != attempts_.end() && attempt->second.resource_version == started.resource_version;
  return asked ? &attempt->second : nullptr;
}

// Empty: the policy allows one more.
std::string InvariantChecker::Impl::WhyOverBudget(const UpgradePolicy& the_policy, const Node& before,
                                                  const Node& after) const {
  if (the_policy.max_parallel && !internal::HoldsSlot(internal::FactsOf(before, keys), the_policy) &&
      internal::HoldsSlot(internal::FactsOf(after, keys), the_policy)) {
    const int slots = SlotsKnown(the_policy, before);
    if (slots > *the_policy.max_parallel) {
      return fmt::format("as number {} in progress, where {} are allowed", slots, *the_policy.max_parallel);
    }
  }
  if (the_policy.max_unavailable && !before.unschedulable) {
    const int limit = UnavailableLimit(*the_policy.max_unavailable, NodesWithDriver(Known(before)));
    // Only where there are too many it matters who knew what.
    const int itself = before.ready ? 1 : 0;
    const int unavailable = (unavailable_ - itself < limit ? unavailable_ : UnavailableKnown(before)) - itself;
    if (unavailable >= limit) {
      return fmt::format("with {} nodes unavailable, where less than {} are allowed", unavailable, limit);
    }
  }
  return "";
}

// Up to which revision of the nodes the start was decided by.
std::int64_t InvariantChecker::Impl::Known(const Node& started) const {
  if (const Attempt* first = FirstAttempt(started)) return first->nodes_read;
  // Who does not tell of his requests may have sent one as soon as there was this version.
  std::int64_t version = 0;
  if (!absl::SimpleAtoi(started.resource_version, &version) || writer == nullptr) return 0;
  return std::min(version, writer->nodes_read);
}

// With the node that is started.
int InvariantChecker::Impl::SlotsKnown(const UpgradePolicy& the_policy, const Node& started) const {
  const bool in_force = the_policy == *policy;
  // Under the policy in force no more than the count: only where it is too high does it matter who knew what.
  if (in_force && slots_ <= the_policy.max_parallel.value_or(slots_)) return slots_;
  const std::int64_t known = Known(started);
  int slots = 1;
  for (const auto& [name, truth] : nodes) {
    if (name == started.name) continue;
    if (in_force) {
      slots += truth.slot && (truth.slot_by_engine || truth.slot_since <= known);
    } else {
      // Starts under the policy in force may have come after this one was asked for.
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
    // A node that is unavailable anyway needs room, but takes none: what is started beside it may come first.
    count += truth.unavailable_since <= known || (truth.unavailable_by_engine && started.ready);
  }
  return count;
}

// What a node counts for is read from it and its pods; a reader who has not read the last changes counts another number.
int InvariantChecker::Impl::NodesWithDriver(std::int64_t known) const {
  int count = 0;
  for (auto it = driver_nodes_.rbegin(); it != driver_nodes_.rend(); ++it) {
    count = std::max(count, it->second);
    if (it->first <= known) break;
  }
  return count;
}

// A node belongs to the driver by its label or by a driver pod on it.
void InvariantChecker::Impl::CountDriverNode(const std::string& node, std::int64_t revision) {
  const auto truth = nodes.find(node);
  const bool counts = truth != nodes.end() && (truth->second.has_label || driver_pods_.contains(node));
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

// I3, before the change is noted. A patch is a compare-and-set: what the node said then decides, whoever wrote it; and
// where nobody else has touched the marks, who made the cordon, whatever they say.
void InvariantChecker::Impl::JudgeCordon(const Node& before, const Node& after, const NodeTruth& truth) {
  if (!before.unschedulable || after.unschedulable) return;
  if (std::string why = internal::WhyCordonStays(before, keys); !why.empty()) {
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

// A state was left: what an upgrade that ends leaves behind (I3).
void InvariantChecker::Impl::JudgeEnd(const Node& before, const Node& after, const NodeTruth& truth) {
  const auto from = StateOf(before, keys);
  const auto to = StateOf(after, keys);
  const bool gives_back = to == UpgradeState::kUnknown && writer != nullptr && writer->releases;
  if (to != UpgradeState::kDone && !gives_back) return;
  const bool ours_by_marks = before.unschedulable && internal::WhyCordonStays(before, keys).empty();
  const bool ours =
      truth.cordon == Maker::kEngine && !truth.uncertain && internal::WhoRelies(after, keys).empty();
  if (after.unschedulable && (ours_by_marks || ours)) {
    Fail("I3", fmt::format("node {} is done, and our cordon is still there", after.name));
  }
  for (const std::string& key : keys.written) {
    if (key == keys.cordoned_by ? internal::IsMarked(after, keys) : after.annotations.contains(key)) {
      Fail("I3", fmt::format("node {} is done, and annotation {} is still there", after.name, key));
    }
  }
  if (to == UpgradeState::kDone && internal::IsBusy(from)) ++upgrades;
}

}  // namespace driverupgrade::inline v1::testing
