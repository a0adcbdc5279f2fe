#include "gpu_operator/rollout.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/leader_election.h"
#include "driverupgrade/metrics_snapshot.h"
#include "driverupgrade/prometheus/metrics_collector.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "fmt/format.h"
#include "gpu_operator/gpu_pods.h"
#include "support/spare_skipped_pods.h"
#include "support/web_server.h"

namespace gpu_operator {
namespace {

using driverupgrade::AttemptLog;
using driverupgrade::CallContext;
using driverupgrade::Clock;
using driverupgrade::ClusterFacade;
using driverupgrade::ControllerOptions;
using driverupgrade::ControllerStatus;
using driverupgrade::DriverIdentity;
using driverupgrade::DriverScope;
using driverupgrade::EngineOptions;
using driverupgrade::GateReason;
using driverupgrade::LabelSelector;
using driverupgrade::LeaderElection;
using driverupgrade::LogSink;
using driverupgrade::MetricsCollector;
using driverupgrade::MetricsObserver;
using driverupgrade::MetricsOptions;
using driverupgrade::MetricsSnapshot;
using driverupgrade::NodeGate;
using driverupgrade::Plan;
using driverupgrade::RequestMeter;
using driverupgrade::Severity;
using driverupgrade::SnapshotBuilder;
using driverupgrade::Tally;
using driverupgrade::UpgradeController;
using driverupgrade::UpgradeEngine;
using driverupgrade::UpgradePolicy;
using driverupgrade::WatchCache;
using examples::WebServer;

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

constexpr int kLooks = 5;
constexpr absl::Duration kLookAgain = absl::Seconds(1);

class Program {
 public:
  Program(const Options& options, std::shared_ptr<ClusterFacade> cluster, LogSink log, std::stop_token stop,
          std::shared_ptr<const RequestMeter> requests)
      : options_(options),
        cluster_(std::move(cluster)),
        requests_(std::move(requests)),
        log_(std::move(log)),
        stop_(std::move(stop)),
        clock_(driverupgrade::SystemClock()),
        deadline_(clock_->Now() + options.timeout) {}

  int Run(const DriverIdentity& identity, EngineOptions engine_options, const UpgradePolicy& policy) {
    const absl::Status seen = Look(identity, engine_options.snapshot);
    if (!seen.ok()) return Refused(seen);
    return options_.once ? RunOnce(identity, engine_options, policy) : RunForGood(identity, engine_options, policy);
  }

 private:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  // Whatever is wrong with the address, the credentials or the permissions is best said before anything begins. What may be
  // a moment's trouble of the server is tried a few times.
  absl::Status Look(const DriverIdentity& identity, const driverupgrade::SnapshotOptions& options) {
    AttemptLog none;
    SnapshotBuilder probe(identity, cluster_, options);
    absl::Status seen = absl::OkStatus();
    for (int i = 0; i < kLooks; ++i) {
      if (i > 0 && !clock_->SleepFor(kLookAgain, stop_)) break;
      seen = probe.Build({.deadline = deadline_, .stop = stop_}, none).status();
      if (!absl::IsUnavailable(seen)) break;
    }
    return seen;
  }

  int RunOnce(const DriverIdentity& identity, const EngineOptions& engine_options, const UpgradePolicy& policy) {
    auto engine = UpgradeEngine::Create(identity, cluster_, engine_options);
    if (!engine.ok()) return Misconfigured(engine.status());
    const auto pass = (*engine)->Reconcile({.deadline = deadline_, .stop = stop_}, policy);
    if (!pass.ok()) return Refused(pass.status());
    (*engine)->Quiesce();
    return Ended("one pass made", pass->plan.totals);
  }

  int RunForGood(const DriverIdentity& identity, EngineOptions engine_options, const UpgradePolicy& policy) {
    DriverScope scope{.ns = engine_options.snapshot.ns, .driver_labels = engine_options.snapshot.driver_labels};
    if (const auto& requestor = engine_options.state_machine.requestor) scope.maintenance_ns = requestor->ns;
    auto cache = WatchCache::Create(cluster_, {.drivers = {scope}});
    if (!cache.ok()) return Misconfigured(cache.status());
    engine_options.cache = *cache;
    const auto metrics = std::make_shared<MetricsObserver>(identity);
    engine_options.observer = driverupgrade::MakeObserverGroup({metrics, engine_options.observer});
    auto engine = UpgradeEngine::Create(identity, cluster_, std::move(engine_options));
    if (!engine.ok()) return Misconfigured(engine.status());
    ControllerOptions controller_options;
    if (options_.leader_elect) {
      auto election = LeaderElection::Create(cluster_, {.ns = options_.lease_namespace,
                                                        .name = options_.lease_name,
                                                        .identity = options_.identity,
                                                        .lease_duration = options_.lease_duration,
                                                        .renew_deadline = options_.renew_deadline,
                                                        .retry_period = options_.retry_period});
      if (!election.ok()) return Misconfigured(election.status());
      controller_options.election = *std::move(election);
    }
    UpgradeController controller(**engine, *cache, std::move(controller_options));
    const MetricsCollector collector({[&] { return Figures(*metrics, controller); }},
                                     MetricsOptionsOf(identity, *cache));
    const auto servers = Serve(controller, collector);
    if (!servers.ok()) return Misconfigured(servers.status());
    controller.SetPolicy(policy);
    (*cache)->Start();
    const int exit_code = Loop(controller, **engine);
    controller.Stop();
    (*cache)->Stop();
    return exit_code;
  }

  MetricsOptions MetricsOptionsOf(const DriverIdentity& identity, std::shared_ptr<const WatchCache> cache) const {
    MetricsOptions options{.aliases = driverupgrade::GpuOperatorAliases(identity.Name()),
                           .watch_restarts = [cache = std::move(cache)] { return cache->Restarts(); }};
    if (requests_) options.requests = [requests = requests_] { return requests->Snapshot(); };
    return options;
  }

  static MetricsSnapshot Figures(const MetricsObserver& metrics, const UpgradeController& controller) {
    MetricsSnapshot figures = metrics.Snapshot();
    figures.leading = controller.status().leading;
    return figures;
  }

  // One server for each address; both kinds of pages may be at one.
  absl::StatusOr<std::vector<std::unique_ptr<WebServer>>> Serve(UpgradeController& controller,
                                                                const MetricsCollector& collector) {
    std::map<std::string, std::map<std::string, examples::PageMaker>> pages;
    if (!options_.health_address.empty()) {
      pages[options_.health_address]["/healthz"] = examples::ProbePage([&] { return controller.Healthy(); });
      pages[options_.health_address]["/readyz"] = examples::ProbePage([&] { return controller.Ready(); });
    }
    if (!options_.metrics_address.empty()) {
      pages[options_.metrics_address]["/metrics"] = [&]() -> examples::Page {
        return {.body = collector.Text(), .content_type = MetricsCollector::kContentType};
      };
    }
    std::vector<std::unique_ptr<WebServer>> servers;
    for (auto& [address, made] : pages) {
      absl::StatusOr<std::unique_ptr<WebServer>> server = WebServer::Start(address, std::move(made));
      if (!server.ok()) return server.status();
      Log(Severity::kInfo, "listening", {{"address", address}, {"port", fmt::format("{}", (*server)->port())}});
      servers.push_back(*std::move(server));
    }
    return servers;
  }

  int Loop(UpgradeController& controller, UpgradeEngine& engine) {
    absl::Status reported = absl::OkStatus();
    while (true) {
      const absl::Time next = controller.Step({.deadline = deadline_, .stop = stop_});
      const ControllerStatus status = controller.status();
      if (status.last_error != reported && !status.last_error.ok() && !absl::IsFailedPrecondition(status.last_error)) {
        Log(Severity::kWarning, "pass failed", {{"error", Text(status.last_error)}});
      }
      reported = status.last_error;
      // A look at all nodes only when the counts say that it may be worth it.
      const bool quiet = status.totals.total > 0 && status.totals.in_progress == status.totals.failed;
      if (options_.until_done && status.last_error.ok() && quiet && IsOver(engine.Everything())) {
        return Ended("rollout over", status.totals);
      }
      if (stop_.stop_requested() || clock_->Now() >= deadline_) return RanOut(status.totals);
      controller.Wait(std::min(next, deadline_), stop_);
    }
  }

  int Refused(const absl::Status& status) {
    Log(Severity::kError, "the cluster cannot be read", {{"error", Text(status)}});
    return kExitRefused;
  }

  int Misconfigured(const absl::Status& status) {
    Log(Severity::kError, "configuration", {{"error", Text(status)}});
    return kExitUsage;
  }

  int Ended(std::string what, const Tally& totals) {
    Log(Severity::kInfo, std::move(what), Counts(totals));
    return totals.failed > 0 ? kExitNotDone : kExitDone;
  }

  // To be stopped is how a service ends; a rollout that was to be ended is not.
  int RanOut(const Tally& totals) {
    const bool service = !options_.until_done && stop_.stop_requested();
    Log(service ? Severity::kInfo : Severity::kError,
        stop_.stop_requested() ? (service ? "stopped" : "stopped before the rollout was over") : "the time ran out",
        Counts(totals));
    return service ? kExitDone : kExitNotDone;
  }

  static Fields Counts(const Tally& totals) {
    return {{"nodes", fmt::format("{}", totals.total)},
            {"done", fmt::format("{}", totals.done)},
            {"failed", fmt::format("{}", totals.failed)},
            {"in_progress", fmt::format("{}", totals.in_progress)},
            {"pending", fmt::format("{}", totals.pending)}};
  }

  void Log(Severity severity, std::string message, Fields fields) {
    log_({.severity = severity, .message = std::move(message), .fields = std::move(fields)});
  }

  const Options& options_;
  const std::shared_ptr<ClusterFacade> cluster_;
  const std::shared_ptr<const RequestMeter> requests_;
  const LogSink log_;
  const std::stop_token stop_;
  const std::shared_ptr<Clock> clock_;
  const absl::Time deadline_;
};

int Misconfigured(const LogSink& log, const absl::Status& status) {
  log({.severity = Severity::kError, .message = "configuration", .fields = {{"error", Text(status)}}});
  return kExitUsage;
}

}  // namespace

int RunRollout(const Options& options, const Configuration& configuration, std::shared_ptr<ClusterFacade> cluster,
               const LogSink& log, std::stop_token stop, std::shared_ptr<const RequestMeter> requests) {
  const absl::StatusOr<DriverIdentity> identity = DriverIdentity::Create("nvidia.com", "gpu");
  if (!identity.ok()) return Misconfigured(log, identity.status());
  EngineOptions engine_options{
      .snapshot = {.ns = options.ns,
                   .driver_labels = configuration.driver_labels,
                   .uses_driver = [](const CallContext&, const driverupgrade::Pod& pod) { return UsesGpu(pod); }},
      .observer = driverupgrade::MakeLoggingObserver(*identity, log)};
  engine_options.executor.events = options.transition_events || options.finding_events;
  engine_options.executor.transition_events = options.transition_events;
  engine_options.executor.finding_events = options.finding_events;
  // An API server answers hardly more writes a second to 32 senders than to 8, and each is a connection to set up.
  engine_options.executor.calls_in_flight = 8;
  engine_options.state_machine.requestor = configuration.requestor;
  if (options.ledger) engine_options.ledger = {.ns = options.ledger_namespace, .name = options.ledger_name};
  if (!options.validation_selector.empty()) {
    absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(options.validation_selector);
    if (!selector.ok()) return Misconfigured(log, selector.status());
    engine_options.state_machine.validation_selector = *std::move(selector);
  }
  if (!configuration.policy.auto_upgrade && options.until_done) {
    return Misconfigured(log, absl::InvalidArgumentError("autoUpgrade is false: nothing would ever be done"));
  }
  UpgradePolicy policy = configuration.policy;
  if (const absl::Status spared = examples::SpareSkippedPods(*identity, policy); !spared.ok()) {
    return Misconfigured(log, spared);
  }
  return Program(options, std::move(cluster), log, std::move(stop), std::move(requests))
      .Run(*identity, std::move(engine_options), policy);
}

}  // namespace gpu_operator
