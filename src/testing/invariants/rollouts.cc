// Checks rollouts: the record may reach the next stage only when the previous stage is done, soaked and approved (I14).
// A node may start only if the record and the windows (I20), the limit of its stage, and the rules for its group (I21)
// allow it.
#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "model/node_marks.h"
#include "model/node_service.h"
#include "testing/invariants/checker_impl.h"
#include "testing/invariants/start_times.h"

namespace driverupgrade::testing {

using driverupgrade::internal::RolloutRecord;
using internal::NodeTruth;
using internal::StateOf;

namespace {

// Time within which every client learns of a change. A pass takes at most two minutes by a clock that may run at half
// speed, and uses data that was read earlier.
constexpr absl::Duration kKnown = absl::Minutes(5);
constexpr std::size_t kRecordsKept = 64;

// Returns the index of the stage named `name`. An empty name stands for the first stage.
std::size_t StageNamed(const RolloutPolicy& rollout, std::string_view name) {
  if (name.empty()) return 0;
  const auto found = std::find_if(rollout.stages.begin(), rollout.stages.end(),
                                  [&](const RolloutStage& stage) { return stage.name == name; });
  return static_cast<std::size_t>(found - rollout.stages.begin());
}

// Returns true if the stage has a selector that selects the node.
bool IsIn(const RolloutStage& stage, const Node& node) {
  const LabelSelector* selector = std::get_if<LabelSelector>(&stage.nodes);
  return selector != nullptr && selector->Matches(node.labels);
}

bool IsBySelectors(const RolloutPolicy& rollout) {
  return std::all_of(rollout.stages.begin(), rollout.stages.end(),
                     [](const RolloutStage& stage) { return std::holds_alternative<LabelSelector>(stage.nodes); });
}

bool StartsTogether(const RolloutPolicy& rollout) {
  return rollout.groups && rollout.groups->mode == GroupMode::kTogether;
}

// A node without the label forms its own group. The slash distinguishes the name of such a group from label values,
// which contain no slash.
std::string GroupOf(const Node& node, const NodeGroups& groups) {
  const auto label = node.labels.find(groups.by);
  return label == node.labels.end() ? "/" + node.name : label->second;
}

std::size_t StageByLabels(const RolloutPolicy& rollout, const Node& node) {
  const auto found = std::find_if(rollout.stages.begin(), rollout.stages.end(),
                                  [&](const RolloutStage& stage) { return IsIn(stage, node); });
  return static_cast<std::size_t>(found - rollout.stages.begin());
}

// Returns the node with the labels that decide its stage and its group.
Node WithRolloutLabels(Node node, const DriverIdentity& identity) {
  node.labels = driverupgrade::internal::RolloutLabels(node, driverupgrade::internal::DecodeMarks(node, identity));
  return node;
}

}  // namespace

bool InvariantChecker::Impl::IsLeftOut(const Node& node) const {
  const auto skip = node.labels.find(keys.skip);
  return (skip != node.labels.end() && skip->second == "true") || node.unschedulable || !node.ready ||
         !driverupgrade::internal::WhyLeaving(node).empty() || !driverupgrade::internal::WhyDegraded(node).empty();
}

// Records the state of a node in the rollout. A node also counts as ended if it is not in progress and the rollout
// leaves it out (IsLeftOut). Must not query the cluster, because the cluster calls this function during a commit.
void InvariantChecker::Impl::NoteMember(const Node& after) {
  if (!policy->rollout) return;
  const std::optional<UpgradeState> state = StateOf(after, keys);
  // A node without a label may turn out to be done when it receives a label.
  const bool ended = state == UpgradeState::kDone || state == UpgradeState::kFailed ||
                     state == UpgradeState::kUnknown || (IsLeftOut(after) && !internal::IsBusy(state));
  RolloutMember& member = members_[after.name];
  const RolloutPolicy& rollout = *policy->rollout;
  const Node before = std::exchange(member.node, WithRolloutLabels(after, options.identity));
  const bool stays = StageByLabels(rollout, before) == StageByLabels(rollout, member.node) &&
                     (!rollout.groups || GroupOf(before, *rollout.groups) == GroupOf(member.node, *rollout.groups));
  if (!before.name.empty() && !stays) member.moved = cluster->Now();
  member.gone = absl::InfiniteFuture();
  member.failed = state == UpgradeState::kFailed ? std::min(member.failed, cluster->Now()) : absl::InfiniteFuture();
  member.ended = ended ? absl::InfiniteFuture() : std::min(member.ended, cluster->Now());
}

void InvariantChecker::Impl::NoteApprovals(const DaemonSet& daemon_set) {
  const auto found = daemon_set.annotations.find(options.identity.ApprovedAnnotation());
  const std::string text = found == daemon_set.annotations.end() ? "" : found->second;
  const std::set<std::string> approvals = absl::StrSplit(text, ',', absl::SkipEmpty());
  for (auto& [approval, until] : approvals_) {
    if (!approvals.contains(approval)) until = std::min(until, cluster->Now());
  }
  for (const std::string& approval : approvals) approvals_[approval] = absl::InfiniteFuture();
}

void InvariantChecker::Impl::OnLedger(const ConfigMap* ledger) {
  const std::string& name = options.identity.Name();
  std::string key = "_rollout_" + name;
  std::replace(key.begin(), key.end(), '/', '_');
  const bool is_there = ledger != nullptr && ledger->data.contains(key);
  RolloutRecord record;
  if (is_there) record = driverupgrade::internal::ParseRecord(ledger->data.at(key)).record;
  const RolloutRecord before = records_.empty() ? RolloutRecord() : records_.back().second;
  if (record.revision.empty() && is_there && writer != nullptr) Fail("I14", "a record without a revision was stored");
  if (record == before) return;
  if (!record.revision.empty()) JudgeAdvance(before, record);
  if (!before.revision.empty()) JudgeDurations(before.durations, record.durations);
  records_.emplace_back(cluster->Now(), std::move(record));
  if (records_.size() > kRecordsKept) records_.pop_front();
}

// SizeOf returns the number of nodes in a stage with a selector. FailedForLong returns the number of nodes whose
// upgrade to the revision failed so long ago that every client knows of the failure.
int InvariantChecker::Impl::SizeOf(const RolloutStage& stage) const {
  return static_cast<int>(std::count_if(members_.begin(), members_.end(), [&](const auto& member) {
    const bool may_be_in = IsIn(stage, member.second.node) || HasJustMoved(member.second);
    return may_be_in && with_driver_.contains(member.first);
  }));
}

int InvariantChecker::Impl::FailedForLong(const RolloutStage& stage, const std::string& revision) const {
  const std::string& key = options.identity.FailedRevisionAnnotation();
  return static_cast<int>(std::count_if(members_.begin(), members_.end(), [&](const auto& member) {
    const Node& node = member.second.node;
    const auto at = node.annotations.find(key);
    return IsIn(stage, node) && !HasJustMoved(member.second) && with_driver_.contains(member.first) &&
           at != node.annotations.end() && at->second == revision && member.second.failed < cluster->Now() - kKnown;
  }));
}

// Returns true if, by at least one client's clock, no window is open, or if this cannot be excluded.
bool InvariantChecker::Impl::MayBeClosed(const RolloutPolicy& rollout) const {
  if (rollout.finish_by || options.clock_skew_max > absl::ZeroDuration() || !options.check_pacing) return true;
  const absl::Time now = cluster->Now();
  return !MayStartAt(rollout, absl::ZeroDuration(), now) ||
         !MayStartAt(rollout, absl::ZeroDuration(), now - absl::Seconds(2));
}

// Returns true if the node waits although another client has already replaced its driver pods. Such a node counts as
// done before its label shows this.
bool InvariantChecker::Impl::NeedsNoUpgrade(const Node& node) const {
  const auto pods = driver_pods_.find(node.name);
  return StateOf(node, keys) == UpgradeState::kUpgradeRequired && pods != driver_pods_.end() &&
         pods->second.count(newest_hash_) == pods->second.size();
}

// Returns why the rollout cannot have passed the stage, or an empty string.
std::string InvariantChecker::Impl::WhyNotPast(const RolloutStage& stage, const RolloutRecord& before,
                                               const std::string& revision) const {
  const absl::Time now = cluster->Now();
  for (const auto& [name, member] : members_) {
    if (!IsIn(stage, member.node) || HasJustMoved(member) || !with_driver_.contains(name)) continue;
    if (member.ended >= now - kKnown || nodes.at(name).created >= now - kKnown || NeedsNoUpgrade(member.node)) continue;
    return fmt::format("node {} has not finished", name);
  }
  if (stage.soak > absl::ZeroDuration()) {
    if (!before.soak_since) return "the start of its soak is not recorded";
    if (now + 2 * options.clock_skew_max < *before.soak_since + stage.soak) return "it has not soaked";
  }
  const int failed = FailedForLong(stage, revision);
  const bool ever_approved = approvals_.contains(stage.name + "@" + revision);
  if (stage.max_failures && !ever_approved && failed > UnavailableLimit(*stage.max_failures, SizeOf(stage))) {
    return fmt::format("{} of its nodes have failed", failed);
  }
  if (stage.approval == Approval::kAutomatic) return "";
  const auto approval = approvals_.find(stage.name + "@" + revision);
  const bool approved = approval != approvals_.end() && approval->second >= now - kKnown;
  return approved ? "" : "it has not been approved";
}

void InvariantChecker::Impl::JudgeAdvance(const RolloutRecord& before, const RolloutRecord& after) {
  const std::optional<RolloutPolicy>& rollout = PolicyOf(writer).rollout;
  if (!rollout) return;
  if (rollout->rollback == Rollback::kFast && before.completed == after.revision) return;
  const bool same = before.revision == after.revision && before.stages == after.stages;
  const std::size_t from = same ? StageNamed(*rollout, before.stage) : 0;
  const std::size_t to = std::min(StageNamed(*rollout, after.stage), rollout->stages.size());
  if (to > from && after.halt) {
    Fail("I14", fmt::format("stage {} started after {} although the rollout is halted: {}", after.stage,
                            before.stage.empty() ? "none" : before.stage, after.halt->reason));
  }
  // For stages that are defined by a number of nodes, only conditions that do not depend on the stages' members are
  // checked.
  for (std::size_t i = from; i < to; ++i) {
    const std::string why =
        WhyNotPast(rollout->stages[i], same && i == from ? before : RolloutRecord(), after.revision);
    if (!why.empty()) Fail("I14", fmt::format("stage {} was passed, but {}", rollout->stages[i].name, why));
  }
}

// Returns true if the node moved so recently that clients might not know its new stage or group yet.
bool InvariantChecker::Impl::HasJustMoved(const RolloutMember& member) const {
  return member.moved >= cluster->Now() - kKnown;
}

// Returns true if the stages of all nodes are certain. This requires that every stage has a selector. If groups start
// together, no node may have moved recently: such a node may have been in any group, and a group belongs to the first
// stage that contains one of the group's nodes.
bool InvariantChecker::Impl::CanTellStages(const RolloutPolicy& rollout) const {
  if (!IsBySelectors(rollout)) return false;
  return !StartsTogether(rollout) || std::none_of(members_.begin(), members_.end(),
                                                  [&](const auto& member) { return HasJustMoved(member.second); });
}

// A group that starts together belongs to the first stage that contains one of its nodes.
std::size_t InvariantChecker::Impl::StageOf(const RolloutPolicy& rollout, const Node& node) const {
  std::size_t stage = StageByLabels(rollout, node);
  if (!StartsTogether(rollout)) return stage;
  const std::string group = GroupOf(node, *rollout.groups);
  for (const auto& [name, member] : members_) {
    if (GroupOf(member.node, *rollout.groups) != group) continue;
    stage = std::min(stage, StageByLabels(rollout, member.node));
  }
  return stage;
}

// Returns true if the node kept its NodeMaintenance according to data that the writer may have read.
bool InvariantChecker::Impl::KeepsMaintenance(const Node& node, absl::Time asked) const {
  const auto truth = nodes.find(node.name);
  return truth != nodes.end() && truth->second.claimed_until >= asked - kKnown;
}

std::string InvariantChecker::Impl::WhyNotStarted(const RolloutPolicy& rollout, const Node& node,
                                                  absl::Time asked) const {
  const absl::Time first = asked - kKnown - options.clock_skew_max;
  const absl::Time last = cluster->Now() + options.clock_skew_max;
  if (!MayStart(rollout, absl::ZeroDuration(), first, last)) return "no window is open";
  if (!MayStart(rollout, ShortestSince(rollout, asked - kKnown), first, last)) return "it could not finish in time";
  // A node that an earlier upgrade left cordoned does not wait for a stage, nor does a node that keeps its
  // NodeMaintenance.
  const bool out_of_service = internal::IsOutOfService(node, keys) || KeepsMaintenance(node, asked);
  const std::size_t stage = CanTellStages(rollout) && !out_of_service ? StageOf(rollout, node) : 0;
  std::string why = "no record allows it";
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const RolloutRecord& record = records_[i].second;
    const absl::Time until = i + 1 < records_.size() ? records_[i + 1].first : absl::InfiniteFuture();
    if (until < asked - kKnown) continue;
    if (record.halt) {
      why = fmt::format("the rollout is halted: {}", record.halt->reason);
    } else if (StageNamed(rollout, record.stage) < stage) {
      why = fmt::format("stage {} has been reached", record.stage);
    } else {
      return "";
    }
  }
  return why;
}

// Returns the nodes that were in progress when the writer decided on this start, and that it therefore had to count
// (see JudgeBudget). Nodes started since then had a grant, and every client reads the grants before it starts a node. A
// failed node does not count as in progress here, even if it holds a slot.
std::vector<const Node*> InvariantChecker::Impl::UnderWay(const UpgradePolicy& the_policy, const Node& started) const {
  // A node counts as in progress once its grant is stored, so later actions of other clients do not matter.
  const auto grant = granted_ever_.find(started.uid + " " + started.resource_version);
  const std::int64_t known = std::min(Known(started), grant == granted_ever_.end() ? revision_ : grant->second);
  const bool in_force = the_policy == *policy;
  std::vector<const Node*> under_way;
  for (const auto& [name, member] : members_) {
    const auto found = nodes.find(name);
    if (name == started.name || found == nodes.end() || HasJustMoved(member)) continue;
    if (member.node.annotations.contains(keys.reload_only)) continue;
    const NodeTruth& truth = found->second;
    const internal::NodeFacts& read = truth.history[internal::IndexAt(truth.history, known)];
    if (truth.state == UpgradeState::kFailed || read.state == UpgradeState::kFailed) continue;
    if (!internal::HoldsSlot(truth.history.back(), the_policy)) continue;
    if (internal::HoldsSlot(read, the_policy) || (in_force && truth.slot_by_engine)) under_way.push_back(&member.node);
  }
  return under_way;
}

std::string InvariantChecker::Impl::WhyBeyondStage(const RolloutPolicy& rollout, const Node& started,
                                                   const std::vector<const Node*>& under_way) const {
  if (!CanTellStages(rollout)) return "";
  const std::size_t number = StageOf(rollout, started);
  if (number == rollout.stages.size() || !rollout.stages[number].max_parallel) return "";
  const auto place = [&](const Node& node) {
    return StartsTogether(rollout) ? GroupOf(node, *rollout.groups) : node.name;
  };
  std::set<std::string> places = {place(started)};
  for (const Node* node : under_way) {
    if (StageOf(rollout, *node) == number) places.insert(place(*node));
  }
  const RolloutStage& stage = rollout.stages[number];
  if (static_cast<int>(places.size()) <= *stage.max_parallel) return "";
  return fmt::format("with it, stage {} has {} nodes or groups in progress (limit {})", stage.name, places.size(),
                     *stage.max_parallel);
}

std::string InvariantChecker::Impl::WhyNotBeside(const NodeGroups& groups, const Node& started,
                                                 const std::vector<const Node*>& under_way) const {
  const std::string group = GroupOf(started, groups);
  const auto is_of_it = [&](const Node* node) { return GroupOf(*node, groups) == group; };
  if (groups.mode == GroupMode::kOneAtATime) {
    const auto other = std::find_if_not(under_way.begin(), under_way.end(), is_of_it);
    return other == under_way.end() ? "" : fmt::format("node {} of another group is in progress", (*other)->name);
  }
  if (groups.mode != GroupMode::kSpread) return "";
  // Largest size of the group that the writer may have read.
  int size = 0;
  for (const auto& [name, member] : members_) {
    size += (is_of_it(&member.node) || HasJustMoved(member)) && member.gone >= cluster->Now() - kKnown;
  }
  const auto of_it = std::count_if(under_way.begin(), under_way.end(), is_of_it);
  if (of_it < UnavailableLimit(groups.max_per_group, size)) return "";
  return fmt::format("{} of the {} nodes of its group are in progress", of_it, size);
}

// Called for the first node of a group that starts together. Requests for the other waiting nodes of the group must
// soon follow.
void InvariantChecker::Impl::ExpectWholeGroup(const UpgradePolicy& the_policy, const Node& started) {
  const NodeGroups& groups = *the_policy.rollout->groups;
  const std::string group = GroupOf(started, groups);
  const std::int64_t known = Known(started);
  StartedGroup expected{.time = cluster->Now(), .policy = policy};
  for (const auto& [name, member] : members_) {
    const auto found = nodes.find(name);
    if (name == started.name || found == nodes.end() || GroupOf(member.node, groups) != group) continue;
    const NodeTruth& truth = found->second;
    if (internal::IsBusy(truth.state)) return;
    const bool known_to_wait = truth.state == UpgradeState::kUpgradeRequired && truth.history.back().since <= known &&
                               truth.revision <= known && with_driver_.contains(name);
    if (!known_to_wait || HasJustMoved(member) || IsLeftOut(member.node)) continue;
    if (!internal::WhoRelies(member.node, keys).empty()) continue;
    expected.waiting.push_back({.name = name, .uid = truth.uid, .resource_version = member.node.resource_version});
  }
  if (!expected.waiting.empty()) started_groups_.push_back(std::move(expected));
}

// Returns true if the rest of the group may wait because of a fault, a halt, a policy change, or the end of a window.
bool InvariantChecker::Impl::IsHindered(const StartedGroup& group) const {
  if (group.policy != policy || last_fault >= group.time - kKnown) return true;
  const absl::Duration takes = LongestSince(*policy->rollout, group.time);
  for (const absl::Time time : {group.time - options.clock_skew_max, cluster->Now() + options.clock_skew_max}) {
    if (!MayStartAt(*policy->rollout, takes, time)) return true;
  }
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const bool over = i + 1 < records_.size() && records_[i + 1].first < group.time;
    if (!over && records_[i].second.halt) return true;
  }
  return false;
}

void InvariantChecker::Impl::JudgeStartedGroups() {
  while (!started_groups_.empty() && started_groups_.front().time + kKnown <= cluster->Now()) {
    const StartedGroup group = std::move(started_groups_.front());
    started_groups_.pop_front();
    if (IsHindered(group)) continue;
    for (const StartedGroup::Waiting& waiting : group.waiting) {
      const auto member = members_.find(waiting.name);
      const bool is_as_it_was = member != members_.end() && member->second.node.uid == waiting.uid &&
                                member->second.node.resource_version == waiting.resource_version;
      const bool was_asked = std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& attempt) {
        return attempt.first.second == waiting.uid && attempt.second.resource_version == waiting.resource_version;
      });
      if (!is_as_it_was || was_asked) continue;
      Fail("I21", fmt::format("a group that starts together was started without node {}", waiting.name));
    }
  }
}

// Checks the start against the policy of the first request for this version of the node. The start must have been
// allowed at some time since that request.
void InvariantChecker::Impl::JudgeRollout(const Node& as_read) {
  const Node before = WithRolloutLabels(as_read, options.identity);
  const Attempt* first = FirstAttempt(before);
  const UpgradePolicy& its_policy = first != nullptr ? *first->policy : PolicyOf(writer);
  if (!its_policy.rollout) return;
  const RolloutPolicy& rollout = *its_policy.rollout;
  const absl::Time asked = first != nullptr ? first->time : cluster->Now();
  if (const std::string why = WhyNotStarted(rollout, before, asked); !why.empty()) {
    return Fail("I20", fmt::format("node {} was started, but {}", before.name, why));
  }
  if (!options.check_budget) return;
  // A node that holds a slot of the maintenance operator counts as already in progress, because other nodes may wait
  // for that slot.
  const bool is_under_way = KeepsMaintenance(before, asked);
  const std::vector<const Node*> under_way = is_under_way ? std::vector<const Node*>() : UnderWay(its_policy, before);
  std::string why = WhyBeyondStage(rollout, before, under_way);
  if (why.empty() && rollout.groups) why = WhyNotBeside(*rollout.groups, before, under_way);
  // A node that an earlier upgrade left cordoned may start without the rest of its group if no other node is in
  // progress.
  const bool may_go_alone = internal::IsOutOfService(before, keys) && under_way.empty();
  if (StartsTogether(rollout) && !may_go_alone) ExpectWholeGroup(its_policy, before);
  if (!why.empty()) Fail("I21", fmt::format("node {} was started, but {}", before.name, why));
}

}  // namespace driverupgrade::testing
