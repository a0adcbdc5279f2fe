#include "service/metrics_sum.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace driverupgrade::internal {
namespace {

void Add(const Histogram& more, Histogram& sum) {
  if (sum.bounds.empty()) sum.bounds = more.bounds;
  sum.counts.resize(std::max(sum.counts.size(), more.counts.size()));
  for (std::size_t i = 0; i < more.counts.size(); ++i) sum.counts[i] += more.counts[i];
  sum.sum += more.sum;
}

template <typename Map>
void AddCounts(const Map& more, Map& sum) {
  for (const auto& [key, count] : more) sum[key] += count;
}

void AddLimit(const std::optional<int>& more, std::optional<int>& sum) {
  if (sum && more) {
    *sum += *more;
  } else {
    sum.reset();
  }
}

// The sum covers all engines that share the limit, so no slots are used elsewhere.
void AddShared(const std::optional<SharedSlots>& more, std::optional<SharedSlots>& sum) {
  if (!sum || !more) return sum.reset();
  const bool is_known = sum->used_elsewhere && more->used_elsewhere;
  sum->used_elsewhere = is_known ? std::optional(0) : std::nullopt;
}

void Add(const UpgradeBudget& more, UpgradeBudget& sum) {
  sum.total += more.total;
  sum.parallel_used += more.parallel_used;
  sum.unavailable += more.unavailable;
  sum.failed += more.failed;
  AddLimit(more.parallel_max, sum.parallel_max);
  AddShared(more.shared, sum.shared);
  AddLimit(more.unavailable_max, sum.unavailable_max);
  AddLimit(more.failures_max, sum.failures_max);
}

// Keeps a halted rollout or, if no rollout is halted, the least advanced rollout.
void AddRollout(const std::optional<RolloutStatus>& more, std::optional<RolloutStatus>& sum) {
  if (!more) return;
  if (!sum || std::pair(!more->halted, more->open) < std::pair(!sum->halted, sum->open)) sum = more;
}

void AddGauges(const MetricsSnapshot& more, MetricsSnapshot& sum) {
  sum.nodes += more.nodes;
  Add(more.budget, sum.budget);
  AddCounts(more.blocked, sum.blocked);
  AddCounts(more.findings, sum.findings);
  sum.auto_upgrade = sum.auto_upgrade || more.auto_upgrade;
  sum.paused = sum.paused || more.paused;
  sum.giving_back += more.giving_back;
  sum.failing = sum.failing || more.failing;
  AddRollout(more.rollout, sum.rollout);
}

void AddCounters(const MetricsSnapshot& more, MetricsSnapshot& sum) {
  AddCounts(more.transitions, sum.transitions);
  for (const auto& [state, seconds] : more.state_seconds) Add(seconds, sum.state_seconds[state]);
  Add(more.upgrade_seconds, sum.upgrade_seconds);
  sum.evictions_accepted += more.evictions_accepted;
  sum.evictions_refused += more.evictions_refused;
  sum.driver_pods_deleted += more.driver_pods_deleted;
  sum.gang_interruptions += more.gang_interruptions;
  AddCounts(more.node_errors, sum.node_errors);
  sum.conflicts += more.conflicts;
  sum.unknown_outcomes += more.unknown_outcomes;
  Add(more.reconcile_seconds, sum.reconcile_seconds);
  sum.reconcile_errors += more.reconcile_errors;
  sum.last_progress = std::max(sum.last_progress, more.last_progress);
  sum.last_success = std::max(sum.last_success, more.last_success);
}

}  // namespace

MetricsSnapshot SumFigures(const std::vector<MetricsSnapshot>& running, const std::vector<MetricsSnapshot>& ended,
                           MetricsSnapshot none) {
  MetricsSnapshot sum = running.empty() ? std::move(none) : running.front();
  for (std::size_t i = 1; i < running.size(); ++i) {
    AddGauges(running[i], sum);
    AddCounters(running[i], sum);
  }
  for (const MetricsSnapshot& figures : ended) AddCounters(figures, sum);
  return sum;
}

}  // namespace driverupgrade::internal
