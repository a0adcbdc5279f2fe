// Reconstructs the history of nodes in an upgrade from the Events of the cluster.
#ifndef DRIVERUPGRADE_SRC_WHATIF_NODE_HISTORY_H_
#define DRIVERUPGRADE_SRC_WHATIF_NODE_HISTORY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/upgrade_state.h"
#include "whatif/situation.h"

namespace driverupgrade::whatif {

// The time that a node spent in one state.
struct Span {
  UpgradeState state = UpgradeState::kUnknown;
  absl::Duration begin = {};
  absl::Duration end = {};
};

// A message about a node, from its gate or an Event.
struct Note {
  absl::Duration at = {};
  std::string text = {};
};

// The states and notes of one node, in order.
struct NodeHistory {
  std::string name = {};
  // Each span ends when the next span starts.
  std::vector<Span> spans = {};
  std::vector<Note> notes = {};
};

struct ClusterHistory {
  // Time of the first Event, or the time of the question if there are no Events. All other times are relative to it.
  absl::Time began = {};
  // Time until the last Event, or until the question if an upgrade is in progress.
  absl::Duration length = {};
  // Nodes with at least one state, by name.
  std::vector<NodeHistory> nodes = {};
};

// Reconstructs the history from Events. Adds the state in a node's label if no Event shows that state, for example
// because the Events no longer exist.
ClusterHistory HistoryOf(const Situation& situation);

// Returns the state that the node has entered according to the Event, such as kDrainRequired for "Successfully updated
// node state label to drain-required".
std::optional<UpgradeState> EnteredState(const EventFact& event);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_NODE_HISTORY_H_
