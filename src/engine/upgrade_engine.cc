#include "driverupgrade/upgrade_engine.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/signal.h"
#include "base/status_macros.h"
#include "cluster/check_supports.h"
#include "core/core.h"
#include "engine/cache_reader.h"
#include "engine/configuration_check.h"
#include "engine/ledger_sender.h"
#include "engine/list_reader.h"
#include "fmt/format.h"
#include "model/unreadable.h"
#include "observe/gate_memory.h"
#include "read/hook_calls.h"
#include "read/view_scope.h"
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

// Returns an error if objects cannot be read, because they may be ours and would not be released.
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

absl::Status CheckNeededOperations(const ClusterFacade& cluster, bool events, bool requestor, bool devices) {
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
  if (devices) {
    for (const Operation operation :
         {Operation::kListDeviceTaintRules, Operation::kListResourceClaims, Operation::kListResourceSlices,
          Operation::kCreateDeviceTaintRule, Operation::kPatchDeviceTaintRule, Operation::kDeleteDeviceTaintRule}) {
      needed.push_back(operation);
    }
  }
  return internal::CheckSupports(cluster, needed);
}

absl::StatusOr<std::size_t> FindScope(const EngineOptions& options) {
  const SnapshotOptions& snapshot = options.snapshot;
  DriverScope scope{
      .ns = snapshot.ns, .driver_labels = snapshot.driver_labels, .node_selector = snapshot.node_selector};
  if (options.state_machine.requestor) scope.maintenance_ns = options.state_machine.requestor->ns;
  scope.devices = snapshot.devices;
  const std::optional<std::size_t> driver = options.cache->Find(scope);
  if (!driver) {
    return absl::InvalidArgumentError(
        fmt::format("engine options: the cache does not follow the driver in namespace {}", snapshot.ns));
  }
  return *driver;
}

}  // namespace

class UpgradeEngine::Impl {
 public:
  Impl(const DriverIdentity& identity, std::shared_ptr<ClusterFacade> cluster, EngineOptions options,
       std::optional<AdmissionLedger> ledger);

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
  absl::StatusOr<internal::CorePass> MakePlan(const CallContext& context, const UpgradePolicy& policy);
  // Returns true if there is new data for the plan.
  bool Read(const CallContext& context, const UpgradePolicy& policy, const internal::CorePass& pass);
  // Returns true if the ledger has new results.
  bool AdvanceLedger(const CallContext& context);
  bool TakeRead();
  void Publish(ReconcileResult& result);
  void Carry(const CallContext& context, ReconcileResult& result);
  std::vector<NodeOutcome> Collect();

  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<Observer> observer_;
  internal::Signal changed_;  // declared before the members that raise it
  const std::function<SharedSlots()> shared_slots_;
  const std::function<std::string()> rollout_sick_;
  const ExecutorOptions calls_;
  const bool has_cache_;
  internal::ConfigurationCheck configuration_;
  internal::HookCalls hooks_;
  std::unique_ptr<internal::Reader> reader_;
  std::unique_ptr<internal::Core> core_;
  std::optional<SnapshotBuilder> builder_;  // declared after the core, whose attempts it reads
  internal::LedgerSender ledger_sender_;
  internal::PlanExecutor executor_;                           // declared after the members whose objects its calls use
  std::mutex mutex_;                                          // held during passes
  mutable std::mutex published_mutex_;                        // guards a pointer: no thread holds it for long
  std::shared_ptr<const internal::PublishedPlan> published_;  // never null
};

absl::StatusOr<std::unique_ptr<UpgradeEngine>> UpgradeEngine::Create(const DriverIdentity& identity,
                                                                     std::shared_ptr<ClusterFacade> cluster,
                                                                     EngineOptions options) {
  if (cluster == nullptr) return absl::InvalidArgumentError("engine options: no cluster facade");
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckOptions(options));
  const std::optional<RequestorOptions>& requestor = options.state_machine.requestor;
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckNeededOperations(*cluster, options.executor.events, requestor.has_value(),
                                                      !options.snapshot.devices.empty()));
  if (options.clock == nullptr) options.clock = SystemClock();
  if (options.cache != nullptr) {
    DRIVERUPGRADE_RETURN_IF_ERROR(FindScope(options).status());
  }
  std::optional<AdmissionLedger> ledger;
  if (options.ledger) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(ledger, AdmissionLedger::Create(identity, *options.ledger));
    DRIVERUPGRADE_RETURN_IF_ERROR(internal::CheckSupports(
        *cluster, {Operation::kGetConfigMap, Operation::kCreateConfigMap, Operation::kPatchConfigMap}));
  }
  return std::unique_ptr<UpgradeEngine>(new UpgradeEngine(
      std::make_unique<UpgradeEngine::Impl>(identity, std::move(cluster), std::move(options), std::move(ledger))));
}

UpgradeEngine::Impl::Impl(const DriverIdentity& identity, std::shared_ptr<ClusterFacade> cluster, EngineOptions options,
                          std::optional<AdmissionLedger> ledger)
    : clock_(options.clock),
      observer_(options.observer),
      shared_slots_(options.shared_slots),
      rollout_sick_(options.rollout_sick),
      calls_(options.executor),
      has_cache_(options.cache != nullptr),
      configuration_(options),
      hooks_(options.snapshot),
      // A pass without a cache waits for the responses.
      ledger_sender_(cluster, options.clock, executor_,
                     has_cache_ ? std::function<void()>([this] { changed_.Raise(); }) : nullptr),
      executor_(identity, cluster, options.clock, options.observer, options.executor,
                has_cache_ ? std::function<void()>([this] { changed_.Raise(); }) : nullptr) {
  const internal::ViewScope scope = internal::ScopeOf(options.snapshot, options.state_machine.requestor);
  if (has_cache_) {
    reader_ = std::make_unique<internal::CacheReader>(options.cache, *FindScope(options), clock_, calls_.call_timeout,
                                                      executor_, [this] { changed_.Raise(); });
  } else {
    reader_ = std::make_unique<internal::ListReader>(cluster, scope);
  }
  internal::CoreOptions core{.machine = options.state_machine, .scope = scope, .ledger = std::move(ledger)};
  if (has_cache_) core.nodes_per_pass = static_cast<std::size_t>(options.nodes_per_pass);
  core_ = std::make_unique<internal::Core>(identity, std::move(core), reader_->objects(), hooks_);
  builder_.emplace(identity, cluster, options.snapshot, options.state_machine.requestor, &core_->log());
  published_ = core_->Publish();
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
  const std::lock_guard lock(mutex_);
  DRIVERUPGRADE_RETURN_IF_ERROR(core_->CheckPolicy(policy));
  ReconcileResult result{.outcomes = Collect()};
  if (!policy.auto_upgrade) core_->Freeze();
  const std::uint64_t before = core_->judgements();
  DRIVERUPGRADE_ASSIGN_OR_RETURN(internal::CorePass pass, MakePlan(context, policy));
  result.judged = core_->judgements() - before;
  std::vector<RecordEventParams> events;
  if (calls_.events && calls_.finding_events) events = core_->EventsOf(pass, clock_->Now());
  result.plan = std::move(pass.plan);
  if (result.plan.finished) Publish(result);
  if (observer_) observer_->OnPlan(result.plan);
  // Checks the configuration before the first driver pod of the rollout is deleted.
  result.configuration = configuration_.Look(policy, core_->SeesDaemonSet());
  for (const Finding& finding : configuration_.News(result.configuration, result.plan)) {
    if (observer_) observer_->OnFinding(finding);
  }
  Carry(context, result);
  executor_.Tell(context, std::move(events));
  return result;
}

absl::StatusOr<internal::CorePass> UpgradeEngine::Impl::MakePlan(const CallContext& context,
                                                                 const UpgradePolicy& policy) {
  // Maximum number of plans in a pass. Reads that have not finished by then are left to the next pass.
  constexpr int kPlansMax = 3;
  hooks_.BeginPass(context);
  if (internal::LedgerSteps* ledger = core_->ledger()) {
    AdvanceLedger(context);
    ledger->Begin(clock_->Now());
    AdvanceLedger(context);
  }
  DRIVERUPGRADE_RETURN_IF_ERROR(reader_->Begin(context, core_->ledger()));
  TakeRead();
  internal::PassFacts facts;
  if (shared_slots_) facts.shared_slots = shared_slots_();
  if (rollout_sick_ && policy.rollout && policy.auto_upgrade) facts.sick = rollout_sick_();
  DRIVERUPGRADE_ASSIGN_OR_RETURN(internal::CorePass pass, core_->Apply({}, policy, facts, clock_->Now()));
  for (int plans = 1; Read(context, policy, pass); ++plans) {
    if (plans == kPlansMax) {
      pass.plan.wake_at = clock_->Now();
      break;
    }
    DRIVERUPGRADE_ASSIGN_OR_RETURN(internal::CorePass again, core_->Apply({}, policy, facts, clock_->Now()));
    internal::CarryGates(pass.plan, again.plan);
    pass = std::move(again);
  }
  if (core_->Settle(pass, clock_->Now()) && AdvanceLedger(context)) core_->Settle(pass, clock_->Now());
  core_->Withhold(pass, clock_->Now());
  reader_->End();
  return pass;
}

bool UpgradeEngine::Impl::Read(const CallContext& context, const UpgradePolicy& policy,
                               const internal::CorePass& pass) {
  reader_->ReadPods(context, policy, pass.wanted_pods);
  const bool has_read = TakeRead();
  // AdvanceLedger must always run, so it comes first: the ledger may have to list nodes that the engine has never seen.
  return AdvanceLedger(context) || has_read;
}

bool UpgradeEngine::Impl::AdvanceLedger(const CallContext& context) {
  return core_->ledger() != nullptr && ledger_sender_.Advance(context, *core_->ledger());
}

bool UpgradeEngine::Impl::TakeRead() {
  const std::map<std::string, absl::Status> read = reader_->TakeRead();
  for (const auto& [node, status] : read) core_->PodsRead(node, status, clock_->Now());
  return !read.empty();
}

void UpgradeEngine::Impl::Publish(ReconcileResult& result) {
  std::shared_ptr<const internal::PublishedPlan> plan = core_->Publish();
  // An engine without a cache knows all nodes in each pass.
  if (!has_cache_) {
    Plan full = plan->Full();
    result.plan.gates = std::move(full.gates);
    result.plan.gates_complete = true;
    result.plan.ungated.clear();
  }
  const std::lock_guard lock(published_mutex_);
  published_.swap(plan);
}

void UpgradeEngine::Impl::Carry(const CallContext& context, ReconcileResult& result) {
  executor_.Begin(context, core_->Begin(result.plan, clock_->Now()));
  if (!has_cache_) executor_.AwaitAnswers();
  std::vector<NodeOutcome> outcomes = Collect();
  // The next pass is due immediately, because nodes that were written, and nodes with failed requests, must be
  // evaluated again. The attempt log limits how soon requests are retried.
  result.wake_at = outcomes.empty() ? result.plan.wake_at : clock_->Now();
  std::move(outcomes.begin(), outcomes.end(), std::back_inserter(result.outcomes));
}

std::vector<NodeOutcome> UpgradeEngine::Impl::Collect() {
  std::vector<NodeOutcome> outcomes;
  for (const auto& requests : executor_.TakeAnswered()) outcomes.push_back(core_->End(*requests, clock_->Now()));
  if (!has_cache_) {
    std::sort(outcomes.begin(), outcomes.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  }
  return outcomes;
}

std::shared_ptr<const internal::PublishedPlan> UpgradeEngine::Impl::Published() const {
  const std::lock_guard lock(published_mutex_);
  return published_;
}

absl::StatusOr<ReconcileResult> UpgradeEngine::Impl::Release(const CallContext& context) {
  const std::lock_guard lock(mutex_);
  core_->Resume();
  executor_.Quiesce();
  ReconcileResult result{.outcomes = Collect()};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ClusterSnapshot snapshot, builder_->Build(context));
  for (const Finding& finding : snapshot.findings) {
    // Claims that were not read are not released. Without this error, the caller would assume that the release has
    // finished.
    if (finding.code == FindingCode::kReadFailed && finding.node.empty())
      return absl::UnavailableError(finding.message);
  }
  for (const std::shared_ptr<const NodeView>& view : snapshot.nodes) {
    NodePlan plan = core_->machine().Release(*view, clock_->Now());
    if (!plan.empty()) result.plan.nodes.push_back(std::move(plan));
  }
  if (result.plan.nodes.empty()) {
    DRIVERUPGRADE_RETURN_IF_ERROR(CheckAllSeen(snapshot, core_->machine().options().requestor.has_value()));
  }
  if (observer_) observer_->OnPlan(result.plan);
  executor_.Begin(context, core_->Begin(result.plan, clock_->Now()));
  executor_.AwaitAnswers();
  result.outcomes = Collect();
  core_->log().LabelsRemoved();
  if (!result.plan.nodes.empty()) result.wake_at = clock_->Now();
  return result;
}

void UpgradeEngine::Impl::Resume() {
  const std::lock_guard lock(mutex_);
  core_->Resume();
}

UpgradeEngine::UpgradeEngine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
UpgradeEngine::~UpgradeEngine() = default;

absl::StatusOr<ReconcileResult> UpgradeEngine::Reconcile(const CallContext& context, const UpgradePolicy& policy) {
  return impl_->Reconcile(context, policy);
}
absl::StatusOr<ReconcileResult> UpgradeEngine::Release(const CallContext& context) { return impl_->Release(context); }
std::optional<Gate> UpgradeEngine::Explain(const std::string& node) const { return impl_->Published()->Explain(node); }
Plan UpgradeEngine::Everything() const { return impl_->Published()->Full(); }
FleetStatus UpgradeEngine::Status() const { return impl_->Published()->Status(); }
void UpgradeEngine::OnChange(std::function<void()> on_change) { impl_->OnChange(std::move(on_change)); }
void UpgradeEngine::Resume() { impl_->Resume(); }
void UpgradeEngine::Quiesce() { impl_->Quiesce(); }
const std::shared_ptr<Observer>& UpgradeEngine::observer() const { return impl_->observer(); }
const std::shared_ptr<Clock>& UpgradeEngine::clock() const { return impl_->clock(); }

}  // namespace driverupgrade
