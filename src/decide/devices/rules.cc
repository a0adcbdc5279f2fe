#include "decide/devices/rules.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "decide/attempt_log.h"
#include "decide/devices/claims.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

constexpr std::string_view kConditionType = "EvictionInProgress";
// Maximum time for the controller manager to notice a change to a rule. If the controller manager processes rules at
// all, it usually notices a change within a tenth of a second.
constexpr absl::Duration kSeenMax = absl::Seconds(30);
// Time for which a rule has the effect None before it is deleted.
constexpr absl::Duration kHarmless = absl::Seconds(5);
// If more claims than this number are allocated after the taint has settled, the taint is considered ineffective.
constexpr int kLateMax = 3;

bool IsSeen(const DeviceTaintRule& rule) {
  return std::any_of(rule.conditions.begin(), rule.conditions.end(), [&](const Condition& condition) {
    return condition.type == kConditionType && condition.observed_generation >= rule.generation;
  });
}

const DeviceTaintRule* FindRule(const NodeView& view, std::string_view device_driver, const DriverIdentity& identity) {
  const auto found =
      std::find_if(view.devices->rules.begin(), view.devices->rules.end(), [&](const DeviceTaintRule& rule) {
        return IsOurs(rule, identity) && rule.driver == device_driver && rule.pool == view.node.name;
      });
  return found == view.devices->rules.end() ? nullptr : &*found;
}

bool HasDevices(const NodeView& view, std::string_view device_driver) {
  return std::any_of(view.devices->slices.begin(), view.devices->slices.end(),
                     [&](const ResourceSlice& slice) { return slice.driver == device_driver; });
}

// Returns the time of the last change to the effect, or of our own request if that is later, because the API server's
// clock may be slow.
absl::Time ChangedAt(const DeviceTaintRule& rule, const NodeView& view) {
  const absl::Time added = rule.time_added.value_or(absl::InfinitePast());
  const auto attempt = view.attempts.devices.find(rule.name);
  const bool answered = attempt != view.attempts.devices.end() && attempt->second.outcome.has_value();
  return answered ? std::max(added, attempt->second.answered_at) : added;
}

// Returns our last request if it may have changed the rule after the rule was read, for example a request to remove the
// rule after an earlier upgrade. Returns nullptr if the rule is known not to have changed.
const DeviceAttempt* MayHaveChanged(const DeviceTaintRule& rule, const NodeView& view) {
  const auto found = view.attempts.devices.find(rule.name);
  if (found == view.attempts.devices.end() || found->second.based_on != rule.resource_version) return nullptr;
  const DeviceAttempt& attempt = found->second;
  const Outcome harmless = attempt.kind == DeviceCall::Kind::kConfirm ? Outcome::kApplied : Outcome::kNotApplied;
  return attempt.outcome == harmless ? nullptr : &attempt;
}

DeviceCall SetEffect(DeviceTaintRule rule, DeviceTaintEffect effect) {
  rule.effect = effect;
  return {.kind = DeviceCall::Kind::kPatch, .object = std::move(rule)};
}

void WaitFor(std::string detail, absl::Time due, RuleStep& step) {
  step.done = false;
  if (step.detail.empty()) step.detail = std::move(detail);
  step.due = std::min(step.due, due);
}

// Waits for a newer version of the rule. If none arrives, the rule is confirmed: the server may have returned 409 by
// mistake, or the request may have been lost before it reached the server.
void WaitForNewerVersion(const DeviceTaintRule& rule, const DeviceAttempt& attempt, absl::Time now, RuleStep& step) {
  const absl::Time confirm = attempt.outcome ? attempt.answered_at + kStaleReadPatience : absl::InfiniteFuture();
  if (now >= confirm) step.calls.push_back({.kind = DeviceCall::Kind::kConfirm, .object = rule});
  WaitFor(fmt::format("the engine has not seen its last change to device taint rule {} yet", rule.name),
          now >= confirm ? absl::InfiniteFuture() : confirm, step);
}

// Returns the number of claims that were allocated after the taint of `rule` had settled.
int LateClaims(const NodeView& view, const DeviceTaintRule& rule, absl::Duration settle) {
  return static_cast<int>(
      std::count_if(view.devices->claims.begin(), view.devices->claims.end(), [&](const ResourceClaim& claim) {
        return IsHeld(claim, rule.driver, rule.pool) && !HasAdminAccess(claim, rule.driver, rule.pool) &&
               claim.allocation_time.value_or(absl::InfinitePast()) > *rule.time_added + settle;
      }));
}

// Plans the next step to put one rule into effect. `rule` is nullptr if the rule does not exist yet.
void IsolatePool(const NodeView& view, const std::string& device_driver, const DeviceTaintRule* rule,
                 const DriverIdentity& identity, const IsolationPolicy& policy, absl::Time now, RuleStep& step) {
  if (rule == nullptr) {
    step.calls.push_back({.kind = DeviceCall::Kind::kCreate, .object = RuleFor(view.node, device_driver, identity)});
    return WaitFor(fmt::format("the devices of {} must be tainted first", device_driver), absl::InfiniteFuture(), step);
  }
  if (rule->deletion_timestamp || !rule->time_added) {
    return WaitFor(fmt::format("device taint rule {} is being deleted", rule->name), absl::InfiniteFuture(), step);
  }
  const absl::Time changed = ChangedAt(*rule, view);
  if (!IsSeen(*rule)) {
    if (now >= changed + kSeenMax) {
      step.failure = fmt::format("the controller manager has not acted on device taint rule {} within {} s", rule->name,
                                 absl::ToInt64Seconds(kSeenMax));
    }
    return WaitFor(fmt::format("the controller manager has not seen device taint rule {} yet", rule->name),
                   changed + kSeenMax, step);
  }
  if (rule->effect != DeviceTaintEffect::kNoSchedule) {
    step.calls.push_back(SetEffect(*rule, DeviceTaintEffect::kNoSchedule));
    return WaitFor(fmt::format("the devices of {} must be tainted first", device_driver), absl::InfiniteFuture(), step);
  }
  if (const DeviceAttempt* attempt = MayHaveChanged(*rule, view)) {
    return WaitForNewerVersion(*rule, *attempt, now, step);
  }
  if (now < changed + policy.settle) {
    return WaitFor(
        fmt::format("the devices of {} are tainted, but the scheduler may not have seen the taint yet", device_driver),
        changed + policy.settle, step);
  }
  if (const int late = LateClaims(view, *rule, policy.settle); late > kLateMax) {
    step.failure = fmt::format("{} claims were allocated on devices of {} after the devices had been tainted", late,
                               device_driver);
    WaitFor(step.failure, absl::InfiniteFuture(), step);
  }
}

}  // namespace

DeviceTaintRule RuleFor(const Node& node, std::string_view device_driver, const DriverIdentity& identity) {
  return {.name = fmt::format("{}-{:016x}", device_driver, Hash(fmt::format("{} {}", identity.Name(), node.name), 0)),
          .labels = {{"app.kubernetes.io/managed-by", "driverupgrade"}},
          .node_name = node.name,
          .node_uid = node.uid,
          .driver = std::string(device_driver),
          .pool = node.name,
          .key = identity.KeyPrefix(),
          .value = identity.driver(),
          .effect = DeviceTaintEffect::kNone};
}

bool IsOurs(const DeviceTaintRule& rule, const DriverIdentity& identity) { return rule.key == identity.KeyPrefix(); }

RuleStep IsolateDevices(const NodeView& view, const DriverIdentity& identity, const IsolationPolicy& policy,
                        absl::Time now) {
  RuleStep step{.done = true};
  // While a driver is being replaced, its devices are not published. If neither devices nor a rule exist for any DRA
  // driver, every DRA driver gets a rule, because its devices may appear at any time.
  const bool is_any_known =
      std::any_of(policy.device_drivers.begin(), policy.device_drivers.end(), [&](const std::string& device_driver) {
        return HasDevices(view, device_driver) || FindRule(view, device_driver, identity) != nullptr;
      });
  for (const std::string& device_driver : policy.device_drivers) {
    const DeviceTaintRule* rule = FindRule(view, device_driver, identity);
    if (is_any_known && rule == nullptr && !HasDevices(view, device_driver)) continue;
    IsolatePool(view, device_driver, rule, identity, policy, now, step);
  }
  return step;
}

RuleStep ReleaseDevices(const NodeView& view, const DriverIdentity& identity, absl::Time now) {
  RuleStep step{.done = true};
  if (!view.devices) return step;
  for (const DeviceTaintRule& rule : view.devices->rules) {
    if (!IsOurs(rule, identity)) continue;
    const absl::Time harmless = ChangedAt(rule, view) + kHarmless;
    absl::Time due = absl::InfiniteFuture();
    if (rule.deletion_timestamp) {
      // Only waits until the rule has been deleted.
    } else if (rule.effect != DeviceTaintEffect::kNone) {
      step.calls.push_back(SetEffect(rule, DeviceTaintEffect::kNone));
    } else if (now >= harmless) {
      step.calls.push_back({.kind = DeviceCall::Kind::kDelete, .object = rule});
    } else {
      due = harmless;
    }
    WaitFor(fmt::format("device taint rule {} is being removed", rule.name), due, step);
  }
  return step;
}

std::vector<DeviceCall> ReleaseAtOnce(const NodeView& view, const DriverIdentity& identity) {
  std::vector<DeviceCall> calls;
  if (!view.devices) return calls;
  for (const DeviceTaintRule& rule : view.devices->rules) {
    if (!IsOurs(rule, identity) || rule.deletion_timestamp) continue;
    calls.push_back(rule.effect == DeviceTaintEffect::kNone
                        ? DeviceCall{.kind = DeviceCall::Kind::kDelete, .object = rule}
                        : SetEffect(rule, DeviceTaintEffect::kNone));
  }
  return calls;
}

}  // namespace driverupgrade::internal
