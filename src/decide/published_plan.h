// What a PublishedPlan is made of.
#ifndef DRIVERUPGRADE_SRC_DECIDE_PUBLISHED_PLAN_H_
#define DRIVERUPGRADE_SRC_DECIDE_PUBLISHED_PLAN_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "decide/admission/queue.h"
#include "decide/incremental_planner.h"
#include "decide/judged_nodes.h"

namespace driverupgrade::internal {

// Why a node waits that a rollout lets not start.
struct RolloutWait {
  std::string node = {};
  Gate gate = {};
  // In the queue, from 1.
  int place = 0;
};
// By name.
using RolloutWaits = std::vector<RolloutWait>;
// `node` is among them.
const RolloutWait& WaitOf(const RolloutWaits& waits, std::string_view node);

struct PublishedPlan::Parts {
  // Without nodes and gates.
  Plan plan = {};
  internal::JudgedNodes nodes = {};
  Refusals refusals = {};
  // In the place of `refusals`; nullptr: the policy has no rollout.
  std::shared_ptr<const internal::RolloutWaits> rollout = nullptr;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_PUBLISHED_PLAN_H_
