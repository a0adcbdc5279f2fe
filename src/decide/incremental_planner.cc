#include "decide/incremental_planner.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "decide/admission/limits.h"
#include "decide/incremental_planner_impl.h"
#include "decide/marks_of_view.h"
#include "decide/transitions/walk.h"

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

void IncrementalPlanner::Impl::SetPolicy(const UpgradePolicy& policy) {
  AdmissionLimits limits = policy;
  const bool other_rollout = limits.rollout != limits_.rollout || limits.failures_by_class != limits_.failures_by_class;
  limits_ = std::move(limits);
  if (other_rollout) rollout_.SetPolicy(limits_);
  NodeRules rules = policy;
  if (rules == rules_) return;
  rules_ = std::move(rules);
  Sweep();
}

void IncrementalPlanner::Impl::SetDriver(std::shared_ptr<const DriverFacts> driver, std::vector<Finding> findings) {
  // Changed approvals do not require a sweep, because Judge does not use them.
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
    for (auto name = FirstOf(uid); name != names_.end() && name->first == uid; ++name) due_.Change(name->second);
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
  PlannedNode& planned = nodes_[name];
  if (planned.view == nullptr || *planned.view != *view) due_.Change(name);
  if (planned.view == nullptr) {
    rollout_.NodesChanged();
  } else {
    rollout_.LabelsChanged(planned.view->node, node);
  }
  rollout_.NodeChanged(planned);
  const std::shared_ptr<const NodeView> before = std::exchange(planned.view, std::move(view));
  if (before != nullptr && before->node.uid == node.uid) return;
  planned.shown_wait = {};
  names_.insert({node.uid, name});
  Locate(node.uid);
  if (before == nullptr) return;
  names_.erase({before->node.uid, name});
  Locate(before->node.uid);
}

void IncrementalPlanner::Impl::ForgetPods(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || !found->second.view->pods) return;
  NodeView view = *found->second.view;
  view.pods.reset();
  view.pods_using_driver.clear();
  view.hook_errors.clear();
  view.unread_claims.clear();
  PlannedNode& node = found->second;
  node.view = ShareView(std::move(view), machine_.identity());
  rollout_.NodeChanged(node);
  if (node.judged == nullptr) return;
  auto judged = CopyOf(*node.judged);
  judged->view = node.view;
  judged_.Put(judged);
  node.judged = std::move(judged);
}

void IncrementalPlanner::Impl::Remove(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  Withdraw(name, found->second);
  judged_.Remove(name);
  const std::string uid = found->second.view->node.uid;
  if (found->second.told) told_before_.insert(name);
  rollout_.NodesChanged();
  nodes_.erase(found);
  names_.erase({uid, name});
  Locate(uid);
  due_.Change(name);
}

PlanUpdate IncrementalPlanner::Impl::Advance(absl::Time now, const AdvanceLimits& limits) {
  // A verdict is valid only from the time of the evaluation until its wake_at, so a clock that was set back invalidates
  // every verdict.
  if (now < now_) Sweep();
  now_ = now;
  Names touched = due_.Take(now, limits.judged, nodes_, acting_);
  for (const std::string& name : touched) {
    if (const auto found = nodes_.find(name); found != nodes_.end()) {
      JudgeNode(name, found->second, /*admitted=*/false);
    }
  }
  const bool finished = limits.has_all_views && !due_.IsAny();
  if (finished) AdmitNodes(touched);
  JoinInterests();
  PlanUpdate update{.plan = PlanWithoutGates()};
  update.plan.finished = finished;
  PostponeTelling(finished ? limits.told : 0, touched);
  TellGates(touched, update);
  if (!untold_.empty() && finished) update.plan.wake_at = now;
  return update;
}

void IncrementalPlanner::Impl::AdmitNodes(Names& touched) {
  const Sums sums = sums_.AndElsewhere(elsewhere_.size());
  Budgets budgets = sums.Against(limits_, shared_slots_, UnavailableNodes());
  if (grants_max_) budgets.ledger = {.max = *grants_max_, .kept = sums.kept};
  totals_ = sums.with;
  budget_ = budgets.all;
  if (rollout_.rules() != nullptr && rules_.auto_upgrade) return AdmitByRollout(sums, touched);
  rollout_.Skip();
  for (const std::string& name : queue_.Admit(Limits::Of(budgets, limits_.paused))) {
    PlannedNode& node = nodes_.at(name);
    node.unit.clear();
    node.reload_only = false;
    JudgeNode(name, node, /*admitted=*/true);
    touched.insert(name);
  }
  for (std::string& name : queue_.ChangedRefusals()) touched.insert(std::move(name));
}

void IncrementalPlanner::Impl::AdmitByRollout(const Sums& sums, Names& touched) {
  const RolloutInput input{.rules = *rollout_.rules(),
                           .facts = rollout_.facts(),
                           .driver = *driver_,
                           .machine = machine_,
                           .node_rules = rules_,
                           .limits = limits_,
                           .shared_slots = shared_slots_,
                           .now = now_,
                           .unavailable_nodes = UnavailableNodes(),
                           .grants_max = grants_max_};
  for (RolloutPlanner::NamedNode* starting : rollout_.Admit(input, nodes_, sums, elsewhere_.size(), touched)) {
    JudgeNode(starting->first, starting->second, /*admitted=*/true);
    touched.insert(starting->first);
  }
  budget_ = *rollout_.budget();
}

void IncrementalPlanner::Impl::JoinInterests() {
  all_interest_.clear();
  const Names& of_rollout = rollout_.interest();
  if (of_rollout.empty()) return;
  std::set_union(interested_.begin(), interested_.end(), of_rollout.begin(), of_rollout.end(),
                 std::inserter(all_interest_, all_interest_.end()));
}

PlanUpdate IncrementalPlanner::Impl::Withhold(const std::map<std::string, Gate>& gates) {
  Names touched;
  for (const auto& [name, gate] : rollout_.WithGroups(gates)) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end() || found->second.judged == nullptr) continue;
    // The node was evaluated again after its admission and now waits, so there is nothing to cancel.
    if (found->second.judged->verdict.candidate) continue;
    Withdraw(name, found->second);
    auto judged = CopyOf(*found->second.judged);
    internal::Withhold(gate, judged->verdict);
    Enlist(name, found->second, std::move(judged));
    due_.Change(name);
    touched.insert(name);
  }
  JoinInterests();
  PlanUpdate update{.plan = PlanWithoutGates()};
  TellGates(touched, update);
  return update;
}

void IncrementalPlanner::Impl::JudgeNode(const std::string& name, PlannedNode& node, bool admitted) {
  Withdraw(name, node);
  Verdict verdict = Judge(node, admitted);
  node.share = ShareOf(grants_, *node.view, verdict);
  if (verdict.candidate) verdict.candidate->has_grant = node.share.first;
  const Tally tally = verdict.tally;
  Enlist(name, node,
         std::make_shared<JudgedNode>(
             JudgedNode{.name = name, .view = node.view, .verdict = Keep(std::move(verdict)), .tally = tally}));
  node.judgement = ++judgements_;
}

Verdict IncrementalPlanner::Impl::Judge(PlannedNode& node, bool admitted) const {
  Verdict verdict;
  const JudgeContext context(machine_, rules_, *driver_, now_, active_since_);
  if (shows_waits_) node.shown_wait.Read(*MarksOfView(*node.view, *identity_), now_);
  const ShownWait* shown_wait = shows_waits_ ? &node.shown_wait : nullptr;
  JudgeInto(context, *node.view, {.admitted = admitted, .reload_only = node.reload_only, .unit = node.unit}, shown_wait,
            verdict);
  if (shows_waits_) node.shown_wait.Judged(verdict, now_);
  return verdict;
}

void IncrementalPlanner::Impl::Enlist(const std::string& name, PlannedNode& node,
                                      std::shared_ptr<const JudgedNode> judged) {
  const KeptVerdict& verdict = judged->verdict;
  rollout_.NodeChanged(node);
  sums_.Add(judged->tally, node.share);
  if (verdict.plan != nullptr) acting_.insert(name);
  if (verdict.pod_interest) interested_.insert(name);
  if (CountsAsUnavailable(judged->tally, node.share)) unavailable_.insert(name);
  if (!verdict.findings.empty()) with_findings_.insert(name);
  if (node.share.granted || verdict.needs_grant) in_ledger_.insert(name);
  if (verdict.wake_at) due_.WakeAt(*verdict.wake_at, name);
  if (verdict.candidate) queue_.Add({.node = name, .candidate = *verdict.candidate});
  judged_.Put(judged);
  node.judged = std::move(judged);
}

void IncrementalPlanner::Impl::Withdraw(const std::string& name, const PlannedNode& node) {
  if (node.judged == nullptr) return;
  const KeptVerdict& verdict = node.judged->verdict;
  sums_.Subtract(node.judged->tally, node.share);
  acting_.erase(name);
  interested_.erase(name);
  unavailable_.erase(name);
  with_findings_.erase(name);
  in_ledger_.erase(name);
  if (verdict.wake_at) due_.LetSleep(*verdict.wake_at, name);
  if (verdict.candidate) queue_.Remove({.node = name, .candidate = *verdict.candidate});
}

std::vector<std::string> IncrementalPlanner::Impl::UnavailableNodes() const {
  std::vector<std::string> named;
  if (!limits_.max_unavailable) return named;
  for (auto name = unavailable_.begin(); name != unavailable_.end() && named.size() < kUnavailableNamed; ++name) {
    named.push_back(UnavailableNode(*nodes_.at(*name).view, machine_.identity(), rules_));
  }
  return named;
}

IncrementalPlanner::IncrementalPlanner(StateMachine machine) : impl_(std::make_unique<Impl>(std::move(machine))) {}
IncrementalPlanner::~IncrementalPlanner() = default;
void IncrementalPlanner::ShowWaits() { impl_->ShowWaits(); }
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
void IncrementalPlanner::ForgetPods(const std::string& node) { impl_->ForgetPods(node); }
void IncrementalPlanner::Remove(const std::string& node) { impl_->Remove(node); }
PlanUpdate IncrementalPlanner::Advance(absl::Time now, const AdvanceLimits& limits) {
  return impl_->Advance(now, limits);
}
PlanUpdate IncrementalPlanner::Withhold(const std::map<std::string, Gate>& gates) { return impl_->Withhold(gates); }
void IncrementalPlanner::NotTold(const std::string& node) { impl_->NotTold(node); }
std::shared_ptr<const PublishedPlan> IncrementalPlanner::Publish() { return impl_->Publish(); }
const std::set<std::string>& IncrementalPlanner::pod_interest() const { return impl_->pod_interest(); }
const std::map<std::string, std::string>& IncrementalPlanner::uncordoned_units() const {
  return impl_->rollout().uncordoned_units();
}
const std::set<std::string>& IncrementalPlanner::of_unknown_units() const {
  return impl_->rollout().of_unknown_units();
}
bool IncrementalPlanner::has_round() const { return impl_->rollout().status().has_value(); }
std::uint64_t IncrementalPlanner::judgements() const { return impl_->judgements(); }

}  // namespace driverupgrade::internal
