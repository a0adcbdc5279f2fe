#include "decide/shown_wait.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// Time for which a gate must last before the annotation shows it. Longer for gates that the driver opens, because
// compiling or validating a driver takes minutes, and nodes that are not stuck should not cause additional requests.
constexpr absl::Duration kHeldMin = absl::Minutes(1);
constexpr absl::Duration kHeldMinOfDriver = absl::Minutes(10);

absl::Duration HeldMin(GateReason reason) {
  return TraitsOf(reason).opener == GateOpener::kDriver ? kHeldMinOfDriver : kHeldMin;
}

// Minimum time between two changes to the annotation while the node stays in its state.
constexpr absl::Duration kUnchangedMin = absl::Minutes(5);

// Returns true if nodes often have the gate only briefly: until the response to a patch arrives, or until their pods
// have been read. An engine without a cache reads the pods in each pass.
bool IsPassing(GateReason reason) { return reason == GateReason::kUnsettled || reason == GateReason::kPodsUnknown; }

}  // namespace

void ShownWait::Read(const NodeMarks& marks, absl::Time now) {
  // The clock may have been set back.
  for (absl::Time* time : {&held_.since, &passing_.since, &changed_}) *time = std::min(*time, now);
  if (marks.waiting_for.value() == text_) return;
  text_ = marks.waiting_for.value();
  changed_ = now;
}

void ShownWait::Judged(const Verdict& verdict, absl::Time now) {
  // The patch that leaves a state removes the annotation, so the next annotation does not wait for kUnchangedMin.
  if (!verdict.plan.path.empty()) {
    *this = {};
    return;
  }
  const bool has_moved = std::exchange(state_, verdict.plan.from) != verdict.plan.from;
  if (has_moved || !verdict.gate) held_ = passing_ = {};
  if (!verdict.gate) return;
  const GateReason reason = verdict.gate->reason;
  if (!IsPassing(reason)) passing_ = {};
  Held& held = IsPassing(reason) ? passing_ : held_;
  if (held.reason != reason) held = {.reason = reason, .since = now};
}

absl::Time ShownWait::HeldSince(UpgradeState state, GateReason reason, absl::Time now) const {
  const Held& held = IsPassing(reason) ? passing_ : held_;
  return state == state_ && held.reason == reason ? held.since : now;
}

absl::Time ShownWait::DueAt(UpgradeState state, const std::optional<Gate>& gate, absl::Time now) const {
  const absl::Time may_change = changed_ + kUnchangedMin;
  if (!gate) return may_change;
  return std::max(may_change, HeldSince(state, gate->reason, now) + HeldMin(gate->reason));
}

std::string WaitText(const Gate& gate) {
  const std::string_view reason = ToString(gate.reason);
  if (gate.detail.empty()) return std::string(reason);
  const std::string text = fmt::format("{}: {}", reason, gate.detail);
  return std::string(CutUtf8(text, kMarkTextMax));
}

}  // namespace driverupgrade::internal
