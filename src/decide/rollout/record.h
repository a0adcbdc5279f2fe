// The state of a rollout that nodes do not store: the stage that it has reached, since when the stage soaks, a halt,
// and the durations of nodes. It is one text in a ConfigMap, written by compare-and-set.
//
//     const ParsedRecord read = ParseRecord(config_map.data["nvidia.com_gpu"]);
//     if (decision.record != read.record) Store(FormatRecord(decision.record));
//
// A lost record errs on the safe side: the rollout is at its first stage, the soak starts again, and sick or failed
// nodes halt the rollout again. A record that exists but cannot be read halts the rollout, because it may contain a
// halt.
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

// No further node starts until it is lifted.
struct Halt {
  // The stage that had been reached. If the text is empty, the stage could not be read; the stage reached when the halt
  // is read counts instead.
  std::string stage = {};
  // Text for users.
  std::string reason = {};
  // RolloutRules::fingerprint of the policy under which the halt occurred; another policy lifts the halt.
  std::string policy = {};
  // Approvals that have existed since before the halt, and so do not lift it: `<stage>@<revision>`.
  std::set<std::string> seen = {};
  // Target revisions, of all DaemonSets of the driver, when the halt occurred. Another revision lifts the halt when
  // none of these is a target revision any longer.
  std::set<std::string> revisions = {};
  friend bool operator==(const Halt&, const Halt&) = default;
};

struct RolloutRecord {
  // The revision that is being rolled out; empty if nothing has been recorded.
  std::string revision = {};
  // When this revision was recorded first; a whole second. nullopt if the engine that recorded it did not note the
  // time.
  std::optional<absl::Time> began = std::nullopt;
  // RolloutRules::stages_fingerprint: if the stages differ, the rollout starts at the first of them.
  std::string stages = {};
  // The name of the stage that has been reached; empty: the first.
  std::string stage = {};
  // The group that was in progress last, with GroupMode::kOneAtATime; empty: none at this revision.
  std::string group = {};
  // When the last node of the stage was done; a whole second.
  std::optional<absl::Time> soak_since = std::nullopt;
  std::optional<Halt> halt = std::nullopt;
  // The last revision at which all nodes were done; empty: unknown.
  std::string completed = {};
  // Nodes that had failed or were sick when an approval lifted a halt: at this revision they do not halt again.
  std::set<std::string> waived = {};
  // Since when gangs may finish before they are interrupted (GangWaits); whole seconds.
  std::map<std::string, absl::Time> gang_waits = {};
  // Measured at this revision if the policy has an expected duration, otherwise at all revisions.
  DurationSketch durations = {};
  friend bool operator==(const RolloutRecord&, const RolloutRecord&) = default;
};

inline constexpr std::size_t kRecordSizeMax = std::size_t{256} << 10;

// One JSON object, in one line.
std::string FormatRecord(const RolloutRecord& record);

struct ParsedRecord {
  RolloutRecord record = {};
  // Describes the invalid members, for a finding. Empty if all members are valid.
  std::string error = {};
};
// nullopt: there is no record. Never fails: see above.
ParsedRecord ParseRecord(std::optional<std::string_view> text);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_RECORD_H_
