// The event loop of a simulation, its phases, and the checks at the end.
#include "simulation/simulation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "fmt/format.h"
#include "simulation/world/actors.h"
#include "simulation/world/bad_node.h"
#include "simulation/world/liveness.h"
#include "simulation/world/peer.h"
#include "simulation/world/replica.h"
#include "simulation/world/world.h"

namespace driverupgrade::testing {
namespace internal {
namespace {

// A replica that takes this many steps within a second of virtual time is in a busy loop.
constexpr int kStepsPerSecondMax = 4000;
constexpr int kNestedMax = 3;
// dep-F4: the engine ignores a timer on a node if the start of the timer is further in the future than this.
constexpr absl::Duration kTimerIsNobodys = absl::Minutes(1);
constexpr absl::Duration kSettle = absl::Minutes(3);
// Time for which the last fault can still have an effect. A broken watch restarts half a minute later, by a clock that
// may run slow, and only when its replica runs.
constexpr absl::Duration kAftermath = absl::Minutes(1);
// Interval at which kubelets report their nodes even if nothing has changed (`nodeStatusReportFrequency`).
constexpr absl::Duration kNodeStatusReport = absl::Minutes(5);

class Simulation {
 public:
  Simulation(std::uint64_t seed, const SimulationOptions& options) : world_(seed, options) {
    world_.checker->OnChange([this](const Change& change) { OnChange(change); });
    world_.on_policy = [this](const UpgradePolicy&) {
      for (const auto& replica : replicas_) replica->OnPolicy();
    };
    world_.on_release = [this] {
      for (const auto& replica : replicas_) replica->Wake();
    };
    world_.elapse = [this](absl::Duration duration) { RunFor(duration); };
    actors_.push_back(MakeTemplates(world_));
    actors_.push_back(MakeAdministrator(world_));
    actors_.push_back(MakeNodeLifecycle(world_));
    actors_.push_back(MakePodTroubles(world_));
    actors_.push_back(MakeRival(world_));
    if (world_.setup.requestor) actors_.push_back(MakeMaintenances(world_));
    if (world_.setup.Has(Mode::kRelease)) actors_.push_back(MakeRemovals(world_));
    if (world_.setup.Has(Mode::kRollouts)) actors_.push_back(MakeRollouts(world_));
    if (world_.setup.Has(Mode::kGangs)) actors_.push_back(MakeGangs(world_));
    if (world_.setup.Has(Mode::kDevices)) actors_.push_back(MakeDevices(world_));
    if (world_.setup.Has(Mode::kLongOutage)) actors_.push_back(MakeLongOutage(world_));
    if (world_.peer) actors_.push_back(MakePeerTemplates(world_));
    if (world_.setup.Has(Mode::kLabelRemover)) actors_.push_back(MakeLabelRemover(world_));
    if (world_.setup.Has(Mode::kForeignCordons)) actors_.push_back(MakeForeignCordons(world_));
    if (world_.setup.Has(Mode::kNotReady)) actors_.push_back(MakeNotReady(world_));
    if (world_.setup.Has(Mode::kAutoscaler)) actors_.push_back(MakeAutoscaler(world_));
    if (world_.setup.Has(Mode::kNoRoom)) actors_.push_back(MakeNoRoom(world_));
    for (const Driver& driver : Drivers()) {
      for (int i = 0; i < world_.setup.replicas; ++i) {
        const int number = static_cast<int>(replicas_.size());
        replicas_.push_back(std::make_unique<Replica>(world_, driver, late_, number));
      }
    }
  }

  SimulationResult Run() {
    const absl::Time begin = world_.Now();
    if (world_.setup.light) {
      Rollout();
    } else {
      RunFor(world_.setup.chaos);
      if (!world_.Broken()) Calm();
    }
    world_.result.virtual_time = world_.Now() - begin;
    return Finish();
  }

 private:
  std::vector<Driver> Drivers() const {
    std::vector<Driver> drivers = {world_.driver()};
    if (world_.peer) drivers.push_back(world_.peer->driver());
    return drivers;
  }

  void OnChange(const Change& change) {
    if (world_.peer) world_.peer->See(change);
    ++world_.result.commits;
    NoteCordon(change.node, change.revision);
    world_.trace.Hash(static_cast<std::uint64_t>(change.revision));
    world_.trace.Hash(static_cast<std::uint64_t>(absl::ToUnixMillis(change.time)));
    if (change.node.after != nullptr) Hash(*change.node.after);
    if (change.pod.after != nullptr) world_.trace.Hash(change.pod.after->ref.name);
    if (world_.trace.on()) Tell(change);
    for (const auto& actor : actors_) actor->See(change);
    for (const auto& replica : replicas_) replica->OnChange();
  }

  void NoteCordon(const Versions<Node>& node, std::int64_t revision) {
    if (node.after == nullptr || !node.after->unschedulable) return;
    const bool before = node.before != nullptr && node.before->uid == node.after->uid && node.before->unschedulable;
    if (!before) world_.cordoned[node.after->name] = {.revision = revision, .version = node.after->resource_version};
  }

  void Hash(const Node& node) {
    world_.trace.Hash(node.name);
    world_.trace.Hash(static_cast<std::uint64_t>(node.unschedulable));
    if (const auto state = node.labels.find(state_label_); state != node.labels.end()) world_.trace.Hash(state->second);
  }

  void Tell(const Change& change) {
    if (change.node.after != nullptr) {
      const Node& node = *change.node.after;
      const auto state = node.labels.find(state_label_);
      std::string text = fmt::format("  {} {}{}{}", node.name, state == node.labels.end() ? "-" : state->second,
                                     node.unschedulable ? " cordoned" : "", node.ready ? "" : " NotReady");
      for (const auto& [key, value] : node.annotations) text += fmt::format(" {}={:.60}", key, value);
      world_.trace.Line("{} @{}", text, node.resource_version);
    } else if (change.node.before != nullptr) {
      world_.trace.Line("  {} gone", change.node.before->name);
    } else if (change.pod.after != nullptr) {
      const Pod& pod = *change.pod.after;
      world_.trace.Line("  pod {} on {} {} {}{}", pod.ref.ToString(), pod.node_name,
                        pod.phase == PodPhase::kRunning ? "Running" : "not running", RevisionHash(pod),
                        pod.deletion_timestamp ? " terminating"
                        : IsReady(pod)         ? " ready"
                                               : "");
    } else if (change.pod.before != nullptr) {
      world_.trace.Line("  pod {} gone", change.pod.before->ref.ToString());
    } else if (change.daemon_set.after != nullptr) {
      const DaemonSet& daemon_set = *change.daemon_set.after;
      world_.trace.Line("  daemon set {} generation {}, observed {}", daemon_set.name, daemon_set.generation,
                        daemon_set.observed_generation);
    } else if (change.lease.after != nullptr) {
      world_.trace.Line("  lease of {}", change.lease.after->holder);
    }
  }

  // Processes cluster events, late requests, actors and replicas in chronological order.
  void RunFor(absl::Duration duration) {
    const absl::Time until = world_.Now() + duration;
    if (nested_ >= kNestedMax) {
      world_.cluster->RunUntil(until);
      return;
    }
    ++nested_;
    while (!world_.Broken() && RunNext(until)) {
    }
    --nested_;
  }

  bool RunNext(absl::Time until) {
    Actor* actor = nullptr;
    Replica* replica = nullptr;
    absl::Time next = std::min(world_.cluster->NextEventTime(), late_.due());
    for (const auto& one : actors_) {
      if ((!world_.chaos && !one->acts_when_calm()) || one->due() >= next) continue;
      next = one->due();
      actor = one.get();
    }
    for (const auto& one : replicas_) {
      if (one->busy() || one->due() >= next) continue;
      next = one->due();
      replica = one.get();
    }
    world_.cluster->RunUntil(std::min(next, until));
    if (next > until) return false;
    if (replica != nullptr) {
      NoteClocks();
      Count();
      replica->Step();
    } else if (actor != nullptr) {
      actor->Turn();
    } else if (late_.due() <= world_.Now()) {
      world_.Fired(Fault::kAppliedLate);
      world_.trace.Line("a late request arrives");
      late_.SendNext();
    }
    return true;
  }

  // Informs the checkers whether the clocks of several leaders of one driver are far apart, or will be after the next
  // clock jump.
  void NoteClocks() {
    if (!world_.setup.SeveralLeaders() || !world_.setup.Has(Fault::kClockSkew)) return;
    for (const Driver& driver : Drivers()) {
      absl::Time first = absl::InfiniteFuture();
      absl::Time last = absl::InfinitePast();
      for (const auto& replica : replicas_) {
        if (&replica->driver().checker != &driver.checker) continue;
        first = std::min(first, replica->LocalTime());
        last = std::max(last, replica->LocalTime());
      }
      if (last - first > kTimerIsNobodys - kClockJumpMax) driver.checker.NoteClocksApart();
    }
  }

  // I13: no replica is in a busy loop.
  void Count() {
    if (world_.Now() >= second_ + absl::Seconds(1)) {
      second_ = world_.Now();
      steps_ = 0;
    }
    if (++steps_ > kStepsPerSecondMax) world_.checker->Fail("I13", "a replica does not come to rest");
  }

  // Runs with the enabled faults, from the new template until every node is done.
  void Rollout() {
    const int nodes = world_.setup.nodes;
    const int rounds = (nodes + *world_.policy.max_parallel - 1) / *world_.policy.max_parallel;
    world_.result.ideal = rounds * (kLightWorkloadStop + kLightDriverStop + kLightDriverStart);
    RunFor(absl::Minutes(1));
    const absl::Time limit = world_.Now() + 3 * world_.result.ideal;
    Completion completion(world_, world_.driver());
    while (!world_.Broken() && (world_.checker->AnyOpen() || !completion.IsReached())) {
      if (world_.Now() >= limit) world_.checker->Fail("L1", "not done in time: " + WhatIsNotDone());
      RunFor(absl::Seconds(1));
    }
    world_.result.makespan = world_.Now() - world_.template_changed;
    world_.chaos = false;
    if (!world_.Broken()) Rest();
  }

  void SetClocksBack() {
    if (!world_.setup.Has(Mode::kClockSetBack)) return;
    world_.trace.Line("--- clocks are set back");
    for (const auto& replica : replicas_) replica->SetClockBack();
  }

  void Calm() {
    world_.trace.Line("--- calm");
    world_.chaos = false;
    SetClocksBack();
    // Late requests arrive now, and the actors repair all damage.
    world_.NoteFault();
    while (late_.due() != absl::InfiniteFuture()) late_.SendNext();
    // The administrator comes last, to clean up after the other actors.
    for (auto actor = actors_.rbegin(); actor != actors_.rend(); ++actor) (*actor)->Mend();
    world_.SetPolicy(CalmPolicy(world_.policy, world_.setup.hooks));
    world_.SetTemplate("rev-final");
    if (world_.peer) {
      world_.peer->SetPolicy(CalmPolicy(world_.peer->driver().policy, world_.peer->driver().setup.hooks));
      world_.peer->SetTemplate("rev-final");
    }
    for (const auto& replica : replicas_) replica->Wake();
    absl::Duration patience = absl::ZeroDuration();
    for (const Driver& driver : Drivers()) patience += TimeToConverge(world_, driver.policy);
    const absl::Time limit = world_.Now() + patience;
    RunFor(world_.setup.ByClocks(kAftermath));
    SetClocksBack();
    std::vector<Completion> completions;
    for (const Driver& driver : Drivers()) completions.emplace_back(world_, driver);
    const auto is_reached = [](Completion& completion) { return completion.IsReached(); };
    absl::Time reported = world_.Now();
    while (!world_.Broken() && !std::all_of(completions.begin(), completions.end(), is_reached)) {
      if (world_.Now() >= limit) {
        world_.checker->Fail("L1", fmt::format("not done {} after the last fault: {}; {}",
                                               absl::FormatDuration(patience), WhatIsNotDone(), Explanation()));
        return;
      }
      RunFor(absl::Seconds(30));
      if (world_.Now() - reported >= kNodeStatusReport) {
        reported = world_.Now();
        ReportNodeStatus();
      }
    }
    if (!world_.Broken()) Rest();
  }

  // Creates a new version of every node that has a grant, as a kubelet would, because an unused grant is dropped only
  // when its node has a new version. Otherwise, a node that already has the driver could keep a slot for which all
  // other nodes wait. Nodes without a grant are not changed, although real kubelets change them as well: each change
  // wakes the engine, and would hide an engine that fails to schedule its next pass.
  void ReportNodeStatus() {
    const std::optional<ConfigMap> ledger = world_.cluster->config_map(kDriverNs, "driver-upgrades");
    if (!ledger) return;
    for (const Node& node : world_.cluster->nodes()) {
      const auto names_it = [&](const auto& entry) { return entry.second.find(node.uid) != std::string::npos; };
      if (std::none_of(ledger->data.begin(), ledger->data.end(), names_it)) continue;
      world_.cluster->EditNode(node.name, [&](Node& edited) {
        edited.annotations["example.com/heartbeat"] = absl::FormatTime(world_.Now());
      });
    }
  }

  // Returns the reasons that the replicas report for waiting nodes.
  std::string Explanation() const {
    std::string text;
    for (const auto& replica : replicas_) {
      if (replica->engine() == nullptr || !replica->controller()->status().leading) continue;
      for (const NodeGate& gate : replica->engine()->Everything().gates) {
        text += fmt::format("{}{} in {}: {}, {}", text.empty() ? "" : "; ", gate.node, ToString(gate.state),
                            ToString(gate.gate.reason), gate.gate.detail);
      }
    }
    return text;
  }

  // Checks that no replica writes any longer (I12), and that no cordon or claim is left (L2).
  void Rest() {
    RunFor(kSettle);
    const std::int64_t writes = world_.writes;
    RunFor(absl::Minutes(20));
    if (world_.Broken()) return;
    world_.checker->CheckRest(writes, world_.writes);
    if (std::string left = WhatIsNotDone(); !left.empty())
      world_.checker->Fail("L1", "done, but not permanently: " + left);
    for (const Driver& driver : Drivers()) {
      if (std::string left = WhatIsLeft(world_, driver); !left.empty()) world_.checker->Fail("L2", left);
    }
    CheckTotals();
    for (const Node& node : world_.cluster->nodes()) world_.result.end.emplace(node.name, EndOf(node));
    if (!world_.Broken()) OneBadNode();
    for (const auto& replica : replicas_) replica->Stop();
    for (const Driver& driver : Drivers()) {
      const std::optional<Lease> lease = world_.cluster->lease(driver.ns, "driver-upgrade");
      if (!lease || lease->holder.empty()) continue;
      world_.checker->Fail("L2", fmt::format("all replicas have stopped, but {} holds the lease", lease->holder));
    }
  }

  std::string WhatIsNotDone() const {
    std::string text;
    for (const Driver& driver : Drivers()) text += internal::WhatIsNotDone(world_, driver);
    return text;
  }

  static bool Reports(const UpgradeEngine& engine, FindingCode code) {
    const Plan plan = engine.Everything();
    return std::any_of(plan.findings.begin(), plan.findings.end(),
                       [&](const Finding& finding) { return finding.code == code; });
  }

  // Checks L6 for the reports of leading replicas.
  void CheckTotals() {
    for (const auto& replica : replicas_) {
      if (replica->controller() == nullptr) continue;
      const ControllerStatus status = replica->controller()->status();
      if (!status.leading) continue;
      replica->driver().checker.CheckTotals(status.totals);
      if (replica->driver().setup.rolling && !Reports(*replica->engine(), FindingCode::kUpdateStrategy)) {
        world_.checker->Fail("L6", "no finding reports that Kubernetes replaces driver pods on its own");
      }
    }
  }

  // L4: a node that never completes occupies its slot, but does not delay the other nodes in any other way.
  void OneBadNode() {
    // A node that never completes blocks all stages after its own by design.
    if (world_.setup.Has(Mode::kRollouts) || world_.setup.Has(Mode::kGangs)) return;
    // Excluded because the bad node's pods do not use the devices.
    if (world_.setup.Has(Mode::kDevices)) return;
    // The bad node takes a grant in addition to its slot, but this seed allows only a few grants.
    if (world_.setup.grants_max < kGrantsMax) return;
    const std::optional<BadNode> bad = BadNode::Draw(world_);
    if (!bad) return;
    world_.result.bad_node = true;
    bad->LeaveOut();
    const absl::Duration alone = TimeOfOthers(*bad, "rev-alone", absl::Hours(12));
    bad->MakeBad();
    world_.checker->CheckDelay(
        alone, TimeOfOthers(*bad, "rev-bad-node", InvariantChecker::MayTakeBesideBadNode(alone) + absl::Minutes(1)));
  }

  absl::Duration TimeOfOthers(const BadNode& bad, const std::string& hash, absl::Duration limit) {
    const absl::Time began = world_.Now();
    world_.SetTemplate(hash);
    Completion others(world_, world_.driver(), bad.name());
    while (!world_.Broken() && world_.Now() - began < limit && !others.IsReached()) {
      RunFor(absl::Seconds(10));
    }
    return world_.Now() - began;
  }

  std::string EndOf(const Node& node) const {
    const auto state = node.labels.find(state_label_);
    const std::vector<Pod> pods = world_.cluster->pods_on(node.name);
    const bool newest = std::any_of(pods.begin(), pods.end(), [&](const Pod& pod) {
      return world_.driver_labels.Matches(pod.labels) && RevisionHash(pod) == world_.hash;
    });
    return fmt::format("{}, {} driver", state == node.labels.end() ? "no state" : state->second,
                       newest ? "the newest" : "another");
  }

  SimulationResult Finish() {
    // The checker no longer observes the cluster while the remaining events run.
    world_.checker->OnChange(nullptr);
    SimulationResult result = std::move(world_.result);
    result.violation = world_.checker->violation();
    result.upgrades = world_.checker->upgrades();
    result.edges = world_.checker->edges();
    result.hash = world_.trace.hash();
    result.trace.assign(world_.trace.lines().begin(), world_.trace.lines().end());
    return result;
  }

  World world_;
  const std::string state_label_ = world_.identity.StateLabel();
  LateRequests late_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  int nested_ = 0;
  absl::Time second_ = absl::InfinitePast();
  int steps_ = 0;
};

}  // namespace
}  // namespace internal

SimulationResult Simulate(std::uint64_t seed, const SimulationOptions& options) {
  return internal::Simulation(seed, options).Run();
}

std::string SimulationResult::Describe() const {
  std::string text = fmt::format("seed {}: ", seed);
  text += violation ? fmt::format("{}: {}", violation->invariant, violation->text) : "ok";
  text += fmt::format("\n  {}", setup);
  for (const std::string& line : trace) text += "\n  " + line;
  return text;
}

}  // namespace driverupgrade::testing
