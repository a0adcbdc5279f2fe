#include "simulation/world/setup.h"

#include <algorithm>
#include <variant>

#include "fmt/format.h"
#include "simulation/world/mutants.h"

namespace driverupgrade::testing {

std::string_view ToString(Fault fault) {
  switch (fault) {
    case Fault::kConflict: return "F1 409";
    case Fault::kThrottled: return "F2 429";
    case Fault::kServerError: return "F3 5xx";
    case Fault::kNoConnection: return "F4 connection";
    case Fault::kTimeout: return "F5 timeout";
    case Fault::kAppliedNoAnswer: return "F6 applied, no answer";
    case Fault::kAppliedLate: return "F7 applied late";
    case Fault::kStaleRead: return "F8 stale list";
    case Fault::kWatchLost: return "F9 watch not begun";
    case Fault::kWatchBroken: return "F10 watch broken";
    case Fault::kWatchExpired: return "F11 410";
    case Fault::kListBroken: return "F12 list broken";
    case Fault::kNoBookmarks: return "F13 no bookmarks";
    case Fault::kForbidden: return "F14 401, 403, 404";
    case Fault::kCrash: return "F15 crash";
    case Fault::kStall: return "F16 stall, two leaders";
    case Fault::kClockSkew: return "F17 clock skew";
    case Fault::kNodeLifecycle: return "F18 nodes";
    case Fault::kStuckPods: return "F19 stuck pods";
    case Fault::kDriverTroubles: return "F20 driver pods";
    case Fault::kTemplateChange: return "F21 templates";
    case Fault::kAdministrator: return "F22 administrator";
    case Fault::kRival: return "F23 rival driver";
    case Fault::kHooks: return "F24 hooks";
    case Fault::kGarbage: return "F25 garbage";
    case Fault::kOutage: return "F26 outage";
    case Fault::kBytes: return "F27 bytes";
    case Fault::kMaintenance: return "F28 maintenance operator";
  }
  return "";
}

std::string_view ToString(Mode mode) {
  switch (mode) {
    case Mode::kRelease: return "release";
    case Mode::kTwoDrivers: return "two-drivers";
    case Mode::kInFlight: return "in-flight";
    case Mode::kWatchTwice: return "watch-twice";
    case Mode::kClockRates: return "clock-rates";
    case Mode::kLongOutage: return "long-outage";
    case Mode::kManyPods: return "many-pods";
    case Mode::kRollouts: return "rollouts";
    case Mode::kShortPasses: return "short-passes";
    case Mode::kClockSetBack: return "clock-set-back";
    case Mode::kGangs: return "gangs";
    case Mode::kDevices: return "devices";
    case Mode::kLabelRemover: return "label-remover";
    case Mode::kForeignCordons: return "foreign-cordons";
    case Mode::kNotReady: return "not-ready";
    case Mode::kWatchOrder: return "watch-order";
    case Mode::kBrokenDriver: return "broken-driver";
    case Mode::kAutoscaler: return "autoscaler";
    case Mode::kNoRoom: return "no-room";
  }
  return "";
}

namespace internal {
namespace {

absl::Duration DrawTimeout(Random& random) {
  return random.Pick(
      {absl::InfiniteDuration(), absl::Seconds(30), absl::Seconds(120), absl::Seconds(300), absl::Minutes(20)});
}

LabelSelector Selector(const char* text) { return *LabelSelector::Parse(text); }

void DrawEvacuation(Random& random, UpgradePolicy& policy) {
  if (random.Percent(30)) {
    policy.wait_for_completion =
        WaitForCompletionPolicy{.pod_selector = Selector("app=job"), .timeout = DrawTimeout(random)};
  }
  if (random.Percent(40)) {
    policy.pod_deletion = PodDeletionPolicy{.force = random.Percent(60),
                                            .delete_empty_dir = random.Percent(60),
                                            .pod_selector = Selector(random.Pick({"", "app=web", "uses in (driver)"})),
                                            .timeout = DrawTimeout(random),
                                            .on_timeout = random.Percent(30) ? OnTimeout::kDelete : OnTimeout::kFail};
  }
  if (random.Percent(70)) {
    policy.drain = DrainPolicy{.force = random.Percent(60),
                               .delete_empty_dir = random.Percent(60),
                               .pod_selector = Selector(random.Pick({"", "", "app!=bare"})),
                               .timeout = DrawTimeout(random),
                               .on_timeout = random.Percent(30) ? OnTimeout::kDelete : OnTimeout::kFail};
  }
}

// Removes everything that would delay nodes on purpose, because this mode measures the delay that the engine adds.
void MakeLight(Setup& setup, bool faults) {
  setup.light = true;
  setup.policy = {.auto_upgrade = true,
                  .max_parallel = std::clamp(setup.nodes / 10, 1, 5000),
                  .max_unavailable = Percent{10},
                  .drain = DrainPolicy{.timeout = absl::InfiniteDuration()}};
  setup.policy.deadlines = {.pod_restart = absl::InfiniteDuration(), .validation = absl::InfiniteDuration()};
  for (int i = 0; i < kFaultCount; ++i) {
    const auto fault = static_cast<Fault>(i);
    const bool call = fault <= Fault::kAppliedNoAnswer;
    const bool watch = fault >= Fault::kWatchLost && fault <= Fault::kWatchExpired;
    setup.faults[static_cast<std::size_t>(i)] = faults && (call || watch);
  }
  setup.call_faults_per_mille = 5;
  setup.replicas = 1;
  setup.cache = setup.election = setup.ledger = true;
  setup.validation = setup.events = setup.hooks = setup.own_pod = setup.selects_nodes = false;
  setup.grants_max = kGrantsMax;
  setup.wire = setup.requestor = setup.restart_only = setup.rolling = false;
  setup.modes = {};
  setup.latency_max = absl::ZeroDuration();
  setup.watch_lag_max = absl::Milliseconds(50);
  setup.poll_interval = absl::Minutes(1);
}

}  // namespace

UpgradePolicy DrawPolicy(Random& random) {
  UpgradePolicy policy{.auto_upgrade = true};
  policy.max_parallel = random.Percent(15) ? std::nullopt : std::optional(random.Pick({1, 1, 2, 3, 5, 10}));
  if (random.Percent(50)) {
    policy.max_unavailable = random.Percent(50) ? CountOrPercent(Count{random.Pick({1, 1, 2, 3, 5})})
                                                : CountOrPercent(Percent{random.Pick({10, 25, 50, 100})});
  }
  DrawEvacuation(random, policy);
  policy.pacing = random.Percent(25) ? Pacing::kEveryState : Pacing::kChained;
  policy.cordoned_nodes = random.Pick(
      {CordonedNodes::kProceed, CordonedNodes::kProceed, CordonedNodes::kWithinBudget, CordonedNodes::kIgnore});
  if (random.Percent(30)) policy.on_unscheduled_pods = OnUnscheduledPods::kIgnore;
  policy.deadlines = {.pod_restart = DrawTimeout(random), .validation = DrawTimeout(random)};
  if (random.Percent(30)) {
    policy.failure_policy = FailurePolicy{
        .max_failures = random.Percent(50) ? CountOrPercent(Count{random.Between(1, 4)}) : CountOrPercent(Percent{50})};
  }
  if (random.Percent(30)) {
    policy.retry = {.max_attempts = random.Between(1, 3),
                    .backoff = random.Pick({absl::Seconds(10), absl::Minutes(1), absl::Minutes(10)})};
  }
  return policy;
}

RolloutStage DrawStage(Random& random, int number, bool by_rack) {
  RolloutStage stage{.name = fmt::format("stage-{}", number)};
  if (by_rack) {
    stage.nodes = Selector(number == 0 ? "rack=0" : "rack=1");
  } else {
    stage.nodes = number == 0 ? CountOrPercent(Count{1}) : CountOrPercent(Percent{30});
  }
  if (random.Percent(40)) stage.max_parallel = random.Between(1, 3);
  stage.soak = random.Pick({absl::ZeroDuration(), absl::Seconds(30), absl::Minutes(2), absl::Minutes(5)});
  if (random.Percent(50)) {
    stage.max_failures = random.Pick({CountOrPercent(Count{0}), CountOrPercent(Count{1}), CountOrPercent(Percent{50})});
  }
  if (random.Percent(40)) stage.approval = Approval::kManual;
  return stage;
}

NodeGroups DrawGroups(Random& random, bool together) {
  if (together && random.Percent(60)) return {.by = "rack", .mode = GroupMode::kTogether};
  if (random.Percent(50)) return {.by = "rack", .mode = GroupMode::kOneAtATime};
  return {.by = "rack", .mode = GroupMode::kSpread, .max_per_group = Count{random.Between(1, 2)}};
}

// Returns windows that together cover two thirds of each hour.
std::vector<RolloutWindow> DrawWindows(Random& random) {
  const absl::Duration offset = absl::Minutes(random.Between(0, 19));
  std::vector<RolloutWindow> windows;
  for (int hour = 0; hour < 24; ++hour) {
    windows.push_back({.start = absl::Hours(hour) + offset, .duration = absl::Minutes(40)});
  }
  return windows;
}

// Draws rules about the nodes' pods, from a separate stream, so that these draws do not change the rest of the seed.
void DrawByPods(std::uint64_t seed, RolloutPolicy& rollout) {
  Random random(seed, "rollouts by pods");
  if (random.Percent(40)) {
    rollout.order = random.Pick({std::vector<RolloutOrder>{{.by = OrderBy::kIdle}, {.by = OrderBy::kName}},
                                 {{.by = OrderBy::kFewestPods}},
                                 {{.by = OrderBy::kLabel, .label = "rack"}, {.by = OrderBy::kFewestPods}},
                                 {{.by = OrderBy::kTopology, .label = "rack"}, {.by = OrderBy::kIdle}}});
  }
  if (random.Percent(70)) return;
  if (!rollout.health) rollout.health.emplace();
  rollout.health->pod_selector = Selector("app=logging");
}

// Draws windows, one of which opens only on the first evening and closes after midnight, in the middle of the faults.
// The other windows open at 02:00 or later.
void DrawNight(Random& random, Setup& setup, RolloutPolicy& rollout) {
  setup.start -= absl::Minutes(random.Between(1, std::max(1, static_cast<int>(absl::ToInt64Minutes(setup.chaos)))));
  const absl::CivilDay today = absl::ToCivilDay(setup.start, absl::UTCTimeZone());
  rollout.windows = DrawWindows(random);
  std::erase_if(rollout.windows, [](const RolloutWindow& window) { return window.start < absl::Hours(2); });
  rollout.windows.push_back({.days = {absl::GetWeekday(today)}, .start = absl::Hours(23), .duration = absl::Hours(2)});
}

// May set fast rollback, and either closed days or the windows of DrawNight. If the policy then has closed days or
// windows, may also set finishBy. All random values come from a separate stream. A range of closed days starts or ends
// at a midnight within the chaos phase.
void DrawByTime(std::uint64_t seed, Setup& setup, RolloutPolicy& rollout) {
  Random random(seed, "rollouts by time");
  if (seed % 4 == 0) rollout.rollback = Rollback::kFast;
  if (random.Percent(35)) {
    const int minutes = random.Between(1, std::max(1, static_cast<int>(absl::ToInt64Minutes(setup.chaos))));
    const absl::CivilDay today = absl::ToCivilDay(setup.start, absl::UTCTimeZone()) - 1;
    setup.start -= absl::Minutes(minutes);
    if (random.Percent(50)) {
      rollout.closed = {{.first = today, .last = today}};
    } else {
      // A third of these ranges of closed days are open-ended until an administrator removes them.
      const int days = random.Between(1, 3);
      rollout.closed = {{.first = today + 1, .last = today + (days == 3 ? 800 : days)}};
    }
  }
  if (rollout.closed.empty() && random.Percent(30)) DrawNight(random, setup, rollout);
  if ((rollout.windows.empty() && rollout.closed.empty()) || random.Percent(50)) return;
  rollout.finish_by = true;
  rollout.expected_node_duration = absl::Minutes(random.Pick({1, 3, 8, 20}));
}

// Draws limits by failure class, from a separate stream.
void DrawFailureClasses(std::uint64_t seed, UpgradePolicy& policy) {
  Random random(seed, "failures by class");
  if (random.Percent(50)) return;
  if (!policy.failure_policy) policy.failure_policy = FailurePolicy{.max_failures = Percent{100}};
  for (const FailureClass failure : kAllFailureClasses) {
    if (random.Percent(40)) continue;
    policy.failure_policy->by_class[failure] = random.Percent(60) ? CountOrPercent(Count{random.Between(1, 2)})
                                                                  : CountOrPercent(Percent{seed % 2 == 0 ? 30 : 5});
  }
}

// Removes maxParallelUpgrades, and removes maxUnavailable or sets it to 100 %, as drawn from a separate stream. Any
// single group then fits, however many nodes come and go. A group would count as one node toward maxParallelUpgrades,
// but the invariants do not take this into account.
void FitGroups(std::uint64_t seed, Setup& setup) {
  Random random(seed, "groups that start together");
  setup.policy.max_parallel = std::nullopt;
  setup.policy.max_unavailable = std::nullopt;
  if (random.Percent(50)) setup.policy.max_unavailable = Percent{100};
}

// Draws a rollout policy. Each stage contains a node, and each group fits into the budget, so nothing blocks the
// rollout permanently.
void DrawRollout(std::uint64_t seed, Setup& setup) {
  Random random(seed, "rollouts");
  RolloutPolicy rollout;
  const bool by_rack = random.Percent(60);
  const int stages = random.Between(0, 2);
  for (int i = 0; i < stages; ++i) rollout.stages.push_back(DrawStage(random, i, by_rack));
  rollout.order = random.Pick({std::vector<RolloutOrder>{},
                               {{.by = OrderBy::kTopology, .label = "rack"}},
                               {{.by = OrderBy::kLabel, .label = "rack"}, {.by = OrderBy::kName}}});
  // A group that starts as a whole counts as one node. Limits that an administrator sets would not account for this.
  const bool alone = !setup.Has(Fault::kAdministrator);
  if (random.Percent(50)) rollout.groups = DrawGroups(random, alone);
  if (random.Percent(40)) rollout.windows = DrawWindows(random);
  if (random.Percent(60)) {
    rollout.health = RolloutHealth{.node_conditions = {{.type = kSickCondition, .status = "True"}}};
    if (random.Percent(30)) rollout.health->max_driver_restarts = random.Between(1, 3);
  }
  DrawByPods(seed, rollout);
  DrawByTime(seed, setup, rollout);
  DrawFailureClasses(seed, setup.policy);
  setup.nodes = std::max(setup.nodes, 4);
  if (rollout.groups && rollout.groups->mode == GroupMode::kTogether) FitGroups(seed, setup);
  setup.policy.rollout = std::move(rollout);
  setup.ledger = true;
}

// Draws from a separate stream: selectors with each operator, timeouts that are not whole seconds, a pod of the
// operator itself, a selector for the operator's nodes, and a limit on grants.
void DrawOddities(std::uint64_t seed, Setup& setup) {
  Random random(seed, "oddities");
  UpgradePolicy& policy = setup.policy;
  if (policy.drain && random.Percent(35)) {
    policy.drain->pod_selector =
        Selector(random.Pick({"tier notin (3)", "tier>3", "tier<3", "!tier", "tier notin (2,4)"}));
  }
  if (policy.pod_deletion && random.Percent(35)) {
    policy.pod_deletion->pod_selector = Selector(random.Pick({"app=web,tier notin (2)", "tier>2", "uses,!tier"}));
  }
  if (setup.requestor && random.Percent(30)) {
    if (policy.drain) policy.drain->timeout = random.Pick({absl::Milliseconds(500), absl::Milliseconds(90'500)});
    if (policy.wait_for_completion) policy.wait_for_completion->timeout = absl::Milliseconds(700);
  }
  setup.own_pod = random.Percent(15);
  setup.selects_nodes = !setup.Has(Mode::kTwoDrivers) && !setup.Has(Mode::kRollouts) && random.Percent(12);
  if (!setup.Has(Mode::kRollouts) && random.Percent(25)) setup.grants_max = random.Between(1, 3);
}

// Draws the modes from a separate stream, so that a seed without modes is the same as before modes existed.
void DrawModes(std::uint64_t seed, const SimulationOptions& options, Setup& setup) {
  Random random(seed, "modes");
  using Mode = Mutant::Mode;
  const Mutant* const mutant = MutantOf(options);
  const Mode mode = mutant == nullptr ? Mode::kAny : mutant->mode;
  setup.wire = random.Percent(mode == Mode::kWire ? 100 : options.wire_percent) && options.wire != nullptr;
  const bool bytes = random.Percent(options.fault_percent);
  setup.faults[static_cast<std::size_t>(Fault::kBytes)] = setup.wire && bytes;
  setup.requestor = random.Percent(mode == Mode::kRequestor ? 100 : options.requestor_percent);
  const bool maintenance = random.Percent(2 * options.fault_percent);
  setup.faults[static_cast<std::size_t>(Fault::kMaintenance)] = setup.requestor && maintenance;
  setup.restart_only = random.Percent(mode == Mode::kRestartOnly ? 100 : options.restart_only_percent);
  setup.rolling = random.Percent(mode == Mode::kRolling ? 100 : options.rolling_percent);
  for (std::size_t i = 0; i < static_cast<std::size_t>(testing::Mode::kGangs); ++i) {
    setup.modes[i] = random.PerMille(options.mode_per_mille[i]);
  }
  // Some of these seeds use requestor mode, in which a removal may leave claims on NodeMaintenances behind.
  if (setup.Has(testing::Mode::kRelease) && options.requestor_percent > 0) setup.requestor |= random.Percent(35);
}

// Draws Mode::kGangs. A seed with this mode has faults only in calls, watches and replicas, because users and other
// clients could interrupt a job a second time.
void DrawGangs(std::uint64_t seed, const SimulationOptions& options, Setup& setup) {
  Random random(seed, "gangs");
  const auto mode = static_cast<std::size_t>(Mode::kGangs);
  const Mutant* const mutant = MutantOf(options);
  const bool is_wanted = mutant != nullptr && mutant->mode == Mutant::Mode::kGangs;
  if (!random.PerMille(options.mode_per_mille[mode]) && !is_wanted) return;
  for (std::size_t i = 0; i < setup.modes.size(); ++i) {
    const auto other = static_cast<Mode>(i);
    const bool is_of_calls = other == Mode::kInFlight || other == Mode::kWatchTwice || other == Mode::kShortPasses ||
                             other == Mode::kWatchOrder;
    setup.modes[i] = i == mode || (is_of_calls && setup.modes[i]);
  }
  for (std::size_t i = 0; i < setup.faults.size(); ++i) {
    const auto fault = static_cast<Fault>(i);
    const bool is_of_replicas = fault <= Fault::kNoBookmarks || fault == Fault::kCrash || fault == Fault::kStall;
    setup.faults[i] = is_of_replicas && setup.faults[i];
  }
  setup.nodes = std::max(setup.nodes, 4);
  setup.largest_gang = random.Between(2, std::min(setup.nodes - 1, 8));
  NodeGangs gangs{.steer = random.Percent(70) ? Steer::kPrefer : Steer::kNone};
  if (random.Percent(30)) {
    gangs.mode = random.Percent(50) ? GangMode::kTogether : GangMode::kWhenDone;
    gangs.wait = absl::Seconds(random.Pick({30, 120}));
  }
  setup.policy = {.auto_upgrade = true,
                  .max_parallel = std::nullopt,
                  .max_unavailable = Count{setup.largest_gang + random.Between(0, 3)},
                  .drain = DrainPolicy{.timeout = absl::InfiniteDuration()},
                  .pacing = setup.policy.pacing,
                  .rollout = RolloutPolicy{.gangs = gangs}};
  setup.policy.deadlines = {.pod_restart = absl::InfiniteDuration(), .validation = absl::InfiniteDuration()};
  setup.hooks = setup.own_pod = setup.selects_nodes = false;
  setup.requestor = setup.restart_only = setup.rolling = false;
  setup.grants_max = kGrantsMax;
  setup.ledger = true;
}

// Draws Mode::kDevices. In a seed with this mode, users and other clients change neither the policy nor the nodes. Some
// clusters do not support device taints.
void DrawDevices(std::uint64_t seed, const SimulationOptions& options, Setup& setup) {
  Random random(seed, "devices");
  const auto mode = static_cast<std::size_t>(Mode::kDevices);
  setup.modes[mode] = random.PerMille(options.mode_per_mille[mode]) && !setup.Has(Mode::kGangs);
  if (!setup.modes[mode]) return;
  for (const Mode other : {Mode::kTwoDrivers, Mode::kManyPods, Mode::kLabelRemover, Mode::kForeignCordons,
                           Mode::kAutoscaler, Mode::kNoRoom}) {
    setup.modes[static_cast<std::size_t>(other)] = false;
  }
  for (const Fault fault : {Fault::kNodeLifecycle, Fault::kStuckPods, Fault::kAdministrator, Fault::kRival}) {
    setup.faults[static_cast<std::size_t>(fault)] = false;
  }
  setup.requestor = setup.restart_only = setup.rolling = false;
  setup.policy.isolation = {.scope = random.Percent(50) ? IsolationScope::kDevices : IsolationScope::kAuto,
                            .device_drivers = {"gpu.nvidia.com"}};
  setup.policy.pod_deletion = PodDeletionPolicy{.force = true, .delete_empty_dir = true};
  setup.devices.late_allocations = random.Pick({absl::ZeroDuration(), absl::Seconds(2), absl::Seconds(6)});
  setup.devices.controller_delay = random.Pick({absl::ZeroDuration(), absl::Milliseconds(100), absl::Seconds(3)});
  if (setup.policy.isolation.scope == IsolationScope::kDevices || random.Percent(70)) return;
  if (random.Percent(50)) {
    setup.devices.controller_delay = std::nullopt;
  } else {
    setup.devices.served = random.Pick({DeviceOptions::Served::kNone, DeviceOptions::Served::kClaims});
  }
}

// Draws the neighbors, from a separate stream. Without faults, a seed has only the neighbors that `--mode` names.
void DrawNeighbours(std::uint64_t seed, const SimulationOptions& options, Setup& setup) {
  Random random(seed, "neighbours");
  for (std::size_t i = kFirstNeighbour; i < setup.modes.size(); ++i) {
    const int per_mille = options.mode_per_mille[i];
    const bool drawn = random.PerMille(per_mille);
    setup.modes[i] = drawn && (options.fault_percent > 0 || per_mille == 1000);
  }
}

// Turns off everything that a host of the C interface does not support.
void MakeHosted(std::uint64_t seed, const SimulationOptions& options, Setup& setup) {
  setup.cache = setup.wire = setup.events = setup.own_pod = setup.selects_nodes = false;
  for (const Mode mode : {Mode::kInFlight, Mode::kWatchTwice, Mode::kShortPasses, Mode::kWatchOrder}) {
    setup.modes[static_cast<std::size_t>(mode)] = false;
  }
  Random random(seed, "hosted");
  setup.faults[static_cast<std::size_t>(Fault::kBytes)] = random.Percent(options.fault_percent);
  // If a list is older than the response to a write, a hosted engine uses the response, but the checker uses the list.
  setup.faults[static_cast<std::size_t>(Fault::kStaleRead)] = false;
}

Setup DrawSetup(std::uint64_t seed, const SimulationOptions& options) {
  Random random(seed, "setup");
  Setup setup;
  setup.nodes = random.Percent(70) ? random.Between(1, std::max(1, options.nodes_max / 3))
                                   : random.Between(1, std::max(1, options.nodes_max));
  setup.policy = DrawPolicy(random);
  for (bool& on : setup.faults) {
    if (&on - setup.faults.data() <= static_cast<int>(Fault::kOutage)) on = random.Percent(options.fault_percent);
  }
  setup.call_faults_per_mille = random.Pick({5, 20, 50, 150});
  setup.replicas = random.Pick({1, 1, 1, 2, 3});
  setup.cache = random.Percent(75);
  setup.election = setup.replicas > 1 || random.Percent(30);
  const bool two_leaders = random.Percent(30);
  setup.ledger = random.Percent(50);
  setup.validation = random.Percent(30);
  setup.events = random.Percent(15);
  setup.hooks = random.Percent(10);
  setup.latency_max =
      random.Pick({absl::ZeroDuration(), absl::ZeroDuration(), absl::Milliseconds(20), absl::Milliseconds(500)});
  setup.watch_lag_max = random.Pick({absl::ZeroDuration(), absl::Milliseconds(50), absl::Seconds(2)});
  setup.poll_interval = random.Pick({absl::Seconds(5), absl::Seconds(20), absl::Seconds(60)});
  setup.chaos = std::min(random.Pick({absl::Minutes(5), absl::Minutes(20), absl::Minutes(45)}), options.chaos_max);
  setup.pause_max = random.Pick({absl::Seconds(20), absl::Minutes(1), absl::Minutes(4)});

  DrawModes(seed, options, setup);
  DrawNeighbours(seed, options, setup);
  DrawOddities(seed, setup);
  const bool hosted = options.host || options.as_hosted;
  if (hosted) MakeHosted(seed, options, setup);
  setup.hosted = options.host != nullptr;
  if (options.nodes) setup.nodes = *options.nodes;
  if (options.light) MakeLight(setup, options.fault_percent > 0);
  if (setup.Has(Mode::kRollouts)) DrawRollout(seed, setup);
  DrawGangs(seed, options, setup);
  DrawDevices(seed, options, setup);
  for (const Fault fault : options.without) setup.faults[static_cast<std::size_t>(fault)] = false;
  // Two leaders are possible only with a second replica and without an election.
  if (setup.Has(Fault::kStall) && setup.replicas > 1 && two_leaders) setup.election = false;
  setup.hooks = setup.hooks || setup.Has(Fault::kHooks) || setup.Has(Mode::kManyPods);
  // Calls overlap only if they take time.
  if (setup.Has(Mode::kInFlight)) setup.latency_max = std::max(setup.latency_max, absl::Milliseconds(100));
  if (setup.Has(Mode::kLongOutage)) setup.chaos += kLongOutage;
  // Without a cache, lists are read and processed as a whole, so these modes would have no effect.
  if ((setup.Has(Mode::kShortPasses) || setup.Has(Mode::kWatchOrder)) && !hosted) setup.cache = true;
  return setup;
}

bool MakesRequestsAnew(Fault fault) {
  switch (fault) {
    case Fault::kNoBookmarks:
    case Fault::kNodeLifecycle:
    case Fault::kStuckPods:
    case Fault::kDriverTroubles:
    case Fault::kTemplateChange:
    case Fault::kAdministrator:
    case Fault::kRival:
    case Fault::kMaintenance:
    case Fault::kGarbage: return false;
    default: return true;
  }
}

absl::Duration Setup::ClockSkewMax() const {
  if (Has(Mode::kClockSetBack)) return kSetBacks * kSetBack + absl::Minutes(5);
  return ClocksJump() ? absl::Minutes(5) : absl::ZeroDuration();
}

bool Setup::BudgetIsClaimed() const { return ledger || (replicas == 1 && !Has(Fault::kCrash)); }

std::string Setup::Describe() const {
  std::string text = fmt::format("nodes={} replicas={}{}{}{} chaos={} calls={}/1000", nodes, replicas,
                                 cache ? " cache" : " lists", election ? " election" : "", ledger ? " ledger" : "",
                                 absl::FormatDuration(chaos), call_faults_per_mille);
  text += fmt::format(" maxParallel={} latency={}", policy.max_parallel ? std::to_string(*policy.max_parallel) : "any",
                      absl::FormatDuration(latency_max));
  if (policy.max_unavailable) {
    text += std::visit([](const auto& limit) { return fmt::format(" maxUnavailable={}", limit.value); },
                       *policy.max_unavailable);
    if (std::holds_alternative<Percent>(*policy.max_unavailable)) text += "%";
  }
  if (policy.drain) text += fmt::format(" drain({})", absl::FormatDuration(policy.drain->timeout));
  if (policy.pod_deletion) text += fmt::format(" podDeletion({})", absl::FormatDuration(policy.pod_deletion->timeout));
  if (policy.failure_policy) text += policy.failure_policy->by_class.empty() ? " failurePolicy" : " byClass";
  if (policy.rollout && !policy.rollout->windows.empty()) text += " windows";
  if (policy.rollout && !policy.rollout->closed.empty()) text += " closed";
  if (policy.rollout && policy.rollout->finish_by) text += " finishBy";
  if (policy.retry.max_attempts > 0) text += " retry";
  if (policy.pacing == Pacing::kEveryState) text += " everyState";
  if (validation) text += " validation";
  if (hooks) text += " hooks";
  if (own_pod) text += " ownPod";
  if (selects_nodes) text += " selectsNodes";
  if (grants_max < kGrantsMax) text += fmt::format(" grants={}", grants_max);
  if (wire) text += " wire";
  if (requestor) text += " requestor";
  if (restart_only) text += " restartOnly";
  if (rolling) text += " rollingUpdate";
  for (int i = 0; i < kModeCount; ++i) {
    if (modes[static_cast<std::size_t>(i)]) text += fmt::format(" {}", ToString(static_cast<Mode>(i)));
  }
  text += " faults:";
  for (int i = 0; i < kFaultCount; ++i) {
    if (faults[static_cast<std::size_t>(i)]) text += fmt::format(" F{}", i + 1);
  }
  return text;
}

}  // namespace internal
}  // namespace driverupgrade::testing
