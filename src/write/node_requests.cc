#include "write/node_requests.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace driverupgrade::inline v1::internal {
namespace {

Outcome OutcomeOf(const absl::Status& status) {
  if (status.ok()) return Outcome::kApplied;
  if (absl::IsAborted(status)) return Outcome::kConflict;
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
          .message = std::string(Message(status))};
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

absl::Status SendCall(ClusterWriter& cluster, const CallContext& context, const MaintenanceCall& call) {
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

NodeRequests::NodeRequests(CallContext context, NodePlan plan, ClusterWriter& cluster, Clock& clock,
                           absl::Duration call_timeout)
    : context_(std::move(context)),
      plan_(std::move(plan)),
      cluster_(cluster),
      clock_(clock),
      call_timeout_(call_timeout) {
  outcome_.node = plan_.node;
}

void NodeRequests::Send() { outcome_.status = SendAll(); }

void NodeRequests::TellLog(AttemptLog& log) const {
  for (const auto& note : notes_) note(log);
}

absl::Status NodeRequests::SendAll() {
  if (plan_.confirm) DRIVERUPGRADE_RETURN_IF_ERROR(Confirm(*plan_.confirm));
  if (plan_.patch) DRIVERUPGRADE_RETURN_IF_ERROR(Patch());
  for (const PodRef& pod : plan_.evict) DRIVERUPGRADE_RETURN_IF_ERROR(Evict(pod));
  for (const PodRef& pod : plan_.remove) {
    DRIVERUPGRADE_RETURN_IF_ERROR(Delete(pod));
    ++outcome_.pods_deleted;
  }
  for (const MaintenanceCall& call : plan_.maintenance) DRIVERUPGRADE_RETURN_IF_ERROR(Ask(call));
  return absl::OkStatus();
}

absl::Status NodeRequests::Confirm(const NodeMaintenance& object) {
  absl::Status status =
      cluster_
          .PatchNodeMaintenance(
              Bounded(),
              {.ns = object.ns, .name = object.name, .uid = object.uid, .resource_version = object.resource_version})
          .status();
  if (!status.ok()) {
    NotePatch(Outcome::kNotApplied,
              fmt::format("not sent, as the NodeMaintenance is not known to be as it was read: {}",
                          std::string(Message(status))));
  }
  return status;
}

absl::Status NodeRequests::Patch() {
  absl::StatusOr<Node> patched = cluster_.PatchNode(Bounded(), {.name = plan_.node,
                                                                .uid = plan_.uid,
                                                                .resource_version = plan_.resource_version,
                                                                .labels = plan_.patch->labels,
                                                                .annotations = plan_.patch->annotations,
                                                                .unschedulable = plan_.patch->unschedulable});
  NotePatch(OutcomeOf(patched.status()), std::string(Message(patched.status())));
  if (!patched.ok()) return patched.status();
  outcome_.patched = true;
  outcome_.node_after = std::make_shared<const Node>(*std::move(patched));
  return absl::OkStatus();
}

// A refusal is an answer like another: Step decides when to ask again. Only trouble with the API server itself ends the
// node's turn.
absl::Status NodeRequests::Evict(const PodRef& pod) {
  const absl::Time sent = clock_.Now();
  const absl::StatusOr<EvictionAnswer> answer = cluster_.EvictPod(Bounded(), {.pod = pod});
  const absl::Time now = clock_.Now();
  NotePod(pod, sent, answer.ok() ? AttemptOf(*answer, now) : AttemptOf(answer.status(), now));
  if (!answer.ok()) return answer.status();
  const bool accepted = RefusalOf(answer->kind) == Refusal::kNone;
  ++(accepted ? outcome_.evictions_accepted : outcome_.evictions_refused);
  return absl::OkStatus();
}

absl::Status NodeRequests::Delete(const PodRef& pod) {
  const absl::Time sent = clock_.Now();
  absl::Status status = cluster_.DeletePod(Bounded(), {.pod = pod});
  if (!status.ok()) undeleted_ = pod;
  NotePod(pod, sent, AttemptOf(status, clock_.Now()));
  return status;
}

absl::Status NodeRequests::Ask(const MaintenanceCall& call) {
  absl::Status status = SendCall(cluster_, Bounded(), call);
  const std::string message(Message(status));
  // The object is there, which is what was wanted: the next pass joins it or finds it to be our own.
  if (call.kind == MaintenanceCall::Kind::kCreate && absl::IsAlreadyExists(status)) status = absl::OkStatus();
  notes_.push_back([uid = plan_.uid, call, outcome = OutcomeOf(status), message, now = clock_.Now()](AttemptLog& log) {
    log.MaintenanceCallSent(uid, call);
    log.MaintenanceCallAnswered(uid, call.object.name, outcome, message, now);
  });
  return status;
}

void NodeRequests::NotePatch(Outcome outcome, std::string message) {
  notes_.push_back([uid = plan_.uid, outcome, message = std::move(message), now = clock_.Now()](AttemptLog& log) {
    log.PatchAnswered(uid, outcome, message, now);
  });
}

void NodeRequests::NotePod(const PodRef& pod, absl::Time sent, PodAttempt answer) {
  notes_.push_back([node = plan_.uid, version = plan_.resource_version, pod = pod.uid, sent,
                    answer = std::move(answer)](AttemptLog& log) {
    log.PodRequestSent(node, version, pod, sent);
    log.PodRequestAnswered(node, pod, answer);
  });
}

CallContext NodeRequests::Bounded() const {
  return {.deadline = std::min(context_.deadline, clock_.Now() + call_timeout_), .stop = context_.stop};
}

}  // namespace driverupgrade::inline v1::internal
