#include "upgradectl/simulate.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/admission_ledger.h"
#include "driverupgrade/testing/fake_clock.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "fmt/format.h"
#include "upgradectl/rollout_recorder.h"

namespace upgradectl {
namespace {

using driverupgrade::LabelSelector;
using driverupgrade::Node;
using driverupgrade::Pod;
using driverupgrade::UpgradePolicy;
using driverupgrade::UpgradeState;
using driverupgrade::testing::Change;
using driverupgrade::testing::FakeClock;
using driverupgrade::testing::FakeCluster;

// Everything of the rollout stands for the user's driver, under names that nothing of the user's has.
constexpr std::string_view kDriverSet = "simulated-driver";
constexpr std::string_view kHasDriver = "upgradectl/has-driver";
constexpr std::string_view kLedger = "simulated-ledger";
// Of the watches on nodes, DaemonSets, revisions and driver pods.
constexpr std::int64_t kFirstLists = 4;
// Longer than any rollout: who is not done by then waits for ever.
constexpr absl::Duration kLimit = absl::Hours(24 * 30);

// The least time between two passes: one for each change would judge the same node several times. Small beside what a node
// takes, which it adds to.
absl::Duration StepOf(const Durations& durations) {
  const absl::Duration part = std::min(durations.driver_start, durations.pod_stop) / 30;
  return std::clamp(part, absl::Milliseconds(50), absl::Seconds(1));
}

class Simulation {
 public:
  Simulation(const Request& request, const UpgradePolicy& policy, const Durations& durations, std::uint32_t seed)
      : request_(request),
        policy_(policy),
        durations_(durations),
        random_(seed),
        clock_(std::make_shared<FakeClock>(Beginning(request))),
        cluster_(std::make_shared<FakeCluster>(
            clock_, driverupgrade::testing::FakeClusterOptions{.keep_journal = false, .watches_follow = false})),
        recorder_(request, clock_->Now()) {}

  absl::StatusOr<Rollout> Run() {
    Furnish();
    if (const absl::Status status = StartEngine(); !status.ok()) return status;
    cluster_->SetChangeObserver([this](const Change& change) { recorder_.Follow(change); });
    const absl::Time began = clock_->Now();
    while (clock_->Now() - began < kLimit) {
      VaryDriverStart();
      cache_->Turn({});
      const absl::StatusOr<driverupgrade::ReconcileResult> pass = engine_->Reconcile({}, policy_);
      if (!pass.ok()) return pass.status();
      ++passes_;
      for (const driverupgrade::NodeGate& gate : pass->plan.gates) recorder_.Hold(gate, clock_->Now());
      for (const std::string& node : pass->plan.ungated) recorder_.Unhold(node);
      const absl::Time next = std::min(pass->wake_at.value_or(absl::InfiniteFuture()), cluster_->NextEventTime());
      if ((recorder_.MayBeOver(pass->plan.totals) && IsOver()) || next == absl::InfiniteFuture()) break;
      cluster_->RunUntil(std::max(next, clock_->Now() + StepOf(durations_)));
    }
    return Outcome();
  }

 private:
  // Windows go by the time of day. Marks are in whole seconds: a part of one would differ from run to run.
  static absl::Time Beginning(const Request& request) {
    return absl::FromUnixSeconds(absl::ToUnixSeconds(request.question.at));
  }
  // What remembers the stage of a rollout. Without `rollout` none, so that a simulation writes what is needed alone.
  std::optional<driverupgrade::AdmissionLedgerOptions> Ledger() const {
    if (!policy_.rollout) return std::nullopt;
    return driverupgrade::AdmissionLedgerOptions{.ns = request_.place.ns, .name = std::string(kLedger)};
  }

  absl::Duration Varied(absl::Duration duration) {
    std::uniform_real_distribution<double> part(-durations_.jitter, durations_.jitter);
    return duration * (1 + part(random_));
  }
  // Of the pods that are made until the next pass.
  void VaryDriverStart() {
    cluster_->SetDaemonSetBehavior(
        request_.place.ns, std::string(kDriverSet),
        {.start_delay = Varied(durations_.driver_start), .stop_delay = Varied(durations_.driver_stop)});
  }

  bool IsDriverPod(const Pod& pod) const {
    return pod.ref.ns == request_.place.ns && request_.question.snapshot.driver_labels.Matches(pod.labels);
  }

  void Furnish() {
    for (const Pod& pod : request_.question.cluster.pods) {
      if (IsDriverPod(pod) && !pod.node_name.empty()) nodes_.insert(pod.node_name);
    }
    for (const Node& node : request_.question.cluster.nodes) AddNode(node);
    const std::string ns = request_.place.ns;
    cluster_->AddDaemonSet({.ns = ns,
                            .name = std::string(kDriverSet),
                            .labels = {{"app", std::string(kDriverSet)}},
                            .node_selector = {{std::string(kHasDriver), "true"}},
                            .hash = "old",
                            .behavior = {.stop_delay = durations_.driver_stop}});
    // Before the pods: a budget that comes later looks at each of them.
    for (const driverupgrade::PodDisruptionBudget& budget : request_.question.cluster.pod_disruption_budgets) {
      cluster_->AddDisruptionBudget(
          {.ns = budget.ns, .name = budget.name, .selector = budget.selector, .min_available = budget.desired_healthy});
    }
    for (const Pod& pod : request_.question.cluster.pods) AddPod(pod);
    cluster_->SetTemplate(ns, std::string(kDriverSet), "new");
  }

  void AddNode(Node node) {
    if (nodes_.count(node.name) == 0 || !node.unreadable.empty()) return;
    const std::string& prefix = request_.question.identity.KeyPrefix();
    const bool skipped = node.labels.count(request_.question.identity.SkipUpgradeLabel()) > 0;
    const auto is_ours = [&](const auto& entry) { return std::string_view(entry.first).starts_with(prefix); };
    std::erase_if(node.labels, is_ours);
    // A cordon of an upgrade goes with its marks, an administrator's stays.
    if (node.annotations.erase(std::string(driverupgrade::kCordonedByAnnotation)) > 0) node.unschedulable = false;
    std::erase_if(node.annotations, is_ours);
    if (skipped) node.labels[request_.question.identity.SkipUpgradeLabel()] = "true";
    node.labels[std::string(kHasDriver)] = "true";
    cluster_->AddNode(std::move(node));
  }

  // A terminating pod is soon gone, unless a finalizer has held it beyond its grace period.
  void AddPod(Pod pod) {
    const bool stays = IsDriverPod(pod) || driverupgrade::IsDaemonSetPod(pod) || driverupgrade::IsFinished(pod);
    const bool held = pod.deletion_timestamp && *pod.deletion_timestamp < clock_->Now() && !pod.finalizers.empty();
    const bool leaves = pod.deletion_timestamp && !held;
    if (stays || nodes_.count(pod.node_name) == 0 || !pod.unreadable.empty() || leaves) return;
    const absl::Duration start = Varied(durations_.pod_start);
    const absl::Duration stop = Varied(durations_.pod_stop);
    cluster_->AddPod(std::move(pod), {.start_delay = start, .stop_delay = held ? absl::InfiniteDuration() : stop});
  }

  absl::Status StartEngine() {
    const absl::StatusOr<LabelSelector> labels = LabelSelector::Parse(fmt::format("app={}", kDriverSet));
    if (!labels.ok()) return labels.status();
    auto cache = driverupgrade::WatchCache::Create(
        cluster_, {.drivers = {{.ns = request_.place.ns, .driver_labels = *labels}}, .clock = clock_});
    if (!cache.ok()) return cache.status();
    cache_ = *std::move(cache);
    auto engine =
        driverupgrade::UpgradeEngine::Create(request_.question.identity, cluster_,
                                             {.snapshot = {.ns = request_.place.ns,
                                                           .driver_labels = *labels,
                                                           .uses_driver = request_.question.snapshot.uses_driver},
                                              .executor = {.calls_in_flight = 1, .events = false},
                                              .cache = cache_,
                                              // A pass takes no time here.
                                              .nodes_per_pass = std::numeric_limits<int>::max(),
                                              .ledger = Ledger(),
                                              .clock = clock_});
    if (!engine.ok()) return engine.status();
    engine_ = *std::move(engine);
    return absl::OkStatus();
  }

  // Nobody moves any more, unless a person does something.
  bool IsOver() {
    const driverupgrade::Plan plan = engine_->Everything();
    ++whole_plans_;
    if (!plan.nodes.empty() || plan.totals.total == 0) return plan.totals.total == 0 && cache_->Synced();
    if (plan.totals.InState(UpgradeState::kDone) + static_cast<int>(plan.gates.size()) < plan.totals.total)
      return false;
    return std::all_of(plan.gates.begin(), plan.gates.end(), [](const driverupgrade::NodeGate& gate) {
      return driverupgrade::TraitsOf(gate.gate.reason).ends_rollout;
    });
  }

  Rollout Outcome() {
    using driverupgrade::Operation;
    const driverupgrade::Plan plan = engine_->Everything();
    Rollout rollout{.makespan = recorder_.last_change(),
                    .nodes = plan.totals.total,
                    .done = plan.totals.done,
                    .failed = plan.totals.failed,
                    .evictions = cluster_->CallCount(Operation::kEvictPod),
                    .passes = passes_,
                    .whole_plans = whole_plans_};
    for (const driverupgrade::NodeGate& gate : plan.gates) {
      rollout.blocked[gate.node] = {
          .gate = gate.gate.reason,
          .why = fmt::format("{}: {}", driverupgrade::ToString(gate.gate.reason), gate.gate.detail),
          .since = recorder_.HeldSince(gate.node)};
    }
    rollout.writes = rollout.evictions;
    for (const Operation operation :
         {Operation::kPatchNode, Operation::kDeletePod, Operation::kCreateConfigMap, Operation::kPatchConfigMap}) {
      rollout.writes += cluster_->CallCount(operation);
    }
    rollout.requests = rollout.writes;
    for (const Operation operation : {Operation::kListNodes, Operation::kListPods, Operation::kListDaemonSets,
                                      Operation::kListControllerRevisions, Operation::kGetConfigMap}) {
      rollout.requests += cluster_->CallCount(operation);
    }
    rollout.requests += kFirstLists;
    recorder_.Finish(rollout);
    return rollout;
  }

  const Request& request_;
  const UpgradePolicy& policy_;
  const Durations durations_;
  std::mt19937 random_;
  std::set<std::string> nodes_;
  int passes_ = 0;
  int whole_plans_ = 0;
  std::shared_ptr<FakeClock> clock_;
  std::shared_ptr<FakeCluster> cluster_;
  RolloutRecorder recorder_;
  std::shared_ptr<driverupgrade::WatchCache> cache_;
  std::unique_ptr<driverupgrade::UpgradeEngine> engine_;
};

}  // namespace

absl::StatusOr<Rollout> SimulateRollout(const Request& request, const UpgradePolicy& policy, const Durations& durations,
                                        std::uint32_t seed) {
  return Simulation(request, policy, durations, seed).Run();
}

}  // namespace upgradectl
