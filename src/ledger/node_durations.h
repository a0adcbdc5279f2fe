// How long nodes take, by what this process has done itself: from its patch that took a node out of upgrade-required to
// its patch after which the node is done. For the record of a rollout (RolloutFacts::took).
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
  // The next outcome of the node is that of a plan that takes the node out of upgrade-required, or of another.
  void Planned(const std::string& node, bool starts);
  // A plan brings the node to upgrade-failed, or finds the node there. By the plan, as the answer to its patch may be lost.
  void Failed(const std::string& node) { began_.erase(node); }
  // What became of nodes until `now`. One that failed says nothing of how long an upgrade takes, nor does one that
  // began before `unbroken_since`: somebody else led, or all stood still, for a part of the time.
  void Note(const std::vector<NodeOutcome>& outcomes, const DriverIdentity& identity, absl::Time unbroken_since,
            absl::Time now);

  // Of nodes that have been done since the last were stored.
  const std::vector<absl::Duration>& took() const { return took_; }
  // The first `count` of them are in the record now.
  void Stored(std::size_t count);

 private:
  std::set<std::string> starting_;  // nodes whose start has no outcome yet
  struct Began {
    std::string uid;  // another node may come under its name
    absl::Time at;
  };
  std::map<std::string, Began> began_;  // nodes in progress
  std::vector<absl::Duration> took_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_LEDGER_NODE_DURATIONS_H_
