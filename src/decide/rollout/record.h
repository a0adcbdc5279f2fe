// What a rollout has to remember and nodes do not carry: the stage that it has reached, since when the stage soaks, a
// halt, and what nodes have taken. One text in a ConfigMap, written by compare-and-set.
//
//     const ParsedRecord read = ParseRecord(config_map.data["nvidia.com_gpu"]);
//     if (decision.record != read.record) Store(FormatRecord(decision.record));
//
// Whatever is lost errs to the safe side: without a record the rollout is at its first stage and the soak begins anew,
// and what is sick or has failed halts once more. A record that is there and cannot be read halts, as a halt may be in
// it.
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
  // That had been reached; empty if it could not be read: then it is the one that is reached when it is read.
  std::string stage = {};
  // For a person.
  std::string reason = {};
  // RolloutRules::fingerprint of the policy under which it came about; another policy lifts it.
  std::string policy = {};
  // Approvals that have been there ever since it came about, and so do not lift it: `<stage>@<revision>`.
  std::set<std::string> seen = {};
  // That were wanted when it came about, of all DaemonSets of the driver: another revision lifts it when none of them
  // is wanted any more.
  std::set<std::string> revisions = {};
  friend bool operator==(const Halt&, const Halt&) = default;
};

struct RolloutRecord {
  // What is being rolled out; empty: nothing has been recorded.
  std::string revision = {};
  // When this revision was recorded first; a whole second. nullopt: by an engine that did not note it.
  std::optional<absl::Time> began = std::nullopt;
  // RolloutRules::stages_fingerprint: with other stages the rollout begins at the first of them.
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
  // What makes no sense, for a finding; empty if all does.
  std::string error = {};
};
// nullopt: there is none. Never fails: see above.
ParsedRecord ParseRecord(std::optional<std::string_view> text);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_RECORD_H_
