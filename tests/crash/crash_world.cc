#include "crash/crash_world.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "crash/witness.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/watch_cache.h"
#include "fmt/format.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::Call;
using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;

constexpr absl::Duration kTick = absl::Seconds(1);
constexpr absl::Duration kLimit = absl::Hours(2);
// Number of idle passes after which the upgrade counts as ended.
constexpr int kQuietPasses = 3;

// Removes the time from values such as `1@1767225600`, because times differ between runs.
std::string WithoutTime(const std::string& value) {
  const std::size_t at = value.find('@');
  return at == std::string::npos ? value : value.substr(0, at);
}

std::string TextOf(const Node& node) {
  std::string text = fmt::format("{}{}", node.name, node.unschedulable ? ", cordoned" : "");
  for (const auto* map : {&node.labels, &node.annotations}) {
    for (const auto& [key, value] : *map) text += fmt::format(", {}={}", key, WithoutTime(value));
  }
  return text + "\n";
}

std::string TextOf(const FakeCluster& cluster) {
  std::string text;
  for (const Node& node : cluster.nodes()) text += TextOf(node);
  std::map<std::string, int> pods;
  for (const Pod& pod : cluster.pods()) {
    const OwnerReference* owner = ControllerOf(pod);
    const std::string name = fmt::format("{}/{}", pod.ref.ns, owner != nullptr ? owner->name : pod.ref.name);
    std::string what = pod.deletion_timestamp ? "terminating" : "";
    if (IsDriver(pod)) what += fmt::format("{} {}", RevisionHash(pod), IsReady(pod) ? "ready" : "not ready");
    ++pods[fmt::format("{} on {}: {}", name, IsDaemonSetPod(pod) ? pod.node_name : "some node", what)];
  }
  for (const auto& [pod, count] : pods) text += fmt::format("{} x {}\n", count, pod);
  for (const NodeMaintenance& object : cluster.node_maintenances())
    text += fmt::format("maintenance {}\n", object.name);
  for (const DeviceTaintRule& rule : cluster.device_taint_rules()) text += fmt::format("rule {}\n", rule.name);
  return text;
}

class World {
 public:
  World(const Scenario& scenario, Source source, const Trouble& trouble)
      : scenario_(scenario),
        source_(source),
        trouble_(trouble),
        witness_(scenario.policy.max_parallel.value_or(1'000), scenario.canary, scenario.soak,
                 scenario.policy.isolation.scope != IsolationScope::kNode) {
    cluster_->SetChangeObserver([this](const Change& change) { witness_.Watch(change); });
    cluster_->SetFaultHooks([this](const Call& call) { return Before(call); },
                            [this](const Call& call) { return After(call); });
    scenario_.set_up(*cluster_);
  }
  ~World() { cluster_->SetFaultHooks(nullptr, nullptr); }

  Outcome Run() {
    int quiet = 0;
    while (quiet < kQuietPasses && clock_->Now() < begin_ + kLimit) {
      quiet = Pass() && IsOver() ? quiet + 1 : 0;
      if (scenario_.tick) scenario_.tick(*cluster_, clock_->Now() - begin_);
      cluster_->Advance(kTick);
    }
    End();
    outcome_.took = clock_->Now() - begin_;
    outcome_.end = TextOf(*cluster_);
    outcome_.broken = witness_.broken() + left_;
    return std::move(outcome_);
  }

 private:
  std::optional<absl::Status> Before(const Call& call) {
    outcome_.calls = std::max(outcome_.calls, call.number);
    if (IsWrite(call.operation)) outcome_.writes.push_back(call.number);
    if (call.number == trouble_.crash_before) dead_ = true;
    if (dead_) return absl::CancelledError("the process is dead");
    if (call.number != trouble_.fault_at || trouble_.fault == Fault::kLoses) return std::nullopt;
    if (trouble_.fault == Fault::kRefused) return absl::AbortedError("409");
    return absl::InternalError("500");
  }
  std::optional<absl::Status> After(const Call& call) {
    if (dead_ || call.number != trouble_.fault_at || trouble_.fault != Fault::kLoses) return std::nullopt;
    return absl::DeadlineExceededError("no answer");
  }

  // Runs a pass. Returns whether the pass had nothing to do.
  bool Pass() {
    if (!engine_) Boot();
    const bool releases = scenario_.release_after && !released_ && clock_->Now() >= begin_ + *scenario_.release_after;
    const bool quiet = releases ? Release() : Reconcile();
    if (std::exchange(dead_, false)) {
      End();
      if (trouble_.forgets_marks) EraseMarks();
      return false;
    }
    return quiet && !releases;
  }

  bool Reconcile() {
    if (election_) election_->Step({});
    if (election_ && !election_->IsLeader()) return false;
    if (cache_) cache_->Turn({});
    const auto result = engine_->Reconcile({}, scenario_.policy);
    return result.ok() && result->plan.nodes.empty();
  }

  bool Release() {
    const auto result = engine_->Release({});
    if (dead_ || !result.ok() || !result->plan.nodes.empty()) return false;
    released_ = true;
    for (const Node& node : cluster_->nodes()) {
      const bool ours = node.labels.contains(Gpu().StateLabel()) || !node.annotations.empty();
      if (ours || node.unschedulable != (node.name == scenario_.cordoned))
        left_ = "left after Release: " + TextOf(node);
    }
    if (!cluster_->device_taint_rules().empty()) left_ = "left after Release: a device taint rule";
    End();
    return true;
  }

  void End() {
    engine_.reset();
    cache_.reset();
    election_.reset();
  }

  void EraseMarks() {
    for (const Node& node : cluster_->nodes()) cluster_->EditNode(node.name, [](Node& n) { n.annotations.clear(); });
  }

  void Boot() {
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", "driver"}});
    EngineOptions options{
        .snapshot = {.ns = "gpu", .driver_labels = labels}, .state_machine = scenario_.options, .clock = clock_};
    const IsolationPolicy& isolation = scenario_.policy.isolation;
    if (isolation.scope != IsolationScope::kNode) options.snapshot.devices = isolation.device_drivers;
    options.executor.calls_in_flight = 1;
    if (source_ == Source::kCache) {
      DriverScope scope{.ns = "gpu", .driver_labels = labels, .devices = options.snapshot.devices};
      if (scenario_.options.requestor) scope.maintenance_ns = scenario_.options.requestor->ns;
      cache_ = *WatchCache::Create(cluster_, {.drivers = {scope}, .clock = clock_});
      options.cache = cache_;
    }
    if (scenario_.ledger) options.ledger = AdmissionLedgerOptions{.ns = "gpu", .name = "driver-upgrades"};
    if (scenario_.election) {
      election_ = *LeaderElection::Create(
          cluster_,
          {.ns = "gpu", .name = "driver-upgrade", .identity = fmt::format("process-{}", ++boots_), .clock = clock_});
    }
    engine_ = *UpgradeEngine::Create(Gpu(), cluster_, std::move(options));
  }

  bool IsOver() const {
    const std::vector<Node> nodes = cluster_->nodes();
    return std::all_of(nodes.begin(), nodes.end(),
                       [](const Node& node) { return StateOf(node) == UpgradeState::kDone; });
  }

  const Scenario& scenario_;
  const Source source_;
  const Trouble trouble_;
  Witness witness_;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster_ = std::make_shared<FakeCluster>(
      clock_, testing::FakeClusterOptions{.keep_journal = false, .watches_follow = false});
  std::shared_ptr<WatchCache> cache_;
  std::unique_ptr<LeaderElection> election_;
  std::unique_ptr<UpgradeEngine> engine_;
  const absl::Time begin_ = clock_->Now();
  int boots_ = 0;
  bool dead_ = false;
  bool released_ = false;
  std::string left_;
  Outcome outcome_;
};

}  // namespace

Outcome Run(const Scenario& scenario, Source source, const Trouble& trouble) {
  return World(scenario, source, trouble).Run();
}

}  // namespace driverupgrade::tests
