#include "driverupgrade/service/upgrade_service.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "fmt/format.h"
#include "report/rollout_document.h"
#include "service/engine_group.h"
#include "service/finding_counts.h"
#include "service/giving_back.h"
#include "service/metrics_sum.h"
#include "service/reported_options.h"
#include "service/reported_policies.h"
#include "service/rollout_board.h"
#include "service/rollout_pages.h"
#include "service/web_server.h"

namespace driverupgrade {
namespace {

using internal::EngineGroup;
using internal::FiguresByName;
using internal::GivingBack;
using internal::GroupOptions;
using internal::Page;
using internal::PageMaker;
using internal::PageRequest;
using internal::ProbePage;
using internal::RolloutBoard;
using internal::WebServer;

// Time limit of the director's own calls in one round.
constexpr absl::Duration kWorkTimeout = absl::Seconds(30);
constexpr absl::Duration kPrepareAgain = absl::Seconds(5);
constexpr absl::Duration kReleaseTimeout = absl::Seconds(5);
// Time after which a round counts as hung. A round may take as long as a pass plus the director's calls.
constexpr absl::Duration kRoundMax = absl::Minutes(5);

ServiceOptions Completed(ServiceOptions options) {
  if (!options.engine.clock) options.engine.clock = SystemClock();
  if (options.election && !options.election->clock) options.election->clock = options.engine.clock;
  if (!options.bell) options.bell = std::make_shared<Doorbell>();
  if (!options.log) options.log = [](const LogRecord&) {};
  return options;
}

}  // namespace

class UpgradeService::Impl {
 public:
  Impl(std::shared_ptr<ClusterFacade> cluster, Director& director, ServiceOptions options)
      : options_(Completed(std::move(options))),
        clock_(options_.engine.clock),
        cluster_(std::move(cluster)),
        director_(director),
        board_(options_.rollout_address.empty() && options_.rollout_secure_address.empty()
                   ? nullptr
                   : std::make_shared<RolloutBoard>(options_.identity, clock_, [this] { return EnginesNow(); })),
        giving_back_(GroupOptionsOf()),
        collector_({[this] { return Figures(); }}, MetricsOptionsOf()) {}

  // Performs the steps of creation that can fail.
  absl::Status Begin() {
    if (options_.election) {
      auto election = LeaderElection::Create(cluster_, *options_.election);
      if (!election.ok()) return election.status();
      election_ = *std::move(election);
      // Removes the report of an earlier leader.
      election_->Announce(options_.identity.PolicyAnnotation(), std::nullopt);
      election_->Announce(OptionsAnnotation(options_.identity), std::nullopt);
    }
    return Serve();
  }

  absl::StatusOr<absl::Time> Step(const CallContext& context) {
    NoteRound(clock_->Now());
    const absl::StatusOr<absl::Time> next = Round(context);
    NoteRound(absl::InfiniteFuture());
    return next;
  }

  void Wait(absl::Time until, const std::stop_token& stop) { options_.bell->Wait(until, *clock_, stop); }

  void Stop() {
    if (group_) group_->Quiesce();
    if (election_) election_->Release({.deadline = clock_->Now() + kReleaseTimeout}).IgnoreError();
  }

  absl::Status Healthy() const {
    const std::lock_guard lock(mutex_);
    if (clock_->Now() > round_began_ + kRoundMax) {
      return absl::DeadlineExceededError(
          fmt::format("a step of the service has been running since {}", absl::FormatTime(round_began_)));
    }
    return group_ ? group_->Healthy() : absl::OkStatus();
  }

  absl::Status Ready() const {
    if (const absl::Status ready = director_.Ready(); !ready.ok()) return ready;
    const std::lock_guard lock(mutex_);
    if (!known_) return absl::UnavailableError("the policy has not been read yet");
    return group_ ? group_->Ready() : absl::OkStatus();
  }

  std::string Metrics() const { return collector_.Text(); }

  std::string Rollout() const { return board_ == nullptr ? "" : internal::AtTime(*board_->Tell().text, clock_->Now()); }

  Tally totals() const {
    const std::lock_guard lock(mutex_);
    return group_ ? group_->totals() : Tally{};
  }

  std::optional<RolloutEnd> End() const {
    if (giving_back_.left() > 0) return std::nullopt;
    if (group_) return group_->End();
    return known_ ? std::optional(RolloutEnd{}) : std::nullopt;
  }

  const Clock& clock() const { return *clock_; }

 private:
  void NoteRound(absl::Time began) {
    const std::lock_guard lock(mutex_);
    round_began_ = began;
  }

  absl::StatusOr<absl::Time> Round(const CallContext& context) {
    absl::Time next = absl::InfiniteFuture();
    if (election_) next = TryToLead(context);
    const bool leads = !election_ || election_->IsLeader();
    if (const auto wanted = director_.Wanted()) {
      if (const absl::Status applied = Apply(*wanted); !applied.ok()) return applied;
      Report(*wanted);
    }
    if (leads && !prepared_ && !Prepare(context, next)) return next;
    if (leads) {
      next = std::min(next, giving_back_.Step(Bounded(context), director_.Gone()));
      if (group_) director_.OnProgress(group_->Progress());
      const absl::Time again =
          director_.Work(Bounded(context), group_ ? &group_->cache() : nullptr, group_ ? group_->specs().size() : 0);
      next = std::min(next, again);
    }
    if (group_) next = std::min(next, group_->Step(context));
    findings_.Note(leads ? director_.Findings() : std::vector<Finding>(), options_.log);
    return next;
  }

  // Returns the time of the next attempt. Logs a repeated failure only once.
  absl::Time TryToLead(const CallContext& context) {
    const absl::Time next = election_->Step(context);
    const absl::Status status = election_->status();
    // If engines run, they report the problem themselves.
    const bool news = !group_ && !status.ok() && status.code() != lead_failure_.code();
    if (news) Warn("cannot take or renew the Lease", status);
    lead_failure_ = status;
    return next;
  }

  bool Prepare(const CallContext& context, absl::Time& next) {
    if (clock_->Now() < prepare_at_) {
      next = std::min(next, prepare_at_);
      return false;
    }
    const absl::Status done = director_.Prepare(Bounded(context));
    prepared_ = done.ok();
    if (prepared_) return true;
    if (done != prepare_failure_) Warn("cannot start", done);
    prepare_failure_ = done;
    prepare_at_ = clock_->Now() + kPrepareAgain;
    next = std::min(next, prepare_at_);
    return false;
  }

  // Returns a context that limits a leader's calls.
  CallContext Bounded(const CallContext& context) const {
    absl::Time deadline = std::min(context.deadline, clock_->Now() + kWorkTimeout);
    if (election_) deadline = std::min(deadline, election_->LeadsUntil().value_or(clock_->Now()));
    return {.deadline = deadline, .stop = context.stop};
  }

  absl::Status Apply(const std::vector<EngineSpec>& wanted) {
    {
      const std::lock_guard lock(mutex_);
      known_ = true;
      if (!group_ && wanted.empty()) return absl::OkStatus();
      if (group_ && internal::SameEngines(group_->specs(), wanted)) {
        if (group_->specs() != wanted) group_->SetPolicies(wanted);
        return absl::OkStatus();
      }
    }
    if (const auto before = TakeGroup()) {
      before->Quiesce();
      for (const auto& [reason, count] : before->cache().Restarts()) restarts_before_[reason] += count;
    }
    if (wanted.empty()) return absl::OkStatus();
    return MakeGroup(wanted);
  }

  absl::Status MakeGroup(const std::vector<EngineSpec>& wanted) {
    auto group = [&] {
      const std::lock_guard lock(mutex_);
      return EngineGroup::Create(GroupOptionsOf(), wanted, figures_);
    }();
    if (!group.ok()) return group.status();
    for (const auto& [name, why] : (*group)->refused()) {
      options_.log({.severity = Severity::kError,
                    .message = "cannot create an engine",
                    .fields = {{"owner", name}, {"error", std::string(why.message())}}});
    }
    if (const absl::Status told = director_.OnRefused((*group)->refused()); !told.ok()) return told;
    (*group)->Start();
    const std::lock_guard lock(mutex_);
    group_ = *std::move(group);
    return absl::OkStatus();
  }

  // Announces the policies and options in effect, for readers of the Lease. Candidates also announce them: a new leader
  // writes its report with the update that acquires the Lease.
  void Report(const std::vector<EngineSpec>& wanted) {
    if (!election_ || reported_ == wanted) return;
    reported_ = wanted;
    AnnouncePolicies(wanted);
    // Without an engine, the last report is kept, because nodes may still have to be released.
    if (wanted.empty()) return;
    election_->Announce(OptionsAnnotation(options_.identity), internal::FormatReportedOptions(options_, wanted));
  }

  void AnnouncePolicies(const std::vector<EngineSpec>& wanted) {
    std::string text = group_ ? internal::FormatReportedPolicies(wanted, group_->refused()) : std::string();
    if (text.size() > internal::kReportedPoliciesMax) {
      options_.log({.severity = Severity::kWarning,
                    .message = "cannot report the policies in the Lease",
                    .fields = {{"bytes", fmt::format("{}", text.size())},
                               {"most", fmt::format("{}", internal::kReportedPoliciesMax)}}});
      text.clear();
    }
    election_->Announce(options_.identity.PolicyAnnotation(),
                        text.empty() ? std::nullopt : std::optional(std::move(text)));
  }

  GroupOptions GroupOptionsOf() const {
    return {.identity = options_.identity,
            .cluster = cluster_,
            .engine = options_.engine,
            .more_scopes = options_.more_scopes,
            .parallel_total = options_.parallel_total,
            .election = election_,
            .bell = options_.bell,
            .log = options_.log,
            .board = board_,
            .clock = clock_};
  }

  internal::EnginesSeen EnginesNow() const {
    internal::EnginesSeen seen{.leads = !election_ || election_->IsLeader()};
    if (options_.election) seen.replica = options_.election->identity;
    seen.trouble = std::string(Healthy().message());
    const std::lock_guard lock(mutex_);
    if (group_) seen.engines = group_->Statuses();
    return seen;
  }

  std::unique_ptr<EngineGroup> TakeGroup() {
    const std::lock_guard lock(mutex_);
    return std::move(group_);
  }

  MetricsOptions MetricsOptionsOf() {
    MetricsOptions options{.aliases = options_.aliases, .watch_restarts = [this] { return Restarts(); }};
    if (options_.requests) options.requests = [requests = options_.requests] { return requests->Snapshot(); };
    return options;
  }

  std::map<WatchRestart, std::uint64_t> Restarts() const {
    const std::lock_guard lock(mutex_);
    auto restarts = restarts_before_;
    for (const WatchRestart reason : kAllWatchRestarts) restarts.try_emplace(reason, 0);
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
    // Reports `paused` only if a policy sets it.
    for (const auto& [_, spec] : now) paused = paused || spec->policy.paused;
    MetricsSnapshot sum = internal::SumFigures(running, ended, MetricsObserver(options_.identity).Snapshot());
    sum.paused = paused;
    sum.giving_back = giving_back_.left();
    for (const auto& [code, count] : findings_.counts()) sum.findings[code] += count;
    sum.leading = !election_ || election_->IsLeader();
    return sum;
  }

  // Starts one server for each address. Probes and metrics may share an address.
  absl::Status Serve() {
    internal::PagesByAddress pages;
    if (!options_.health_address.empty()) {
      pages[options_.health_address].by_path["/healthz"] = ProbePage([this] { return Healthy(); });
      pages[options_.health_address].by_path["/readyz"] = ProbePage([this] { return Ready(); });
    }
    if (!options_.metrics_address.empty()) {
      pages[options_.metrics_address].by_path["/metrics"] = [this](const PageRequest&) -> Page {
        return {.body = Metrics(), .content_type = MetricsCollector::kContentType};
      };
    }
    if (board_ != nullptr) {
      const absl::Status added = internal::AddAllRolloutPages(options_, *board_, pages);
      if (!added.ok()) return added;
    }
    auto servers = internal::StartServers(std::move(pages), options_.log);
    if (!servers.ok()) return servers.status();
    servers_ = *std::move(servers);
    return absl::OkStatus();
  }

  void Warn(std::string message, const absl::Status& status) {
    options_.log({.severity = Severity::kWarning,
                  .message = std::move(message),
                  .fields = {{"error", std::string(status.message())}}});
  }

  const ServiceOptions options_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<ClusterFacade> cluster_;
  Director& director_;
  std::shared_ptr<LeaderElection> election_ = nullptr;
  const std::shared_ptr<RolloutBoard> board_;  // null: the rollout page is not served
  GivingBack giving_back_;
  std::optional<std::vector<EngineSpec>> reported_ = std::nullopt;
  internal::FindingCounts findings_;  // findings of the director
  absl::Status lead_failure_ = absl::OkStatus();
  bool prepared_ = false;
  absl::Status prepare_failure_ = absl::OkStatus();
  absl::Time prepare_at_ = absl::InfinitePast();
  // Read by the servers' threads.
  mutable std::mutex mutex_;
  bool known_ = false;
  FiguresByName figures_;
  std::map<WatchRestart, std::uint64_t> restarts_before_;
  absl::Time round_began_ = absl::InfiniteFuture();
  std::unique_ptr<EngineGroup> group_;
  const MetricsCollector collector_;
  // Declared last, and thus destroyed first: the threads of the servers use the other members.
  std::vector<std::unique_ptr<WebServer>> servers_;
};

absl::StatusOr<std::unique_ptr<UpgradeService>> UpgradeService::Create(std::shared_ptr<ClusterFacade> cluster,
                                                                       Director& director, ServiceOptions options) {
  if (cluster == nullptr) return absl::InvalidArgumentError("upgrade service: no cluster facade");
  auto impl = std::make_unique<Impl>(std::move(cluster), director, std::move(options));
  if (const absl::Status begun = impl->Begin(); !begun.ok()) return begun;
  return std::unique_ptr<UpgradeService>(new UpgradeService(std::move(impl)));
}

UpgradeService::UpgradeService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
UpgradeService::~UpgradeService() = default;

absl::Status UpgradeService::Run(const CallContext& context) {
  absl::Status ended = absl::OkStatus();
  while (ended.ok() && !context.stop.stop_requested()) {
    const absl::StatusOr<absl::Time> next = Step(context);
    ended = next.status();
    if (next.ok()) Wait(std::min(*next, context.deadline), context.stop);
    if (ended.ok() && impl_->clock().Now() >= context.deadline) {
      ended = absl::DeadlineExceededError("upgrade service: the timeout expired");
    }
  }
  Stop();
  return ended;
}

absl::StatusOr<absl::Time> UpgradeService::Step(const CallContext& context) { return impl_->Step(context); }
void UpgradeService::Wait(absl::Time until, const std::stop_token& stop) { impl_->Wait(until, stop); }
void UpgradeService::Stop() { impl_->Stop(); }
absl::Status UpgradeService::Healthy() const { return impl_->Healthy(); }
absl::Status UpgradeService::Ready() const { return impl_->Ready(); }
std::string UpgradeService::Metrics() const { return impl_->Metrics(); }
std::string UpgradeService::Rollout() const { return impl_->Rollout(); }
Tally UpgradeService::totals() const { return impl_->totals(); }
std::optional<RolloutEnd> UpgradeService::End() const { return impl_->End(); }

}  // namespace driverupgrade
