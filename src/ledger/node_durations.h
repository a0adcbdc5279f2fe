// Measures how long nodes take, using only this process's own actions: from its patch that took a node out of
// upgrade-required to its patch after which the node is done. For the record of a rollout (RolloutFacts::took).
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
  // `starts`: the node's next outcome belongs to a plan that takes the node out of upgrade-required.
  void Planned(const std::string& node, bool starts);
  // A plan brings the node to upgrade-failed, or finds the node there. This relies on the plan because the response to
  // its patch may be lost.
  void Failed(const std::string& node) { began_.erase(node); }
  // Notes the outcomes of nodes up to `now`. A failed node does not show how long an upgrade takes. Neither does a node
  // that started before `unbroken_since`: for part of its time another replica led, or all work stood still.
  void Note(const std::vector<NodeOutcome>& outcomes, const DriverIdentity& identity, absl::Time unbroken_since,
            absl::Time now);

  // Returns the durations of nodes that have been done since the last durations were stored.
  const std::vector<absl::Duration>& took() const { return took_; }
  // Notes that the first `count` durations are in the record now.
  void Stored(std::size_t count);

 private:
  std::set<std::string> starting_;  // nodes whose start has no outcome yet
  struct Began {
    std::string uid;  // another node may appear under its name
    absl::Time at;
  };
  std::map<std::string, Began> began_;  // nodes in progress
  std::vector<absl::Duration> took_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_LEDGER_NODE_DURATIONS_H_
