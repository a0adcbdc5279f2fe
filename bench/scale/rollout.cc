#include <time.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/time/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "fmt/format.h"
#include "scale/scale.h"

namespace driverupgrade::bench {
namespace {

using testing::FakeClock;
using testing::FakeCluster;

constexpr char kGroup[] = "example.com/group";

UpgradePolicy PolicyFor(int parallel, int groups) {
  UpgradePolicy policy{.auto_upgrade = true, .max_parallel = std::nullopt, .drain = DrainPolicy{}};
  if (parallel > 0) policy.max_parallel = parallel;
  if (groups == 0) return policy;
  policy.rollout = RolloutPolicy{.stages = {{.name = "canary", .nodes = Percent{1}, .soak = absl::Minutes(1)},
                                            {.name = "early", .nodes = Percent{10}, .soak = absl::Minutes(1)}},
                                 .groups = NodeGroups{.by = kGroup}};
  return policy;
}

absl::Duration ThreadTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

// Counts the requests that an API server would receive.
class CountingFacade final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;
  std::size_t calls = 0;
  std::size_t ledger_calls = 0;
  // CPU time in the fake cluster.
  absl::Duration spent = absl::ZeroDuration();

 protected:
  absl::Status Around(Operation operation, const CallContext& context, const Call& call) override {
    Count(operation);
    const absl::Duration before = ThreadTime();
    absl::Status status = call(context);
    spent += ThreadTime() - before;
    return status;
  }

 private:
  void Count(Operation operation) {
    switch (operation) {
      case Operation::kListPods:
      case Operation::kPatchNode:
      case Operation::kEvictPod:
      case Operation::kDeletePod: ++calls; break;
      case Operation::kGetConfigMap:
      case Operation::kCreateConfigMap:
      case Operation::kPatchConfigMap: ++ledger_calls; break;
      default: break;
    }
  }
};

struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster =
      std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.keep_journal = false, .watches_follow = false});
  std::shared_ptr<CountingFacade> line = std::make_shared<CountingFacade>(cluster);
  DriverIdentity identity = *DriverIdentity::Create("nvidia.com", "gpu");
  testing::Fleet fleet = {};
  std::shared_ptr<WatchCache> cache = {};
  std::unique_ptr<UpgradeEngine> engine = {};
  std::set<std::string> done = {};

  World(int nodes, int groups) {
    fleet = AddFleet(*cluster, {.node_count = nodes, .workload_max_unavailable = nodes});
    for (int i = 0; i < nodes && groups > 0; ++i) {
      cluster->EditNode(fleet.node_names[static_cast<std::size_t>(i)],
                        [&](Node& node) { node.labels[kGroup] = fmt::format("group-{:04}", i % groups); });
    }
    cluster->SetChangeObserver([this](const testing::Change& change) {
      if (change.node.after != nullptr) Note(*change.node.after);
    });
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    cache = *WatchCache::Create(line, {.drivers = {{.ns = fleet.ns, .driver_labels = labels}}, .clock = clock});
    EngineOptions options{.snapshot = {.ns = fleet.ns, .driver_labels = labels}, .cache = cache, .clock = clock};
    options.executor = {.calls_in_flight = 1, .events = false};
    if (groups > 0) options.ledger = AdmissionLedgerOptions{.ns = fleet.ns, .name = "ledger"};
    engine = *UpgradeEngine::Create(identity, line, std::move(options));
  }
  ~World() { cluster->SetChangeObserver(nullptr); }

  void Note(const Node& node) {
    const auto label = node.labels.find(identity.StateLabel());
    if (label != node.labels.end() && label->second == "upgrade-done") {
      done.insert(node.name);
    } else {
      done.erase(node.name);
    }
  }
};

// Runs one pass after the cache has received all changes. Returns the time at which the next call is due.
absl::Time Pass(World& world, const UpgradePolicy& policy, RolloutFigures& figures) {
  world.cache->Turn({});
  const absl::Time began = absl::Now();
  const absl::Duration cpu = ThreadTime();
  const absl::Duration elsewhere = world.line->spent;
  const auto pass = world.engine->Reconcile({}, policy);
  const absl::Duration took = absl::Now() - began;
  // Excludes the work of the fake cluster. In an operator, the calls run on a thread that mostly waits for the server.
  const absl::Duration work = ThreadTime() - cpu - (world.line->spent - elsewhere);
  figures.engine_work += work;
  figures.cluster_work += world.line->spent - elsewhere;
  figures.slowest_pass = std::max(figures.slowest_pass, took);
  figures.most_work = std::max(figures.most_work, work);
  ++figures.passes;
  if (!pass.ok()) return world.clock->Now() + absl::Seconds(1);
  figures.judgements += pass->judged;
  return pass->wake_at.value_or(absl::InfiniteFuture());
}

}  // namespace

RolloutFigures MeasureRollout(int nodes, int parallel, int groups) {
  RolloutFigures figures{.nodes = nodes};
  const absl::Time began = absl::Now();
  World world(nodes, groups);
  const UpgradePolicy policy = PolicyFor(parallel, groups);
  // In the first passes, all nodes are still done.
  while (Pass(world, policy, figures) <= world.clock->Now() || static_cast<int>(world.done.size()) < nodes) {
  }
  figures.judgements = 0;
  figures.passes = 0;
  figures.engine_work = figures.cluster_work = figures.slowest_pass = figures.most_work = absl::ZeroDuration();
  world.line->calls = world.line->ledger_calls = 0;
  world.done.clear();
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  const absl::Time start = world.clock->Now();
  while (static_cast<int>(world.done.size()) < nodes && world.clock->Now() < start + absl::Hours(24 * 30)) {
    const absl::Time next = Pass(world, policy, figures);
    // The kubelets' work is simulated in steps of up to a second.
    if (next > world.clock->Now()) world.cluster->Advance(std::min(absl::Seconds(1), next - world.clock->Now()));
  }
  figures.done = static_cast<int>(world.done.size());
  figures.api_calls = world.line->calls;
  figures.ledger_calls = world.line->ledger_calls;
  figures.virtual_time = world.clock->Now() - start;
  figures.wall_time = absl::Now() - began;
  figures.peak_bytes = PeakResidentBytes();
  return figures;
}

}  // namespace driverupgrade::bench
