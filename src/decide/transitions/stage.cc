// Handles the time limits of a node's states, and the timer that is stored on the node.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "decide/transitions/walk.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

// No node fails because of a deadline before the engine has been active for this time (dep-F4).
constexpr absl::Duration kActiveMin = absl::Seconds(60);
// Maximum delay with which a replica reads the newest ControllerRevision. A watch with such a delay is reported as
// failing.
constexpr absl::Duration kRevisionLagMax = absl::Minutes(10);

bool IsKnown(const std::string& revision, const DriverFacts& driver) {
  return std::any_of(driver.daemon_sets.begin(), driver.daemon_sets.end(), [&](const auto& daemon_set) {
    const std::set<std::string>& known = daemon_set.second.revisions;
    return known.empty() || known.contains(revision);
  });
}

}  // namespace

absl::Time Walk::Deadline(absl::Duration timeout) {
  if (timeout == absl::InfiniteDuration()) return absl::InfiniteFuture();
  const absl::Time deadline = std::max(StageBegan(timeout) + timeout, in.active_since + std::min(timeout, kActiveMin));
  if (!Expired(deadline)) WakeAt(deadline);
  return deadline;
}

absl::Time Walk::StageBegan(absl::Duration timeout) {
  if (entered_) return in.now;  // Finish will write the timer
  const std::optional<internal::Stage>& stage = after().stage.value();
  if (stage && stage->state == state_ && IsForTarget(*stage) && stage->began <= in.now + kClockSkewMax) {
    return stage->began;
  }
  if (const auto upstream = UpstreamTimer(timeout)) {
    WriteStage(*upstream);
    return *upstream;
  }
  const std::string_view text = after().stage.text().value_or("");
  Note(FindingCode::kTimerRestarted, fmt::format("the timer of {} starts again: {}", ToString(state_),
                                                 text.empty() ? "its start time is missing or not valid"
                                                              : fmt::format("`{}` is not valid for it", text)));
  WriteStage(in.now);
  return WholeSecond(in.now);
}

// Another replica may have started the timer for a newer revision that this replica has not read yet. If each replica
// restarted the timer for its own target, the replicas would overwrite each other's timers until the watch catches up.
bool Walk::IsForTarget(const internal::Stage& stage) {
  if (driver.wanted_revision.empty() || stage.revision == driver.wanted_revision) return true;
  const absl::Time until = stage.began + kRevisionLagMax;
  if (stage.revision.empty() || IsKnown(stage.revision, in.driver) || Expired(until)) return false;
  WakeAt(until);
  return true;
}

// Returns the start time that the Go library stored for the state. Returns nullopt if the stored time is invalid, or if
// the time limit had expired before the engine first saw the node.
std::optional<absl::Time> Walk::UpstreamTimer(absl::Duration timeout) const {
  std::optional<absl::Time> began;
  if (state_ == UpgradeState::kWaitForJobsRequired) began = after().pod_completion_start.value();
  if (state_ == UpgradeState::kValidationRequired) began = after().validation_start.value();
  if (!began || *began > in.now + kClockSkewMax || *began + timeout <= in.now) return std::nullopt;
  return began;
}

// While the target revision is unknown, uses the revision in the stage annotation, which is the target of the upgrade
// in progress.
std::string Walk::TargetRevision() const {
  if (!driver.wanted_revision.empty()) return driver.wanted_revision;
  const std::optional<internal::Stage>& stage = before().stage.value();
  return stage ? stage->revision : std::string();
}

void Walk::WriteStage(absl::Time began) {
  const absl::Time second = WholeSecond(began);
  Write(&NodeMarks::stage, {.state = state_, .began = second, .revision = TargetRevision()});
  if (state_ == UpgradeState::kWaitForJobsRequired) {
    Write(&NodeMarks::pod_completion_start, second);
  } else if (state_ == UpgradeState::kValidationRequired) {
    Write(&NodeMarks::validation_start, second);
  }
}

void Walk::RestartStage(absl::Duration timeout) {
  if (timeout != absl::InfiniteDuration() || StageTimeout()) WriteStage(in.now);
}

void Walk::DropStage() {
  Remove(&NodeMarks::stage);
  Remove(&NodeMarks::pod_completion_start);
  Remove(&NodeMarks::validation_start);
}

// Returns the time limit of the current state; nullopt if the state has no limit and therefore needs no timer.
std::optional<absl::Duration> Walk::StageTimeout() const {
  const auto finite = [](absl::Duration timeout) {
    return timeout == absl::InfiniteDuration() ? std::nullopt : std::optional(timeout);
  };
  switch (TraitsOf(state_).limit) {
    case StageLimit::kNone: break;
    case StageLimit::kJobs:
      if (!in.policy.wait_for_completion || in.policy.wait_for_completion->pod_selector.empty()) break;
      return finite(in.policy.wait_for_completion->timeout);
    case StageLimit::kPodDeletion: return PodDeletion(in) ? finite(PodDeletion(in)->timeout) : std::nullopt;
    case StageLimit::kDrain: return in.policy.drain ? finite(in.policy.drain->timeout) : std::nullopt;
    case StageLimit::kPodRestart: {
      const absl::Duration evacuation = EvacuationTimeout(in).value_or(absl::InfiniteDuration());
      return finite(std::min(in.policy.deadlines.pod_restart.value_or(absl::InfiniteDuration()), evacuation));
    }
    case StageLimit::kValidation: return finite(in.policy.deadlines.validation);
  }
  return std::nullopt;
}

}  // namespace driverupgrade
