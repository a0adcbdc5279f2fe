// What a PublishedPlan is made of.
#ifndef DRIVERUPGRADE_SRC_DECIDE_PUBLISHED_PLAN_H_
#define DRIVERUPGRADE_SRC_DECIDE_PUBLISHED_PLAN_H_

#include "decide/admission/queue.h"
#include "decide/judged_nodes.h"
#include "driverupgrade/incremental_planner.h"

namespace driverupgrade {

struct PublishedPlan::Parts {
  // Without nodes and gates.
  Plan plan = {};
  internal::JudgedNodes nodes = {};
  Refusals refusals = {};
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_PUBLISHED_PLAN_H_
