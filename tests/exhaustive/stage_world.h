// A rollout in two stages that is small enough for every state to be checked. It has three nodes, one or two replicas,
// and one object that contains the record and the grants and is written by compare-and-set.
//
// Defines StageOptions, StageResult and CheckStages.
//
//     StageResult result = CheckStages({.canaries = 2, .replicas = 2, .faults = 1});
//     CHECK(result.broken == "");
//
// A replica reads the object and then the nodes. It decides with AdvanceRollout and AdmitNodes, writes the object, and
// then starts nodes at the versions that it has read. Any event can happen between these four steps. Faults: a replica
// crashes, even between a write and its response; the record is lost; a node fails or becomes unhealthy; an approval is
// withdrawn. Time advances in steps of one soak time. Safety is checked at each start. Starting from
// each state, all nodes must be upgraded eventually, with approvals but without further faults (L1).
#ifndef DRIVERUPGRADE_TESTS_EXHAUSTIVE_STAGE_WORLD_H_
#define DRIVERUPGRADE_TESTS_EXHAUSTIVE_STAGE_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::tests {

// Mistakes that the library, or an operator that uses it, could make.
enum class StageDefect : std::uint8_t {
  kNone,
  kWritesBlindly,       // the object is written without a comparison
  kStartsBeforeWrite,   // nodes start although the object could not be written
  kTakesLostForLast,    // a lost record counts as a record of the last stage
  kTakesAllAsApproved,  // stages count as approved even if the annotation is missing
  kSoaksNotAtAll,       // every soak counts as finished
};

struct StageOptions {
  // Number of nodes in the first stage, out of three nodes.
  int canaries = 1;
  int replicas = 1;
  int faults = 1;
  Approval approval = Approval::kManual;
  StageDefect defect = StageDefect::kNone;
};

struct StageResult {
  std::size_t states = 0;
  std::size_t records = 0;
  // Number of starts in the last stage. If it is zero, the check proves nothing.
  std::size_t late_starts = 0;
  double seconds = 0;
  // The first violation; empty if there is no violation.
  std::string broken = {};
};

StageResult CheckStages(const StageOptions& options);

// Returns one line of statistics, and the violation if there is one.
std::string Describe(const StageOptions& options, const StageResult& result);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_EXHAUSTIVE_STAGE_WORLD_H_
