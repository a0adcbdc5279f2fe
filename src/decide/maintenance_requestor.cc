#include "decide/maintenance_requestor.h"

#include <algorithm>
#include <utility>

#include "driverupgrade/state_machine.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/label_syntax.h"

namespace driverupgrade {
namespace {

constexpr std::string_view kReady = "Ready";
constexpr std::string_view kRequestorFailed = "RequestorFailed";
constexpr std::string_view kFailedReason = "FailedMaintenance";

const Condition* FindCondition(const NodeMaintenance& object, std::string_view type) {
  for (const Condition& condition : object.conditions) {
    if (condition.type == type) return &condition;
  }
  return nullptr;
}

// Rounds up: zero means "infinite" in a NodeMaintenance (§4.1), and a limit below one second must not become infinite.
absl::Duration WholeSeconds(absl::Duration timeout) {
  if (timeout == absl::InfiniteDuration()) return absl::ZeroDuration();
  return std::max(absl::Ceil(timeout, absl::Seconds(1)), absl::Seconds(1));
}

std::optional<MaintenanceDrain> DrainFor(const NodeRules& rules, const std::optional<PodDeletionPolicy>& deletion,
                                         const std::vector<std::string>& filters) {
  const bool filtered = deletion && !filters.empty();
  MaintenanceDrain drain;
  if (rules.drain) {
    drain = {.force = rules.drain->force,
             .delete_empty_dir = rules.drain->delete_empty_dir,
             .pod_selector = rules.drain->pod_selector.ToString(),
             .timeout = WholeSeconds(rules.drain->timeout)};
  } else if (filtered) {
    drain = {.force = deletion->force,
             .delete_empty_dir = deletion->delete_empty_dir,
             .timeout = WholeSeconds(deletion->timeout)};
  } else {
    return std::nullopt;
  }
  if (filtered) drain.resource_name_filters = filters;
  return drain;
}

}  // namespace

absl::Status Validate(const RequestorOptions& options) {
  const auto refuse = [](std::string_view what, std::string_view value) {
    return absl::InvalidArgumentError(fmt::format("requestor options: {}, got `{}`", what, value));
  };
  if (options.id.size() < 2 || options.id.size() > 63 || !internal::IsDnsSubdomain(options.id)) {
    return refuse("id: must be a domain name of 2 to 63 characters", options.id);
  }
  if (options.ns.empty() || options.ns.size() > 63 || !internal::IsDnsSubdomain(options.ns)) {
    return refuse("namespace: must be the name of a namespace", options.ns);
  }
  if (!internal::IsDnsSubdomain(options.name_prefix)) {
    return refuse("name prefix: must be a valid start of an object's name", options.name_prefix);
  }
  return absl::OkStatus();
}

namespace internal {

MaintenanceRequestor::MaintenanceRequestor(RequestorOptions options) : options_(std::move(options)) {}

std::string MaintenanceRequestor::ObjectName(std::string_view node) const {
  return fmt::format("{}-{}", options_.name_prefix, node);
}

bool MaintenanceRequestor::Claims(const NodeMaintenance& object) const {
  const auto& others = object.additional_requestors;
  return object.requestor_id == options_.id || std::find(others.begin(), others.end(), options_.id) != others.end();
}

std::vector<const NodeMaintenance*> MaintenanceRequestor::ClaimsOn(const NodeView& view) const {
  std::vector<const NodeMaintenance*> claims;
  if (!view.maintenances) return claims;
  for (const NodeMaintenance& object : *view.maintenances) {
    if (Claims(object)) claims.push_back(&object);
  }
  return claims;
}

// All requestors of an object share one condition, so the message starts with the name of the requestor that set the
// condition.
bool MaintenanceRequestor::FailedByUs(const Condition& condition) const {
  return condition.type == kRequestorFailed && condition.status == "True" &&
         condition.message.starts_with(options_.id + ":");
}

MaintenanceStatus MaintenanceRequestor::Assess(const NodeView& view) const {
  if (!view.maintenances) return {MaintenancePhase::kUnread, "the NodeMaintenances could not be read"};
  const std::string name = ObjectName(view.node.name);
  const auto found = std::find_if(view.maintenances->begin(), view.maintenances->end(),
                                  [&](const NodeMaintenance& object) { return object.name == name; });
  if (found == view.maintenances->end()) {
    return {MaintenancePhase::kAbsent, fmt::format("NodeMaintenance {}/{} is requested", options_.ns, name)};
  }
  const NodeMaintenance& object = *found;
  const std::string what = fmt::format("NodeMaintenance {}", object.ToString());
  if (object.deletion_timestamp) return {MaintenancePhase::kStale, what + " is being deleted", &object};
  if (!object.node_uid.empty() && object.node_uid != view.node.uid) {
    return {MaintenancePhase::kStale, what + " belongs to an earlier node of this name", &object};
  }
  if (!Claims(object)) {
    return {MaintenancePhase::kForeign, fmt::format("{} of {} is joined", what, object.requestor_id), &object};
  }
  if (std::any_of(object.conditions.begin(), object.conditions.end(),
                  [&](const Condition& condition) { return FailedByUs(condition); })) {
    return {MaintenancePhase::kFailed, what + " still has the failure condition of an earlier attempt", &object};
  }
  const Condition* ready = FindCondition(object, kReady);
  if (ready == nullptr) return {MaintenancePhase::kPending, what + " has not been processed yet", &object};
  if (ready->reason == kReady && ready->status != "False")
    return {MaintenancePhase::kReady, what + " is ready", &object};
  return {MaintenancePhase::kPending,
          fmt::format("{}: {}{}{}", what, ready->reason, ready->message.empty() ? "" : ", ", ready->message), &object};
}

MaintenanceCall MaintenanceRequestor::Request(const Node& node, const NodeRules& rules,
                                              const std::optional<PodDeletionPolicy>& deletion) const {
  NodeMaintenance object{.ns = options_.ns,
                         .name = ObjectName(node.name),
                         .requestor_id = options_.id,
                         .node_name = node.name,
                         .skips_garbage_collection = true,
                         .drain = DrainFor(rules, deletion, options_.resource_name_filters)};
  const auto& jobs = rules.wait_for_completion;
  if (jobs && !jobs->pod_selector.empty()) {
    object.wait_for_pod_completion = {.pod_selector = jobs->pod_selector.ToString(),
                                      .timeout = WholeSeconds(jobs->timeout)};
  }
  return {.kind = MaintenanceCall::Kind::kCreate, .object = std::move(object)};
}

MaintenanceCall MaintenanceRequestor::Join(const NodeMaintenance& object) const {
  MaintenanceCall call{.kind = MaintenanceCall::Kind::kJoin, .object = object};
  call.object.additional_requestors.push_back(options_.id);
  return call;
}

std::optional<MaintenanceCall> MaintenanceRequestor::ReportFailure(const NodeMaintenance& object,
                                                                   absl::Time now) const {
  const Condition* present = FindCondition(object, kRequestorFailed);
  if (present != nullptr && present->status == "True") return std::nullopt;
  MaintenanceCall call{.kind = MaintenanceCall::Kind::kReportFailure, .object = object};
  std::erase_if(call.object.conditions, [](const Condition& condition) { return condition.type == kRequestorFailed; });
  call.object.conditions.push_back({.type = std::string(kRequestorFailed),
                                    .status = "True",
                                    .reason = std::string(kFailedReason),
                                    .message = options_.id + ": the upgrade of the driver failed",
                                    .last_transition_time = now});
  return call;
}

std::optional<MaintenanceCall> MaintenanceRequestor::WithdrawFailure(const NodeMaintenance& object,
                                                                     absl::Time now) const {
  MaintenanceCall call{.kind = MaintenanceCall::Kind::kWithdrawFailure, .object = object};
  for (Condition& condition : call.object.conditions) {
    if (!FailedByUs(condition)) continue;
    condition.status = "False";
    condition.message = options_.id + ": withdrawn";
    condition.last_transition_time = now;
    return call;
  }
  return std::nullopt;
}

std::optional<MaintenanceCall> MaintenanceRequestor::Release(const NodeMaintenance& object, absl::Time now) const {
  if (!Claims(object)) return std::nullopt;
  if (object.requestor_id == options_.id) {
    if (object.deletion_timestamp) return std::nullopt;
    return MaintenanceCall{.kind = MaintenanceCall::Kind::kDelete, .object = object};
  }
  if (auto withdrawn = WithdrawFailure(object, now)) return withdrawn;  // other requestors keep the object
  MaintenanceCall call{.kind = MaintenanceCall::Kind::kLeave, .object = object};
  std::erase(call.object.additional_requestors, options_.id);
  return call;
}

bool IsMaintenanceOperator(const Pod& pod) {
  const auto component = pod.labels.find("app.kubernetes.io/component");
  return component != pod.labels.end() && component->second == "maintenance-operator-controller-manager";
}

}  // namespace internal

std::optional<MaintenanceCall> ReleaseClaim(const NodeMaintenance& object, const RequestorOptions& requestor,
                                            absl::Time now) {
  return internal::MaintenanceRequestor(requestor).Release(object, now);
}

}  // namespace driverupgrade
