// Creates Events on the pods of gangs that have time to finish before they are interrupted. A training job that watches
// the Events of its pods can then save its work.
#ifndef DRIVERUPGRADE_SRC_OBSERVE_GANG_EVENTS_H_
#define DRIVERUPGRADE_SRC_OBSERVE_GANG_EVENTS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

// Not thread-safe.
class GangEvents {
 public:
  explicit GangEvents(const DriverIdentity& identity) : reason_(identity.EventReason()) {}

  // Returns the Events for the plan: for each node that has started to wait for its gangs, one Event for each pod of a
  // gang. Must be called with every plan, in order. `view_of` returns the view of a node, or nullptr if the node is
  // unknown.
  std::vector<RecordEventParams> Follow(const Plan& plan,
                                        const std::function<const NodeView*(const std::string&)>& view_of,
                                        absl::Time now);

 private:
  const std::string reason_;
  std::map<std::string, std::set<std::string>> told_;  // UIDs of pods, by node
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_OBSERVE_GANG_EVENTS_H_
