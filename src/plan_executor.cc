#include "driverupgrade/plan_executor.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "internal/status_macros.h"
#include "internal/worker_pool.h"

namespace driverupgrade::inline v1 {
namespace {

// Events are many and small, and the API server's other clients matter more.
constexpr int kEventsInFlight = 4;
// Nodes whose Events wait; beyond that they are dropped, as client-go does (A50).
constexpr std::size_t kEventsQueuedMax = 10'000;

Outcome OutcomeOf(const absl::Status& status) {
  if (status.ok()) return Outcome::kApplied;
  return WasNotApplied(status) ? Outcome::kNotApplied : Outcome::kUnclear;
}

Refusal RefusalOf(EvictionAnswer::Kind kind) {
  switch (kind) {
    case EvictionAnswer::Kind::kAccepted:
    case EvictionAnswer::Kind::kGone: return Refusal::kNone;
    case EvictionAnswer::Kind::kRefusedByBudget: return Refusal::kDisruptionBudget;
    case EvictionAnswer::Kind::kThrottled: return Refusal::kThrottled;
    case EvictionAnswer::Kind::kSeveralBudgets: return Refusal::kSeveralBudgets;
    case EvictionAnswer::Kind::kNamespaceTerminating: return Refusal::kNamespaceTerminating;
  }
  return Refusal::kOther;
}

PodAttempt AttemptOf(const absl::Status& status, absl::Time now) {
  return {.outcome = OutcomeOf(status),
          .answered_at = now,
          .refusal = status.ok() ? Refusal::kNone : Refusal::kOther,
          .message = std::string(internal::Message(status))};
}

PodAttempt AttemptOf(const EvictionAnswer& answer, absl::Time now) {
  const Refusal refusal = RefusalOf(answer.kind);
  return {.outcome = refusal == Refusal::kNone ? Outcome::kApplied : Outcome::kNotApplied,
          .answered_at = now,
          .refusal = refusal,
          .retry_after = answer.retry_after,
          .budget = answer.budget,
          .message = answer.message};
}

absl::Status Send(ClusterWriter& cluster, const CallContext& context, const MaintenanceCall& call) {
  const NodeMaintenance& object = call.object;
  PatchNodeMaintenanceParams patch{
      .ns = object.ns, .name = object.name, .uid = object.uid, .resource_version = object.resource_version};
  switch (call.kind) {
    case MaintenanceCall::Kind::kCreate: return cluster.CreateNodeMaintenance(context, {.object = object}).status();
    case MaintenanceCall::Kind::kDelete:
      return cluster.DeleteNodeMaintenance(context, {.ns = object.ns, .name = object.name, .uid = object.uid});
    case MaintenanceCall::Kind::kJoin:
    case MaintenanceCall::Kind::kLeave: patch.additional_requestors = object.additional_requestors; break;
    case MaintenanceCall::Kind::kReportFailure:
    case MaintenanceCall::Kind::kWithdrawFailure: patch.conditions = object.conditions; break;
  }
  return cluster.PatchNodeMaintenance(context, patch).status();
}

}  // namespace

class PlanExecutor::Impl {
 public:
  Impl(const DriverIdentity& identity, std::shared_ptr<ClusterWriter> cluster, std::shared_ptr<Clock> clock,
       std::shared_ptr<Observer> observer, const ExecutorOptions& options)
      : event_reason_(identity.EventReason()),
        cluster_(std::move(cluster)),
        clock_(std::move(clock)),
        observer_(std::move(observer)),
        options_(options),
        nodes_(options.calls_in_flight),
        events_(std::min(options.calls_in_flight, kEventsInFlight)) {}

  std::vector<NodeOutcome> Apply(const CallContext& context, const Plan& plan, AttemptLog& log) {
    std::vector<NodeOutcome> outcomes(plan.nodes.size());
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
      nodes_.Submit([this, &context, &node = plan.nodes[i], &log, &outcome = outcomes[i]] {
        outcome.node = node.node;
        outcome.status = ApplyNode(context, node, log, outcome);
        // What a failure dropped is told by the next pass; what was acknowledged has happened.
        const bool acknowledged = outcome.patched || (!node.patch && outcome.status.ok());
        if (options_.events && acknowledged && !node.events.empty()) SendEvents(context, node);
        if (observer_) observer_->OnNodeApplied(node, outcome);
      });
    }
    nodes_.WaitIdle();
    return outcomes;
  }

  void Quiesce() { events_.WaitIdle(); }

 private:
  absl::Status ApplyNode(const CallContext& context, const NodePlan& plan, AttemptLog& log, NodeOutcome& outcome) {
    if (plan.patch) {
      DRIVERUPGRADE_ASSIGN_OR_RETURN(Node after, Patch(context, plan, log));
      outcome.patched = true;
      outcome.node_after = std::make_shared<const Node>(std::move(after));
    }
    for (const PodRef& pod : plan.evict) {
      DRIVERUPGRADE_RETURN_IF_ERROR(Evict(context, plan, pod, log, outcome));
    }
    for (const PodRef& pod : plan.remove) {
      DRIVERUPGRADE_RETURN_IF_ERROR(Delete(context, plan, pod, log));
      ++outcome.pods_deleted;
    }
    for (const MaintenanceCall& call : plan.maintenance) {
      DRIVERUPGRADE_RETURN_IF_ERROR(Ask(context, plan, call, log));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Node> Patch(const CallContext& context, const NodePlan& plan, AttemptLog& log) {
    const Node node{.name = plan.node, .uid = plan.uid, .resource_version = plan.resource_version};
    {
      const std::lock_guard lock(log_mutex_);
      log.PatchSent(node, *plan.patch, clock_->Now());
    }
    absl::StatusOr<Node> patched = cluster_->PatchNode(Bounded(context), {.name = plan.node,
                                                                          .uid = plan.uid,
                                                                          .resource_version = plan.resource_version,
                                                                          .labels = plan.patch->labels,
                                                                          .annotations = plan.patch->annotations,
                                                                          .unschedulable = plan.patch->unschedulable});
    const std::lock_guard lock(log_mutex_);
    log.PatchAnswered(plan.uid, OutcomeOf(patched.status()), std::string(internal::Message(patched.status())),
                      clock_->Now());
    return patched;
  }

  // A refusal is an answer like another: Step decides when to ask again. Only trouble with the API server itself ends
  // the node's turn.
  absl::Status Evict(const CallContext& context, const NodePlan& plan, const PodRef& pod, AttemptLog& log,
                     NodeOutcome& outcome) {
    NoteSent(plan, pod, log);
    const absl::StatusOr<EvictionAnswer> answer = cluster_->EvictPod(Bounded(context), {.pod = pod});
    const absl::Time now = clock_->Now();
    NoteAnswer(plan, pod, answer.ok() ? AttemptOf(*answer, now) : AttemptOf(answer.status(), now), log);
    if (!answer.ok()) return answer.status();
    const bool accepted = RefusalOf(answer->kind) == Refusal::kNone;
    ++(accepted ? outcome.evictions_accepted : outcome.evictions_refused);
    return absl::OkStatus();
  }

  absl::Status Delete(const CallContext& context, const NodePlan& plan, const PodRef& pod, AttemptLog& log) {
    NoteSent(plan, pod, log);
    const absl::Status status = cluster_->DeletePod(Bounded(context), {.pod = pod});
    NoteAnswer(plan, pod, AttemptOf(status, clock_->Now()), log);
    return status;
  }

  absl::Status Ask(const CallContext& context, const NodePlan& plan, const MaintenanceCall& call, AttemptLog& log) {
    {
      const std::lock_guard lock(log_mutex_);
      log.MaintenanceCallSent(plan.uid, call);
    }
    absl::Status status = Send(*cluster_, Bounded(context), call);
    const std::string message(internal::Message(status));
    // The object is there, which is what was wanted: the next pass joins it or finds it to be our own.
    if (call.kind == MaintenanceCall::Kind::kCreate && absl::IsAlreadyExists(status)) status = absl::OkStatus();
    const std::lock_guard lock(log_mutex_);
    log.MaintenanceCallAnswered(plan.uid, call.object.name, OutcomeOf(status), message, clock_->Now());
    return status;
  }

  void SendEvents(const CallContext& context, const NodePlan& plan) {
    if (events_.queued() >= kEventsQueuedMax) return;
    events_.Submit([this, context, node = plan.node, uid = plan.uid, events = plan.events, time = clock_->Now()] {
      for (const PlannedEvent& event : events) {
        cluster_
            ->RecordEvent(Bounded(context), {.node_name = node,
                                             .node_uid = uid,
                                             .type = event.warning ? EventType::kWarning : EventType::kNormal,
                                             .reason = event_reason_,
                                             .message = event.message,
                                             .time = time})
            .IgnoreError();  // an Event never holds up or fails an upgrade (A50)
      }
    });
  }

  CallContext Bounded(const CallContext& context) const {
    return {.deadline = std::min(context.deadline, clock_->Now() + options_.call_timeout), .stop = context.stop};
  }

  void NoteSent(const NodePlan& plan, const PodRef& pod, AttemptLog& log) {
    const std::lock_guard lock(log_mutex_);
    log.PodRequestSent(plan.uid, pod.uid, clock_->Now());
  }

  void NoteAnswer(const NodePlan& plan, const PodRef& pod, PodAttempt answer, AttemptLog& log) {
    const std::lock_guard lock(log_mutex_);
    log.PodRequestAnswered(plan.uid, pod.uid, std::move(answer));
  }

  const std::string event_reason_;
  const std::shared_ptr<ClusterWriter> cluster_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<Observer> observer_;
  const ExecutorOptions options_;
  std::mutex log_mutex_;
  internal::WorkerPool nodes_;
  internal::WorkerPool events_;
};

PlanExecutor::PlanExecutor(const DriverIdentity& identity, std::shared_ptr<ClusterWriter> cluster,
                           std::shared_ptr<Clock> clock, std::shared_ptr<Observer> observer,
                           const ExecutorOptions& options)
    : impl_(std::make_unique<Impl>(identity, std::move(cluster), std::move(clock), std::move(observer), options)) {}

PlanExecutor::~PlanExecutor() = default;

std::vector<NodeOutcome> PlanExecutor::Apply(const CallContext& context, const Plan& plan, AttemptLog& log) {
  return impl_->Apply(context, plan, log);
}

void PlanExecutor::Quiesce() { impl_->Quiesce(); }

}  // namespace driverupgrade::inline v1
