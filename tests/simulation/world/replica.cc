#include "simulation/world/replica.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "driverupgrade/observer.h"
#include "driverupgrade/snapshot_builder.h"
#include "fmt/format.h"
#include "simulation/world/liveness.h"

namespace driverupgrade::testing::internal {
namespace {

constexpr absl::Duration kClockSetEvery = absl::Minutes(10);
// Interval at which a clock at half or double rate is corrected. Just before a correction, the clock's error is close
// to the maximum that timers on nodes tolerate (I10).
constexpr absl::Duration kFastClockSetEvery = absl::Minutes(4);
// A WatchCache waits for at most half a minute, according to a clock that may be slow and may be set back during the
// wait.
constexpr absl::Duration kWatchPatience = absl::Minutes(5);
constexpr absl::Duration kTurnPauseMin = absl::Milliseconds(500);
// If a fault makes an eviction return 404, the engine believes the response. It repeats the eviction after half a
// minute, according to a clock that may be slow.
constexpr absl::Duration kFaultsAreBelieved = absl::Minutes(1);
constexpr absl::Duration kTurnPauseMax = absl::Seconds(20);
// Within kTurnPauseMax, a clock at double rate would measure more than half a minute, after which the engine repeats
// requests whose effects it has not seen (I13).
constexpr absl::Duration kFastTurnPauseMax = absl::Seconds(10);
constexpr absl::Duration kReleaseTimeout = absl::Minutes(2);
constexpr absl::Duration kReleasePause = absl::Seconds(1);
constexpr char kValidatorPods[] = "app=validator";

// Counts the gates of waiting nodes, and stores the reported reasons.
class GateObserver final : public Observer {
 public:
  GateObserver(World& world, const Clock& clock, bool& knows_all, ToldReasons& told,
               std::function<void(const Plan&)> judge)
      : world_(world), clock_(clock), knows_all_(knows_all), told_(told), judge_(std::move(judge)) {}
  void OnPlan(const Plan& plan) override {
    judge_(plan);
    knows_all_ = plan.finished;
    told_.Follow(plan, clock_.Now());
    if (!plan.finished) world_.CameBy(Mode::kShortPasses);
    for (const NodeGate& gate : plan.gates) ++world_.result.gates[gate.gate.reason];
    if (world_.trace.on() && !plan.nodes.empty()) {
      for (const NodePlan& node : plan.nodes) world_.trace.Line("  plan {}", driverupgrade::Describe(node));
    }
  }
  void OnPassEnded(const PassOutcome&) override { ++world_.result.passes; }

 private:
  World& world_;
  const Clock& clock_;
  bool& knows_all_;
  ToldReasons& told_;
  const std::function<void(const Plan&)> judge_;
};

// I11: a log line is a single line of printable characters, regardless of the data on nodes.
LogSink MakeSuspiciousSink(InvariantChecker& checker) {
  return [&checker](const LogRecord& record) { checker.CheckLogLine(FormatLogfmt(record)); };
}

std::shared_ptr<SkewedClock> MakeClock(const World& world, Random& random) {
  const bool skew = world.setup.Has(Fault::kClockSkew);
  const absl::Duration ahead = world.setup.Has(Mode::kClockSetBack) ? kSetBacks * kSetBack : absl::ZeroDuration();
  // The election requires that clock rates differ by a factor of less than 1.5.
  const int rate = skew ? random.Pick({85, 100, 100, 115}) : 100;
  const absl::Duration offset = skew ? random.Between(-absl::Seconds(40), absl::Seconds(40)) : absl::ZeroDuration();
  if (!world.setup.Has(Mode::kClockRates)) {
    return std::make_shared<SkewedClock>(world.clock, ahead + offset, rate, kClockSetEvery);
  }
  // All replicas get the same rate.
  return std::make_shared<SkewedClock>(world.clock, ahead + offset, Random(world.seed, "clock rate").Pick({50, 200}),
                                       kFastClockSetEvery);
}

}  // namespace

absl::Time SkewedClock::PeriodOf(absl::Time base) const { return begin_ + absl::Floor(base - begin_, set_every_); }

absl::Time SkewedClock::ToBase(absl::Time local) const {
  if (local == absl::InfiniteFuture() || local == absl::InfinitePast()) return local;
  const absl::Time now = base_->Now();
  const absl::Duration left = absl::Ceil((local - Now()) * 100 / rate_percent_, absl::Milliseconds(1));
  return std::min(now + left, std::max(local - offset_, PeriodOf(now) + set_every_));
}

Replica::Replica(World& world, const Driver& driver, LateRequests& late, int number)
    : world_(world),
      driver_(driver),
      of_operator_(world.IsOfOperator(driver)),
      mutant_(MutantOf(world.options)),
      late_(late),
      number_(number),
      random_(world.seed, fmt::format("replica-{}", number)),
      hook_random_(world.seed, fmt::format("hooks-{}", number)),
      wire_random_(world.seed, fmt::format("wire-{}", number)),
      clock_(MakeClock(world, random_)),
      due_(world.Now() + random_.Between(absl::ZeroDuration(), absl::Seconds(3))) {
  if (world.setup.Has(Fault::kClockSkew)) world.Fired(Fault::kClockSkew);
  if (world.setup.Has(Mode::kClockRates)) world.CameBy(Mode::kClockRates);
}

Replica::~Replica() = default;

void Replica::MakeElection(const std::string& name) {
  // The replicas may be of two versions, which use different timeouts.
  LeaderElectionOptions options{
      .ns = driver_.ns, .name = "driver-upgrade", .identity = name, .seed = world_.seed, .clock = clock_};
  if (number_ % 2 == 1 && Random(world_.seed, "long leases").Percent(40)) {
    options.lease_duration = absl::Seconds(60);
    options.renew_deadline = absl::Seconds(40);
    options.retry_period = absl::Seconds(5);
  }
  auto election = LeaderElection::Create(process_->honest, options);
  process_->election = *std::move(election);
  process_->cluster->ObeyLease(options.renew_deadline);
}

EngineOptions Replica::MakeEngineOptions() {
  told_ = {};
  std::vector<std::shared_ptr<Observer>> observers = {
      driver_.checker.MakeObserver(), std::make_shared<GateObserver>(world_, *clock_, plan_finished_, told_,
                                                                     [this](const Plan& plan) { Judge(plan); })};
  if (driver_.setup.Has(Fault::kGarbage)) {
    observers.push_back(MakeLoggingObserver(driver_.identity, MakeSuspiciousSink(driver_.checker)));
  }
  EngineOptions options{.snapshot = {.ns = driver_.ns, .driver_labels = driver_.labels},
                        .cache = process_->cache,
                        .clock = clock_,
                        .observer = MakeObserverGroup(std::move(observers))};
  if (driver_.setup.ledger) {
    options.ledger = AdmissionLedgerOptions{
        .ns = driver_.ns, .name = "driver-upgrades", .grants_max = static_cast<std::size_t>(driver_.setup.grants_max)};
  }
  if (driver_.setup.selects_nodes) options.snapshot.node_selector = *LabelSelector::Parse(kOwnNodes);
  if (driver_.setup.Has(Mode::kDevices)) options.snapshot.devices = {kDeviceDriver};
  options.executor.calls_in_flight = 1;
  if (driver_.setup.Has(Mode::kShortPasses)) options.nodes_per_pass = 2 - static_cast<int>(world_.seed % 2);
  options.executor.events = driver_.setup.events;
  if (driver_.setup.validation) options.state_machine.validation_selector = *LabelSelector::Parse(kValidatorPods);
  // kRestart is not possible, because no actor of the simulation restarts validation pods.
  options.state_machine.early_validation = EarlyValidation::kCount;
  if (driver_.setup.own_pod) {
    options.state_machine.own_pod = PodRef{.ns = kDriverNs, .name = kOperatorPod};
    options.state_machine.own_node = world_.NodeName(0);
  }
  if (driver_.setup.requestor) {
    options.state_machine.requestor = RequestorOptions{.id = kRequestor, .ns = kMaintenanceNs};
  }
  if (driver_.setup.restart_only) {
    const bool always = mutant_ != nullptr && mutant_->restarts_only;
    options.snapshot.restart_only = [always](const CallContext&, const Pod&, const ControllerRevision& running,
                                             const ControllerRevision& wanted) -> absl::StatusOr<bool> {
      if (always) return true;
      return SameTemplate(running, wanted);
    };
  }
  if (driver_.setup.hooks) {
    options.snapshot.uses_driver = [this](const CallContext&, const Pod& pod) -> absl::StatusOr<bool> {
      if (world_.May(Fault::kHooks) && hook_random_.Percent(10)) {
        world_.Fired(Fault::kHooks);
        if (hook_random_.Percent(50)) throw std::runtime_error("thrown on purpose");
        return absl::UnavailableError("the hook has failed on purpose");
      }
      const bool uses = pod.labels.contains("uses");
      if (pod.labels.contains("app") && pod.labels.at("app") == kManyPodsApp) world_.CameBy(Mode::kManyPods);
      return uses;
    };
  }
  return options;
}

WireSeam Replica::MakeSeam() {
  const std::shared_ptr<FaultyCluster> cluster = process_->cluster;
  WireSeam seam{.cluster = cluster, .many_objects = driver_.setup.Has(Mode::kManyPods)};
  seam.list_version = [cluster] { return std::to_string(cluster->list_version()); };
  seam.unseen = [guarded = process_->guarded](const std::function<void()>& read) {
    guarded->As(guarded->writer(), read);
  };
  seam.unanswered = [cluster](const std::function<void()>& write) { cluster->LoseAnswer(write); };
  seam.swallowed = [cluster](const std::function<void()>& write) { cluster->Swallow(write); };
  seam.draw = [this](int bound) { return wire_random_.Below(bound); };
  seam.breaks = [this] {
    const bool breaks = world_.May(Fault::kBytes) && wire_random_.PerMille(driver_.setup.call_faults_per_mille);
    if (breaks) world_.Fired(Fault::kBytes);
    if (breaks && process_->wire) process_->wire->NoteBreak();
    return breaks;
  };
  if (mutant_ != nullptr) {
    seam.change_request = mutant_->change_request;
    seam.change_answer = mutant_->change_answer;
  }
  seam.on_trouble = [cluster] { cluster->NoteWatchTrouble(); };
  return seam;
}

std::shared_ptr<ClusterFacade> Replica::MakeWire() {
  process_->wire =
      std::make_unique<ClearWire>([this](const std::string& wrong) { driver_.checker.Fail("I17", wrong); });
  WireSeam seam = MakeSeam();
  seam.cluster = process_->wire->Below(seam.cluster);
  return process_->wire->Above(world_.options.wire(std::move(seam)));
}

void Replica::Begin() {
  const std::string name = fmt::format("replica-{}.{}", number_, ++incarnation_);
  world_.trace.Line("{}: begins", name);
  process_ = std::make_unique<Process>();
  world_.processes += of_operator_;
  process_->guarded = driver_.checker.Guard(name);
  process_->cluster =
      std::make_shared<FaultyCluster>(world_, driver_.checker, process_->guarded, clock_, late_, random_, name);
  if (driver_.setup.Has(Mode::kInFlight)) {
    process_->tasks = std::make_shared<Tasks>(world_, process_->cluster, random_);
  }
  if (world_.options.host) return BeginHost(name);
  process_->honest = driver_.setup.wire ? MakeWire() : process_->cluster;
  process_->facade = process_->honest;
  if (mutant_ != nullptr) process_->facade = Mutate(*mutant_, process_->honest);
  if (driver_.setup.cache) {
    const std::optional<std::string> maintenance_ns =
        driver_.setup.requestor ? std::optional<std::string>(kMaintenanceNs) : std::nullopt;
    DriverScope scope{.ns = driver_.ns, .driver_labels = driver_.labels, .maintenance_ns = maintenance_ns};
    if (driver_.setup.Has(Mode::kDevices)) scope.devices = {kDeviceDriver};
    if (driver_.setup.selects_nodes) scope.node_selector = *LabelSelector::Parse(kOwnNodes);
    process_->cache = *WatchCache::Create(process_->facade, {.drivers = {scope}, .clock = clock_});
    turn_due_ = world_.Now();
  }
  if (driver_.setup.election) MakeElection(name);
  EngineOptions options = MakeEngineOptions();
  options.executor.runner = process_->tasks;
  auto engine = UpgradeEngine::Create(driver_.identity, process_->facade, std::move(options));
  if (!engine.ok()) {
    driver_.checker.Fail("setup", std::string(engine.status().message()));
    return;
  }
  process_->engine = *std::move(engine);
  const bool led = mutant_ == nullptr || !mutant_->ignores_the_election;
  process_->controller = std::make_unique<UpgradeController>(
      *process_->engine, process_->cache,
      ControllerOptions{.poll_interval = driver_.setup.poll_interval, .election = led ? process_->election : nullptr});
  process_->controller->SetPolicy(Believed(driver_.policy));
}

// The C interface does not use the replica's Lease, so the host accesses the Lease through an ordinary client.
void Replica::BeginHost(const std::string& name) {
  process_->honest = process_->cluster;
  if (driver_.setup.election) MakeElection(name);
  process_->host = world_.options.host({.wire = MakeSeam(),
                                        .identity = driver_.identity,
                                        .options = MakeEngineOptions(),
                                        .election = process_->election,
                                        .on_new_engine = [guarded = process_->guarded] { guarded->BeginEngine(); },
                                        .poll_interval = driver_.setup.poll_interval});
}

void Replica::End() {
  if (process_) world_.processes -= of_operator_;
  if (process_ && process_->tasks) process_->tasks->Drop();
  process_.reset();
  turn_due_ = absl::InfiniteFuture();
}

UpgradePolicy Replica::Believed(UpgradePolicy policy) const {
  if (mutant_ != nullptr && mutant_->policy) mutant_->policy(policy);
  return policy;
}

absl::Time Replica::due() const { return AnyTask() ? world_.Now() : std::min(due_, turn_due_); }

void Replica::Wake() {
  due_ = world_.Now();
  if (driver_.setup.AnyFault()) next_check_ = world_.Now() + driver_.setup.ByClocks(kFaultsAreBelieved);
}

void Replica::SetClockBack() {
  clock_->Jump(-kSetBack);
  // After the jump, a response that arrived earlier seems recent.
  next_check_ = world_.Now() + driver_.setup.ByClocks(kFaultsAreBelieved);
  world_.CameBy(Mode::kClockSetBack);
}

void Replica::OnChange() {
  if (!driver_.setup.cache || turn_due_ <= world_.Now() + driver_.setup.watch_lag_max) return;
  turn_due_ = world_.Now() + random_.Between(absl::ZeroDuration(), driver_.setup.watch_lag_max);
}

void Replica::OnPolicy() {
  if (!process_ || !process_->controller || busy_) return;  // Step sets the policy before its next pass
  process_->controller->SetPolicy(Believed(driver_.policy));
  due_ = std::min(due_, world_.Now());
}

// Runs the cache and then the controller. Returns when the next turn is due.
absl::Time Replica::Turn() {
  Process& process = *process_;
  if (process.host) return HostedTurn();
  if (process.cache && turn_due_ <= world_.Now()) {
    turn_due_ = absl::InfiniteFuture();
    process.cache->Turn({});
    // Each failed watch waits before it restarts. Frequent turns ensure that no restart is missed.
    if (process.cluster->TakeWatchTrouble()) trouble_until_ = world_.Now() + kWatchPatience;
    const absl::Duration pause_max = driver_.setup.Has(Mode::kClockRates) ? kFastTurnPauseMax : kTurnPauseMax;
    turn_pause_ = world_.Now() < trouble_until_ ? std::min(2 * turn_pause_, pause_max) : kTurnPauseMin;
    // After a clock is set back, the watches wait even longer.
    if (driver_.setup.ClocksJump()) trouble_until_ = absl::InfiniteFuture();
    if (world_.Now() < trouble_until_) turn_due_ = std::min(turn_due_, world_.Now() + turn_pause_);
  }
  if (process.cluster->crashed()) return absl::InfiniteFuture();
  pass_policy_ = Believed(driver_.policy);
  process.controller->SetPolicy(pass_policy_);
  process.guarded->BeginPass();
  return clock_->ToBase(process.controller->Step({}));
}

absl::Time Replica::HostedTurn() {
  process_->guarded->BeginPass();
  const UpgradePolicy policy = driver_.policy;  // the policy may change during the turn
  ++world_.result.passes;
  return clock_->ToBase(process_->host->Step(policy, clock_->Now()));
}

void Replica::MakeWay() {
  Sleep(world_.Now() + kReleasePause);
  if (number_ == 0) return GiveBack();
  Stop();
  End();
}

absl::StatusOr<bool> Replica::Release() {
  if (process_->host) return process_->host->Release(clock_->Now());
  const auto result = process_->engine->Release({.deadline = clock_->Now() + kReleaseTimeout});
  if (!result.ok()) return result.status();
  return !result->plan.nodes.empty();
}

// Releases the nodes after the other replicas have stopped.
void Replica::GiveBack() {
  if (!process_) Begin();
  if (world_.Broken() || world_.processes > 1) return;
  Process& process = *process_;
  if (!std::exchange(process.releases, true)) {
    if (process.controller) process.controller->Stop();
    process.cluster->BeginRelease();
    process.guarded->BeginRelease();
  }
  const std::int64_t revision = driver_.checker.revision();
  const std::int64_t troubles = process.cluster->troubles();
  const absl::StatusOr<bool> any = Release();
  if (any.ok() && !*any && !process.cluster->knows_maintenances()) {
    world_.checker->Fail("L2", "all is released, although the NodeMaintenances could not be read");
  }
  // Releases again if the cluster has changed in the meantime, because a replica may have missed a change after a
  // fault.
  const bool undisturbed = driver_.checker.revision() == revision && process.cluster->troubles() == troubles;
  due_ = world_.Now() + kReleasePause;
  if (!any.ok() || *any || !undisturbed || process.cluster->crashed()) return;
  const std::string left = driver_.setup.Has(Fault::kStaleRead) ? "" : WhatIsNotGivenBack(world_);
  if (!left.empty()) world_.checker->Fail("L2", left);
  world_.CameBy(Mode::kRelease);
  world_.trace.Line("all nodes are given back");
  End();
  world_.releasing = false;
  world_.installed_at = due_ = world_.Now() + random_.Between(kReleasePause, absl::Minutes(3));
}

void Replica::MakePass() {
  if (!process_) Begin();
  if (world_.Broken()) return;
  if (world_.May(Fault::kClockSkew) && random_.PerMille(2))
    clock_->Jump(random_.Between(-kClockJumpMax, kClockJumpMax));
  const std::int64_t revision = driver_.checker.revision();
  const std::int64_t troubles = process_->cluster->troubles();
  const int passes = process_->controller ? process_->controller->status().passes : 0;
  // A pass that runs while a call is in flight uses current knowledge.
  const std::optional<Writer> outer = process_->cluster->ExchangeSender(std::nullopt);
  const absl::Time next = Turn();
  const bool undisturbed = driver_.checker.revision() == revision && process_->cluster->troubles() == troubles;
  const bool in_flight = process_->tasks && !process_->tasks->idle();
  process_->cluster->ExchangeSender(outer);
  if (undisturbed && !in_flight && process_->controller && process_->controller->status().passes > passes)
    CheckWhatItSays();
  due_ = std::max(IsRemoved() ? world_.Now() : next, world_.Now() + absl::Milliseconds(1));
}

void Replica::RunTask() {
  process_->tasks->RunNext();
  due_ = std::min(due_, world_.Now());
  if (!busy_) BuryTheDead();
}

// Destroys the crashed process once its calls in flight have failed.
void Replica::BuryTheDead() {
  if (!process_ || !process_->cluster->crashed()) return;
  if (process_->tasks) process_->tasks->Drop();
  if (HasCallsInFlight()) return;
  world_.trace.Line("replica-{}.{}: crashed", number_, incarnation_);
  End();
  due_ = world_.Now() + random_.Between(absl::Milliseconds(100), absl::Minutes(1));
}

void Replica::Sleep(absl::Time until) {
  turn_due_ = absl::InfiniteFuture();
  due_ = until;
}

void Replica::Step() {
  if (AnyTask()) return RunTask();
  const bool removed = IsRemoved();
  if (HasCallsInFlight() && (removed || process_->cluster->crashed())) return Sleep(world_.Now() + kReleasePause);
  if (of_operator_ && !removed && world_.Now() < world_.installed_at) return Sleep(world_.installed_at);
  busy_ = true;
  if (removed) {
    MakeWay();
  } else {
    MakePass();
  }
  busy_ = false;
  BuryTheDead();
}

void Replica::Stop() {
  if (process_ && process_->controller) process_->controller->Stop();
  if (process_ && process_->host) process_->host->Stop();
}

}  // namespace driverupgrade::testing::internal
