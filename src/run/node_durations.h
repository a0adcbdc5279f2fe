// How long nodes take, by what this process has seen of them: from the patch that brought a node into progress to the one
// after which it is done. For the record of a rollout (RolloutFacts::took).
#ifndef DRIVERUPGRADE_SRC_RUN_NODE_DURATIONS_H_
#define DRIVERUPGRADE_SRC_RUN_NODE_DURATIONS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/node_outcome.h"

namespace driverupgrade::internal {

// Not thread-safe.
class NodeDurations {
 public:
  // What became of nodes until `now`. One that failed says nothing of how long an upgrade takes.
  void Note(const std::vector<NodeOutcome>& outcomes, const DriverIdentity& identity, absl::Time now);

  // Of nodes that have been done since the last were stored.
  const std::vector<absl::Duration>& took() const { return took_; }
  // The first `count` of them are in the record now.
  void Stored(std::size_t count);

 private:
  std::map<std::string, absl::Time> began_;  // nodes in progress
  std::vector<absl::Duration> took_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_RUN_NODE_DURATIONS_H_
