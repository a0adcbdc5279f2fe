// The nodes of one policy: several policies may share the nodes of a driver among them.
#ifndef DRIVERUPGRADE_SRC_HOST_PART_H_
#define DRIVERUPGRADE_SRC_HOST_PART_H_

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "decide/incremental_planner.h"
#include "driverupgrade/state_machine.h"
#include "tell/finding_events.h"

namespace driverupgrade::internal {

struct Part {
  explicit Part(const StateMachine& machine)
      : planner(machine), finding_events(machine.identity(), machine.options().own_pod) {}

  IncrementalPlanner planner;
  FindingEvents finding_events;
  // Whether it has every managed node that no other part has.
  bool has_all = false;
  std::set<std::string> nodes = {};
  // Nodes in progress that nobody names: those of which nobody knows whose they are, as they lack their driver pod, and those that this
  // part had. They count, and wait.
  std::set<std::string> guests = {};
  // Since when it has been applied with autoUpgrade on.
  std::optional<absl::Time> active_since = std::nullopt;
  // The same, while the policy has a rollout; otherwise InfiniteFuture.
  absl::Time rollout_since = absl::InfiniteFuture();
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_HOST_PART_H_
