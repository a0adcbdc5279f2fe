#include "gpu_operator/rollout.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/upgrade_engine.h"
#include "fmt/format.h"
#include "gpu_operator/gpu_pods.h"
#include "support/spare_skipped_pods.h"

namespace gpu_operator {
namespace {

using driverupgrade::CallContext;
using driverupgrade::Clock;
using driverupgrade::DriverIdentity;
using driverupgrade::EngineOptions;
using driverupgrade::GateReason;
using driverupgrade::LabelSelector;
using driverupgrade::LogSink;
using driverupgrade::NodeGate;
using driverupgrade::Plan;
using driverupgrade::ReconcileResult;
using driverupgrade::Severity;
using driverupgrade::UpgradeEngine;
using driverupgrade::UpgradePolicy;

// A burst of changes costs one pass.
constexpr absl::Duration kPassesApart = absl::Milliseconds(20);

std::string Text(const absl::Status& status) { return std::string(status.message()); }

// Gates that only a person, or a new driver, opens.
bool WaitsForPerson(const NodeGate& node) {
  switch (node.gate.reason) {
    case GateReason::kFailed:
    case GateReason::kSkipLabel:
    case GateReason::kCordoned:
    case GateReason::kUnknownState:
    case GateReason::kUnhandledState: return true;
    default: return false;
  }
}

// Nothing is left to do, now or by waiting.
bool IsOver(const Plan& plan) {
  return plan.totals.total > 0 && plan.nodes.empty() &&
         std::all_of(plan.gates.begin(), plan.gates.end(), WaitsForPerson);
}

class Rollout {
 public:
  Rollout(const Options& options, const UpgradePolicy& policy, UpgradeEngine& engine, LogSink log, std::stop_token stop)
      : options_(options),
        policy_(policy),
        engine_(engine),
        log_(std::move(log)),
        stop_(std::move(stop)),
        clock_(driverupgrade::SystemClock()),
        deadline_(clock_->Now() + options.timeout) {}

  int Run() {
    while (true) {
      const absl::StatusOr<ReconcileResult> pass = engine_.Reconcile({.deadline = deadline_, .stop = stop_}, policy_);
      if (!pass.ok() && !reached_) return Refused(pass.status());
      reached_ |= pass.ok();
      if (!pass.ok()) Log(Severity::kWarning, "pass failed", {{"error", Text(pass.status())}});
      if (pass.ok() && (options_.once || IsOver(pass->plan))) return Ended(pass->plan);
      if (stop_.stop_requested() || clock_->Now() >= deadline_) return RanOut(pass);
      clock_->SleepFor(Pause(pass), stop_);
    }
  }

 private:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  absl::Duration Pause(const absl::StatusOr<ReconcileResult>& pass) const {
    const absl::Time now = clock_->Now();
    absl::Duration pause = options_.poll_interval;
    if (pass.ok() && pass->wake_at) pause = std::min(pause, *pass->wake_at - now);
    return std::clamp(pause, kPassesApart, std::max(kPassesApart, deadline_ - now));
  }

  int Refused(const absl::Status& status) {
    Log(Severity::kError, "the cluster cannot be read", {{"error", Text(status)}});
    return kExitRefused;
  }

  int Ended(const Plan& plan) {
    engine_.Quiesce();
    Log(Severity::kInfo, options_.once ? "one pass made" : "rollout over", Totals(plan));
    return plan.totals.failed > 0 ? kExitNotDone : kExitDone;
  }

  int RanOut(const absl::StatusOr<ReconcileResult>& pass) {
    engine_.Quiesce();
    Log(Severity::kError, stop_.stop_requested() ? "stopped before the rollout was over" : "the time ran out",
        pass.ok() ? Totals(pass->plan) : Fields{});
    return kExitNotDone;
  }

  static Fields Totals(const Plan& plan) {
    return {{"nodes", fmt::format("{}", plan.totals.total)},
            {"done", fmt::format("{}", plan.totals.done)},
            {"failed", fmt::format("{}", plan.totals.failed)},
            {"in_progress", fmt::format("{}", plan.totals.in_progress)},
            {"pending", fmt::format("{}", plan.totals.pending)}};
  }

  void Log(Severity severity, std::string message, Fields fields) {
    log_({.severity = severity, .message = std::move(message), .fields = std::move(fields)});
  }

  const Options& options_;
  const UpgradePolicy& policy_;
  UpgradeEngine& engine_;
  const LogSink log_;
  const std::stop_token stop_;
  const std::shared_ptr<Clock> clock_;
  const absl::Time deadline_;
  bool reached_ = false;  // the cluster has answered once: from then on trouble is waited out
};

int Misconfigured(const LogSink& log, const absl::Status& status) {
  log({.severity = Severity::kError, .message = "configuration", .fields = {{"error", Text(status)}}});
  return kExitUsage;
}

}  // namespace

int RunRollout(const Options& options, const Configuration& configuration,
               std::shared_ptr<driverupgrade::ClusterFacade> cluster, const LogSink& log, std::stop_token stop) {
  const absl::StatusOr<DriverIdentity> identity = DriverIdentity::Create("nvidia.com", "gpu");
  if (!identity.ok()) return Misconfigured(log, identity.status());
  EngineOptions engine_options{
      .snapshot = {.ns = options.ns,
                   .driver_labels = configuration.driver_labels,
                   .uses_driver = [](const CallContext&, const driverupgrade::Pod& pod) { return UsesGpu(pod); }},
      .observer = driverupgrade::MakeLoggingObserver(*identity, log)};
  engine_options.executor.events = options.events;
  engine_options.state_machine.requestor = configuration.requestor;
  if (!options.validation_selector.empty()) {
    absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(options.validation_selector);
    if (!selector.ok()) return Misconfigured(log, selector.status());
    engine_options.state_machine.validation_selector = *std::move(selector);
  }
  if (!configuration.policy.auto_upgrade && !options.once) {
    return Misconfigured(log, absl::InvalidArgumentError("autoUpgrade is false: nothing would ever be done"));
  }
  auto engine = UpgradeEngine::Create(*identity, std::move(cluster), std::move(engine_options));
  if (!engine.ok()) return Misconfigured(log, engine.status());
  UpgradePolicy policy = configuration.policy;
  if (const absl::Status spared = examples::SpareSkippedPods(*identity, policy); !spared.ok()) {
    return Misconfigured(log, spared);
  }
  return Rollout(options, policy, **engine, log, std::move(stop)).Run();
}

}  // namespace gpu_operator
