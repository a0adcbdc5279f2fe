// Computes the bands above the bars of a timeline: the stages of the rollout, and the times when no node may start.
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

/// A named interval; times are relative to the start.
struct Band {
  std::string name = {};
  absl::Duration begin = {};
  absl::Duration end = {};
};

/// Returns one band for each stage in which a node has started, from the start of its first node to the end of its last
/// node. The order follows the policy; nodes outside of all stages come last. Returns no bands if the policy has no
/// `rollout`.
std::vector<Band> StageBands(const Request& request, const std::vector<NodeHistory>& nodes);

/// Returns the times when no node may start, because of windows and closed days, in the period of `length` after
/// `began`.
std::vector<Band> ClosedBands(const Request& request, absl::Time began, absl::Duration length);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TIMELINE_BANDS_H_
