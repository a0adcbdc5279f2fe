#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <numeric>
#include <vector>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/observer.h"
#include "observe/gate_memory.h"
#include "observe/node_times.h"

namespace driverupgrade {

std::uint64_t Histogram::Count() const { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

void Histogram::Add(double value) {
  counts.resize(bounds.size() + 1);
  ++counts[std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin()];
  sum += value;
}

namespace {

// Bounds in seconds, from a pass without nodes to a pass that exceeds its time limit.
constexpr std::array kPassBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25,
                                    0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0, 120.0};
// Bounds in seconds, from a state that a node leaves immediately to a wait of one day for a disruption budget.
constexpr std::array kNodeBounds = {1.0,   2.5,   5.0,    10.0,   30.0,   60.0,    120.0,   300.0,
                                    600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 43200.0, 86400.0};

Histogram EmptyHistogram(const std::array<double, 16>& bounds) {
  return {.bounds = {bounds.begin(), bounds.end()}, .counts = std::vector<std::uint64_t>(bounds.size() + 1)};
}

}  // namespace

class MetricsObserver::Impl {
 public:
  Impl(const DriverIdentity& identity, std::shared_ptr<Clock> clock)
      : clock_(clock ? std::move(clock) : SystemClock()) {
    figures_.driver = identity.Name();
    figures_.reconcile_seconds = EmptyHistogram(kPassBounds);
    figures_.upgrade_seconds = EmptyHistogram(kNodeBounds);
  }

  MetricsSnapshot Snapshot() const {
    const std::lock_guard lock(mutex_);
    MetricsSnapshot figures = figures_;
    for (const auto& [code, count] : configuration_) figures.findings[code] += count;
    return figures;
  }

  void OnPlan(const Plan& plan) {
    const std::lock_guard lock(mutex_);
    figures_.nodes = plan.totals;
    node_times_.Trim(plan.totals.total);
    figures_.budget = plan.budget;
    figures_.rollout = plan.rollout;
    gates_.Follow(plan);
    figures_.blocked = gates_.counts();
    for (auto& [_, count] : figures_.findings) count = 0;
    for (const Finding& finding : plan.findings) ++figures_.findings[finding.code];
    if (!figures_.last_progress) figures_.last_progress = clock_->Now();
  }

  void OnNodeApplied(const NodePlan& plan, const NodeOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    if (outcome.patched && !plan.path.empty()) CountTransitions(plan, clock_->Now());
    figures_.evictions_accepted += outcome.evictions_accepted;
    figures_.evictions_refused += outcome.evictions_refused;
    figures_.driver_pods_deleted += outcome.pods_deleted;
    figures_.gang_interruptions += static_cast<std::uint64_t>(outcome.gangs_interrupted);
    figures_.late_holders += static_cast<std::uint64_t>(outcome.late_holders_evicted);
    figures_.pods_kept += static_cast<std::uint64_t>(outcome.pods_kept);
    if (outcome.status.ok()) return;
    ++figures_.node_errors[outcome.status.code()];
    if (absl::IsAborted(outcome.status)) {
      ++figures_.conflicts;
    } else if (!WasNotApplied(outcome.status)) {
      ++figures_.unknown_outcomes;
    }
  }

  void OnPassEnded(const PassOutcome& pass) {
    const std::lock_guard lock(mutex_);
    figures_.auto_upgrade = pass.auto_upgrade;
    figures_.paused = pass.paused;
    figures_.reconcile_errors += !pass.status.ok();
    figures_.failing = !pass.status.ok();
    if (pass.status.ok()) figures_.last_success = pass.ended;
    if (pass.status.ok()) CountConfiguration(pass.configuration);
    // A wall clock can be set back.
    figures_.reconcile_seconds.Add(std::max(0.0, absl::ToDoubleSeconds(pass.ended - pass.began)));
  }

 private:
  // Counts the findings about the configuration separately, because plans do not contain them, and because a plan is
  // reported before its pass has ended.
  void CountConfiguration(const std::vector<Finding>& findings) {
    for (auto& [_, count] : configuration_) count = 0;
    for (const Finding& finding : findings) ++configuration_[finding.code];
  }

  void CountTransitions(const NodePlan& plan, absl::Time now) {
    UpgradeState from = plan.from;
    for (const UpgradeState to : plan.path) ++figures_.transitions[{std::exchange(from, to), to}];
    figures_.last_progress = now;
    const internal::NodeTimes::Times times = node_times_.Follow(plan, now);
    if (times.upgrade) figures_.upgrade_seconds.Add(absl::ToDoubleSeconds(*times.upgrade));
    if (!times.in_state) return;
    const auto in_state = figures_.state_seconds.try_emplace(plan.from, EmptyHistogram(kNodeBounds)).first;
    in_state->second.Add(absl::ToDoubleSeconds(*times.in_state));
  }

  const std::shared_ptr<Clock> clock_;
  mutable std::mutex mutex_;
  MetricsSnapshot figures_;
  std::map<FindingCode, int> configuration_;
  internal::GateMemory gates_;
  internal::NodeTimes node_times_;
};

MetricsObserver::MetricsObserver(const DriverIdentity& identity, std::shared_ptr<Clock> clock)
    : impl_(std::make_unique<Impl>(identity, std::move(clock))) {}
MetricsObserver::~MetricsObserver() = default;
MetricsSnapshot MetricsObserver::Snapshot() const { return impl_->Snapshot(); }
void MetricsObserver::OnPlan(const Plan& plan) { impl_->OnPlan(plan); }
void MetricsObserver::OnNodeApplied(const NodePlan& plan, const NodeOutcome& outcome) {
  impl_->OnNodeApplied(plan, outcome);
}
void MetricsObserver::OnPassEnded(const PassOutcome& pass) { impl_->OnPassEnded(pass); }

}  // namespace driverupgrade
