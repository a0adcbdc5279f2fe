#include "driverupgrade/incremental_planner.h"

#include <map>
#include <set>
#include <utility>

#include "internal/admission_queue.h"
#include "internal/step_parts.h"

namespace driverupgrade::inline v1 {
class IncrementalPlanner::Impl {
 public:
  explicit Impl(StateMachine machine) : machine_(std::move(machine)) {}

  void SetPolicy(const UpgradePolicy& policy);
  void SetDriver(std::shared_ptr<const DriverFacts> driver, std::vector<Finding> findings);
  void SetActiveSince(absl::Time active_since);
  void Update(std::shared_ptr<const NodeView> view);
  void Remove(const std::string& name);
  PlanUpdate Advance(absl::Time now);
  std::optional<Gate> Explain(const std::string& name) const;
  Plan FullPlan() const;
  std::uint64_t judgements() const { return judgements_; }

 private:
  using Names = std::set<std::string>;
  struct Entry {
    std::shared_ptr<const NodeView> view;
    // nullopt: not judged yet.
    std::optional<Verdict> verdict = std::nullopt;
  };

  // The nodes to be judged, and those that are gone.
  Names TakeDue(absl::Time now);
  void JudgeNode(const std::string& name, Entry& entry, bool admitted);
  // Adds a verdict to the sums and sets below, or takes it out of them.
  void Enlist(const std::string& name, const Verdict& verdict);
  void Withdraw(const std::string& name, const Verdict& verdict);
  // What is told of a node; without the place in the queue.
  std::optional<NodeGate> GateToTell(const std::string& name) const;
  bool IsTold(const NodeGate& gate) const;
  void TellGates(const Names& names, PlanUpdate& update);
  Plan PlanWithoutGates() const;

  const StateMachine machine_;
  UpgradePolicy policy_ = {};
  std::shared_ptr<const DriverFacts> driver_ = std::make_shared<const DriverFacts>();
  std::vector<Finding> findings_ = {};
  absl::Time active_since_ = absl::InfinitePast();
  // Of the last Advance.
  absl::Time now_ = absl::InfinitePast();
  Tally totals_ = {};
  UpgradeBudget budget_ = {};

  std::map<std::string, Entry> nodes_;
  bool all_changed_ = false;
  Names changed_;
  // Over the verdicts of all nodes.
  Tally tally_ = {};
  Names acting_;
  Names interested_;
  Names with_findings_;
  std::set<std::pair<absl::Time, std::string>> wakes_;
  internal::AdmissionQueue queue_;
  // The gates that the caller knows of.
  std::map<std::string, NodeGate> told_;
  std::uint64_t judgements_ = 0;
};

void IncrementalPlanner::Impl::SetPolicy(const UpgradePolicy& policy) {
  if (policy == policy_) return;
  policy_ = policy;
  all_changed_ = true;
}

void IncrementalPlanner::Impl::SetDriver(std::shared_ptr<const DriverFacts> driver, std::vector<Finding> findings) {
  // A pod is unscheduled for a moment whenever a driver pod is replaced; Judge does not look at their count.
  if (driver->daemon_sets != driver_->daemon_sets) all_changed_ = true;
  driver_ = std::move(driver);
  findings_ = std::move(findings);
}

void IncrementalPlanner::Impl::SetActiveSince(absl::Time active_since) {
  if (active_since == active_since_) return;
  active_since_ = active_since;
  all_changed_ = true;
}

void IncrementalPlanner::Impl::Update(std::shared_ptr<const NodeView> view) {
  Entry& entry = nodes_[view->node.name];
  if (entry.view == nullptr || *entry.view != *view) changed_.insert(view->node.name);
  entry.view = std::move(view);
}

void IncrementalPlanner::Impl::Remove(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  if (found->second.verdict) Withdraw(name, *found->second.verdict);
  nodes_.erase(found);
  changed_.insert(name);
}

PlanUpdate IncrementalPlanner::Impl::Advance(absl::Time now) {
  Names touched = TakeDue(now);
  for (const std::string& name : touched) {
    if (const auto found = nodes_.find(name); found != nodes_.end()) {
      JudgeNode(name, found->second, /*admitted=*/false);
    }
  }
  totals_ = internal::Totals(tally_, *driver_, policy_);
  budget_ = ComputeBudget(totals_, policy_);
  for (const Candidate& candidate : queue_.Admit(budget_, policy_.paused)) {
    JudgeNode(candidate.node, nodes_.at(candidate.node), /*admitted=*/true);
    touched.insert(candidate.node);
  }
  for (std::string& name : queue_.ChangedRefusals()) touched.insert(std::move(name));
  PlanUpdate update{.plan = PlanWithoutGates()};
  TellGates(touched, update);
  return update;
}

auto IncrementalPlanner::Impl::TakeDue(absl::Time now) -> Names {
  // A verdict holds from the time it was made until its wake_at, and not before.
  if (now < now_) all_changed_ = true;
  now_ = now;
  Names due = std::exchange(changed_, {});
  due.insert(acting_.begin(), acting_.end());
  for (auto wake = wakes_.begin(); wake != wakes_.end() && wake->first <= now; ++wake) due.insert(wake->second);
  if (std::exchange(all_changed_, false)) {
    for (const auto& [name, entry] : nodes_) due.insert(due.end(), name);
  }
  return due;
}

void IncrementalPlanner::Impl::JudgeNode(const std::string& name, Entry& entry, bool admitted) {
  if (entry.verdict) Withdraw(name, *entry.verdict);
  entry.verdict = machine_.Judge(*entry.view, *driver_, policy_, now_, active_since_, admitted);
  Enlist(name, *entry.verdict);
  ++judgements_;
}

void IncrementalPlanner::Impl::Enlist(const std::string& name, const Verdict& verdict) {
  tally_ += verdict.tally;
  if (!verdict.plan.empty()) acting_.insert(name);
  if (verdict.pod_interest) interested_.insert(name);
  if (!verdict.findings.empty()) with_findings_.insert(name);
  if (verdict.wake_at) wakes_.emplace(*verdict.wake_at, name);
  if (verdict.candidate) queue_.Add(*verdict.candidate);
}

void IncrementalPlanner::Impl::Withdraw(const std::string& name, const Verdict& verdict) {
  tally_ -= verdict.tally;
  acting_.erase(name);
  interested_.erase(name);
  with_findings_.erase(name);
  if (verdict.wake_at) wakes_.erase({*verdict.wake_at, name});
  if (verdict.candidate) queue_.Remove(*verdict.candidate);
}

Plan IncrementalPlanner::Impl::PlanWithoutGates() const {
  Plan plan{.totals = totals_,
            .budget = budget_,
            .findings = findings_,
            .pod_interest = std::vector(interested_.begin(), interested_.end())};
  for (const std::string& name : acting_) plan.nodes.push_back(nodes_.at(name).verdict->plan);
  for (const std::string& name : with_findings_) {
    const std::vector<Finding>& found = nodes_.at(name).verdict->findings;
    plan.findings.insert(plan.findings.end(), found.begin(), found.end());
  }
  if (!wakes_.empty()) plan.wake_at = wakes_.begin()->first;
  return plan;
}

std::optional<NodeGate> IncrementalPlanner::Impl::GateToTell(const std::string& name) const {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return std::nullopt;
  const Verdict& verdict = *found->second.verdict;
  const std::optional<Gate> gate = verdict.candidate ? queue_.Refusal(*verdict.candidate) : verdict.gate;
  if (!gate) return std::nullopt;
  return NodeGate{.node = name, .state = verdict.plan.to(), .gate = *gate};
}

// The counts in the gate of a candidate change with every admission, and nobody is told again for that.
bool IncrementalPlanner::Impl::IsTold(const NodeGate& gate) const {
  const auto told = told_.find(gate.node);
  if (told == told_.end()) return false;
  if (!nodes_.at(gate.node).verdict->candidate) return told->second == gate;
  return told->second.state == gate.state && told->second.gate.reason == gate.gate.reason;
}

void IncrementalPlanner::Impl::TellGates(const Names& names, PlanUpdate& update) {
  for (const std::string& name : names) {
    std::optional<NodeGate> gate = GateToTell(name);
    if (!gate) {
      if (told_.erase(name) > 0) update.ungated.push_back(name);
    } else if (!IsTold(*gate)) {
      update.plan.gates.push_back(*gate);
      told_.insert_or_assign(name, *std::move(gate));
    }
  }
}

std::optional<Gate> IncrementalPlanner::Impl::Explain(const std::string& name) const {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || !found->second.verdict) return std::nullopt;
  const Verdict& verdict = *found->second.verdict;
  return verdict.candidate ? queue_.RefusalAtPlace(*verdict.candidate) : verdict.gate;
}

Plan IncrementalPlanner::Impl::FullPlan() const {
  Plan plan{.totals = totals_, .budget = budget_, .findings = findings_};
  const std::map<std::string, Gate> refusals = queue_.AllRefusals();
  for (const auto& [name, entry] : nodes_) {
    if (!entry.verdict) continue;
    Verdict verdict = *entry.verdict;
    if (verdict.candidate) verdict.gate = refusals.at(name);
    internal::AddVerdict(std::move(verdict), plan);
  }
  return plan;
}

IncrementalPlanner::IncrementalPlanner(StateMachine machine) : impl_(std::make_unique<Impl>(std::move(machine))) {}
IncrementalPlanner::~IncrementalPlanner() = default;
void IncrementalPlanner::SetPolicy(const UpgradePolicy& policy) { impl_->SetPolicy(policy); }
void IncrementalPlanner::SetDriver(std::shared_ptr<const DriverFacts> driver, std::vector<Finding> findings) {
  impl_->SetDriver(std::move(driver), std::move(findings));
}
void IncrementalPlanner::SetActiveSince(absl::Time active_since) { impl_->SetActiveSince(active_since); }
void IncrementalPlanner::Update(std::shared_ptr<const NodeView> view) { impl_->Update(std::move(view)); }
void IncrementalPlanner::Remove(const std::string& node) { impl_->Remove(node); }
PlanUpdate IncrementalPlanner::Advance(absl::Time now) { return impl_->Advance(now); }
std::optional<Gate> IncrementalPlanner::Explain(const std::string& node) const { return impl_->Explain(node); }
Plan IncrementalPlanner::FullPlan() const { return impl_->FullPlan(); }
std::uint64_t IncrementalPlanner::judgements() const { return impl_->judgements(); }

}  // namespace driverupgrade::inline v1
