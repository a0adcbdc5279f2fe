// Records each node's recent history for the rollout document: its transitions, its failed requests, and its current
// gate with the time at which the wait started.
//
//     NodeHistories histories;
//     histories.Follow(plan, now);                 // each plan, in order
//     histories.Follow(node_plan, outcome, now);   // each outcome
#ifndef DRIVERUPGRADE_SRC_REPORT_NODE_HISTORIES_H_
#define DRIVERUPGRADE_SRC_REPORT_NODE_HISTORIES_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade::internal {

struct NodeHistory {
  struct Transition {
    absl::Time at = {};
    UpgradeState state = UpgradeState::kUnknown;
    std::string reason = {};
  };
  struct FailedRequest {
    absl::Time at = {};
    // Name of the status code, such as NOT_FOUND.
    std::string code = {};
    std::string message = {};
  };
  // Reason of the gate at which a node waits in one state, and the time since which the gate has had this reason.
  struct Waiting {
    UpgradeState state = UpgradeState::kUnknown;
    GateReason reason = {};
    absl::Time since = {};
  };

  // The last ten transitions and the last three failed requests, oldest first.
  std::vector<Transition> transitions = {};
  std::vector<FailedRequest> failed_requests = {};
  std::optional<Waiting> waiting = std::nullopt;
};

// Not thread-safe. Other threads may read the histories that Of returns, because these never change.
class NodeHistories {
 public:
  void Follow(const Plan& plan, absl::Time now);
  void Follow(const NodePlan& plan, const NodeOutcome& outcome, absl::Time now);
  // Limits the memory used while nodes are created and deleted but no client reads the histories. If there are more
  // than 2 * `nodes` + 100 histories, forgets the oldest histories of nodes that do not wait, until `nodes` + 100 are
  // left.
  void Trim(std::size_t nodes);
  // Forgets the histories of all other nodes. `nodes` must be sorted.
  void Keep(const std::vector<std::string_view>& nodes);
  // Returns nullptr if nothing has happened on the node.
  const NodeHistory* Find(std::string_view node) const;
  // Same as Find, for several nodes. `nodes` must be sorted; the result has the same order.
  std::vector<std::shared_ptr<const NodeHistory>> Of(const std::vector<std::string_view>& nodes) const;

 private:
  // Returns a new copy of the node's history, which may be changed until the next call.
  NodeHistory& Edit(const std::string& node);

  std::map<std::string, std::shared_ptr<const NodeHistory>, std::less<>> nodes_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_REPORT_NODE_HISTORIES_H_
