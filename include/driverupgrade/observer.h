/// Reports an engine's events to logs and metrics.
///
/// Defines
///  - Observer with PassOutcome, MakeObserverGroup: the interface;
///  - LogRecord, LogSink, FormatLogfmt, MakeLoggingObserver: logs;
///  - MetricsSnapshot, Histogram, MetricsObserver, and RequestMeter with RequestFigures and RequestKind: metrics as plain
///    data for any collector. For Prometheus, see prometheus/metrics_collector.h.
///
///     class CountingObserver final : public Observer {
///      public:
///       void OnNodeApplied(const NodePlan&, const NodeOutcome& outcome) override { failures += !outcome.status.ok(); }
///       std::atomic<int> failures = 0;
///     };
///     auto metrics = std::make_shared<MetricsObserver>(identity);
///     options.observer = MakeObserverGroup({MakeLoggingObserver(identity, sink), metrics});
///     fmt::print("{} of {} nodes done\n", metrics->Snapshot().nodes.done, metrics->Snapshot().nodes.total);
///
/// OnNodeApplied can be called by several of the engine's threads at the same time; all other methods are called by the
/// thread that reconciles. The methods must not block, and must not call the engine.
///
/// The engine reports passes and its configuration; UpgradeController reports everything that spans several passes.
///
/// No metric describes an individual node, so the number of metrics does not grow with the cluster. Counters are 0 when
/// the observer is created.
#ifndef DRIVERUPGRADE_OBSERVER_H_
#define DRIVERUPGRADE_OBSERVER_H_

#include <compare>
#include <cstdint>
#include <functional>
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
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade {

/// The outcome of one call to UpgradeEngine::Reconcile.
struct PassOutcome {
  /// An error if nothing was planned because the policy is invalid or the cluster could not be read; otherwise OK.
  absl::Status status = absl::OkStatus();
  absl::Time began = {};
  absl::Time ended = {};
  /// From the policy of the pass.
  bool auto_upgrade = false;
  bool paused = false;
  /// ReconcileResult::configuration, if the pass made a plan.
  std::vector<Finding> configuration = {};
};

class Observer {
 public:
  virtual ~Observer();
  /// Called before `plan` is applied. With a cache, `plan` contains only the changed gates: see Plan::gates_complete.
  virtual void OnPlan(const Plan& plan);
  virtual void OnNodeApplied(const NodePlan& plan, const NodeOutcome& outcome);
  /// Called last in a pass. Release is not a pass.
  virtual void OnPassEnded(const PassOutcome& pass);
  /// Called when the problem that blocks all nodes changes: a pass failed, the cache cannot be read or is out of date,
  /// or the Lease cannot be acquired. OK: the problem has ended.
  virtual void OnTrouble(const absl::Status& trouble);
  /// Called when this replica starts or stops leading. Never called without an election.
  virtual void OnLeading(bool leads);
  /// Called when, after at least one node has moved, no node can move again without action by an administrator.
  virtual void OnRolloutOver(const Tally& totals);
  /// Called when a finding about the configuration appears (PassOutcome::configuration); such findings are not part of
  /// a plan. NothingIsEvicted is reported again when another rollout starts.
  virtual void OnFinding(const Finding& finding);
};

/// Returns an observer that forwards every call to each of `observers`, in the given order. Null pointers are skipped.
std::shared_ptr<Observer> MakeObserverGroup(std::vector<std::shared_ptr<Observer>> observers);

enum class Severity : std::uint8_t { kInfo, kWarning, kError };

/// A structured log record. The embedding program decides where records are written:
///
///     LogSink sink = [](const LogRecord& record) { fmt::print(stderr, "{}\n", FormatLogfmt(record)); };
///     options.observer = MakeLoggingObserver(identity, sink);
///
/// The message is constant; variable data is in the fields.
struct LogRecord {
  Severity severity = Severity::kInfo;
  std::string message = {};
  std::vector<std::pair<std::string, std::string>> fields = {};
};

/// May be called by several threads at the same time.
using LogSink = std::function<void(const LogRecord& record)>;

/// Returns a line such as `level=info msg="node moved" node=gpu-7 to=drain-required`. Values from the cluster are
/// quoted if necessary and control characters are escaped, so that values cannot forge a line; each value is truncated
/// to 1 KiB.
std::string FormatLogfmt(const LogRecord& record);

/// Returns an observer that logs every transition with its reason, every gate change, failures, problems, leadership
/// changes, and the end of a rollout. Each finding is logged when it first appears, and again only if it clears and
/// returns.
std::shared_ptr<Observer> MakeLoggingObserver(const DriverIdentity& identity, LogSink sink);

struct Histogram {
  /// Upper bounds, inclusive, in ascending order.
  std::vector<double> bounds = {};
  /// Number of values above the previous bound and up to this bound; the last count is for values above all bounds. Not
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
  /// Number of nodes that must still be released because their owner was deleted. Set only by a service.
  int giving_back = 0;
  /// Rollout of the last pass; nullopt: the policy has no rollout.
  std::optional<RolloutStatus> rollout = std::nullopt;

  /// Acknowledged patches, by state left and state entered.
  std::map<std::pair<UpgradeState, UpgradeState>, std::uint64_t> transitions = {};
  /// Time that nodes spent in each state, in seconds, for nodes that the observer saw enter and leave that state. If
  /// one patch leads through several states, the node enters only the last of them.
  std::map<UpgradeState, Histogram> state_seconds = {};
  /// Duration of upgrades in seconds, from the time a node gets its slot until it is done, including failures in
  /// between.
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
  /// Node errors other than conflicts after which it is unknown whether the write was applied (WasNotApplied).
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
  /// True if this replica leads. An observer cannot know this: the value is nullopt unless the embedding program sets
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
  /// Response times in seconds, by verb. Watches are not included, because they stay open as long as they are needed.
  std::map<std::string, Histogram> seconds = {};
};

/// Counts requests to the API server, by outcome, and measures their durations:
///
///     auto meter = std::make_shared<RequestMeter>();
///     auto cluster = MakeRestCluster(MakeMeteredTransport(transport, meter));
///     ...
///     RequestFigures now = meter->Snapshot();
///
/// A program with a different transport or client calls the meter itself, as MakeMeteredTransport
/// (kubernetes/http_transport.h) does. All strings must come from closed sets, never from object names, because each
/// new combination is kept indefinitely. Counters are 0 when the meter is created. Thread-safe.
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

#endif  // DRIVERUPGRADE_OBSERVER_H_
