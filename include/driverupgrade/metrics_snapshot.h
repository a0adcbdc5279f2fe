/// The figures of a rollout and of its requests, as plain data for whatever collects them.
///
/// Defines MetricsSnapshot, Histogram, MetricsObserver, and RequestMeter with RequestFigures and RequestKind.
///
///     auto metrics = std::make_shared<MetricsObserver>(identity);
///     options.observer = MakeObserverGroup({MakeLoggingObserver(identity, sink), metrics});
///     ...
///     MetricsSnapshot now = metrics->Snapshot();
///     fmt::print("{} of {} nodes done\n", now.nodes.done, now.nodes.total);
///
/// No figure is about a single node: their number does not grow with the cluster. For Prometheus there is
/// prometheus/metrics_collector.h. Counters begin at 0 with the observer.
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
  /// Values up to the bound and above the one before; the last is for those above all bounds. Not cumulative.
  std::vector<std::uint64_t> counts = {};
  double sum = 0;
  std::uint64_t Count() const;
  void Add(double value);
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

struct MetricsSnapshot {
  /// DriverIdentity::Name.
  std::string driver = {};

  /// As the last pass found the cluster; zero before the first, and while the engine gives the nodes back (Release).
  Tally nodes = {};
  UpgradeBudget budget = {};
  /// Nodes that wait, by what they wait for; a reason is there from when it first appears.
  std::map<GateReason, int> blocked = {};
  /// What a person should know, by kind, as the last pass found it; a kind is there from when it first appears.
  std::map<FindingCode, int> findings = {};
  bool auto_upgrade = false;
  bool paused = false;
  /// Nodes of owners that are gone, which are still to be given back; a service knows.
  int giving_back = 0;
  /// As the last pass found it; nullopt: the policy has no rollout.
  std::optional<RolloutStatus> rollout = std::nullopt;

  /// By state left and state entered, of patches that were acknowledged.
  std::map<std::pair<UpgradeState, UpgradeState>, std::uint64_t> transitions = {};
  /// How long nodes were in each state, in seconds, of those that the observer saw enter and leave it. States that one
  /// patch passes over are not entered.
  std::map<UpgradeState, Histogram> state_seconds = {};
  /// How long upgrades took, in seconds: from the end of the wait for a slot to done, failures in between included.
  Histogram upgrade_seconds = {};
  std::uint64_t evictions_accepted = 0;
  std::uint64_t evictions_refused = 0;
  std::uint64_t driver_pods_deleted = 0;
  /// Interruptions of gangs (RolloutPolicy::gangs). A gang counts again with each unit, or node by itself, that interrupts it.
  std::uint64_t gang_interruptions = 0;
  /// Nodes whose plan could not be carried out to the end, by what the first failure was. Each time counts.
  std::map<absl::StatusCode, std::uint64_t> node_errors = {};
  /// Those of them with 409: somebody else had changed the node.
  std::uint64_t conflicts = 0;
  /// Those of them, but for conflicts, of which it is not known whether the write was applied (WasNotApplied).
  std::uint64_t unknown_outcomes = 0;

  /// How long passes took, in seconds, those that failed included.
  Histogram reconcile_seconds = {};
  /// Passes in which the policy was refused or the cluster could not be read.
  std::uint64_t reconcile_errors = 0;
  /// When a pass last succeeded; nullopt before the first.
  std::optional<absl::Time> last_success = std::nullopt;
  /// The last pass was one of `reconcile_errors`.
  bool failing = false;
  /// When a node last entered a state; until one has, when the first pass was made; nullopt before.
  std::optional<absl::Time> last_progress = std::nullopt;
  /// Whether this replica leads. An observer does not know: nullopt, unless the embedder says, for instance by
  /// ControllerStatus::leading.
  std::optional<bool> leading = std::nullopt;
};

/// Thread-safe.
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
  /// As RBAC spells it: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
  std::string verb = {};
  /// With its subresource: `nodes`, `pods/eviction`.
  std::string resource = {};
  /// The HTTP status, or why there was none.
  std::string code = {};
  friend auto operator<=>(const RequestKind&, const RequestKind&) = default;
};

struct RequestFigures {
  std::map<RequestKind, std::uint64_t> requests = {};
  /// How long answers took, in seconds, by verb; without watches, which last as long as they are wanted.
  std::map<std::string, Histogram> seconds = {};
};

/// Counts requests to the API server, how they ended, and how long they took:
///
///     auto meter = std::make_shared<RequestMeter>();
///     auto cluster = MakeRestCluster(MakeMeteredTransport(transport, meter));
///     ...
///     RequestFigures now = meter->Snapshot();
///
/// A program with a transport or a client of another kind tells the meter by itself; see kubernetes/http_transport.h
/// for ours. Values are to be of closed sets, never names of objects: each new combination is kept for ever. Counters begin
/// at 0 with the meter. Thread-safe.
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
