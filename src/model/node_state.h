// The state that a node's label says.
#ifndef DRIVERUPGRADE_SRC_MODEL_NODE_STATE_H_
#define DRIVERUPGRADE_SRC_MODEL_NODE_STATE_H_

#include <optional>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade::inline v1::internal {

// kUnknown without a label; nullopt for a value that is no state, and of a node that could not be read.
inline std::optional<UpgradeState> StateOf(const Node& node, const DriverIdentity& identity) {
  if (!node.unreadable.empty()) return std::nullopt;
  const auto label = node.labels.find(identity.StateLabel());
  return label == node.labels.end() ? UpgradeState::kUnknown : ParseUpgradeState(label->second);
}

// A label that is no state, or that could not be read, counts as an upgrade under way.
inline bool IsBusy(const Node& node, const DriverIdentity& identity) {
  const std::optional<UpgradeState> state = StateOf(node, identity);
  return !state || IsInProgress(*state);
}

}  // namespace driverupgrade::inline v1::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_NODE_STATE_H_
