#include "driverupgrade/cluster_writes.h"

#include "absl/strings/cord.h"
#include "fmt/format.h"
#include "model/request_not_sent.h"

namespace driverupgrade {
namespace {

template <typename Map>
void Apply(const std::map<std::string, std::optional<std::string>>& changes, Map& to) {
  for (const auto& [key, value] : changes) {
    if (value) {
      to[key] = *value;
    } else {
      to.erase(key);
    }
  }
}

}  // namespace

Node Patched(const Node& node, const PatchNodeParams& patch) {
  Node result = node;
  Apply(patch.labels, result.labels);
  Apply(patch.annotations, result.annotations);
  if (patch.unschedulable) result.unschedulable = *patch.unschedulable;
  if (patch.taints) result.taints = *patch.taints;
  return result;
}

std::string_view ToString(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone: return "accepted";
    case Refusal::kDisruptionBudget: return "refused by a disruption budget";
    case Refusal::kThrottled: return "throttled";
    case Refusal::kSeveralBudgets: return "several disruption budgets match";
    case Refusal::kNamespaceTerminating: return "namespace is terminating";
    case Refusal::kOther: return "the request failed";
  }
  return "unknown answer";
}

std::string_view ToString(const EvictionAnswer& answer) { return answer.gone ? "gone" : ToString(answer.refusal); }

bool WasNotApplied(const absl::Status& status) {
  if (status.GetPayload(internal::kNotSentPayload)) return true;
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnimplemented: return true;
    default: return false;
  }
}

std::string_view ToString(MaintenanceCall::Kind kind) {
  switch (kind) {
    case MaintenanceCall::Kind::kCreate: return "create";
    case MaintenanceCall::Kind::kJoin: return "join";
    case MaintenanceCall::Kind::kLeave: return "leave";
    case MaintenanceCall::Kind::kReportFailure: return "report failure to";
    case MaintenanceCall::Kind::kWithdrawFailure: return "withdraw failure from";
    case MaintenanceCall::Kind::kDelete: return "delete";
  }
  return "unknown";
}

std::string_view ToString(DeviceCall::Kind kind) {
  switch (kind) {
    case DeviceCall::Kind::kCreate: return "create";
    case DeviceCall::Kind::kPatch: return "patch";
    case DeviceCall::Kind::kConfirm: return "confirm";
    case DeviceCall::Kind::kDelete: return "delete";
  }
  return "unknown";
}

std::string Describe(const DeviceCall& call) {
  std::string text = fmt::format("{} DeviceTaintRule {}", ToString(call.kind), call.object.name);
  return call.kind == DeviceCall::Kind::kDelete ? text : fmt::format("{} ({})", text, ToString(call.object.effect));
}

}  // namespace driverupgrade
