// The history of nodes in an upgrade, from the Events of the cluster.
#ifndef DRIVERUPGRADE_SRC_WHATIF_NODE_HISTORY_H_
#define DRIVERUPGRADE_SRC_WHATIF_NODE_HISTORY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/upgrade_state.h"
#include "whatif/situation.h"

namespace driverupgrade::whatif {

// One node in one state.
struct Span {
  UpgradeState state = UpgradeState::kUnknown;
  absl::Duration begin = {};
  absl::Duration end = {};
};

// A text about a node: its gate, or an Event.
struct Note {
  absl::Duration at = {};
  std::string text = {};
};

// The states and texts of one node, in order.
struct NodeHistory {
  std::string name = {};
  // Each ends where the next one starts.
  std::vector<Span> spans = {};
  std::vector<Note> notes = {};
};

struct ClusterHistory {
  // Time of the first Event; without Events, the time of the question. All other times are since then.
  absl::Time began = {};
  // Time until the last Event; until the question if an upgrade is in progress.
  absl::Duration length = {};
  // Nodes with at least one state, by name.
  std::vector<NodeHistory> nodes = {};
};

// From the Events, and from the labels of nodes whose Events no longer exist.
ClusterHistory HistoryOf(const Situation& situation);

// Returns the state that an Event is about: kDrainRequired for "Successfully updated node state label to
// drain-required".
std::optional<UpgradeState> EnteredState(const EventFact& event);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_NODE_HISTORY_H_
