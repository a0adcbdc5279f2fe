#include "decide/incremental_planner.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "decide/admission/grants.h"
#include "decide/admission/queue.h"
#include "decide/admission/rollout_round.h"
#include "decide/judged_nodes.h"
#include "decide/published_plan.h"
#include "decide/rollout/groups.h"
#include "decide/step_parts.h"
#include "model/node_marks.h"
#include "policy/rollout_codec.h"

namespace driverupgrade::internal {
namespace {

bool SameForJudge(const DriverFacts& a, const DriverFacts& b) {
  return std::equal(a.daemon_sets.begin(), a.daemon_sets.end(), b.daemon_sets.begin(), b.daemon_sets.end(),
                    [](const auto& left, const auto& right) {
                      DriverDaemonSet without = left.second;
                      without.daemon_set.annotations = right.second.daemon_set.annotations;
                      return left.first == right.first && without == right.second;
                    });
}

}  // namespace

class IncrementalPlanner::Impl {
 public:
  explicit Impl(StateMachine machine) : machine_(std::move(machine)) {}

  void SetPolicy(const UpgradePolicy& policy);
  void SetDriver(std::shared_ptr<const DriverFacts> driver, std::vector<Finding> findings);
  void SetActiveSince(absl::Time active_since);
  void SetGrants(const Grants& grants);
  void SetGrantsMax(std::optional<std::size_t> grants_max) { grants_max_ = grants_max; }
  void SetSharedSlots(const std::optional<SharedSlots>& shared) { shared_slots_ = shared; }
  void SetRollout(const RolloutFacts& rollout) { rollout_facts_ = rollout; }
  void Update(std::shared_ptr<const NodeView> view);
  void Remove(const std::string& name);
  PlanUpdate Advance(absl::Time now, const AdvanceLimits& limits);
  PlanUpdate Withhold(const std::map<std::string, Gate>& gates);
  std::shared_ptr<const PublishedPlan> Publish();
  const std::set<std::string>& pod_interest() const { return rollout_interest_.empty() ? interested_ : all_interest_; }
  std::uint64_t judgements() const { return judgements_; }

 private:
  using Names = std::set<std::string>;
  // That stages may go by. The state's label changes with each step of each node, and next to nobody goes by it.
  bool HaveOtherLabels(const Node& a, const Node& b) const {
    const auto without_state = [&](const Node& node) {
      return internal::LabelsWithoutState(node, machine_.identity());
    };
    return a.labels != b.labels && (stages_go_by_state_ || without_state(a) != without_state(b));
  }
  struct Told {
    UpgradeState state = UpgradeState::kUnknown;
    Gate gate = {};
    friend bool operator==(const Told&, const Told&) = default;
  };
  struct Entry {
    std::shared_ptr<const NodeView> view;
    // nullptr: not judged yet.
    std::shared_ptr<const JudgedNode> judged = nullptr;
    GrantShare share = {};
    // The gate that the caller knows of.
    std::optional<Told> told = std::nullopt;
    // The number of its last judgement.
    std::uint64_t judgement = 0;
    // In `members_`, unless they are stale.
    std::size_t member = 0;
  };

  // Of the nodes to be judged, and those that are gone, so many beside those that act.
  Names TakeDue(absl::Time now, std::size_t most);
  void TakeChanged(std::size_t most, Names& due);
  void TakeWoken(std::size_t most, Names& due);
  void TakeSwept(std::size_t most, Names& due);
  // All nodes are to be judged anew.
  void Sweep();
  bool IsAnyDue() const;
  void JudgeNode(const std::string& name, Entry& entry, bool admitted);
  void AdmitNodes(Names& touched);
  void AdmitByRollout(const Sums& sums, Names& touched);
  // Brings the members up to date.
  void RenewMembers(const internal::RolloutInput& input);
  // Notes why the nodes wait, and adds those that wait for another reason than the caller knows of to `touched`.
  void NoteWaits(internal::RolloutRound& round, Names& touched);
  void JoinInterests();
  // With each node that starts together with others, those others.
  std::map<std::string, Gate> WithGroups(const std::map<std::string, Gate>& gates) const;
  // Adds a node's verdict to the sums and sets below, or takes it, if there is one, out of them.
  void Enlist(const std::string& name, Entry& entry, std::shared_ptr<const JudgedNode> judged);
  void Withdraw(const std::string& name, const Entry& entry);
  // The grant, or the node, of that UID has come or gone.
  void Locate(const std::string& uid);
  // The first of the nodes of that UID.
  std::set<std::pair<std::string, std::string>>::const_iterator FirstOf(const std::string& uid) const {
    return names_.lower_bound({uid, ""});
  }
  // What is told of a node; without the place in the queue.
  std::optional<Told> GateToTell(const std::string& name, const Entry& entry) const;
  static bool IsTold(const Entry& entry, const Told& gate);
  void PostponeTelling(std::size_t told, Names& touched);
  void TellGates(const Names& names, PlanUpdate& update);
  Plan PlanWithoutGates() const;
  Plan PlanWithoutNodes() const;
  std::vector<NodeReading> Readings() const;

  const StateMachine machine_;
  NodeRules rules_ = {};
  AdmissionLimits limits_ = {};
  std::shared_ptr<const DriverFacts> driver_ = std::make_shared<const DriverFacts>();
  std::vector<Finding> findings_ = {};
  absl::Time active_since_ = absl::InfinitePast();
  Grants grants_ = {};
  std::optional<std::size_t> grants_max_ = std::nullopt;
  std::optional<SharedSlots> shared_slots_ = std::nullopt;
  std::optional<internal::RolloutRules> rollout_rules_ = std::nullopt;
  RolloutFacts rollout_facts_ = {};
  // Of the last Advance.
  absl::Time now_ = absl::InfinitePast();
  Tally totals_ = {};
  UpgradeBudget budget_ = {};
  // nullopt, and so on: without a rollout.
  std::optional<RolloutStatus> rollout_ = std::nullopt;
  std::vector<Finding> rollout_findings_ = {};
  std::optional<absl::Time> rollout_wake_ = std::nullopt;
  std::shared_ptr<const internal::RolloutWaits> rollout_waits_ = nullptr;
  Names rollout_interest_ = {};
  Names all_interest_ = {};  // of the rollout and of verdicts; nothing without the former
  std::map<std::string, std::string> starting_groups_ = {};  // of nodes that start together with others
  bool stages_go_by_state_ = false;
  internal::RolloutMembers members_ = {};
  bool members_stale_ = true;  // others are members, or by another policy
  std::vector<Entry*> members_changed_ = {};
  // As the members.
  std::vector<std::pair<const std::string, Entry>*> member_entries_ = {};
  std::shared_ptr<const std::vector<std::string>> member_names_ = nullptr;

  std::map<std::string, Entry> nodes_;
  internal::JudgedNodes judged_;
  std::set<std::pair<std::string, std::string>> names_;  // by UID
  Names elsewhere_;                                      // UIDs that have a grant but no node
  Names changed_;
  std::string changed_at_;  // the next of them: whoever changes often must not keep the others waiting
  bool any_woken_ = false;  // somebody's time has come, and the last Advance had no room for the node
  // All nodes are judged anew, a part at a time, from `swept_to_` on, round to where the sweep began; nullopt: no sweep
  // is under way.
  struct SweepEnd {
    std::string name;
    bool is_behind;              // the last node of all comes first
    std::uint64_t judgement = 0;  // nodes that were judged after this one are not judged again
  };
  std::optional<SweepEnd> sweep_ = std::nullopt;
  std::string swept_to_;
  Names untold_;  // nodes that wait for a slot, of which a later Advance tells
  // Over the verdicts of all nodes.
  Sums sums_ = {};
  Names acting_;
  Names interested_;
  Names with_findings_;
  Names in_ledger_;  // they have a grant or need one
  std::set<std::pair<absl::Time, std::string>> wakes_;
  AdmissionQueue queue_;
  Names told_and_gone_;  // the caller knows of gates of nodes that have been removed since
  std::uint64_t judgements_ = 0;
};

void IncrementalPlanner::Impl::SetPolicy(const UpgradePolicy& policy) {
  AdmissionLimits limits = policy;
  const bool other_rollout = limits.rollout != limits_.rollout || limits.failures_by_class != limits_.failures_by_class;
  limits_ = std::move(limits);
  if (other_rollout) {
    rollout_rules_.reset();
    if (limits_.rollout) rollout_rules_ = internal::RulesOf(*limits_.rollout, limits_.failures_by_class);
    members_stale_ = true;
    const std::string text = internal::FormatRolloutSections({.rollout = limits_.rollout});
    stages_go_by_state_ = text.find(machine_.identity().StateLabel()) != std::string::npos;
  }
  NodeRules rules = policy;
  if (rules == rules_) return;
  rules_ = std::move(rules);
  Sweep();
}

void IncrementalPlanner::Impl::SetDriver(std::shared_ptr<const DriverFacts> driver, std::vector<Finding> findings) {
  // A pod is unscheduled for a moment whenever a driver pod is replaced; Judge does not look at their count, nor at
  // approvals.
  if (!SameForJudge(*driver, *driver_)) Sweep();
  driver_ = std::move(driver);
  findings_ = std::move(findings);
}

void IncrementalPlanner::Impl::SetActiveSince(absl::Time active_since) {
  if (active_since == active_since_) return;
  active_since_ = active_since;
  Sweep();
}

void IncrementalPlanner::Impl::SetGrants(const Grants& grants) {
  if (grants == grants_) return;
  const Grants before = std::exchange(grants_, grants);
  Names uids;
  for (const auto& [uid, version] : before) {
    if (const auto now = grants_.find(uid); now == grants_.end() || now->second != version) uids.insert(uid);
  }
  for (const auto& [uid, version] : grants_) {
    if (!before.contains(uid)) uids.insert(uid);
  }
  for (const std::string& uid : uids) {
    Locate(uid);
    for (auto name = FirstOf(uid); name != names_.end() && name->first == uid; ++name) changed_.insert(name->second);
  }
}

void IncrementalPlanner::Impl::Locate(const std::string& uid) {
  const auto name = FirstOf(uid);
  const bool is_here = name != names_.end() && name->first == uid;
  if (grants_.contains(uid) && !is_here) {
    elsewhere_.insert(uid);
  } else {
    elsewhere_.erase(uid);
  }
}

void IncrementalPlanner::Impl::Update(std::shared_ptr<const NodeView> view) {
  const Node& node = view->node;
  const std::string& name = node.name;
  Entry& entry = nodes_[name];
  if (entry.view == nullptr || *entry.view != *view) changed_.insert(name);
  if (entry.view == nullptr) {
    members_stale_ = true;
  } else if (HaveOtherLabels(entry.view->node, node)) {
    members_.LabelsChanged();
  }
  members_changed_.push_back(&entry);
  const std::shared_ptr<const NodeView> before = std::exchange(entry.view, std::move(view));
  if (before != nullptr && before->node.uid == node.uid) return;
  names_.insert({node.uid, name});
  Locate(node.uid);
  if (before == nullptr) return;
  names_.erase({before->node.uid, name});
  Locate(before->node.uid);
}

void IncrementalPlanner::Impl::Remove(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  Withdraw(name, found->second);
  judged_.Remove(name);
  const std::string uid = found->second.view->node.uid;
  if (found->second.told) told_and_gone_.insert(name);
  members_stale_ = true;
  nodes_.erase(found);
  names_.erase({uid, name});
  Locate(uid);
  changed_.insert(name);
}

PlanUpdate IncrementalPlanner::Impl::Advance(absl::Time now, const AdvanceLimits& limits) {
  Names touched = TakeDue(now, limits.judged);
  for (const std::string& name : touched) {
    if (const auto found = nodes_.find(name); found != nodes_.end()) {
      JudgeNode(name, found->second, /*admitted=*/false);
    }
  }
  const bool finished = limits.has_all_views && !IsAnyDue();
  if (finished) AdmitNodes(touched);
  JoinInterests();
  PlanUpdate update{.plan = PlanWithoutGates()};
  update.plan.finished = finished;
  PostponeTelling(finished ? limits.told : 0, touched);
  TellGates(touched, update);
  if (!untold_.empty() && finished) update.plan.wake_at = now;
  return update;
}

// Of the nodes that wait for a slot leaves so many in `touched`, those that have been put off first.
void IncrementalPlanner::Impl::PostponeTelling(std::size_t told, Names& touched) {
  if (told == std::numeric_limits<std::size_t>::max() && untold_.empty()) return;
  for (auto name = touched.begin(); name != touched.end();) {
    const auto found = nodes_.find(*name);
    const bool waits = found != nodes_.end() && found->second.judged->verdict.candidate;
    const auto next = std::next(name);
    if (waits) untold_.insert(touched.extract(name));
    name = next;
  }
  for (; told > 0 && !untold_.empty(); --told) {
    auto name = untold_.extract(untold_.begin());
    const auto found = nodes_.find(name.value());
    // Another node of that name, which is told of once it is judged.
    const bool is_new = found != nodes_.end() && found->second.judged == nullptr;
    if (!is_new) touched.insert(std::move(name));
  }
}

void IncrementalPlanner::Impl::AdmitNodes(Names& touched) {
  const Sums sums = sums_.AndElsewhere(elsewhere_.size()).AndUnscheduled(driver_->unscheduled_pods, limits_);
  Budgets budgets = sums.Against(limits_, shared_slots_);
  if (grants_max_) budgets.ledger = {.max = *grants_max_, .kept = sums.kept};
  totals_ = sums.with;
  budget_ = budgets.all;
  rollout_.reset();
  rollout_findings_.clear();
  rollout_wake_.reset();
  rollout_interest_.clear();
  starting_groups_.clear();
  if (rollout_rules_ && rules_.auto_upgrade) return AdmitByRollout(sums, touched);
  rollout_waits_ = nullptr;
  members_stale_ = true;
  members_changed_.clear();
  for (const std::string& name : queue_.Admit(Limits::Of(budgets, limits_.paused))) {
    JudgeNode(name, nodes_.at(name), /*admitted=*/true);
    touched.insert(name);
  }
  for (std::string& name : queue_.ChangedRefusals()) touched.insert(std::move(name));
}

void IncrementalPlanner::Impl::AdmitByRollout(const Sums& sums, Names& touched) {
  const internal::RolloutInput input{.rules = *rollout_rules_,
                                     .facts = rollout_facts_,
                                     .driver = *driver_,
                                     .machine = machine_,
                                     .node_rules = rules_,
                                     .limits = limits_,
                                     .shared_slots = shared_slots_,
                                     .now = now_,
                                     .grants_max = grants_max_};
  RenewMembers(input);
  internal::RolloutRound round = internal::AdmitByRollout(input, members_, sums, elsewhere_.size());
  for (const std::size_t i : round.pod_interest) {
    rollout_interest_.insert(rollout_interest_.end(), member_entries_[i]->first);
  }
  const std::optional<NodeGroups>& groups = rollout_rules_->policy.groups;
  const bool together = groups && groups->mode == GroupMode::kTogether;
  NoteWaits(round, touched);
  for (const internal::RolloutDecision& decision : round.decisions) {
    if (decision.gate != internal::RolloutAnswer::kStarts) continue;
    auto& [name, entry] = *member_entries_[decision.index];
    if (together) starting_groups_[name] = internal::GroupOf(entry.view->node, *groups);
    JudgeNode(name, entry, /*admitted=*/true);
    touched.insert(name);
  }
  budget_ = round.budget;
  rollout_ = std::move(round.status);
  rollout_findings_ = std::move(round.findings);
  rollout_wake_ = round.wake_at;
}

void IncrementalPlanner::Impl::RenewMembers(const internal::RolloutInput& input) {
  if (!std::exchange(members_stale_, false)) {
    for (const Entry* entry : members_changed_) {
      members_.Change(entry->member, *entry->view, entry->judged->verdict, entry->share, input);
    }
    return members_changed_.clear();
  }
  members_changed_.clear();
  members_ = {};
  member_entries_.clear();
  rollout_waits_ = nullptr;
  std::vector<std::string> names;
  for (auto& node : nodes_) {
    Entry& entry = node.second;
    entry.member = member_entries_.size();
    members_.Add(*entry.view, entry.judged->verdict, entry.share, input);
    member_entries_.push_back(&node);
    names.push_back(node.first);
  }
  member_names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
}

void IncrementalPlanner::Impl::NoteWaits(internal::RolloutRound& round, Names& touched) {
  const std::shared_ptr<const internal::RolloutWaits> before = std::move(rollout_waits_);
  internal::RolloutWaits waits{.names = member_names_, .gates = std::move(round.gates)};
  waits.nodes.resize(member_entries_.size());
  for (const auto& [index, gate, place] : round.decisions) {
    if (gate == internal::RolloutAnswer::kStarts) continue;
    const internal::RolloutWaits::Wait& wait = waits.nodes[index] = {.gate = gate, .place = place};
    const GateReason reason = waits.GateOf(wait).reason;
    // What has been told stands, unless the node has been judged anew; then it is among `touched`.
    if (before != nullptr && before->nodes[index].gate >= 0 && before->GateOf(before->nodes[index]).reason == reason) {
      continue;
    }
    const auto& [name, entry] = *member_entries_[index];
    if (!entry.told || entry.told->gate.reason != reason) touched.insert(name);
  }
  rollout_waits_ = std::make_shared<const internal::RolloutWaits>(std::move(waits));
}

void IncrementalPlanner::Impl::JoinInterests() {
  all_interest_.clear();
  if (rollout_interest_.empty()) return;
  std::set_union(interested_.begin(), interested_.end(), rollout_interest_.begin(), rollout_interest_.end(),
                 std::inserter(all_interest_, all_interest_.end()));
}

std::map<std::string, Gate> IncrementalPlanner::Impl::WithGroups(const std::map<std::string, Gate>& gates) const {
  std::map<std::string, std::string> waiting;  // a node that waits, by its group
  for (const auto& [name, gate] : gates) {
    if (const auto found = starting_groups_.find(name); found != starting_groups_.end()) {
      waiting.emplace(found->second, name);
    }
  }
  std::map<std::string, Gate> all = gates;
  for (const auto& [name, group] : starting_groups_) {
    const auto found = waiting.find(group);
    if (found == waiting.end()) continue;
    all.try_emplace(name, Gate{.reason = GateReason::kGroup,
                               .detail = "it starts together with node " + found->second + ", which has to wait",
                               .not_before = gates.at(found->second).not_before});
  }
  return all;
}

PlanUpdate IncrementalPlanner::Impl::Withhold(const std::map<std::string, Gate>& gates) {
  Names touched;
  for (const auto& [name, gate] : WithGroups(gates)) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end() || found->second.judged == nullptr) continue;
    Withdraw(name, found->second);
    auto judged = std::make_shared<JudgedNode>(JudgedNode{
        .name = name, .verdict = CopyOf(found->second.judged->verdict), .tally = found->second.judged->tally});
    internal::Withhold(gate, judged->verdict);
    Enlist(name, found->second, std::move(judged));
    changed_.insert(name);
    touched.insert(name);
  }
  JoinInterests();
  PlanUpdate update{.plan = PlanWithoutGates()};
  TellGates(touched, update);
  return update;
}

auto IncrementalPlanner::Impl::TakeDue(absl::Time now, std::size_t most) -> Names {
  // A verdict holds from the time it was made until its wake_at, and not before.
  if (now < now_) Sweep();
  now_ = now;
  Names due;
  TakeWoken(most, due);
  TakeChanged(most, due);
  TakeSwept(most, due);
  for (const std::string& name : acting_) {
    changed_.erase(name);
    due.insert(name);
  }
  return due;
}

void IncrementalPlanner::Impl::TakeWoken(std::size_t most, Names& due) {
  any_woken_ = false;
  for (auto wake = wakes_.begin(); wake != wakes_.end() && wake->first <= now_ && !any_woken_; ++wake) {
    if (acting_.contains(wake->second)) continue;
    any_woken_ = due.size() >= most;
    if (!any_woken_) due.insert(wake->second);
  }
}

void IncrementalPlanner::Impl::TakeChanged(std::size_t most, Names& due) {
  if (changed_.size() <= most - std::min(most, due.size())) return due.merge(std::exchange(changed_, {}));
  while (!changed_.empty() && due.size() < most) {
    auto next = changed_.lower_bound(changed_at_);
    if (next == changed_.end()) next = changed_.begin();
    changed_at_ = *next;
    due.insert(changed_.extract(next));
  }
}

void IncrementalPlanner::Impl::TakeSwept(std::size_t most, Names& due) {
  if (!sweep_) return;
  auto next = nodes_.lower_bound(swept_to_);
  while (true) {
    if (next == nodes_.end() && std::exchange(sweep_->is_behind, false)) next = nodes_.begin();
    if (next == nodes_.end() || (!sweep_->is_behind && next->first >= sweep_->name)) return sweep_.reset();
    swept_to_ = next->first;
    if (next->second.judgement <= sweep_->judgement) {
      if (due.size() >= most) return;
      due.insert(next->first);
      changed_.erase(next->first);
    }
    ++next;
  }
}

void IncrementalPlanner::Impl::Sweep() {
  sweep_ = {.name = swept_to_, .is_behind = true, .judgement = judgements_};
}

bool IncrementalPlanner::Impl::IsAnyDue() const { return any_woken_ || !changed_.empty() || sweep_; }

void IncrementalPlanner::Impl::JudgeNode(const std::string& name, Entry& entry, bool admitted) {
  Withdraw(name, entry);
  Verdict verdict = machine_.Judge(*entry.view, *driver_, rules_, now_, active_since_, admitted);
  entry.share = ShareOf(grants_, *entry.view, verdict);
  if (verdict.candidate) verdict.candidate->has_grant = entry.share.first;
  const Tally tally = verdict.tally;
  Enlist(name, entry,
         std::make_shared<JudgedNode>(JudgedNode{.name = name, .verdict = Keep(std::move(verdict)), .tally = tally}));
  entry.judgement = ++judgements_;
}

void IncrementalPlanner::Impl::Enlist(const std::string& name, Entry& entry, std::shared_ptr<const JudgedNode> judged) {
  const KeptVerdict& verdict = judged->verdict;
  members_changed_.push_back(&entry);
  sums_.Add(judged->tally, entry.share);
  if (verdict.plan != nullptr) acting_.insert(name);
  if (verdict.pod_interest) interested_.insert(name);
  if (!verdict.findings.empty()) with_findings_.insert(name);
  if (entry.share.granted || verdict.needs_grant) in_ledger_.insert(name);
  if (verdict.wake_at) wakes_.emplace(*verdict.wake_at, name);
  if (verdict.candidate) queue_.Add({.node = name, .candidate = *verdict.candidate});
  judged_.Put(judged);
  entry.judged = std::move(judged);
}

void IncrementalPlanner::Impl::Withdraw(const std::string& name, const Entry& entry) {
  if (entry.judged == nullptr) return;
  const KeptVerdict& verdict = entry.judged->verdict;
  sums_.Subtract(entry.judged->tally, entry.share);
  acting_.erase(name);
  interested_.erase(name);
  with_findings_.erase(name);
  in_ledger_.erase(name);
  if (verdict.wake_at) wakes_.erase({*verdict.wake_at, name});
  if (verdict.candidate) queue_.Remove({.node = name, .candidate = *verdict.candidate});
}

Plan IncrementalPlanner::Impl::PlanWithoutGates() const {
  Plan plan = PlanWithoutNodes();
  plan.nodes.reserve(acting_.size());
  for (const std::string& name : acting_) plan.nodes.push_back(*nodes_.at(name).judged->verdict.plan);
  for (const std::string& name : with_findings_) {
    const std::vector<Finding>& found = nodes_.at(name).judged->verdict.findings;
    plan.findings.insert(plan.findings.end(), found.begin(), found.end());
  }
  if (!wakes_.empty()) plan.wake_at = std::min(wakes_.begin()->first, plan.wake_at.value_or(absl::InfiniteFuture()));
  return plan;
}

Plan IncrementalPlanner::Impl::PlanWithoutNodes() const {
  Plan plan{.totals = totals_,
            .budget = budget_,
            .findings = findings_,
            .wake_at = rollout_wake_,
            .readings = Readings(),
            .rollout = rollout_};
  plan.findings.insert(plan.findings.end(), rollout_findings_.begin(), rollout_findings_.end());
  return plan;
}

std::vector<NodeReading> IncrementalPlanner::Impl::Readings() const {
  std::vector<NodeReading> readings;
  for (const std::string& name : in_ledger_) {
    const Entry& entry = nodes_.at(name);
    const Node& node = entry.view->node;
    readings.push_back(
        {.uid = node.uid, .resource_version = node.resource_version, .holds_slot = entry.judged->verdict.holds_slot});
  }
  for (const std::string& uid : elsewhere_) readings.push_back(ReadingElsewhere(uid, grants_.at(uid)));
  return readings;
}

auto IncrementalPlanner::Impl::GateToTell(const std::string& name, const Entry& entry) const -> std::optional<Told> {
  const KeptVerdict& verdict = entry.judged->verdict;
  if (!verdict.candidate && !verdict.gate) return std::nullopt;
  Told told{.state = verdict.state};
  if (!verdict.candidate) {
    told.gate = *verdict.gate;
  } else if (rollout_waits_ != nullptr) {
    told.gate = rollout_waits_->GateOf(name);
  } else {
    told.gate = queue_.refusals().Of({.node = name, .candidate = *verdict.candidate});
  }
  return told;
}

// The counts in the gate of a candidate change with every admission, and nobody is told again for that.
bool IncrementalPlanner::Impl::IsTold(const Entry& entry, const Told& gate) {
  if (!entry.told) return false;
  if (!entry.judged->verdict.candidate) return entry.told == gate;
  return entry.told->state == gate.state && entry.told->gate.reason == gate.gate.reason;
}

void IncrementalPlanner::Impl::TellGates(const Names& names, PlanUpdate& update) {
  for (const std::string& name : names) {
    bool was_told = told_and_gone_.erase(name) > 0;
    const auto found = nodes_.find(name);
    if (found != nodes_.end()) {
      Entry& entry = found->second;
      std::optional<Told> gate = GateToTell(name, entry);
      if (gate && IsTold(entry, *gate)) continue;
      if (gate) update.plan.gates.push_back({.node = name, .state = gate->state, .gate = gate->gate});
      was_told |= entry.told.has_value();
      entry.told = std::move(gate);
      if (entry.told) continue;
    }
    if (was_told) update.ungated.push_back(name);
  }
}

std::shared_ptr<const PublishedPlan> IncrementalPlanner::Impl::Publish() {
  Plan plan = PlanWithoutNodes();
  plan.pod_interest.assign(rollout_interest_.begin(), rollout_interest_.end());
  return std::make_shared<const PublishedPlan>(PublishedPlan::Parts{
      .plan = std::move(plan), .nodes = judged_.Share(), .refusals = queue_.refusals(), .rollout = rollout_waits_});
}

IncrementalPlanner::IncrementalPlanner(StateMachine machine) : impl_(std::make_unique<Impl>(std::move(machine))) {}
IncrementalPlanner::~IncrementalPlanner() = default;
void IncrementalPlanner::SetPolicy(const UpgradePolicy& policy) { impl_->SetPolicy(policy); }
void IncrementalPlanner::SetDriver(std::shared_ptr<const DriverFacts> driver, std::vector<Finding> findings) {
  impl_->SetDriver(std::move(driver), std::move(findings));
}
void IncrementalPlanner::SetActiveSince(absl::Time active_since) { impl_->SetActiveSince(active_since); }
void IncrementalPlanner::SetGrants(const Grants& grants) { impl_->SetGrants(grants); }
void IncrementalPlanner::SetGrantsMax(std::optional<std::size_t> grants_max) { impl_->SetGrantsMax(grants_max); }
void IncrementalPlanner::SetSharedSlots(const std::optional<SharedSlots>& shared) { impl_->SetSharedSlots(shared); }
void IncrementalPlanner::SetRollout(const RolloutFacts& rollout) { impl_->SetRollout(rollout); }
void IncrementalPlanner::Update(std::shared_ptr<const NodeView> view) { impl_->Update(std::move(view)); }
void IncrementalPlanner::Remove(const std::string& node) { impl_->Remove(node); }
PlanUpdate IncrementalPlanner::Advance(absl::Time now, const AdvanceLimits& limits) {
  return impl_->Advance(now, limits);
}
PlanUpdate IncrementalPlanner::Withhold(const std::map<std::string, Gate>& gates) { return impl_->Withhold(gates); }
std::shared_ptr<const PublishedPlan> IncrementalPlanner::Publish() { return impl_->Publish(); }
const std::set<std::string>& IncrementalPlanner::pod_interest() const { return impl_->pod_interest(); }
std::uint64_t IncrementalPlanner::judgements() const { return impl_->judgements(); }

}  // namespace driverupgrade::internal
