#include "driverupgrade/upgrade_engine.h"

#include <utility>

#include "fmt/format.h"
#include "internal/status_macros.h"

namespace driverupgrade::inline v1 {
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
  if (options.executor.call_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("engine options: call timeout: must be > 0");
  }
  return options.state_machine.requestor ? Validate(*options.state_machine.requestor) : absl::OkStatus();
}

absl::Status CheckOperations(const ClusterFacade& cluster, bool events, bool requestor) {
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
  for (const Operation operation : needed) {
    if (!cluster.Supports(operation)) {
      return absl::UnimplementedError(fmt::format("the cluster facade does not implement {}", ToString(operation)));
    }
  }
  return absl::OkStatus();
}

StateMachineOptions WithPodDeletion(StateMachineOptions options, bool pod_deletion) {
  options.pod_deletion = pod_deletion;
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UpgradeEngine>> UpgradeEngine::Create(const DriverIdentity& identity,
                                                                     std::shared_ptr<ClusterFacade> cluster,
                                                                     EngineOptions options) {
  if (cluster == nullptr) return absl::InvalidArgumentError("engine options: no cluster facade");
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckOptions(options));
  const std::optional<RequestorOptions>& requestor = options.state_machine.requestor;
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckOperations(*cluster, options.executor.events, requestor.has_value()));
  options.snapshot.requestor = requestor;
  if (options.clock == nullptr) options.clock = SystemClock();
  return std::unique_ptr<UpgradeEngine>(new UpgradeEngine(identity, std::move(cluster), std::move(options)));
}

UpgradeEngine::UpgradeEngine(const DriverIdentity& identity, std::shared_ptr<ClusterFacade> cluster,
                             EngineOptions options)
    : clock_(options.clock),
      observer_(options.observer),
      builder_(identity, cluster, options.snapshot),
      machine_(identity, WithPodDeletion(options.state_machine, options.snapshot.uses_driver != nullptr)),
      executor_(identity, cluster, options.clock, options.observer, options.executor) {}

UpgradeEngine::~UpgradeEngine() = default;

absl::StatusOr<ReconcileResult> UpgradeEngine::Reconcile(const CallContext& context, const UpgradePolicy& policy) {
  DRIVERUPGRADE_RETURN_IF_ERROR(Validate(policy));
  if (!policy.auto_upgrade) {
    active_since_.reset();
  } else if (!active_since_) {
    active_since_ = clock_->Now();
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(ClusterSnapshot snapshot, builder_.Build(context, log_));
  snapshot.active_since = active_since_.value_or(absl::InfinitePast());
  ReconcileResult result{.plan = machine_.Step(snapshot, policy, clock_->Now())};
  builder_.ReadPods(context, result.plan.pod_interest, log_, snapshot);
  if (!result.plan.pod_interest.empty()) result.plan = machine_.Step(snapshot, policy, clock_->Now());
  if (observer_) observer_->OnPlan(result.plan);
  result.outcomes = executor_.Apply(context, result.plan, log_);
  result.wake_at = result.plan.wake_at;
  // What has changed, or failed, is judged anew; the attempt log paces what is tried again.
  if (!result.outcomes.empty()) result.wake_at = clock_->Now();
  return result;
}

absl::StatusOr<ReconcileResult> UpgradeEngine::Release(const CallContext& context) {
  active_since_.reset();
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ClusterSnapshot snapshot, builder_.Build(context, log_));
  ReconcileResult result;
  for (const std::shared_ptr<const NodeView>& view : snapshot.nodes) {
    NodePlan plan = machine_.Release(*view, clock_->Now());
    if (!plan.empty()) result.plan.nodes.push_back(std::move(plan));
  }
  if (observer_) observer_->OnPlan(result.plan);
  result.outcomes = executor_.Apply(context, result.plan, log_);
  if (!result.plan.nodes.empty()) result.wake_at = clock_->Now();
  return result;
}

void UpgradeEngine::Quiesce() { executor_.Quiesce(); }

}  // namespace driverupgrade::inline v1
