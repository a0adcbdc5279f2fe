// The nodes of one policy: the nodes of a driver may be divided among several policies (ADR 0016).
#ifndef DRIVERUPGRADE_SRC_CORE_POOL_H_
#define DRIVERUPGRADE_SRC_CORE_POOL_H_

#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "decide/incremental_planner.h"
#include "driverupgrade/state_machine.h"
#include "ledger/ledger_steps.h"
#include "observe/finding_events.h"
#include "observe/gang_events.h"
#include "observe/gang_interruptions.h"

namespace driverupgrade::internal {

// The nodes to which a policy applies.
struct Part {
  std::optional<std::set<std::string>> nodes = std::nullopt;  // nullopt: all
  // Name of the custom resource with the policy, if several share the driver's nodes: its rollout has its own record.
  // Empty: the part is recognized by its nodes.
  std::string owner = {};
};

struct Pool {
  explicit Pool(const StateMachine& machine)
      : planner(machine),
        finding_events(machine.identity(), machine.options().own_pod),
        gang_events(machine.identity()) {
    planner.ShowWaits();
  }

  IncrementalPlanner planner;
  FindingEvents finding_events;
  GangEvents gang_events;
  GangInterruptions gang_interruptions = {};
  std::string owner = {};
  // nullptr: the engine has no ledger. Pools of different owners have different ones.
  LedgerSteps* ledger = nullptr;
  // Whether it contains every managed node that is not in another pool.
  bool has_all = false;
  std::set<std::string> nodes = {};
  // Nodes in progress that no caller names. Either their driver pod is missing, so that their pool is unknown, or they
  // were in this pool before. They count against the budgets, and wait.
  std::set<std::string> guests = {};
  // Whether the policy of the last pass takes account of gangs.
  bool has_gangs = false;
  // Times since which evictions wait for the cordons of other nodes, by node, and the limit of this wait.
  std::map<std::string, absl::Time> held_since = {};
  absl::Duration hold_max = absl::ZeroDuration();
  // The nodes whose pods it needs.
  std::set<std::string> interest = {};
  // Time since which the policy has been applied with autoUpgrade on, without interruption.
  std::optional<absl::Time> active_since = std::nullopt;
  // The same while the policy has a rollout; otherwise InfiniteFuture.
  absl::Time rollout_since = absl::InfiniteFuture();
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_CORE_POOL_H_
