// A second opinion on a rollout in stages: how many nodes of each stage have ended, what the record may be, and which
// nodes start beside each other. Each node may be in one of several ways, as far as anybody but the engine can tell:
// what is told is wrong only if it is so in all of them.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_OPINION_ROLLOUT_OPINION_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_OPINION_ROLLOUT_OPINION_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "decide/rollout/record.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/rollout_policy.h"
#include "simulation/opinion/second_opinion.h"

namespace driverupgrade::testing::internal {

// How far a node may have come at the revision that is being rolled out.
struct NodeWay {
  // Waits, or is under way.
  bool open = false;
  bool done = false;
  bool failed = false;
  // Not counted, because of an administrator's wish or because the node is not fit to start.
  bool left_out = false;
  // Ready, with a Ready driver pod: a node that is done does not count as done otherwise.
  bool in_use = true;

  bool IsOpen() const { return open && !done && !failed && !left_out; }
  bool IsDone() const { return done && !open && !failed && !left_out; }
  bool HasFailed() const { return failed && !open && !done && !left_out; }
  bool IsCounted() const { return !left_out; }
  bool MayBeCounted() const { return open || done || failed; }
};

struct RolloutNodeSeen {
  std::string name = {};
  StringMap labels = {};
  NodeWay way = {};
  // Why it is sick, and why its chosen pods are not ready, if it is done; empty: it is well.
  std::string sick = {};
  std::string unwell = {};
  // In upgrade-required, be it able to start or not.
  bool waits = false;
  bool may_be_under_way = false;
  // By this plan.
  bool starts = false;
  // An upgrade before has left it out of service: it may go without its group.
  bool out_of_service = false;
};

// For whoever looks for what is wrong.
std::string Describe(const RolloutNodeSeen& node);

// `gate`: what the engine says that the node waits for; `has_grant`: or may have one.
RolloutNodeSeen SeeForRollout(const Scene& scene, EngineTime time, const std::optional<Gate>& gate, bool has_grant);

struct RecordStep {
  const driverupgrade::internal::RolloutRecord& before;
  const driverupgrade::internal::RolloutRecord& after;
  // What the DaemonSet has approved.
  std::set<std::string> approvals = {};
  // RolloutRules::fingerprint of the policy.
  std::string policy = {};
};

class RolloutOpinion {
 public:
  // `nodes`: all that have the driver. Both outlive it.
  RolloutOpinion(const RolloutPolicy& policy, const std::vector<RolloutNodeSeen>& nodes);

  // What is wrong, in each; empty: nothing.
  std::string WhyWrongCounts(const RolloutStatus& told) const;
  // A record as it is by what has been read.
  std::string WhyWrongRecord(const driverupgrade::internal::RolloutRecord& record) const;
  std::string WhyWrongHalt(const RecordStep& step) const;
  // Whether nodes may start from `first` to `last`, by the durations of the record.
  std::string WhyWrongTime(const RolloutStatus& told, const driverupgrade::internal::RolloutRecord& record,
                           absl::Time first, absl::Time last) const;
  // Of groups that start together.
  std::string WhyInPart() const;

 private:
  struct Bounds {
    int least = 0;
    int most = 0;
  };
  // Of the stage; of all nodes if nobody else can tell the stages.
  template <class F>
  Bounds Count(std::optional<std::size_t> stage, F of_way) const;
  std::size_t StageOf(const RolloutNodeSeen& node) const;
  std::size_t StageByLabels(const RolloutNodeSeen& node) const;
  std::string GroupOf(const RolloutNodeSeen& node) const;
  int FailedAtLeast(std::size_t stage, const std::set<std::string>& waived) const;
  std::string WhyNotSoaking(std::size_t stage, const std::set<std::string>& waived) const;
  std::string WhyToHalt(const driverupgrade::internal::RolloutRecord& record) const;
  bool MayBeBegun(const std::string& group) const;
  bool MayHaltFor(const driverupgrade::internal::RolloutRecord& record) const;

  const RolloutPolicy& policy_;
  const std::vector<RolloutNodeSeen>& nodes_;
  // Whether all stages select by labels. Which nodes the first five are is the engine's affair.
  bool by_labels_ = true;
  bool together_ = false;
  std::vector<std::size_t> stages_;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_OPINION_ROLLOUT_OPINION_H_
