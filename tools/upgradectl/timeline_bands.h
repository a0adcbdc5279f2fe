// What stands above the bars of a timeline, by the policy: which stage of the rollout is under way, and when no node may
// start.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TIMELINE_BANDS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TIMELINE_BANDS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "upgradectl/request.h"
#include "whatif/node_history.h"

namespace upgradectl {

using driverupgrade::whatif::NodeHistory;
using driverupgrade::whatif::Note;
using driverupgrade::whatif::Span;

/// A stretch of time with a name; times are since the beginning.
struct Band {
  std::string name = {};
  absl::Duration begin = {};
  absl::Duration end = {};
};

/// One for each stage of which a node has begun: from its first node's start until its last node rests. In the order of the
/// policy, the nodes that no stage names last. Empty without `rollout`.
std::vector<Band> StageBands(const Request& request, const std::vector<NodeHistory>& nodes);

/// When no node may start, by windows and closed days, within `length` from `began` on.
std::vector<Band> ClosedBands(const Request& request, absl::Time began, absl::Duration length);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TIMELINE_BANDS_H_
