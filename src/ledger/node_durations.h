// Measures the durations of upgrades for the record of a rollout (RolloutFacts::took). A duration is the time from the
// patch that moved a node out of upgrade-required to the patch that completed its upgrade; only patches of this process
// count.
#ifndef DRIVERUPGRADE_SRC_LEDGER_NODE_DURATIONS_H_
#define DRIVERUPGRADE_SRC_LEDGER_NODE_DURATIONS_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

// Not thread-safe.
class NodeDurations {
 public:
  // Records a plan for the node. The node's next outcome belongs to this plan. `starts`: true if the plan moves the
  // node out of upgrade-required.
  void Planned(const std::string& node, bool starts);
  // Forgets the start of the node's upgrade. Must be called if a plan moves the node to upgrade-failed, or finds it in
  // that state. The outcome of the plan does not matter, because the response to the patch may be lost.
  void Failed(const std::string& node) { began_.erase(node); }
  // Records the outcomes of nodes up to `now`. Ignores failed nodes, because their durations do not show how long an
  // upgrade takes. Also ignores nodes that started before `unbroken_since`, because passes were interrupted after these
  // nodes had started.
  void Note(const std::vector<NodeOutcome>& outcomes, const DriverIdentity& identity, absl::Time unbroken_since,
            absl::Time now);

  // Returns durations of completed upgrades that have not been stored yet.
  const std::vector<absl::Duration>& took() const { return took_; }
  // Drops the first `count` durations, which are now in the record.
  void Stored(std::size_t count);

 private:
  std::set<std::string> starting_;  // nodes whose start is planned, but has no outcome yet
  struct Began {
    std::string uid;  // another node may be created with the same name
    absl::Time at;
  };
  std::map<std::string, Began> began_;  // nodes in progress
  std::vector<absl::Duration> took_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_LEDGER_NODE_DURATIONS_H_
