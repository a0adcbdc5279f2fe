/// The metrics of a rollout and its requests, as plain data for any collector.
///
/// Defines MetricsSnapshot, Histogram, MetricsObserver, and RequestMeter with RequestFigures and RequestKind.
///
///     auto metrics = std::make_shared<MetricsObserver>(identity);
///     options.observer = MakeObserverGroup({MakeLoggingObserver(identity, sink), metrics});
///     ...
///     MetricsSnapshot now = metrics->Snapshot();
///     fmt::print("{} of {} nodes done\n", now.nodes.done, now.nodes.total);
///
/// No metric describes an individual node, so the number of metrics does not grow with the cluster. For Prometheus, see
/// prometheus/metrics_collector.h. Counters are 0 when the observer is created.
#ifndef DRIVERUPGRADE_METRICS_SNAPSHOT_H_
#define DRIVERUPGRADE_METRICS_SNAPSHOT_H_

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade {

struct Histogram {
  /// Upper bounds, inclusive, in ascending order.
  std::vector<double> bounds = {};
  /// Number of values up to each bound and above the previous bound; the last count is for values above all bounds. Not
  /// cumulative.
  std::vector<std::uint64_t> counts = {};
  double sum = 0;
  std::uint64_t Count() const;
  void Add(double value);
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

struct MetricsSnapshot {
  /// DriverIdentity::Name.
  std::string driver = {};

  /// Counts as of the last pass; zero before the first pass, and while the engine releases the nodes (Release).
  Tally nodes = {};
  UpgradeBudget budget = {};
  /// Number of waiting nodes by reason; a reason is included once it has appeared.
  std::map<GateReason, int> blocked = {};
  /// Findings of the last pass by code; a code is included once it has appeared.
  std::map<FindingCode, int> findings = {};
  bool auto_upgrade = false;
  bool paused = false;
  /// Number of nodes that still have to be released because their owner was deleted. Set only by a service.
  int giving_back = 0;
  /// Rollout of the last pass; nullopt: the policy has no rollout.
  std::optional<RolloutStatus> rollout = std::nullopt;

  /// Acknowledged patches, by state left and state entered.
  std::map<std::pair<UpgradeState, UpgradeState>, std::uint64_t> transitions = {};
  /// Time that nodes spent in each state, in seconds, for nodes that the observer saw enter and leave it. If one patch
  /// leads through several states, the node counts as entering only the last of them.
  std::map<UpgradeState, Histogram> state_seconds = {};
  /// Duration of upgrades in seconds: from the end of the wait for a slot to done, including failures in between.
  Histogram upgrade_seconds = {};
  std::uint64_t evictions_accepted = 0;
  std::uint64_t evictions_refused = 0;
  std::uint64_t driver_pods_deleted = 0;
  /// Gang interruptions (RolloutPolicy::gangs). A gang counts once for each unit or individual node that interrupts it.
  std::uint64_t gang_interruptions = 0;
  /// Pods that were evicted because they were given a device after it had been tainted.
  std::uint64_t late_holders = 0;
  /// Pods that kept running on nodes whose driver was replaced, because only devices were isolated. Pods of DaemonSets
  /// do not count.
  std::uint64_t pods_kept = 0;
  /// Number of node plans that were not completed, by the code of the first failure.
  std::map<absl::StatusCode, std::uint64_t> node_errors = {};
  /// Node errors with 409: another client had changed the node.
  std::uint64_t conflicts = 0;
  /// Node errors, not counting conflicts, after which it is unknown whether the write was applied (WasNotApplied).
  std::uint64_t unknown_outcomes = 0;

  /// Duration of passes in seconds, including failed passes.
  Histogram reconcile_seconds = {};
  /// Passes in which the policy was refused or the cluster could not be read.
  std::uint64_t reconcile_errors = 0;
  /// Time of the last successful pass; nullopt before the first.
  std::optional<absl::Time> last_success = std::nullopt;
  /// True if the last pass was one of `reconcile_errors`.
  bool failing = false;
  /// Time at which a node last entered a state; before that, the time of the first pass; nullopt before the first pass.
  std::optional<absl::Time> last_progress = std::nullopt;
  /// True if this replica leads. An observer cannot determine this, so the value is nullopt unless the embedder sets
  /// it, for example from ControllerStatus::leading.
  std::optional<bool> leading = std::nullopt;
};

/// Collects the metrics of one driver from its engine. Thread-safe.
class MetricsObserver final : public Observer {
 public:
  /// `clock`: null for SystemClock().
  explicit MetricsObserver(const DriverIdentity& identity, std::shared_ptr<Clock> clock = nullptr);
  ~MetricsObserver() override;

  MetricsSnapshot Snapshot() const;

  void OnPlan(const Plan& plan) override;
  void OnNodeApplied(const NodePlan& plan, const NodeOutcome& outcome) override;
  void OnPassEnded(const PassOutcome& pass) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

struct RequestKind {
  /// Verb as in RBAC: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
  std::string verb = {};
  /// Resource with its subresource: `nodes`, `pods/eviction`.
  std::string resource = {};
  /// The HTTP status, or the reason why there was no response.
  std::string code = {};
  friend auto operator<=>(const RequestKind&, const RequestKind&) = default;
};

struct RequestFigures {
  std::map<RequestKind, std::uint64_t> requests = {};
  /// Response times in seconds, by verb. Watches are not included, because they last as long as they are needed.
  std::map<std::string, Histogram> seconds = {};
};

/// Counts requests to the API server, by outcome, and measures their durations:
///
///     auto meter = std::make_shared<RequestMeter>();
///     auto cluster = MakeRestCluster(MakeMeteredTransport(transport, meter));
///     ...
///     RequestFigures now = meter->Snapshot();
///
/// A program with another transport or client calls the meter itself, as MakeMeteredTransport in
/// kubernetes/http_transport.h does. All strings must come from closed sets, never from object names, because each new
/// combination is kept indefinitely. Counters are 0 when the meter is created. Thread-safe.
class RequestMeter {
 public:
  void Count(const RequestKind& kind);
  void Time(std::string_view verb, absl::Duration taken);
  RequestFigures Snapshot() const;

 private:
  mutable std::mutex mutex_;
  RequestFigures figures_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_METRICS_SNAPSHOT_H_
