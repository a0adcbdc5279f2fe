#include "driverupgrade/upgrade_engine.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "base/signal.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "model/unreadable.h"
#include "run/cache_pass.h"
#include "run/configuration_check.h"
#include "run/engine_maker.h"
#include "run/ledger_pass.h"
#include "run/list_pass.h"
#include "seam/check_supports.h"
#include "tell/finding_events.h"
#include "write/plan_executor.h"

namespace driverupgrade {
namespace {

absl::Status CheckOptions(const EngineOptions& options) {
  if (options.snapshot.ns.empty()) return absl::InvalidArgumentError("engine options: the driver's namespace is empty");
  if (options.snapshot.driver_labels.empty()) {
    return absl::InvalidArgumentError("engine options: the driver's labels are empty; they would select every pod");
  }
  if (options.executor.calls_in_flight < 1) {
    return absl::InvalidArgumentError(
        fmt::format("engine options: calls in flight: must be >= 1, got {}", options.executor.calls_in_flight));
  }
  if (options.nodes_per_pass < 1) {
    return absl::InvalidArgumentError(
        fmt::format("engine options: nodes per pass: must be >= 1, got {}", options.nodes_per_pass));
  }
  if (options.executor.call_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("engine options: call timeout: must be > 0");
  }
  if (options.snapshot.hook_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("engine options: hook timeout: must be > 0");
  }
  return options.state_machine.requestor ? Validate(*options.state_machine.requestor) : absl::OkStatus();
}

// What may be ours and cannot be given back, for it cannot be read; OK if there is nothing.
absl::Status CheckAllSeen(const ClusterSnapshot& snapshot, bool requestor) {
  for (const std::shared_ptr<const NodeView>& view : snapshot.nodes) {
    if (internal::IsUnreadable(view->node)) {
      return absl::UnavailableError(internal::CannotBeRead("Node", view->node));
    }
  }
  for (const Finding& finding : snapshot.findings) {
    if (requestor && finding.code == FindingCode::kUnreadable) return absl::UnavailableError(finding.message);
  }
  return absl::OkStatus();
}

absl::Status CheckNeededOperations(const ClusterFacade& cluster, bool events, bool requestor) {
  std::vector<Operation> needed = {
      Operation::kListNodes, Operation::kListPods, Operation::kListDaemonSets, Operation::kListControllerRevisions,
      Operation::kPatchNode, Operation::kEvictPod, Operation::kDeletePod};
  if (events) needed.push_back(Operation::kRecordEvent);
  if (requestor) {
    for (const Operation operation : {Operation::kListNodeMaintenances, Operation::kCreateNodeMaintenance,
                                      Operation::kPatchNodeMaintenance, Operation::kDeleteNodeMaintenance}) {
      needed.push_back(operation);
    }
  }
  return internal::CheckSupports(cluster, needed);
}

absl::StatusOr<std::size_t> FindScope(const WatchCache& cache, const SnapshotOptions& options) {
  DriverScope scope{.ns = options.ns, .driver_labels = options.driver_labels, .node_selector = options.node_selector};
  if (options.requestor) scope.maintenance_ns = options.requestor->ns;
  const std::optional<std::size_t> driver = cache.Find(scope);
  if (!driver) {
    return absl::InvalidArgumentError(
        fmt::format("engine options: the cache does not follow the driver in namespace {}", options.ns));
  }
  return *driver;
}

StateMachineOptions WithPodDeletion(StateMachineOptions options, bool pod_deletion) {
  options.pod_deletion = pod_deletion;
  return options;
}

}  // namespace

class UpgradeEngine::Impl {
 public:
  Impl(const DriverIdentity& identity, std::shared_ptr<ClusterFacade> cluster, EngineOptions options,
       std::unique_ptr<internal::LedgerPass> ledger, std::shared_ptr<internal::TaskRunner> runner);

  absl::StatusOr<ReconcileResult> Reconcile(const CallContext& context, const UpgradePolicy& policy);
  absl::StatusOr<ReconcileResult> Release(const CallContext& context);
  std::shared_ptr<const internal::PublishedPlan> Published() const;
  void OnChange(std::function<void()> on_change) { changed_.Listen(std::move(on_change)); }
  void Resume();
  void Quiesce() { executor_.Quiesce(); }
  const std::shared_ptr<Observer>& observer() const { return observer_; }
  const std::shared_ptr<Clock>& clock() const { return clock_; }

 private:
  absl::StatusOr<ReconcileResult> Pass(const CallContext& context, const UpgradePolicy& policy);
  absl::Status MakePlan(const CallContext& context, const UpgradePolicy& policy, ReconcileResult& result);
  RolloutFacts RolloutFactsFor(const UpgradePolicy& policy) const;
  void Publish();
  void Carry(const CallContext& context, ReconcileResult& result);
  void TellFindings(const CallContext& context, const Plan& plan);

  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<Observer> observer_;
  internal::Signal changed_;  // before those that raise it
  const std::function<SharedSlots()> shared_slots_;
  const std::function<std::string()> rollout_sick_;
  internal::ConfigurationCheck configuration_;
  SnapshotBuilder builder_;
  StateMachine machine_;
  const std::unique_ptr<internal::LedgerPass> ledger_;  // nullptr without a ledger
  std::unique_ptr<internal::Pass> pass_;
  AttemptLog log_;
  internal::PlanExecutor executor_;                           // after pass_: its calls use it
  std::unique_ptr<internal::FindingEvents> finding_events_;   // nullptr if they are off
  std::mutex mutex_;                                          // of passes
  mutable std::mutex published_mutex_;                        // of a pointer: nobody holds it for long
  std::shared_ptr<const internal::PublishedPlan> published_;  // never null
  // Since when passes have been made without a break.
  std::optional<absl::Time> active_since_;
  absl::Time last_pass_ = absl::InfinitePast();
};

absl::StatusOr<std::unique_ptr<UpgradeEngine>> UpgradeEngine::Create(const DriverIdentity& identity,
                                                                     std::shared_ptr<ClusterFacade> cluster,
                                                                     EngineOptions options) {
  return internal::EngineMaker::Create(identity, std::move(cluster), std::move(options), nullptr);
}

absl::StatusOr<std::unique_ptr<UpgradeEngine>> internal::EngineMaker::Create(const DriverIdentity& identity,
                                                                             std::shared_ptr<ClusterFacade> cluster,
                                                                             EngineOptions options,
                                                                             std::shared_ptr<TaskRunner> runner) {
  if (cluster == nullptr) return absl::InvalidArgumentError("engine options: no cluster facade");
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckOptions(options));
  const std::optional<RequestorOptions>& requestor = options.state_machine.requestor;
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckNeededOperations(*cluster, options.executor.events, requestor.has_value()));
  options.snapshot.requestor = requestor;
  if (options.clock == nullptr) options.clock = SystemClock();
  if (options.cache != nullptr) {
    DRIVERUPGRADE_RETURN_IF_ERROR(FindScope(*options.cache, options.snapshot).status());
  }
  std::unique_ptr<internal::LedgerPass> ledger;
  if (options.ledger) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(ledger, internal::LedgerPass::Create(cluster, identity, *options.ledger,
                                                                        options.clock, options.executor.call_timeout));
  }
  return std::unique_ptr<UpgradeEngine>(new UpgradeEngine(std::make_unique<UpgradeEngine::Impl>(
      identity, std::move(cluster), std::move(options), std::move(ledger), std::move(runner))));
}

UpgradeEngine::Impl::Impl(const DriverIdentity& identity, std::shared_ptr<ClusterFacade> cluster, EngineOptions options,
                          std::unique_ptr<internal::LedgerPass> ledger, std::shared_ptr<internal::TaskRunner> runner)
    : clock_(options.clock),
      observer_(options.observer),
      shared_slots_(options.shared_slots),
      rollout_sick_(options.rollout_sick),
      configuration_(options),
      builder_(identity, cluster, options.snapshot),
      machine_(identity, WithPodDeletion(options.state_machine, options.snapshot.uses_driver != nullptr)),
      ledger_(std::move(ledger)),
      // Who lists waits for the answers himself.
      executor_(identity, cluster, options.clock, options.observer, options.executor,
                options.cache != nullptr ? std::function<void()>([this] { changed_.Raise(); }) : nullptr,
                std::move(runner)) {
  if (options.executor.events && options.executor.finding_events) {
    finding_events_ = std::make_unique<internal::FindingEvents>(identity, options.state_machine.own_pod);
  }
  if (options.cache != nullptr) {
    pass_ = std::make_unique<internal::CachePass>(
        identity, machine_, options.snapshot, clock_, options.cache, *FindScope(*options.cache, options.snapshot),
        options.executor.call_timeout, static_cast<std::size_t>(options.nodes_per_pass), ledger_.get(), executor_,
        [this] { changed_.Raise(); });
  } else {
    pass_ = std::make_unique<internal::ListPass>(machine_, builder_, clock_, ledger_.get(), executor_);
  }
  published_ = pass_->Publish();
}

absl::StatusOr<ReconcileResult> UpgradeEngine::Impl::Reconcile(const CallContext& context,
                                                               const UpgradePolicy& policy) {
  PassOutcome pass{.began = clock_->Now(), .auto_upgrade = policy.auto_upgrade, .paused = policy.paused};
  absl::StatusOr<ReconcileResult> result = Pass(context, policy);
  pass.status = result.status();
  pass.ended = clock_->Now();
  if (result.ok()) pass.configuration = result->configuration;
  if (observer_) observer_->OnPassEnded(pass);
  return result;
}

absl::StatusOr<ReconcileResult> UpgradeEngine::Impl::Pass(const CallContext& context, const UpgradePolicy& policy) {
  DRIVERUPGRADE_RETURN_IF_ERROR(Validate(policy));
  // Without one, two replicas that both lead would each go by a stage of their own.
  if (policy.rollout && !ledger_) {
    return absl::FailedPreconditionError(
        "policy: rollout: the engine has no ledger (EngineOptions::ledger), where the record of a rollout is kept");
  }
  const std::lock_guard lock(mutex_);
  if (!policy.auto_upgrade) {
    active_since_.reset();
  } else if (!active_since_) {
    active_since_ = clock_->Now();
  }
  ReconcileResult result{.outcomes = pass_->Collect(log_)};
  const absl::Time now = clock_->Now();
  if (now < std::exchange(last_pass_, now)) {
    log_.SetBack(now);
    if (active_since_) active_since_ = std::min(*active_since_, now);
  }
  log_.PassBegan(now);
  const absl::Time unbroken_since =
      policy.rollout ? active_since_.value_or(absl::InfiniteFuture()) : absl::InfiniteFuture();
  if (ledger_) ledger_->steps().NoteOutcomes(result.outcomes, machine_.identity(), unbroken_since, now);
  DRIVERUPGRADE_RETURN_IF_ERROR(MakePlan(context, policy, result));
  if (observer_) observer_->OnPlan(result.plan);
  // Before the first driver pod of the rollout is deleted.
  result.configuration = configuration_.Look(policy, pass_->SeesDaemonSet());
  for (const Finding& finding : configuration_.News(result.configuration, result.plan)) {
    if (observer_) observer_->OnFinding(finding);
  }
  const std::size_t collected = result.outcomes.size();
  Carry(context, result);
  if (policy.rollout) {
    ledger_->steps().NoteOutcomes(
        {result.outcomes.begin() + static_cast<std::ptrdiff_t>(collected), result.outcomes.end()}, machine_.identity(),
        unbroken_since, clock_->Now());
  }
  if (result.plan.finished) TellFindings(context, result.plan);
  if (const auto reminder = finding_events_ ? finding_events_->NextReminder() : std::nullopt) {
    result.wake_at = std::min(result.wake_at.value_or(*reminder), *reminder);
  }
  return result;
}

// arch-A12: what starts a node is sent only once its grant is stored.
absl::Status UpgradeEngine::Impl::MakePlan(const CallContext& context, const UpgradePolicy& policy,
                                           ReconcileResult& result) {
  if (ledger_) ledger_->Begin(context);
  const std::uint64_t before = pass_->judgements();
  const internal::PassInput input{.policy = policy,
                                  .active_since = active_since_.value_or(absl::InfinitePast()),
                                  .shared_slots = shared_slots_ ? std::optional(shared_slots_()) : std::nullopt,
                                  .rollout = [&] { return RolloutFactsFor(policy); }};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(result.plan, pass_->MakePlan(context, input, log_));
  result.judged = pass_->judgements() - before;
  if (ledger_) ledger_->steps().NoteFailures(result.plan);
  if (!result.plan.finished) return absl::OkStatus();
  if (ledger_) {
    pass_->Withhold(ledger_->Settle(context, result.plan), result.plan);
    ledger_->Report(result.plan);
  }
  Publish();
  return absl::OkStatus();
}

RolloutFacts UpgradeEngine::Impl::RolloutFactsFor(const UpgradePolicy& policy) const {
  if (!policy.rollout || !policy.auto_upgrade) return {};
  return {.record = ledger_->steps().record(),
          .sick = rollout_sick_ ? rollout_sick_() : std::string(),
          .took = ledger_->steps().took()};
}

void UpgradeEngine::Impl::Publish() {
  std::shared_ptr<const internal::PublishedPlan> plan = pass_->Publish();
  const std::lock_guard lock(published_mutex_);
  published_.swap(plan);
}

void UpgradeEngine::Impl::Carry(const CallContext& context, ReconcileResult& result) {
  std::vector<NodeOutcome> outcomes = pass_->Carry(context, result.plan, log_);
  // What has changed, or failed, is judged anew; the attempt log paces what is tried again.
  result.wake_at = outcomes.empty() ? result.plan.wake_at : clock_->Now();
  std::move(outcomes.begin(), outcomes.end(), std::back_inserter(result.outcomes));
}

void UpgradeEngine::Impl::TellFindings(const CallContext& context, const Plan& plan) {
  if (!finding_events_) return;
  const auto uid_of = [this](const std::string& node) { return pass_->UidOf(node); };
  executor_.Tell(context, finding_events_->Follow(plan, uid_of, clock_->Now()));
}

std::shared_ptr<const internal::PublishedPlan> UpgradeEngine::Impl::Published() const {
  const std::lock_guard lock(published_mutex_);
  return published_;
}

absl::StatusOr<ReconcileResult> UpgradeEngine::Impl::Release(const CallContext& context) {
  const std::lock_guard lock(mutex_);
  active_since_.reset();
  executor_.Quiesce();
  ReconcileResult result{.outcomes = pass_->Collect(log_)};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ClusterSnapshot snapshot, builder_.Build(context, log_));
  for (const Finding& finding : snapshot.findings) {
    // Claims that cannot be seen are not given back; without this the caller would take himself for finished.
    if (finding.code == FindingCode::kReadFailed && finding.node.empty())
      return absl::UnavailableError(finding.message);
  }
  for (const std::shared_ptr<const NodeView>& view : snapshot.nodes) {
    NodePlan plan = machine_.Release(*view, clock_->Now());
    if (!plan.empty()) result.plan.nodes.push_back(std::move(plan));
  }
  if (result.plan.nodes.empty()) {
    DRIVERUPGRADE_RETURN_IF_ERROR(CheckAllSeen(snapshot, machine_.options().requestor.has_value()));
  }
  if (observer_) observer_->OnPlan(result.plan);
  result.outcomes = executor_.Apply(context, result.plan, log_);
  log_.LabelsRemoved();
  if (!result.plan.nodes.empty()) result.wake_at = clock_->Now();
  return result;
}

void UpgradeEngine::Impl::Resume() {
  const std::lock_guard lock(mutex_);
  active_since_.reset();
}

UpgradeEngine::UpgradeEngine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
UpgradeEngine::~UpgradeEngine() = default;

absl::StatusOr<ReconcileResult> UpgradeEngine::Reconcile(const CallContext& context, const UpgradePolicy& policy) {
  return impl_->Reconcile(context, policy);
}
absl::StatusOr<ReconcileResult> UpgradeEngine::Release(const CallContext& context) { return impl_->Release(context); }
std::optional<Gate> UpgradeEngine::Explain(const std::string& node) const { return impl_->Published()->Explain(node); }
Plan UpgradeEngine::Everything() const { return impl_->Published()->Full(); }
void UpgradeEngine::OnChange(std::function<void()> on_change) { impl_->OnChange(std::move(on_change)); }
void UpgradeEngine::Resume() { impl_->Resume(); }
void UpgradeEngine::Quiesce() { impl_->Quiesce(); }
const std::shared_ptr<Observer>& UpgradeEngine::observer() const { return impl_->observer(); }
const std::shared_ptr<Clock>& UpgradeEngine::clock() const { return impl_->clock(); }

}  // namespace driverupgrade
