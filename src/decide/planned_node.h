// A node as an IncrementalPlanner remembers it.
#ifndef DRIVERUPGRADE_SRC_DECIDE_PLANNED_NODE_H_
#define DRIVERUPGRADE_SRC_DECIDE_PLANNED_NODE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "decide/admission/grants.h"
#include "decide/judged_nodes.h"
#include "decide/shown_wait.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade::internal {

// The state in which a node waits, and the reason.
struct ToldGate {
  UpgradeState state = UpgradeState::kUnknown;
  Gate gate = {};
  friend bool operator==(const ToldGate&, const ToldGate&) = default;
};

struct PlannedNode {
  std::shared_ptr<const NodeView> view;
  // nullptr: not judged yet.
  std::shared_ptr<const JudgedNode> judged = nullptr;
  GrantShare share = {};
  // The gate that the caller knows.
  std::optional<ToldGate> told = std::nullopt;
  // The number of its last judgement.
  std::uint64_t judgement = 0;
  // The node's place in the rollout (RolloutPlanner).
  std::size_t member = 0;
  // The unit with which it starts (RolloutNode::unit).
  std::string unit = {};
  ShownWait shown_wait = {};
};
using PlannedNodes = std::map<std::string, PlannedNode>;  // by name

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_PLANNED_NODE_H_
