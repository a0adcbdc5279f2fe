// Shows a rollout as a picture with a bar for each node, colored by state. Above the bars, it shows the slots in use,
// the stages, and the times when no node may start.
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

/// All times are relative to the start.
struct Timeline {
  /// For example "nvidia.com/gpu".
  std::string driver = {};
  /// Either "simulated" or "from Events".
  std::string origin = {};
  /// Start of the timeline; nullopt for virtual time.
  std::optional<absl::Time> began = std::nullopt;
  absl::Duration length = {};
  /// Limit on slots; nullopt if there is no limit or the limit is unknown.
  std::optional<int> slots_max = std::nullopt;
  /// True if a failed node holds its slot.
  bool failed_hold_slots = true;
  /// Nodes in the order in which they started.
  std::vector<NodeHistory> nodes = {};
  /// See timeline_bands.h; empty if the policy is unknown.
  std::vector<Band> stages = {};
  std::vector<Band> closed = {};
};

/// Creates a timeline from the request's Events, and from the labels of nodes whose Events no longer exist.
Timeline TimelineOf(const Request& request);
/// Creates a timeline from a simulation with the request's policy.
Timeline TimelineOf(const Request& request, driverupgrade::whatif::Rollout rollout);

/// Number of nodes in progress from `at` on.
struct SlotsTaken {
  absl::Duration at = {};
  int slots = 0;
};
/// Returns each change in the number of nodes in progress, including nodes that an administrator had cordoned, in
/// chronological order.
std::vector<SlotsTaken> SlotsOver(const Timeline& timeline);

/// tools/upgradectl/README.md lists the members.
std::string FormatTimelineJson(const Timeline& timeline);
/// Returns a self-contained HTML file.
std::string FormatTimelineHtml(const Timeline& timeline);
std::string FormatTimelineSvg(const Timeline& timeline);

/// The page from timeline.html, into which the JSON is inserted.
extern const char kTimelinePage[];

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TIMELINE_H_
