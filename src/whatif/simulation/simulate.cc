#include "whatif/simulation/simulate.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "policy/windows.h"
#include "testing/gang_controller.h"
#include "whatif/budgets.h"
#include "whatif/simulation/furnish.h"
#include "whatif/simulation/rollout_recorder.h"
#include "whatif/simulation/simulated_devices.h"

namespace driverupgrade::whatif {
namespace {

using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;

// Number of lists that the cache requests at the start: nodes, DaemonSets, revisions and driver pods.
constexpr std::int64_t kFirstLists = 4;
// Number of additional lists if the engine follows devices: rules, claims and slices.
constexpr std::int64_t kDeviceLists = 3;
// Maximum duration of a simulated rollout. Nodes that are not done by then are assumed to wait indefinitely.
constexpr absl::Duration kLimit = absl::Hours(24 * 30);

// Returns the minimum time between two passes, so that one pass can handle several changes. This time adds to the
// nodes' upgrade durations, but is small in comparison.
absl::Duration StepOf(const Durations& durations) {
  const absl::Duration part = std::min(durations.driver_start, durations.pod_stop) / 30;
  return std::clamp(part, absl::Milliseconds(50), absl::Seconds(1));
}

bool IsOfBudget(GateReason reason) {
  return reason == GateReason::kDisruptionBudget || reason == GateReason::kSeveralBudgets;
}

class Simulation {
 public:
  Simulation(const Situation& situation, const UpgradePolicy& policy, const std::vector<std::string>& device_drivers,
             const Durations& durations, std::uint32_t seed)
      : situation_(situation),
        policy_(policy),
        simulates_devices_(!device_drivers.empty()),
        followed_(IsolatedDrivers(policy)),
        devices_(situation, device_drivers, !followed_.empty()),
        durations_(durations),
        jitter_{.part = durations.jitter, .random = std::mt19937(seed)},
        clock_(std::make_shared<FakeClock>(Beginning(situation))),
        cluster_(std::make_shared<FakeCluster>(
            clock_, testing::FakeClusterOptions{.keep_journal = false, .watches_follow = false})),
        gangs_(cluster_, seed),
        recorder_(situation.question.identity, clock_->Now()),
        budgets_(situation.question.cluster, situation.facts) {}

  absl::StatusOr<Rollout> Run() {
    Furnish(situation_, durations_, devices_, jitter_, *cluster_, gangs_);
    if (policy_.rollout) seeded_ = SeedRecord(situation_, *cluster_) ? 1 : 0;
    if (const absl::Status status = StartEngine(); !status.ok()) return status;
    if (simulates_devices_) recorder_.CountKept(cluster_->pods());
    cluster_->SetChangeObserver([this](const Change& change) {
      recorder_.Follow(change);
      FollowDriver(change.pod);
    });
    const absl::Time began = clock_->Now();
    while (clock_->Now() - began < kLimit) {
      VaryDriverStart();
      cache_->Turn({});
      const absl::StatusOr<ReconcileResult> pass = engine_->Reconcile({}, policy_);
      if (!pass.ok()) return pass.status();
      ++passes_;
      FollowPlan(pass->plan);
      RunPlugins();
      gangs_.Step();
      const absl::Time next = std::min(pass->wake_at.value_or(absl::InfiniteFuture()), cluster_->NextEventTime());
      if ((recorder_.MayBeOver(pass->plan.totals) && IsOver()) || next == absl::InfiniteFuture()) break;
      cluster_->RunUntil(std::max(next, clock_->Now() + StepOf(durations_)));
      RunPlugins();
      gangs_.Step();
    }
    return Outcome();
  }

 private:
  void FollowPlan(const Plan& plan) {
    for (const NodePlan& node : plan.nodes) {
      if (!node.evict.empty()) tried_[node.node].insert(node.evict.begin(), node.evict.end());
      if (node.to() == UpgradeState::kFailed && !node.path.empty()) {
        recorder_.Fail(node, BudgetsInTheWay(node.node), clock_->Now());
      }
    }
    const bool closed = WindowIsClosed();
    for (const NodeGate& gate : plan.gates) recorder_.Hold(gate, closed, clock_->Now());
    for (const std::string& node : plan.ungated) recorder_.Unhold(node);
  }

  // Must not use the cluster, which is locked.
  void FollowDriver(const testing::Versions<Pod>& pod) {
    const Pod* driver = pod.after != nullptr ? pod.after : pod.before;
    // A simulation has no DaemonSet other than the driver's.
    if (!simulates_devices_ || driver == nullptr || !IsDaemonSetPod(*driver)) return;
    plugins_[driver->node_name] = pod.after != nullptr && IsReady(*driver) && !driver->deletion_timestamp;
  }

  // A node's DRA plugins publish the node's devices only while the driver is ready. The simulated plugins take no time.
  void RunPlugins() {
    for (const auto& [node, runs] : std::exchange(plugins_, {})) {
      if (runs) {
        devices_.Publish(node, *cluster_);
      } else {
        devices_.Withdraw(node, *cluster_);
      }
    }
  }

  // Ignores how long nodes take, so even a window that is too short counts as open.
  bool WindowIsClosed() const {
    using internal::StartTimeAt;
    return policy_.rollout && !StartTimeAt(*policy_.rollout, clock_->Now(), absl::ZeroDuration()).open;
  }

  // Returns the disruption budgets of the first pod that still exists after its eviction was requested. Skips pods that
  // no budget selects. Returns an empty string if there is no such pod.
  std::string BudgetsInTheWay(const std::string& node) {
    const auto tried = tried_.find(node);
    if (tried == tried_.end()) return "";
    for (const PodRef& ref : tried->second) {
      const absl::StatusOr<Pod> pod = cluster_->GetPod({}, {.ns = ref.ns, .name = ref.name});
      if (!pod.ok() || pod->ref.uid != ref.uid || pod->deletion_timestamp) continue;
      std::vector<std::string> names;
      for (const auto* budget : budgets_.Of(*pod)) names.push_back(budget->ns + "/" + budget->name);
      if (names.empty()) continue;
      return fmt::format("disruption budget{} {}", names.size() > 1 ? "s" : "", fmt::join(names, " and "));
    }
    return "";
  }

  // Keeps the time of day, because windows depend on it. Drops fractions of a second, because marks store whole
  // seconds, and a fraction would differ from run to run.
  static absl::Time Beginning(const Situation& situation) {
    return absl::FromUnixSeconds(absl::ToUnixSeconds(situation.question.at));
  }
  // Returns the options of the ledger that stores the stage of a rollout. Returns nullopt if the policy has no
  // `rollout`, so that the simulation makes only the necessary writes.
  std::optional<AdmissionLedgerOptions> Ledger() const {
    if (!policy_.rollout) return std::nullopt;
    return AdmissionLedgerOptions{.ns = situation_.question.snapshot.ns, .name = std::string(kLedger)};
  }

  // Varies the durations of the driver pods that are created until the next pass.
  void VaryDriverStart() {
    cluster_->SetDaemonSetBehavior(
        situation_.question.snapshot.ns, std::string(kDriverSet),
        {.start_delay = jitter_(durations_.driver_start), .stop_delay = jitter_(durations_.driver_stop)});
  }

  absl::Status StartEngine() {
    const absl::StatusOr<LabelSelector> labels = LabelSelector::Parse(fmt::format("app={}", kDriverSet));
    if (!labels.ok()) return labels.status();
    const SnapshotOptions& snapshot = situation_.question.snapshot;
    auto cache = WatchCache::Create(
        cluster_, {.drivers = {{.ns = snapshot.ns, .driver_labels = *labels, .devices = followed_}}, .clock = clock_});
    if (!cache.ok()) return cache.status();
    cache_ = *std::move(cache);
    auto engine = UpgradeEngine::Create(situation_.question.identity, cluster_,
                                        {.snapshot = {.ns = snapshot.ns,
                                                      .driver_labels = *labels,
                                                      .uses_driver = snapshot.uses_driver,
                                                      .restart_only = snapshot.restart_only,
                                                      .hook_timeout = absl::InfiniteDuration(),
                                                      .devices = followed_},
                                         .executor = {.calls_in_flight = 1, .events = false},
                                         .cache = cache_,
                                         // No limit is needed, because a pass takes no virtual time.
                                         .nodes_per_pass = std::numeric_limits<int>::max(),
                                         .ledger = Ledger(),
                                         .clock = clock_});
    if (!engine.ok()) return engine.status();
    engine_ = *std::move(engine);
    return absl::OkStatus();
  }

  // Returns true if no node will move again unless an administrator acts.
  bool IsOver() {
    const Plan plan = engine_->Everything();
    ++whole_plans_;
    if (!plan.nodes.empty() || plan.totals.total == 0) return plan.totals.total == 0 && cache_->Synced();
    if (plan.totals.InState(UpgradeState::kDone) + static_cast<int>(plan.gates.size()) < plan.totals.total)
      return false;
    return std::all_of(plan.gates.begin(), plan.gates.end(),
                       [](const NodeGate& gate) { return TraitsOf(gate.gate.reason).ends_rollout; });
  }

  void AddBlocked(const Plan& plan, Rollout& rollout) {
    int left_out = 0;
    for (const NodeGate& gate : plan.gates) {
      Blocked blocked = recorder_.WhyBlocked(gate);
      if (IsOfBudget(blocked.gate) && !blocked.failed) blocked.subject = BudgetsInTheWay(gate.node);
      if (!IsOfBudget(blocked.gate)) blocked.subject.clear();
      left_out += TraitsOf(blocked.gate).left_out ? 1 : 0;
      rollout.blocked[gate.node] = std::move(blocked);
    }
    rollout.finishes = rollout.done + left_out >= rollout.nodes;
  }

  Rollout Outcome() {
    const Plan plan = engine_->Everything();
    Rollout rollout{.makespan = recorder_.last_change(),
                    .nodes = plan.totals.total,
                    .done = plan.totals.done,
                    .failed = plan.totals.failed,
                    .gangs = static_cast<int>(gangs_.size()),
                    .gang_interruptions = gangs_.interruptions(),
                    .gang_interruptions_peak = gangs_.interruptions_peak(),
                    .evictions = cluster_->CallCount(Operation::kEvictPod),
                    .passes = passes_,
                    .whole_plans = whole_plans_};
    rollout.devices = simulates_devices_;
    AddBlocked(plan, rollout);
    rollout.writes = rollout.evictions - seeded_;
    for (const Operation operation :
         {Operation::kPatchNode, Operation::kDeletePod, Operation::kCreateConfigMap, Operation::kPatchConfigMap,
          Operation::kCreateDeviceTaintRule, Operation::kPatchDeviceTaintRule, Operation::kDeleteDeviceTaintRule}) {
      rollout.writes += cluster_->CallCount(operation);
    }
    rollout.requests = rollout.writes;
    for (const Operation operation : {Operation::kListNodes, Operation::kListPods, Operation::kListDaemonSets,
                                      Operation::kListControllerRevisions, Operation::kGetConfigMap}) {
      rollout.requests += cluster_->CallCount(operation);
    }
    rollout.requests += kFirstLists + (followed_.empty() ? 0 : kDeviceLists);
    recorder_.Finish(rollout);
    return rollout;
  }

  const Situation& situation_;
  const UpgradePolicy policy_;
  const bool simulates_devices_;
  // DRA drivers that the engine follows.
  const std::vector<std::string> followed_;
  const SimulatedDevices devices_;
  // Nodes whose driver was started or stopped since the last call to RunPlugins, and whether the driver is ready.
  std::map<std::string, bool> plugins_;
  const Durations durations_;
  Jitter jitter_;
  // Number of writes that the simulation itself makes.
  int seeded_ = 0;
  int passes_ = 0;
  int whole_plans_ = 0;
  std::shared_ptr<FakeClock> clock_;
  std::shared_ptr<FakeCluster> cluster_;
  testing::GangController gangs_;
  RolloutRecorder recorder_;
  const Budgets budgets_;
  // Pods whose eviction was requested, by node.
  std::map<std::string, std::set<PodRef>> tried_;
  std::shared_ptr<WatchCache> cache_;
  std::unique_ptr<UpgradeEngine> engine_;
};

}  // namespace

std::vector<std::string> IsolatedDrivers(const UpgradePolicy& policy) {
  return policy.isolation.scope == IsolationScope::kNode ? std::vector<std::string>() : policy.isolation.device_drivers;
}

absl::StatusOr<Rollout> SimulateRollout(const Situation& situation, const UpgradePolicy& policy,
                                        const std::vector<std::string>& device_drivers, const Durations& durations,
                                        std::uint32_t seed) {
  return Simulation(situation, policy, device_drivers, durations, seed).Run();
}

}  // namespace driverupgrade::whatif
