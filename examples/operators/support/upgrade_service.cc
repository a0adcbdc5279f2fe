#include "support/upgrade_service.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/snapshot_builder.h"
#include "fmt/format.h"
#include "support/await_server.h"
#include "support/progress.h"

namespace examples {
namespace {

using driverupgrade::Clock;
using driverupgrade::Director;
using driverupgrade::Doorbell;
using driverupgrade::EngineOptions;
using driverupgrade::EngineSpec;
using driverupgrade::LogSink;
using driverupgrade::ReconcileResult;
using driverupgrade::RolloutEnd;
using driverupgrade::ServiceOptions;
using driverupgrade::Severity;
using driverupgrade::Tally;
using driverupgrade::UpgradeEngine;
using driverupgrade::UpgradeService;

constexpr absl::Duration kLookAgain = absl::Seconds(1);
// Time limit for one attempt at the director's own calls before a single pass.
constexpr absl::Duration kPrepareTimeout = absl::Seconds(30);
// Time limit for an access review, because a reader of the page waits for the result.
constexpr absl::Duration kReviewTimeout = absl::Seconds(5);

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields Counts(const Tally& totals) {
  return {{"nodes", fmt::format("{}", totals.total)},
          {"done", fmt::format("{}", totals.done)},
          {"failed", fmt::format("{}", totals.failed)},
          {"in_progress", fmt::format("{}", totals.in_progress)},
          {"pending", fmt::format("{}", totals.pending)}};
}

EngineOptions EngineOptionsFrom(const ServiceArguments& arguments, EngineOptions engine) {
  engine.snapshot.ns = arguments.ns;
  engine.snapshot.devices = arguments.device_drivers;
  SetOwnPod(arguments, engine.state_machine);
  engine.executor.events = arguments.transition_events || arguments.finding_events;
  engine.executor.transition_events = arguments.transition_events;
  engine.executor.finding_events = arguments.finding_events;
  // Each concurrent request needs its own connection, and an API server handles about as many writes per second with 8
  // concurrent requests as with 32.
  engine.executor.calls_in_flight = 8;
  if (arguments.ledger) engine.ledger = {.ns = arguments.ledger_namespace, .name = arguments.ledger_name};
  return engine;
}

ServiceOptions ServiceOptionsFrom(const ServiceArguments& arguments, ServiceOptions service) {
  service.engine = EngineOptionsFrom(arguments, std::move(service.engine));
  service.health_address = arguments.health_address;
  service.metrics_address = arguments.metrics_address;
  service.rollout_address = arguments.rollout_address;
  service.rollout_secure_address = arguments.rollout_secure_address;
  if (!arguments.leader_elect) return service;
  service.election = {.ns = arguments.lease_namespace,
                      .name = arguments.lease_name,
                      .identity = arguments.identity,
                      .lease_duration = arguments.lease_duration,
                      .renew_deadline = arguments.renew_deadline,
                      .retry_period = arguments.retry_period};
  return service;
}

class Service {
 public:
  Service(const OperatorOptions& options, const Connection& connection, Director& director,
          std::shared_ptr<Doorbell> bell, LogSink log, std::stop_token stop)
      : arguments_(options.arguments),
        probe_labels_(options.probe_labels),
        connection_(connection),
        director_(director),
        bell_(std::move(bell)),
        log_(std::move(log)),
        stop_(std::move(stop)),
        clock_(options.service.engine.clock ? options.service.engine.clock : driverupgrade::SystemClock()),
        deadline_(clock_->Now() + arguments_.timeout),
        service_(ServiceOptionsFrom(arguments_, options.service)) {}

  int Run() { return arguments_.once ? RunOnce() : RunForGood(); }

 private:
  // Reports missing credentials or permissions before anything starts, but waits for a server that is overloaded or
  // unavailable. The first attempt does not retry requests, so that a refusal is reported immediately.
  absl::Status Look() {
    driverupgrade::SnapshotOptions snapshot = service_.engine.snapshot;
    snapshot.driver_labels = probe_labels_;
    auto cluster = connection_.once ? connection_.once : connection_.cluster;
    return Await([&] {
      driverupgrade::SnapshotBuilder probe(service_.identity, std::exchange(cluster, connection_.cluster), snapshot);
      return probe.Build({.deadline = deadline_, .stop = stop_}).status();
    });
  }

  absl::Status Await(const std::function<absl::Status()>& attempt) {
    return AwaitServer({.deadline = deadline_, .stop = stop_}, *clock_, log_, attempt);
  }

  int RunOnce() {
    if (const absl::Status seen = Look(); !seen.ok()) return Refused(seen);
    std::optional<std::vector<EngineSpec>> wanted = director_.Wanted();
    while (!wanted && !stop_.stop_requested() && clock_->Now() < deadline_) {
      bell_->Wait(std::min(deadline_, clock_->Now() + kLookAgain), *clock_, stop_);
      wanted = director_.Wanted();
    }
    if (!wanted) return RanOut({});
    const absl::Status prepared = Await([this] {
      return director_.Prepare({.deadline = std::min(deadline_, clock_->Now() + kPrepareTimeout), .stop = stop_});
    });
    if (!prepared.ok()) return Refused(prepared);
    Tally totals;
    bool all_made = true;
    for (const EngineSpec& spec : *wanted) {
      EngineOptions engine_options = EngineOptionsOf(service_.engine, spec);
      engine_options.observer = driverupgrade::MakeLoggingObserver(service_.identity, log_);
      auto engine = UpgradeEngine::Create(service_.identity, connection_.cluster, std::move(engine_options));
      if (!engine.ok()) {
        Log(Severity::kError, "cannot create an engine", {{"owner", spec.name}, {"error", Words(engine.status())}});
        all_made = false;
        continue;
      }
      absl::StatusOr<ReconcileResult> pass;
      const absl::Status passed = Await([&] {
        pass = (*engine)->Reconcile({.deadline = deadline_, .stop = stop_}, spec.policy);
        return pass.status();
      });
      if (!passed.ok()) return Refused(passed);
      (*engine)->Quiesce();
      totals += pass->plan.totals;
      const bool told = std::any_of(pass->configuration.begin(), pass->configuration.end(), [](const auto& finding) {
        return finding.code == driverupgrade::FindingCode::kNoDaemonSet;
      });
      if (pass->plan.totals.total == 0 && !told) NoNode(spec);
    }
    Log(Severity::kInfo, "one pass finished", Counts(totals));
    if (!all_made) return kExitUsage;
    return totals.failed > 0 || totals.total == 0 ? kExitNotDone : kExitDone;
  }

  void NoNode(const EngineSpec& spec) {
    Log(Severity::kError, "finding",
        {{"code", "NoDaemonSet"},
         {"detail",
          fmt::format("no node has a driver: no DaemonSet in namespace {} matches {}, or none of its pods is on a "
                      "node",
                      arguments_.ns, spec.driver_labels.ToString())}});
  }

  int RunForGood() {
    ServiceOptions options = service_;
    options.requests = connection_.requests;
    options.rollout_readers = [this](const std::string& token) {
      return connection_.readers->Check({.deadline = clock_->Now() + kReviewTimeout, .stop = stop_}, token);
    };
    options.bell = bell_;
    options.log = log_;
    const auto service = UpgradeService::Create(connection_.cluster, director_, std::move(options));
    if (!service.ok()) return Misconfigured(log_, service.status());
    // The pages are already served while Look waits, because a service that waits for the API server is alive, but not
    // ready.
    const absl::Status seen = Look();
    if (!seen.ok()) return stop_.stop_requested() ? RanOut({}) : Refused(seen);
    const int exit_code = Loop(**service);
    (*service)->Stop();
    return exit_code;
  }

  int Loop(UpgradeService& service) {
    while (true) {
      const absl::StatusOr<absl::Time> next = service.Step({.deadline = deadline_, .stop = stop_});
      if (!next.ok()) return Misconfigured(log_, next.status());
      const Tally totals = service.totals();
      if (auto fields = progress_.Note(totals, clock_->Now())) {
        for (auto& field : Counts(totals)) fields->push_back(std::move(field));
        Log(Severity::kInfo, "rollout", *std::move(fields));
      }
      if (arguments_.until_done) {
        if (const std::optional<RolloutEnd> end = service.End()) return RolloutOver(*end);
      }
      if (stop_.stop_requested() || clock_->Now() >= deadline_) return RanOut(service.totals());
      service.Wait(std::min(*next, deadline_), stop_);
    }
  }

  int RolloutOver(const RolloutEnd& end) {
    if (end.engines == 0) {
      Log(Severity::kError, "no policy: nothing is upgraded", {});
      return kExitNotDone;
    }
    Fields fields = Counts(end.totals);
    if (end.left_out > 0) fields.emplace_back("left_out", fmt::format("{}", end.left_out));
    if (end.refused > 0) fields.emplace_back("refused", fmt::format("{}", end.refused));
    if (end.frozen > 0) fields.emplace_back("frozen", fmt::format("{}", end.frozen));
    Log(end.IsGood() ? Severity::kInfo : Severity::kError,
        end.upgrading == 0 ? "autoUpgrade is off: nothing is upgraded" : "rollout finished", std::move(fields));
    return end.IsGood() ? kExitDone : kExitNotDone;
  }

  int Refused(const absl::Status& status) {
    Log(Severity::kError, "the cluster cannot be read", {{"error", Words(status)}});
    return kExitRefused;
  }

  // Returns the exit code after a stop or a timeout. A service that was stopped has ended normally; an incomplete
  // rollout has not.
  int RanOut(const Tally& totals) {
    const bool service = !arguments_.until_done && stop_.stop_requested();
    Log(service ? Severity::kInfo : Severity::kError,
        stop_.stop_requested() ? (service ? "stopped" : "stopped before the end of the rollout")
                               : "the timeout expired",
        Counts(totals));
    return service ? kExitDone : kExitNotDone;
  }

  void Log(Severity severity, std::string message, Fields fields) {
    log_({.severity = severity, .message = std::move(message), .fields = std::move(fields)});
  }

  const ServiceArguments& arguments_;
  const driverupgrade::LabelSelector& probe_labels_;
  const Connection& connection_;
  Director& director_;
  const std::shared_ptr<Doorbell> bell_;
  const LogSink log_;
  const std::stop_token stop_;
  const std::shared_ptr<Clock> clock_;
  const absl::Time deadline_;
  const ServiceOptions service_;
  Progress progress_;
};

}  // namespace

int Misconfigured(const LogSink& log, const absl::Status& status) {
  log({.severity = Severity::kError, .message = "configuration", .fields = {{"error", Words(status)}}});
  return kExitUsage;
}

int RunService(const OperatorOptions& options, const Connection& connection, Director& director,
               const std::shared_ptr<Doorbell>& bell, const LogSink& log, std::stop_token stop) {
  return Service(options, connection, director, bell, log, std::move(stop)).Run();
}

}  // namespace examples
