#include "support/upgrade_service.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "driverupgrade/snapshot_builder.h"
#include "fmt/format.h"
#include "support/await_server.h"
#include "support/ledger_entry.h"
#include "support/metrics_sum.h"
#include "support/web_server.h"

namespace examples {
namespace {

using driverupgrade::AttemptLog;
using driverupgrade::CallContext;
using driverupgrade::Clock;
using driverupgrade::EngineOptions;
using driverupgrade::LeaderElection;
using driverupgrade::LogSink;
using driverupgrade::MetricsCollector;
using driverupgrade::MetricsObserver;
using driverupgrade::MetricsOptions;
using driverupgrade::MetricsSnapshot;
using driverupgrade::ReconcileResult;
using driverupgrade::Severity;
using driverupgrade::Tally;
using driverupgrade::UpgradeEngine;
using driverupgrade::WatchRestart;

constexpr absl::Duration kLookAgain = absl::Seconds(1);
// For the director's own calls in one round.
constexpr absl::Duration kWorkTimeout = absl::Seconds(30);
constexpr absl::Duration kPrepareAgain = absl::Seconds(5);
constexpr absl::Duration kReleaseTimeout = absl::Seconds(5);
// A round may last as long as a pass and the director's calls.
constexpr absl::Duration kRoundMax = absl::Minutes(5);

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields Counts(const Tally& totals) {
  return {{"nodes", fmt::format("{}", totals.total)},
          {"done", fmt::format("{}", totals.done)},
          {"failed", fmt::format("{}", totals.failed)},
          {"in_progress", fmt::format("{}", totals.in_progress)},
          {"pending", fmt::format("{}", totals.pending)}};
}

class Service {
 public:
  Service(const ServiceOptions& options, const Connection& connection, Director& director,
          std::shared_ptr<Doorbell> bell, LogSink log, std::stop_token stop)
      : options_(options),
        arguments_(options.arguments),
        connection_(connection),
        director_(director),
        bell_(std::move(bell)),
        log_(std::move(log)),
        stop_(std::move(stop)),
        clock_(options.engine.clock ? options.engine.clock : driverupgrade::SystemClock()),
        deadline_(clock_->Now() + arguments_.timeout),
        engine_(EngineBase()) {}

  int Run() { return arguments_.once ? RunOnce() : RunForGood(); }

 private:
  EngineOptions EngineBase() const {
    EngineOptions engine = options_.engine;
    engine.snapshot.ns = arguments_.ns;
    SetOwnPod(arguments_, engine.state_machine);
    engine.executor.events = arguments_.transition_events || arguments_.finding_events;
    engine.executor.transition_events = arguments_.transition_events;
    engine.executor.finding_events = arguments_.finding_events;
    // An API server answers hardly more writes a second to 32 senders than to 8, and each is a connection to set up.
    engine.executor.calls_in_flight = 8;
    if (arguments_.ledger) engine.ledger = {.ns = arguments_.ledger_namespace, .name = arguments_.ledger_name};
    return engine;
  }

  // Whatever is wrong with the credentials or the permissions is best said before anything begins; a server that is
  // overloaded or away is waited for. The first look repeats no request, so that its refusal is told at once.
  absl::Status Look() {
    AttemptLog none;
    driverupgrade::SnapshotOptions snapshot = engine_.snapshot;
    snapshot.driver_labels = options_.probe_labels;
    auto cluster = connection_.once ? connection_.once : connection_.cluster;
    return Await([&] {
      driverupgrade::SnapshotBuilder probe(options_.identity, std::exchange(cluster, connection_.cluster), snapshot);
      return probe.Build({.deadline = deadline_, .stop = stop_}, none).status();
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
    const absl::Status prepared = Await([this] { return director_.Prepare(Bounded()); });
    if (!prepared.ok()) return Refused(prepared);
    Tally totals;
    for (const EngineSpec& spec : *wanted) {
      EngineOptions engine_options = EngineOptionsOf(engine_, spec);
      engine_options.observer = driverupgrade::MakeLoggingObserver(options_.identity, log_);
      auto engine =
          UpgradeEngine::Create(options_.identity, WithLedgerEntry(connection_.cluster, options_.identity, spec.name),
                                std::move(engine_options));
      if (!engine.ok()) return Misconfigured(log_, engine.status());
      absl::StatusOr<ReconcileResult> pass;
      const absl::Status passed = Await([&] {
        pass = (*engine)->Reconcile({.deadline = deadline_, .stop = stop_}, spec.policy);
        return pass.status();
      });
      if (!passed.ok()) return Refused(passed);
      (*engine)->Quiesce();
      totals += pass->plan.totals;
    }
    Log(Severity::kInfo, "one pass made", Counts(totals));
    return totals.failed > 0 ? kExitNotDone : kExitDone;
  }

  int RunForGood() {
    if (arguments_.leader_elect) {
      auto election = LeaderElection::Create(connection_.cluster, {.ns = arguments_.lease_namespace,
                                                                   .name = arguments_.lease_name,
                                                                   .identity = arguments_.identity,
                                                                   .lease_duration = arguments_.lease_duration,
                                                                   .renew_deadline = arguments_.renew_deadline,
                                                                   .retry_period = arguments_.retry_period});
      if (!election.ok()) return Misconfigured(log_, election.status());
      election_ = *std::move(election);
    }
    const MetricsCollector collector({[this] { return Figures(); }}, MetricsOptionsOf());
    const auto servers = Serve(collector);
    if (!servers.ok()) return Misconfigured(log_, servers.status());
    // The pages are served meanwhile: who waits for the server is alive, and not ready.
    const absl::Status seen = Look();
    if (!seen.ok()) return stop_.stop_requested() ? RanOut({}) : Refused(seen);
    const int exit_code = Loop();
    if (const auto group = Exchange(nullptr)) group->Quiesce();
    if (election_) election_->Release({.deadline = clock_->Now() + kReleaseTimeout}).IgnoreError();
    return exit_code;
  }

  int Loop() {
    while (true) {
      NoteRound(clock_->Now());
      const absl::StatusOr<absl::Time> next = Round();
      NoteRound(absl::InfiniteFuture());
      if (!next.ok()) return Misconfigured(log_, next.status());
      if (const std::optional<int> exit_code = RolloutOver()) return *exit_code;
      if (stop_.stop_requested() || clock_->Now() >= deadline_) return RanOut(group_ ? group_->totals() : Tally{});
      bell_->Wait(std::min(*next, deadline_), *clock_, stop_);
    }
  }

  // The exit code if nothing more happens without a person.
  std::optional<int> RolloutOver() {
    if (!arguments_.until_done) return std::nullopt;
    if (known_ && !group_) {
      Log(Severity::kError, "no policy: nothing is upgraded", {});
      return kExitNotDone;
    }
    const std::optional<RolloutEnd> end = group_ ? group_->End() : std::nullopt;
    if (!end) return std::nullopt;
    Fields fields = Counts(end->totals);
    if (end->left_out > 0) fields.emplace_back("left_out", fmt::format("{}", end->left_out));
    if (end->frozen > 0) fields.emplace_back("frozen", fmt::format("{}", end->frozen));
    Log(end->IsGood() ? Severity::kInfo : Severity::kError,
        IsFrozen() ? "autoUpgrade is off: nothing is upgraded" : "rollout over", std::move(fields));
    return end->IsGood() ? kExitDone : kExitNotDone;
  }

  bool IsFrozen() const {
    const std::vector<EngineSpec>& specs = group_->specs();
    return std::none_of(specs.begin(), specs.end(), [](const EngineSpec& spec) { return spec.policy.auto_upgrade; });
  }

  void NoteRound(absl::Time began) {
    const std::lock_guard lock(mutex_);
    round_began_ = began;
  }

  // Returns when to come again. Errors: of engines that cannot work at all.
  absl::StatusOr<absl::Time> Round() {
    absl::Time next = absl::InfiniteFuture();
    if (election_) next = TryToLead();
    const bool leads = !election_ || election_->IsLeader();
    if (const auto wanted = director_.Wanted()) {
      if (const absl::Status applied = Apply(*wanted); !applied.ok()) return applied;
    }
    if (leads && !prepared_ && !Prepare(next)) return next;
    if (leads) {
      const absl::Time again =
          director_.Work(Bounded(), group_ ? &group_->cache() : nullptr, group_ ? group_->specs().size() : 0);
      next = std::min(next, again);
    }
    if (group_) next = std::min(next, group_->Step({.deadline = deadline_, .stop = stop_}));
    return next;
  }

  // Returns when to try again. What hinders it is told once.
  absl::Time TryToLead() {
    const absl::Time next = election_->Step({.deadline = deadline_, .stop = stop_});
    const absl::Status status = election_->status();
    const bool news = !status.ok() && status.code() != lead_failure_.code();
    if (news) Log(Severity::kWarning, "cannot take or renew the Lease", {{"error", Words(status)}});
    lead_failure_ = status;
    return next;
  }

  bool Prepare(absl::Time& next) {
    if (clock_->Now() < prepare_at_) {
      next = std::min(next, prepare_at_);
      return false;
    }
    const absl::Status done = director_.Prepare(Bounded());
    prepared_ = done.ok();
    if (prepared_) return true;
    if (done != prepare_failure_) Log(Severity::kWarning, "cannot begin", {{"error", Words(done)}});
    prepare_failure_ = done;
    prepare_at_ = clock_->Now() + kPrepareAgain;
    next = std::min(next, prepare_at_);
    return false;
  }

  // As a leader's calls have to be.
  CallContext Bounded() const {
    absl::Time deadline = std::min(deadline_, clock_->Now() + kWorkTimeout);
    if (election_) deadline = std::min(deadline, election_->LeadsUntil().value_or(clock_->Now()));
    return {.deadline = deadline, .stop = stop_};
  }

  absl::Status Apply(const std::vector<EngineSpec>& wanted) {
    {
      const std::lock_guard lock(mutex_);
      known_ = true;
      if (!group_ && wanted.empty()) return absl::OkStatus();
      if (group_ && SameEngines(group_->specs(), wanted)) {
        if (group_->specs() != wanted) group_->SetPolicies(wanted);
        return absl::OkStatus();
      }
    }
    if (const auto before = Exchange(nullptr)) {
      before->Quiesce();
      for (const auto& [reason, count] : before->cache().Restarts()) restarts_before_[reason] += count;
    }
    if (wanted.empty()) return absl::OkStatus();
    const std::lock_guard lock(mutex_);
    auto group = EngineGroup::Create({.identity = options_.identity,
                                      .cluster = connection_.cluster,
                                      .engine = engine_,
                                      .more_scopes = options_.more_scopes,
                                      .parallel_total = options_.parallel_total,
                                      .election = election_,
                                      .bell = bell_,
                                      .log = log_},
                                     wanted, figures_);
    if (!group.ok()) return group.status();
    group_ = *std::move(group);
    group_->Start();
    return absl::OkStatus();
  }

  std::unique_ptr<EngineGroup> Exchange(std::unique_ptr<EngineGroup> group) {
    const std::lock_guard lock(mutex_);
    return std::exchange(group_, std::move(group));
  }

  MetricsOptions MetricsOptionsOf() {
    MetricsOptions options{.aliases = options_.aliases, .watch_restarts = [this] { return Restarts(); }};
    if (connection_.requests) options.requests = [requests = connection_.requests] { return requests->Snapshot(); };
    return options;
  }

  std::map<WatchRestart, std::uint64_t> Restarts() const {
    const std::lock_guard lock(mutex_);
    auto restarts = restarts_before_;
    for (const WatchRestart reason : driverupgrade::kAllWatchRestarts) restarts.try_emplace(reason, 0);
    if (!group_) return restarts;
    for (const auto& [reason, count] : group_->cache().Restarts()) restarts[reason] += count;
    return restarts;
  }

  MetricsSnapshot Figures() const {
    const std::lock_guard lock(mutex_);
    std::vector<MetricsSnapshot> running;
    std::vector<MetricsSnapshot> ended;
    bool paused = false;
    std::map<std::string, const EngineSpec*> now;
    if (group_) {
      for (const EngineSpec& spec : group_->specs()) now[spec.name] = &spec;
    }
    for (const auto& [name, observer] : figures_) {
      (now.contains(name) ? running : ended).push_back(observer->Snapshot());
    }
    // The pause by which a share of nothing is given is not the policy's.
    for (const auto& [_, spec] : now) paused = paused || spec->policy.paused;
    MetricsSnapshot sum = SumFigures(running, ended, MetricsObserver(options_.identity).Snapshot());
    sum.paused = paused;
    sum.leading = !election_ || election_->IsLeader();
    return sum;
  }

  absl::Status Healthy() const {
    const std::lock_guard lock(mutex_);
    if (clock_->Now() > round_began_ + kRoundMax) {
      return absl::DeadlineExceededError(
          fmt::format("a round has been running since {}", absl::FormatTime(round_began_)));
    }
    return group_ ? group_->Healthy() : absl::OkStatus();
  }

  absl::Status Ready() const {
    if (const absl::Status ready = director_.Ready(); !ready.ok()) return ready;
    const std::lock_guard lock(mutex_);
    if (!known_) return absl::UnavailableError("the policy has not been read yet");
    return group_ ? group_->Ready() : absl::OkStatus();
  }

  // One server for each address; both kinds of pages may be at one.
  absl::StatusOr<std::vector<std::unique_ptr<WebServer>>> Serve(const MetricsCollector& collector) {
    std::map<std::string, std::map<std::string, PageMaker>> pages;
    if (!arguments_.health_address.empty()) {
      pages[arguments_.health_address]["/healthz"] = ProbePage([this] { return Healthy(); });
      pages[arguments_.health_address]["/readyz"] = ProbePage([this] { return Ready(); });
    }
    if (!arguments_.metrics_address.empty()) {
      pages[arguments_.metrics_address]["/metrics"] = [&collector]() -> Page {
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

  int Refused(const absl::Status& status) {
    Log(Severity::kError, "the cluster cannot be read", {{"error", Words(status)}});
    return kExitRefused;
  }

  // To be stopped is how a service ends; a rollout that was to be ended is not.
  int RanOut(const Tally& totals) {
    const bool service = !arguments_.until_done && stop_.stop_requested();
    Log(service ? Severity::kInfo : Severity::kError,
        stop_.stop_requested() ? (service ? "stopped" : "stopped before the rollout was over") : "the time ran out",
        Counts(totals));
    return service ? kExitDone : kExitNotDone;
  }

  void Log(Severity severity, std::string message, Fields fields) {
    log_({.severity = severity, .message = std::move(message), .fields = std::move(fields)});
  }

  const ServiceOptions& options_;
  const ServiceArguments& arguments_;
  const Connection& connection_;
  Director& director_;
  const std::shared_ptr<Doorbell> bell_;
  const LogSink log_;
  const std::stop_token stop_;
  const std::shared_ptr<Clock> clock_;
  const absl::Time deadline_;
  const EngineOptions engine_;
  std::shared_ptr<LeaderElection> election_ = nullptr;
  absl::Status lead_failure_ = absl::OkStatus();
  bool prepared_ = false;
  absl::Status prepare_failure_ = absl::OkStatus();
  absl::Time prepare_at_ = absl::InfinitePast();
  // What the servers' threads look at.
  mutable std::mutex mutex_;
  bool known_ = false;
  FiguresByName figures_;
  std::map<WatchRestart, std::uint64_t> restarts_before_;
  absl::Time round_began_ = absl::InfiniteFuture();
  std::unique_ptr<EngineGroup> group_;
};

}  // namespace

int Misconfigured(const LogSink& log, const absl::Status& status) {
  log({.severity = Severity::kError, .message = "configuration", .fields = {{"error", Words(status)}}});
  return kExitUsage;
}

int RunService(const ServiceOptions& options, const Connection& connection, Director& director,
               const std::shared_ptr<Doorbell>& bell, const LogSink& log, std::stop_token stop) {
  return Service(options, connection, director, bell, log, std::move(stop)).Run();
}

}  // namespace examples
