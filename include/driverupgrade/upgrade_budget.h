/// How many nodes may be in progress and unavailable, and how many are.
///
/// Defines Tally (counts over nodes) and UpgradeBudget (the counts against the policy's limits).
///
///     Tally tally = TallyOf(view, identity, rules) + TallyOf(other, identity, rules);
///     UpgradeBudget budget = ComputeBudget(tally, limits);
///     if (budget.ParallelFree() > 0 && budget.Headroom() > 0) { /* one more available node may start */ }
///
/// Counts are sums over nodes by predicate, so that adding and subtracting one node's share keeps them exact, and they
/// are never negative. Pure.
#ifndef DRIVERUPGRADE_UPGRADE_BUDGET_H_
#define DRIVERUPGRADE_UPGRADE_BUDGET_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/upgrade_policy.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade {

struct Tally {
  int total = 0;        ///< Nodes in the snapshot: the base of percentages.
  int pending = 0;      ///< In upgrade-required.
  int in_progress = 0;  ///< Begun and not ended well; failed nodes are among them.
  int failed = 0;
  int done = 0;         ///< In upgrade-done, with a Ready driver pod.
  int not_ready = 0;    ///< In upgrade-done, but the driver pod is not Ready; not among `done`.
  int slots = 0;        ///< Nodes that hold a maxParallel slot.
  /// Unschedulable, not ready, about to be cordoned or to leave the cluster, or with a driver pod that cannot be
  /// scheduled.
  int unavailable = 0;
  /// Failed nodes by FailureClass, of those that carry one.
  std::array<int, kAllFailureClasses.size()> failed_by_class = {};
  /// By UpgradeState. A node whose label is no state is in none of them; it is in `total` and `in_progress`.
  std::array<int, kAllUpgradeStates.size()> by_state = {};
  int InState(UpgradeState state) const { return by_state[static_cast<std::size_t>(state)]; }
  /// In progress and not stuck, as nodes are that failed or whose label is no state.
  int Moving() const;
  Tally& operator+=(const Tally& other);
  Tally& operator-=(const Tally& other);
  friend Tally operator+(Tally a, const Tally& b) { return a += b; }
  friend bool operator==(const Tally&, const Tally&) = default;
};

/// One node's share; each count is 0 or 1. A node whose last patch is not settled is counted for `slots` and
/// `unavailable` if it would be at its old state or at any state it may have been patched to.
Tally TallyOf(const NodeView& view, const DriverIdentity& identity, const NodeRules& rules);
/// Returns the share of a node that has been sent `patch`: it counts for `slots` and `unavailable` if it does by `tally`, or
/// would after the patch.
Tally WithPatch(Tally tally, const NodeView& view, const PatchNodeParams& patch, const DriverIdentity& identity,
                const NodeRules& rules);

struct UpgradeBudget {
  int total = 0;
  /// nullopt: no limit.
  std::optional<int> parallel_max = std::nullopt;
  int parallel_used = 0;
  /// A limit on the same slots that other engines share; nullopt: none.
  std::optional<SharedSlots> shared = std::nullopt;
  std::optional<int> unavailable_max = std::nullopt;
  int unavailable = 0;
  /// The first five unavailable nodes by name, each with the cause: `gpu-7 (NotReady)`. Empty without `unavailable_max`.
  std::vector<std::string> unavailable_nodes = {};
  /// Failed nodes at which no further node starts; nullopt: no limit.
  std::optional<int> failures_max = std::nullopt;
  int failed = 0;
  /// Which of FailurePolicy::by_class is used up, for a person; empty: none.
  std::string failed_class = {};
  /// Whether so many nodes have failed that nobody is admitted.
  bool Halted() const { return (failures_max && failed >= *failures_max) || !failed_class.empty(); }
  /// Slots left by both limits; INT_MAX without a limit.
  int ParallelFree() const;
  /// How many more nodes may become unavailable; INT_MAX without a limit.
  int Headroom() const;
  friend bool operator==(const UpgradeBudget&, const UpgradeBudget&) = default;
};

UpgradeBudget ComputeBudget(const Tally& tally, const AdmissionLimits& limits,
                            const std::optional<SharedSlots>& shared = std::nullopt);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_UPGRADE_BUDGET_H_
