// A rollout in two stages, small enough for every state to be looked at: three nodes, one or two replicas, the record and
// the grants in one object that is written by compare-and-set.
//
// Defines StageOptions, StageResult and CheckStages.
//
//     StageResult result = CheckStages({.canaries = 2, .replicas = 2, .faults = 1});
//     CHECK(result.broken == "");
//
// A replica reads the object, then the nodes, then decides by AdvanceRollout and AdmitNodes and writes the object, then
// starts nodes at the versions that it has read: four moments, between which anything may happen. Faults: a replica crashes,
// an answer to its write included; the record is lost; a node fails or gets sick; an approval is taken back. Time goes by
// in steps as long as the soak. Safety is checked at each start, and that the fleet gets done, with approvals but without
// further faults, from each state (L1).
#ifndef DRIVERUPGRADE_TESTS_EXHAUSTIVE_STAGE_WORLD_H_
#define DRIVERUPGRADE_TESTS_EXHAUSTIVE_STAGE_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::tests {

// Mistakes that a library, or who drives it, might make.
enum class StageDefect : std::uint8_t {
  kNone,
  kWritesBlindly,       // without the compare in compare-and-set
  kStartsBeforeWrite,   // nodes are started although the object could not be written
  kTakesLostForLast,    // a record that is lost is taken for one of the last stage
  kTakesAllAsApproved,  // whatever the annotation says
  kSoaksNotAtAll,       // every soak counts as over
};

struct StageOptions {
  // Of three nodes those in the first stage.
  int canaries = 1;
  int replicas = 1;
  int faults = 1;
  Approval approval = Approval::kManual;
  StageDefect defect = StageDefect::kNone;
};

struct StageResult {
  std::size_t states = 0;
  std::size_t records = 0;
  // Starts of nodes of the last stage: without them nothing is shown.
  std::size_t late_starts = 0;
  double seconds = 0;
  // The first violation; empty: none.
  std::string broken = {};
};

StageResult CheckStages(const StageOptions& options);

// One line of figures, and the violation if there is one.
std::string Describe(const StageOptions& options, const StageResult& result);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_EXHAUSTIVE_STAGE_WORLD_H_
