// Defines pools. A pool contains the nodes of one policy; several policies can share the nodes of a driver (ADR 0016).
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

// The nodes to which a policy applies, and the owner of the policy.
struct Part {
  std::optional<std::set<std::string>> nodes = std::nullopt;  // nullopt: all
  // Name of the custom resource with the policy, if several policies share the nodes of the driver. Each owner's
  // rollout has its own record. If the name is empty, the nodes identify the part.
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
  // The owner's ledger; nullptr if the engine has no ledger. Pools of different owners have different ledgers.
  LedgerSteps* ledger = nullptr;
  // The last PassFacts::sick, until a record with the halt is stored: the host may withdraw the reason before that.
  std::string sick = {};
  // Slots in use at the last pass, and the rules of its policy.
  int slots = 0;
  NodeRules rules = {};
  // True if the pool contains every managed node that is not in another pool.
  bool has_all = false;
  std::set<std::string> nodes = {};
  // Nodes in progress that no caller names: their pool is unknown because their driver pod is missing, or they were in
  // this pool before. They count against the budgets, but get no requests.
  std::set<std::string> guests = {};
  // True if gangs start together under the policy of the last pass.
  bool has_gangs = false;
  // Time since which a node's evictions have been waiting for other nodes to be cordoned, by node. `hold_max`: maximum
  // duration of such a wait.
  std::map<std::string, absl::Time> held_since = {};
  absl::Duration hold_max = absl::ZeroDuration();
  // Nodes whose pods the pool needs.
  std::set<std::string> interest = {};
  // Time since which the policy has been applied with autoUpgrade on, without interruption.
  std::optional<absl::Time> active_since = std::nullopt;
  // Same as `active_since` while the policy has a rollout; otherwise InfiniteFuture.
  absl::Time rollout_since = absl::InfiniteFuture();
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_CORE_POOL_H_
