// Finds labels, condition types and selectors in the rollout policy that match nothing in the cluster.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_MATCHES_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_MATCHES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "decide/rollout/view.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

// Returns a bit for each of the first 64 RolloutHealth::node_conditions. The bit is set if the node has the condition,
// regardless of the condition's status.
std::uint64_t ConditionsOn(const Node& node, const RolloutHealth& health);

class Matches {
 public:
  Matches() = default;
  // Records which label keys in the policy's `groups` and `order` are not set on any of `nodes`. The labels of the
  // nodes must not change afterwards.
  Matches(const RolloutPolicy& policy, const std::vector<RolloutNode>& nodes);

  // Adds the conditions and pods of the node to the counts if `by` is 1, or removes them if `by` is -1.
  void Count(const RolloutNode& node, int by);
  // Returns one sentence for each field that matches nothing. Returns no sentence if the cluster has no nodes.
  std::vector<std::string> Missing(const RolloutPolicy& policy) const;

 private:
  int nodes_ = 0;
  std::vector<std::string> labels_;  // sentences about labels that match nothing
  std::vector<int> conditions_;
  int pods_read_ = 0;
  int pods_chosen_ = 0;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_MATCHES_H_
