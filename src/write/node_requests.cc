#include "write/node_requests.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "decide/attempt_log.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// Returns a patch without changes, which the server refuses if the object has changed since it was read.
PatchNodeMaintenanceParams Unchanged(const NodeMaintenance& object) {
  return {.ns = object.ns, .name = object.name, .uid = object.uid, .resource_version = object.resource_version};
}

NodeRequest RequestOf(const NodePlan& plan, PatchNodeParams patch) {
  patch.name = plan.node;
  patch.uid = plan.uid;
  patch.resource_version = plan.resource_version;
  return patch;
}

NodeRequest RequestOf(const MaintenanceCall& call) {
  const NodeMaintenance& object = call.object;
  PatchNodeMaintenanceParams patch = Unchanged(object);
  switch (call.kind) {
    case MaintenanceCall::Kind::kCreate: return CreateNodeMaintenanceParams{.object = object};
    case MaintenanceCall::Kind::kDelete:
      return DeleteNodeMaintenanceParams{.ns = object.ns, .name = object.name, .uid = object.uid};
    case MaintenanceCall::Kind::kJoin:
    case MaintenanceCall::Kind::kLeave: patch.additional_requestors = object.additional_requestors; break;
    case MaintenanceCall::Kind::kReportFailure:
    case MaintenanceCall::Kind::kWithdrawFailure: patch.conditions = object.conditions; break;
  }
  return patch;
}

NodeRequest RequestOf(const DeviceCall& call) {
  const DeviceTaintRule& rule = call.object;
  switch (call.kind) {
    case DeviceCall::Kind::kCreate: break;
    case DeviceCall::Kind::kPatch:
    case DeviceCall::Kind::kConfirm:
      return PatchDeviceTaintRuleParams{
          .name = rule.name, .uid = rule.uid, .resource_version = rule.resource_version, .effect = rule.effect};
    case DeviceCall::Kind::kDelete: return DeleteDeviceTaintRuleParams{.name = rule.name, .uid = rule.uid};
  }
  return CreateDeviceTaintRuleParams{.object = rule};
}

void Note(AttemptLog& log, const NodePlan& plan, const PatchNote& note) {
  log.PatchAnswered(plan.uid, note.outcome, note.message, note.answered_at);
}

void Note(AttemptLog& log, const NodePlan& plan, const PodNote& note) {
  log.PodRequestSent(plan.uid, plan.resource_version, note.pod_uid, note.sent_at);
  log.PodRequestAnswered(plan.uid, note.pod_uid, note.answer);
}

void Note(AttemptLog& log, const NodePlan& plan, const MaintenanceNote& note) {
  log.MaintenanceCallSent(plan.uid, note.call);
  log.MaintenanceCallAnswered(plan.uid, note.call.object.name, note.outcome, note.message, note.answered_at);
}

void Note(AttemptLog& log, const NodePlan& plan, const DeviceNote& note) {
  log.DeviceCallSent(plan.uid, note.call);
  log.DeviceCallAnswered(plan.uid, note.call.object.name, note.outcome, note.message, note.answered_at);
}

}  // namespace

NodeRequests::NodeRequests(NodePlan plan) : plan_(std::move(plan)) {
  outcome_.node = plan_.node;
  if (plan_.confirm) steps_.push_back({Part::kConfirm, 0, Unchanged(*plan_.confirm)});
  if (plan_.patch) steps_.push_back({Part::kPatch, 0, RequestOf(plan_, *plan_.patch)});
  for (std::size_t i = 0; i < plan_.devices.size(); ++i) {
    steps_.push_back({Part::kDevices, i, RequestOf(plan_.devices[i])});
  }
  for (std::size_t i = 0; i < plan_.evict.size(); ++i) {
    steps_.push_back({Part::kEvict, i, EvictPodParams{.pod = plan_.evict[i]}});
  }
  for (std::size_t i = 0; i < plan_.remove.size(); ++i) {
    steps_.push_back({Part::kRemove, i, DeletePodParams{.pod = plan_.remove[i], .force = plan_.force_remove}});
  }
  for (std::size_t i = 0; i < plan_.maintenance.size(); ++i) {
    steps_.push_back({Part::kMaintenance, i, RequestOf(plan_.maintenance[i])});
  }
}

void NodeRequests::Take(NodeAnswer answer, absl::Time sent_at, absl::Time answered_at) {
  outcome_.status = TakeAnswer(steps_[next_], std::move(answer), sent_at, answered_at);
  next_ = outcome_.status.ok() ? next_ + 1 : steps_.size();
}

void NodeRequests::TellLog(AttemptLog& log) const {
  for (const AttemptNote& note : notes_) {
    // std::visit is not an option, because it can throw.
    if (const auto* patch = std::get_if<PatchNote>(&note)) Note(log, plan_, *patch);
    if (const auto* pod = std::get_if<PodNote>(&note)) Note(log, plan_, *pod);
    if (const auto* maintenance = std::get_if<MaintenanceNote>(&note)) Note(log, plan_, *maintenance);
    if (const auto* device = std::get_if<DeviceNote>(&note)) Note(log, plan_, *device);
  }
}

absl::Status NodeRequests::TakeAnswer(const Step& step, NodeAnswer answer, absl::Time sent_at, absl::Time answered_at) {
  switch (step.part) {
    case Part::kConfirm: return Confirmed(std::move(answer.status), answered_at);
    case Part::kPatch: return Patched(std::move(answer), answered_at);
    case Part::kDevices: return Asked(plan_.devices[step.place], std::move(answer.status), answered_at);
    case Part::kEvict: return Evicted(plan_.evict[step.place], answer, sent_at, answered_at);
    case Part::kRemove: return Deleted(plan_.remove[step.place], std::move(answer.status), sent_at, answered_at);
    case Part::kMaintenance: return Asked(plan_.maintenance[step.place], std::move(answer.status), answered_at);
  }
  return answer.status;
}

absl::Status NodeRequests::Confirmed(absl::Status status, absl::Time now) {
  if (!status.ok()) {
    notes_.emplace_back(
        PatchNote{.outcome = Outcome::kNotApplied,
                  .message = fmt::format("not sent, because the NodeMaintenance may have changed since it was read: {}",
                                         Message(status)),
                  .answered_at = now});
  }
  return status;
}

absl::Status NodeRequests::Patched(NodeAnswer answer, absl::Time now) {
  notes_.emplace_back(PatchNote{
      .outcome = OutcomeOf(answer.status), .message = std::string(Message(answer.status)), .answered_at = now});
  if (!answer.status.ok()) return answer.status;
  outcome_.patched = true;
  outcome_.patched_at = now;
  outcome_.node_after = std::make_shared<const Node>(*std::move(answer.node));
  return absl::OkStatus();
}

// A refused eviction is a regular result, after which Step decides when to retry. Only problems with the API server
// itself end the node's plan.
absl::Status NodeRequests::Evicted(const PodRef& pod, const NodeAnswer& answer, absl::Time sent_at, absl::Time now) {
  const PodAttempt attempt = answer.status.ok() ? AttemptOf(absl::StatusOr<EvictionAnswer>(answer.eviction), now)
                                                : AttemptOf(answer.status, now);
  notes_.emplace_back(PodNote{.pod_uid = pod.uid, .sent_at = sent_at, .answer = attempt});
  if (!answer.status.ok()) return answer.status;
  if (answer.eviction.accepted()) {
    stopped_.push_back(pod.uid);
    outcome_.late_holders_evicted +=
        static_cast<int>(std::count(plan_.late_holders.begin(), plan_.late_holders.end(), pod.uid));
  }
  ++(attempt.refusal == Refusal::kNone ? outcome_.evictions_accepted : outcome_.evictions_refused);
  return absl::OkStatus();
}

absl::Status NodeRequests::Deleted(const PodRef& pod, absl::Status status, absl::Time sent_at, absl::Time now) {
  notes_.emplace_back(PodNote{.pod_uid = pod.uid, .sent_at = sent_at, .answer = AttemptOf(status, now)});
  if (status.ok()) {
    ++outcome_.pods_deleted;
    outcome_.pods_kept = plan_.pods_kept;
    stopped_.push_back(pod.uid);
  } else {
    undeleted_ = pod;
  }
  return status;
}

absl::Status NodeRequests::Asked(const MaintenanceCall& call, absl::Status status, absl::Time now) {
  const std::string message(Message(status));
  // It is not an error if the object already exists: the next pass joins the object or recognizes it as our own.
  if (call.kind == MaintenanceCall::Kind::kCreate && absl::IsAlreadyExists(status)) status = absl::OkStatus();
  notes_.emplace_back(
      MaintenanceNote{.call = call, .outcome = OutcomeOf(status), .message = message, .answered_at = now});
  return status;
}

absl::Status NodeRequests::Asked(const DeviceCall& call, absl::Status status, absl::Time now) {
  const std::string message(Message(status));
  // It is not an error if the rule already exists: the next pass reads it.
  if (call.kind == DeviceCall::Kind::kCreate && absl::IsAlreadyExists(status)) status = absl::OkStatus();
  notes_.emplace_back(DeviceNote{.call = call, .outcome = OutcomeOf(status), .message = message, .answered_at = now});
  return status;
}

}  // namespace driverupgrade::internal
