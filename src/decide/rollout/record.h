// Formats and parses the record of a rollout: the state that is not stored on nodes. It includes the stage that the
// rollout has reached, the start of the stage's soak, a halt, and upgrade durations. The record is one string in a
// ConfigMap that is written by compare-and-set.
//
//     const ParsedRecord read = ParseRecord(config_map.data["nvidia.com_gpu"]);
//     if (decision.record != read.record) Store(FormatRecord(decision.record));
//
// The loss of a record is safe: the rollout returns to its first stage, the soak starts again, and sick or failed nodes
// halt the rollout again. A record that exists but cannot be read halts the rollout, because it may contain a halt.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_RECORD_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_RECORD_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "decide/rollout/duration_sketch.h"

namespace driverupgrade::internal {

// A halt of the rollout. No further node starts until the halt is lifted.
struct Halt {
  // Stage that the rollout had reached. Empty if the stage could not be read; the current stage is then used instead.
  std::string stage = {};
  // Message for users.
  std::string reason = {};
  // RolloutRules::fingerprint of the policy under which the halt occurred. A policy with another fingerprint lifts the
  // halt.
  std::string policy = {};
  // Approvals in the form `<stage>@<revision>` that existed before the halt and therefore do not lift it.
  std::set<std::string> seen = {};
  // Target revisions of all DaemonSets of the driver when the halt occurred. The halt is lifted when none of these
  // revisions is still a target revision.
  std::set<std::string> revisions = {};
  friend bool operator==(const Halt&, const Halt&) = default;
};

struct RolloutRecord {
  // Target revision of the rollout; empty if nothing has been recorded.
  std::string revision = {};
  // Time at which `revision` was first recorded, in whole seconds. nullopt if an earlier version of the engine recorded
  // the revision without the time.
  std::optional<absl::Time> began = std::nullopt;
  // RolloutRules::stages_fingerprint of the policy. If the stages of the policy change, the rollout restarts at the
  // first stage.
  std::string stages = {};
  // Name of the stage that the rollout has reached; empty for the first stage.
  std::string stage = {};
  // Last group in progress, with GroupMode::kOneAtATime. Empty if no group has started at this revision.
  std::string group = {};
  // Time at which the last node of the stage was done, in whole seconds.
  std::optional<absl::Time> soak_since = std::nullopt;
  std::optional<Halt> halt = std::nullopt;
  // Last revision at which all nodes were done; empty if unknown.
  std::string completed = {};
  // Nodes that had failed or were sick when an approval lifted a halt. At this revision, they do not halt the rollout
  // again.
  std::set<std::string> waived = {};
  // For each gang, the time since which it has been waiting (GangWaits), in whole seconds.
  std::map<std::string, absl::Time> gang_waits = {};
  // Durations measured at this revision if the policy has an expected duration, otherwise at all revisions.
  DurationSketch durations = {};
  friend bool operator==(const RolloutRecord&, const RolloutRecord&) = default;
};

inline constexpr std::size_t kRecordSizeMax = std::size_t{256} << 10;

// Returns a JSON object on a single line.
std::string FormatRecord(const RolloutRecord& record);

struct ParsedRecord {
  RolloutRecord record = {};
  // Description of the invalid members, for a finding; empty if all members are valid.
  std::string error = {};
};
// Parses a record; nullopt stands for a missing record. Never fails: an unreadable record halts the rollout.
ParsedRecord ParseRecord(std::optional<std::string_view> text);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_RECORD_H_
