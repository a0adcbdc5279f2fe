// The state of a rollout that is not stored on nodes: the stage that it has reached, the start of the stage's soak, a
// halt, and the durations of nodes. It is one text in a ConfigMap, written by compare-and-set.
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

// A halt: no further node starts until it is lifted.
struct Halt {
  // The stage that had been reached. Empty if the stage could not be read; then the stage that has been reached when
  // the halt is read is used instead.
  std::string stage = {};
  // Text for users.
  std::string reason = {};
  // RolloutRules::fingerprint of the policy under which the halt occurred; another policy lifts the halt.
  std::string policy = {};
  // Approvals that already existed before the halt, and therefore do not lift it: `<stage>@<revision>`.
  std::set<std::string> seen = {};
  // Target revisions, of all DaemonSets of the driver, when the halt occurred. Another revision lifts the halt when
  // none of these is a target revision any longer.
  std::set<std::string> revisions = {};
  friend bool operator==(const Halt&, const Halt&) = default;
};

struct RolloutRecord {
  // The revision that is being rolled out; empty if nothing has been recorded.
  std::string revision = {};
  // Time at which this revision was first recorded, in whole seconds. nullopt if the engine that recorded it did not
  // note the time.
  std::optional<absl::Time> began = std::nullopt;
  // RolloutRules::stages_fingerprint: if the stages differ, the rollout starts at the first of them.
  std::string stages = {};
  // The name of the stage that has been reached; empty: the first.
  std::string stage = {};
  // The group that was in progress last, with GroupMode::kOneAtATime; empty: none at this revision.
  std::string group = {};
  // Time at which the last node of the stage was done, in whole seconds.
  std::optional<absl::Time> soak_since = std::nullopt;
  std::optional<Halt> halt = std::nullopt;
  // The last revision at which all nodes were done; empty: unknown.
  std::string completed = {};
  // Nodes that had failed or were sick when an approval lifted a halt: at this revision they do not halt the rollout
  // again.
  std::set<std::string> waived = {};
  // Starts of the waits of gangs (GangWaits), in whole seconds.
  std::map<std::string, absl::Time> gang_waits = {};
  // Measured at this revision if the policy has an expected duration, otherwise at all revisions.
  DurationSketch durations = {};
  friend bool operator==(const RolloutRecord&, const RolloutRecord&) = default;
};

inline constexpr std::size_t kRecordSizeMax = std::size_t{256} << 10;

// Returns a JSON object on a single line.
std::string FormatRecord(const RolloutRecord& record);

struct ParsedRecord {
  RolloutRecord record = {};
  // Describes the invalid members, for a finding. Empty if all members are valid.
  std::string error = {};
};
// Reads a record; nullopt: there is no record. Never fails: see above.
ParsedRecord ParseRecord(std::optional<std::string_view> text);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_RECORD_H_
