// A rollout as a picture: a bar for each node, coloured by state, under the slots that were taken, the stages of the rollout
// and the times in which no node may start.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TIMELINE_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TIMELINE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/upgrade_state.h"
#include "upgradectl/request.h"
#include "upgradectl/timeline_bands.h"
#include "whatif/node_history.h"
#include "whatif/simulation/simulate.h"

namespace upgradectl {

/// All times are since the beginning.
struct Timeline {
  /// "nvidia.com/gpu".
  std::string driver = {};
  /// "simulated" or "from Events".
  std::string origin = {};
  /// nullopt: in virtual time.
  std::optional<absl::Time> began = std::nullopt;
  absl::Duration length = {};
  /// nullopt: no limit, or nobody knows it.
  std::optional<int> slots_max = std::nullopt;
  /// A failed node holds its slot.
  bool failed_hold_slots = true;
  /// In the order in which they began.
  std::vector<NodeHistory> nodes = {};
  /// See timeline_bands.h; empty if nobody knows the policy.
  std::vector<Band> stages = {};
  std::vector<Band> closed = {};
};

/// From the Events of the request, and the labels of nodes whose Events are gone.
Timeline TimelineOf(const Request& request);
/// From a simulation with the request's policy.
Timeline TimelineOf(const Request& request, driverupgrade::whatif::Rollout rollout);

/// How many nodes are in progress from `at` on.
struct SlotsTaken {
  absl::Duration at = {};
  int slots = 0;
};
/// By time, without repetitions. Nodes that an administrator had cordoned are among them.
std::vector<SlotsTaken> SlotsOver(const Timeline& timeline);

/// Members are listed in tools/upgradectl/README.md.
std::string FormatTimelineJson(const Timeline& timeline);
/// One file that asks for no other.
std::string FormatTimelineHtml(const Timeline& timeline);
std::string FormatTimelineSvg(const Timeline& timeline);

/// The page around the JSON, from timeline.html.
extern const char kTimelinePage[];

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TIMELINE_H_
