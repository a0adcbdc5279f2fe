#include "decide/incremental_planner.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "decide/admission/grants.h"
#include "decide/admission/limits.h"
#include "decide/admission/queue.h"
#include "decide/due_nodes.h"
#include "decide/judged_nodes.h"
#include "decide/marks_of_view.h"
#include "decide/planned_node.h"
#include "decide/published_plan.h"
#include "decide/rollout_planner.h"
#include "decide/step_parts.h"

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
  explicit Impl(StateMachine machine) : machine_(std::move(machine)), rollout_(machine_.identity()) {}

  void SetPolicy(const UpgradePolicy& policy);
  void SetDriver(std::shared_ptr<const DriverFacts> driver, std::vector<Finding> findings);
  void SetActiveSince(absl::Time active_since);
  void SetGrants(const Grants& grants);
  void SetGrantsMax(std::optional<std::size_t> grants_max) { grants_max_ = grants_max; }
  void SetSharedSlots(const std::optional<SharedSlots>& shared) { shared_slots_ = shared; }
  void SetRollout(const RolloutFacts& rollout) { rollout_.SetFacts(rollout); }
  void Update(std::shared_ptr<const NodeView> view);
  void ForgetPods(const std::string& name);
  void Remove(const std::string& name);
  PlanUpdate Advance(absl::Time now, const AdvanceLimits& limits);
  PlanUpdate Withhold(const std::map<std::string, Gate>& gates);
  void NotTold(const std::string& name);
  std::shared_ptr<const PublishedPlan> Publish();
  const std::set<std::string>& pod_interest() const {
    return rollout_.interest().empty() ? interested_ : all_interest_;
  }
  std::uint64_t judgements() const { return judgements_; }

 private:
  using Names = std::set<std::string>;
  // All nodes are to be judged anew.
  void Sweep() { due_.Sweep(judgements_); }
  void JudgeNode(const std::string& name, PlannedNode& node, bool admitted);
  void AdmitNodes(Names& touched);
  void AdmitByRollout(const Sums& sums, Names& touched);
  void JoinInterests();
  // Adds a node's verdict to the sums and sets below, or takes it, if there is one, out of them.
  void Enlist(const std::string& name, PlannedNode& node, std::shared_ptr<const JudgedNode> judged);
  void Withdraw(const std::string& name, const PlannedNode& node);
  // The grant, or the node, of that UID has come or gone.
  void Locate(const std::string& uid);
  // The first of the nodes of that UID.
  std::set<std::pair<std::string, std::string>>::const_iterator FirstOf(const std::string& uid) const {
    return names_.lower_bound({uid, ""});
  }
  // What is told of a node; without the place in the queue.
  std::optional<ToldGate> GateToTell(const std::string& name, const PlannedNode& node) const;
  static bool IsTold(const PlannedNode& node, const ToldGate& gate);
  void PostponeTelling(std::size_t told, Names& touched);
  void TellGates(const Names& names, PlanUpdate& update);
  Plan PlanWithoutGates() const;
  Plan PlanWithoutNodes() const;
  std::vector<NodeReading> Readings() const;
  // UpgradeBudget::unavailable_nodes.
  std::vector<std::string> UnavailableNodes() const;

  const StateMachine machine_;
  NodeRules rules_ = {};
  AdmissionLimits limits_ = {};
  std::shared_ptr<const DriverFacts> driver_ = std::make_shared<const DriverFacts>();
  std::vector<Finding> findings_ = {};
  absl::Time active_since_ = absl::InfinitePast();
  Grants grants_ = {};
  std::optional<std::size_t> grants_max_ = std::nullopt;
  std::optional<SharedSlots> shared_slots_ = std::nullopt;
  RolloutPlanner rollout_;
  // Of the last Advance.
  absl::Time now_ = absl::InfinitePast();
  Tally totals_ = {};
  UpgradeBudget budget_ = {};
  Names all_interest_ = {};  // of the rollout and of verdicts; nothing without the former

  PlannedNodes nodes_;
  DueNodes due_;
  JudgedNodes judged_;
  std::set<std::pair<std::string, std::string>> names_;  // by UID
  Names elsewhere_;                                      // UIDs that have a grant but no node
  Names untold_;  // nodes that wait for a slot, of which a later Advance tells
  // Over the verdicts of all nodes.
  Sums sums_ = {};
  Names acting_;
  Names interested_;
  Names unavailable_;
  Names with_findings_;
  Names in_ledger_;  // they have a grant or need one
  AdmissionQueue queue_;
  Names told_before_;  // the caller may know a gate of the node that PlannedNode::told has not, or the node is gone
  std::uint64_t judgements_ = 0;
};

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
  // Judge does not look at approvals.
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
  found->second.view = ShareView(std::move(view), machine_.identity());
  rollout_.NodeChanged(found->second);
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
  // A verdict holds from the time it was made until its wake_at, and not before.
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
  const Sums sums = sums_.AndElsewhere(elsewhere_.size());
  Budgets budgets = sums.Against(limits_, shared_slots_, UnavailableNodes());
  if (grants_max_) budgets.ledger = {.max = *grants_max_, .kept = sums.kept};
  totals_ = sums.with;
  budget_ = budgets.all;
  if (rollout_.rules() != nullptr && rules_.auto_upgrade) return AdmitByRollout(sums, touched);
  rollout_.Skip();
  for (const std::string& name : queue_.Admit(Limits::Of(budgets, limits_.paused))) {
    JudgeNode(name, nodes_.at(name), /*admitted=*/true);
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
    Withdraw(name, found->second);
    auto judged = std::make_shared<JudgedNode>(JudgedNode{
        .name = name, .verdict = CopyOf(found->second.judged->verdict), .tally = found->second.judged->tally});
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
  Verdict verdict = machine_.Judge(*node.view, *driver_, rules_, now_, active_since_, admitted);
  node.share = ShareOf(grants_, *node.view, verdict);
  if (verdict.candidate) verdict.candidate->has_grant = node.share.first;
  const Tally tally = verdict.tally;
  Enlist(name, node,
         std::make_shared<JudgedNode>(JudgedNode{.name = name, .verdict = Keep(std::move(verdict)), .tally = tally}));
  node.judgement = ++judgements_;
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

Plan IncrementalPlanner::Impl::PlanWithoutGates() const {
  Plan plan = PlanWithoutNodes();
  plan.nodes.reserve(acting_.size());
  for (const std::string& name : acting_) plan.nodes.push_back(*nodes_.at(name).judged->verdict.plan);
  for (const std::string& name : with_findings_) {
    const std::vector<Finding>& found = nodes_.at(name).judged->verdict.findings;
    plan.findings.insert(plan.findings.end(), found.begin(), found.end());
  }
  if (const auto wake_at = due_.wake_at()) {
    plan.wake_at = std::min(*wake_at, plan.wake_at.value_or(absl::InfiniteFuture()));
  }
  return plan;
}

Plan IncrementalPlanner::Impl::PlanWithoutNodes() const {
  Plan plan{.totals = totals_,
            .budget = budget_,
            .findings = findings_,
            .wake_at = rollout_.wake_at(),
            .readings = Readings(),
            .rollout = rollout_.status()};
  const std::vector<Finding>& of_rollout = rollout_.findings();
  plan.findings.insert(plan.findings.end(), of_rollout.begin(), of_rollout.end());
  return plan;
}

std::vector<NodeReading> IncrementalPlanner::Impl::Readings() const {
  std::vector<NodeReading> readings;
  for (const std::string& name : in_ledger_) {
    const PlannedNode& planned = nodes_.at(name);
    const Node& node = planned.view->node;
    readings.push_back(
        {.uid = node.uid, .resource_version = node.resource_version, .holds_slot = planned.judged->verdict.holds_slot});
  }
  for (const std::string& uid : elsewhere_) readings.push_back(ReadingElsewhere(uid, grants_.at(uid)));
  return readings;
}

std::vector<std::string> IncrementalPlanner::Impl::UnavailableNodes() const {
  std::vector<std::string> named;
  if (!limits_.max_unavailable) return named;
  for (auto name = unavailable_.begin(); name != unavailable_.end() && named.size() < kUnavailableNamed; ++name) {
    named.push_back(UnavailableNode(*nodes_.at(*name).view, machine_.identity(), rules_));
  }
  return named;
}

auto IncrementalPlanner::Impl::GateToTell(const std::string& name, const PlannedNode& node) const
    -> std::optional<ToldGate> {
  const KeptVerdict& verdict = node.judged->verdict;
  if (!verdict.candidate && !verdict.gate) return std::nullopt;
  ToldGate told{.state = verdict.state};
  if (!verdict.candidate) {
    told.gate = *verdict.gate;
  } else if (rollout_.waits() != nullptr) {
    told.gate = rollout_.waits()->GateOf(name);
  } else {
    told.gate = queue_.refusals().Of({.node = name, .candidate = *verdict.candidate});
  }
  return told;
}

// The counts in the gate of a candidate change with every admission, and nobody is told again for that.
bool IncrementalPlanner::Impl::IsTold(const PlannedNode& node, const ToldGate& gate) {
  if (!node.told) return false;
  if (!node.judged->verdict.candidate) return node.told == gate;
  return node.told->state == gate.state && node.told->gate.reason == gate.gate.reason;
}

void IncrementalPlanner::Impl::TellGates(const Names& names, PlanUpdate& update) {
  for (const std::string& name : names) {
    bool was_told = told_before_.erase(name) > 0;
    const auto found = nodes_.find(name);
    if (found != nodes_.end()) {
      PlannedNode& node = found->second;
      std::optional<ToldGate> gate = GateToTell(name, node);
      if (gate && IsTold(node, *gate)) continue;
      if (gate) update.plan.gates.push_back({.node = name, .state = gate->state, .gate = gate->gate});
      was_told |= node.told.has_value();
      node.told = std::move(gate);
      if (node.told) continue;
    }
    if (was_told) update.ungated.push_back(name);
  }
}

// What was told before may still be believed.
void IncrementalPlanner::Impl::NotTold(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || !found->second.told) return;
  found->second.told.reset();
  told_before_.insert(name);
}

std::shared_ptr<const PublishedPlan> IncrementalPlanner::Impl::Publish() {
  Plan plan = PlanWithoutNodes();
  plan.pod_interest.assign(rollout_.interest().begin(), rollout_.interest().end());
  return std::make_shared<const PublishedPlan>(PublishedPlan::Parts{
      .plan = std::move(plan), .nodes = judged_.Share(), .refusals = queue_.refusals(), .rollout = rollout_.waits()});
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
void IncrementalPlanner::ForgetPods(const std::string& node) { impl_->ForgetPods(node); }
void IncrementalPlanner::Remove(const std::string& node) { impl_->Remove(node); }
PlanUpdate IncrementalPlanner::Advance(absl::Time now, const AdvanceLimits& limits) {
  return impl_->Advance(now, limits);
}
PlanUpdate IncrementalPlanner::Withhold(const std::map<std::string, Gate>& gates) { return impl_->Withhold(gates); }
void IncrementalPlanner::NotTold(const std::string& node) { impl_->NotTold(node); }
std::shared_ptr<const PublishedPlan> IncrementalPlanner::Publish() { return impl_->Publish(); }
const std::set<std::string>& IncrementalPlanner::pod_interest() const { return impl_->pod_interest(); }
std::uint64_t IncrementalPlanner::judgements() const { return impl_->judgements(); }

}  // namespace driverupgrade::internal
