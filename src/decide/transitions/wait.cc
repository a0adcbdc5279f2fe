// Writes the annotation that shows the gate of a node in progress (DriverIdentity::WaitingForAnnotation).
#include <algorithm>
#include <optional>
#include <string>

#include "decide/shown_wait.h"
#include "decide/transitions/walk.h"

namespace driverupgrade {
namespace {

// Time for which a node is not annotated after a refused patch. The server may have refused the patch because of this
// annotation, and each refusal delays the patches that the upgrade needs.
constexpr absl::Duration kAfterRefusal = absl::Minutes(5);

absl::Time RefusalEnds(const NodeView& view) {
  const std::optional<PatchAttempt>& patch = view.attempts.patch;
  const bool was_refused = patch && patch->outcome == Outcome::kNotApplied;
  return was_refused ? patch->answered_at + kAfterRefusal : absl::InfinitePast();
}

}  // namespace

bool Walk::HasPatch() const {
  return verdict.plan.patch || (edited_ && !PatchBetween(view.node, before(), *edited_, in.identity).empty());
}

// Does nothing after Enter and Release, because they already remove the annotation. Also does nothing for a node that
// waits for a slot, because such a node is patched only when it starts. A node in progress always has a gate, so this
// function removes the annotation only if an earlier upgrade left it behind.
void Walk::ShowWait(const internal::ShownWait& wait) {
  if (!verdict.plan.path.empty() || state_ == UpgradeState::kUpgradeRequired) return;
  const std::optional<Gate> gate = IsInProgress(state_) ? verdict.gate : std::nullopt;
  const std::optional<std::string> text = gate ? std::optional(internal::WaitText(*gate)) : std::nullopt;
  if (text == after().waiting_for.value()) return;
  const absl::Time due = std::max(wait.DueAt(state_, gate, in.now), RefusalEnds(view));
  if (due > in.now) return WakeAt(due);
  const bool has_patch = HasPatch();
  // Evictions and deletions must not wait for this patch, so the next evaluation plans it.
  if (!has_patch && !verdict.plan.empty()) return;
  if (!has_patch) verdict.plan.reason = text ? "shows its gate" : "no longer has the gate that it shows";
  if (text) {
    Write(&NodeMarks::waiting_for, *text);
  } else {
    Remove(&NodeMarks::waiting_for);
  }
}

}  // namespace driverupgrade
