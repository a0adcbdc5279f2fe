/// Reports an engine's events to logs and metrics.
///
/// Defines Observer, PassOutcome, MakeObserverGroup, LogRecord, LogSink, FormatLogfmt and MakeLoggingObserver.
///
///     class CountingObserver final : public Observer {
///      public:
///       void OnNodeApplied(const NodePlan&, const NodeOutcome& outcome) override { failures += !outcome.status.ok(); }
///       std::atomic<int> failures = 0;
///     };
///
/// OnNodeApplied can be called by several of the engine's threads at the same time; all other methods are called by the
/// thread that reconciles. The methods must not block, and must not call the engine.
///
/// The engine reports passes and its configuration; UpgradeController reports everything that spans several passes.
#ifndef DRIVERUPGRADE_OBSERVER_H_
#define DRIVERUPGRADE_OBSERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"

namespace driverupgrade {

/// The outcome of one call to UpgradeEngine::Reconcile.
struct PassOutcome {
  /// The reason why nothing was planned: the policy is invalid, or the cluster could not be read.
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
  /// Called when the problem that blocks all nodes changes: a pass failed, the cache cannot be read or is old, the
  /// Lease cannot be acquired. OK: the problem has ended.
  virtual void OnTrouble(const absl::Status& trouble);
  /// Called when this replica starts or stops leading. Never called without an election.
  virtual void OnLeading(bool leads);
  /// Called when, after at least one node has moved, no node can move again without action by an administrator.
  virtual void OnRolloutOver(const Tally& totals);
  /// Reports findings about the configuration, which are not part of a plan: PassOutcome::configuration. Called when a
  /// finding appears. NothingIsEvicted is also reported again when another rollout starts.
  virtual void OnFinding(const Finding& finding);
};

/// Returns an observer that forwards every call to each of `observers`, in their order. Null pointers are skipped.
std::shared_ptr<Observer> MakeObserverGroup(std::vector<std::shared_ptr<Observer>> observers);

enum class Severity : std::uint8_t { kInfo, kWarning, kError };

/// A structured log record; the embedder decides where records are written:
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

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_OBSERVER_H_
