/// What happened, for logs and metrics.
///
/// Defines Observer, PassOutcome, MakeObserverGroup, LogRecord, LogSink, FormatLogfmt and MakeLoggingObserver.
///
///     class CountingObserver final : public Observer {
///      public:
///       void OnNodeApplied(const NodePlan&, const NodeOutcome& outcome) override { failures += !outcome.status.ok(); }
///       std::atomic<int> failures = 0;
///     };
///
/// OnNodeApplied is called by any of the engine's threads, several at a time; the rest by the thread that reconciles. Do
/// not block in them, and do not call the engine.
///
/// The engine tells of passes and of its configuration, and UpgradeController of what is about more than one pass.
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

/// What became of one call of UpgradeEngine::Reconcile.
struct PassOutcome {
  /// Why nothing was planned: the policy makes no sense, or the cluster could not be read.
  absl::Status status = absl::OkStatus();
  absl::Time began = {};
  absl::Time ended = {};
  /// As the policy of the pass says.
  bool auto_upgrade = false;
  bool paused = false;
  /// ReconcileResult::configuration; of a pass that planned.
  std::vector<Finding> configuration = {};
};

class Observer {
 public:
  virtual ~Observer();
  /// Before `plan` is applied. With a cache its gates are only those that have changed: see Plan::gates_complete.
  virtual void OnPlan(const Plan& plan);
  virtual void OnNodeApplied(const NodePlan& plan, const NodeOutcome& outcome);
  /// After everything else of the pass. Release makes no pass.
  virtual void OnPassEnded(const PassOutcome& pass);
  /// What hinders all nodes is another thing than before: a pass failed, the cache cannot be read or is old, the Lease
  /// cannot be taken. OK: nothing does any more.
  virtual void OnTrouble(const absl::Status& trouble);
  /// This replica leads from now on, or does no more. Without an election nobody says so.
  virtual void OnLeading(bool leads);
  /// No node goes on any more unless a person does something, and some did before.
  virtual void OnRolloutOver(const Tally& totals);
  /// About the configuration, and in no plan: PassOutcome::configuration. Once, when it begins to hold, and
  /// NothingIsEvicted again when a further rollout begins.
  virtual void OnFinding(const Finding& finding);
};

/// Tells each of `observers` everything, in their order. Null ones are left out.
std::shared_ptr<Observer> MakeObserverGroup(std::vector<std::shared_ptr<Observer>> observers);

enum class Severity : std::uint8_t { kInfo, kWarning, kError };

/// A structured log record; where records go is the embedder's business:
///
///     LogSink sink = [](const LogRecord& record) { fmt::print(stderr, "{}\n", FormatLogfmt(record)); };
///     options.observer = MakeLoggingObserver(identity, sink);
///
/// The message is constant; what varies is in the fields.
struct LogRecord {
  Severity severity = Severity::kInfo;
  std::string message = {};
  std::vector<std::pair<std::string, std::string>> fields = {};
};

/// May be called by several threads at once.
using LogSink = std::function<void(const LogRecord& record)>;

/// `level=info msg="node moved" node=gpu-7 to=drain-required`. Values from the cluster are quoted where needed and
/// control characters escaped, so that nobody can forge a line; each is cut at 1 KiB.
std::string FormatLogfmt(const LogRecord& record);

/// Logs every transition with its reason, every change of a gate, every finding once while it lasts, failures, trouble,
/// leadership, and the end of a rollout.
std::shared_ptr<Observer> MakeLoggingObserver(const DriverIdentity& identity, LogSink sink);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_OBSERVER_H_
