#include "driverupgrade/metrics_snapshot.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "driverupgrade/cluster_facade.h"
#include "internal/gate_memory.h"

namespace driverupgrade::inline v1 {

std::uint64_t Histogram::Count() const { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

void Histogram::Add(double value) {
  counts.resize(bounds.size() + 1);
  ++counts[std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin()];
  sum += value;
}

class MetricsObserver::Impl {
 public:
  Impl(const DriverIdentity& identity, std::shared_ptr<Clock> clock)
      : clock_(clock ? std::move(clock) : SystemClock()) {
    figures_.driver = identity.Name();
    // From a pass over nothing to one that runs into its time limit.
    figures_.reconcile_seconds.bounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                         0.5,   1,      2.5,   5,    10,    30,   60,  120};
    figures_.reconcile_seconds.counts.resize(figures_.reconcile_seconds.bounds.size() + 1);
  }

  MetricsSnapshot Snapshot() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }

  void OnPlan(const Plan& plan) {
    const std::lock_guard lock(mutex_);
    figures_.nodes = plan.totals;
    figures_.budget = plan.budget;
    gates_.Follow(plan);
    figures_.blocked = gates_.counts();
    if (!figures_.last_progress) figures_.last_progress = clock_->Now();
  }

  void OnNodeApplied(const NodePlan& plan, const NodeOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    if (outcome.patched) {
      UpgradeState from = plan.from;
      for (const UpgradeState to : plan.path) ++figures_.transitions[{std::exchange(from, to), to}];
      if (!plan.path.empty()) figures_.last_progress = clock_->Now();
    }
    figures_.evictions_accepted += outcome.evictions_accepted;
    figures_.evictions_refused += outcome.evictions_refused;
    figures_.driver_pods_deleted += outcome.pods_deleted;
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
    // Wall clocks may be turned back.
    figures_.reconcile_seconds.Add(std::max(0.0, absl::ToDoubleSeconds(pass.ended - pass.began)));
  }

 private:
  const std::shared_ptr<Clock> clock_;
  mutable std::mutex mutex_;
  MetricsSnapshot figures_;
  internal::GateMemory gates_;
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

}  // namespace driverupgrade::inline v1
