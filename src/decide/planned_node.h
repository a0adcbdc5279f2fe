// Defines the data that an IncrementalPlanner stores about a node.
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

// The state in which a node waits, and its gate.
struct ToldGate {
  UpgradeState state = UpgradeState::kUnknown;
  Gate gate = {};
  friend bool operator==(const ToldGate&, const ToldGate&) = default;
};

struct PlannedNode {
  std::shared_ptr<const NodeView> view;
  // The result of the last evaluation; nullptr if the node has not been evaluated yet.
  std::shared_ptr<const JudgedNode> judged = nullptr;
  GrantShare share = {};
  // The gate that was last reported to the caller.
  std::optional<ToldGate> told = std::nullopt;
  // Number of the node's last evaluation.
  std::uint64_t judgement = 0;
  // Index of the node in RolloutMembers.
  std::size_t member = 0;
  // Unit with which the node starts (RolloutNode::unit).
  std::string unit = {};
  // True if the node is admitted only to load the driver that it has (RolloutAnswer::reload_only).
  bool reload_only = false;
  ShownWait shown_wait = {};
};
using PlannedNodes = std::map<std::string, PlannedNode>;  // by name

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_PLANNED_NODE_H_
