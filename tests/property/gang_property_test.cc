// Tests rollouts of fleets with training jobs whose pods run only together.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "fmt/format.h"
#include "support/catch.h"
#include "support/node_under_test.h"
#include "testing/gang_controller.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeClock;
using testing::FakeCluster;

// A fleet with jobs on random nodes.
class GangWorld {
 public:
  explicit GangWorld(unsigned seed) : random_(seed), gangs_(cluster_, seed) {
    const int nodes = 8 + static_cast<int>(random_() % 17);
    fleet_ = AddFleet(*cluster_, {.node_count = nodes, .workload = ""});
    labels_ = LabelSelector::FromMatchLabels({{"app", fleet_.daemon_set}});
    std::vector<std::string> names = fleet_.node_names;
    std::shuffle(names.begin(), names.end(), random_);
    const std::size_t largest = 2 + random_() % 5;
    policy.max_unavailable = Count{static_cast<int>(largest + random_() % 3)};
    for (std::size_t size = largest; names.size() >= size; size = 1 + random_() % largest) {
      // Leaves the remaining nodes without jobs.
      if (!jobs.empty() && random_() % 4 == 0) break;
      jobs.push_back(fmt::format("job-{}", jobs.size()));
      AddJob(jobs.back(), {names.end() - static_cast<std::ptrdiff_t>(size), names.end()});
      names.resize(names.size() - size);
    }
    cluster_->Advance(absl::Minutes(1));
    cluster_->SetTemplate(fleet_.ns, fleet_.daemon_set, "rev-2");
  }

  // Runs the rollout. The operator is replaced before about one pass in `crashes`, or never if `crashes` is 0.
  void Run(unsigned crashes, bool has_cache = false) {
    std::unique_ptr<UpgradeEngine> engine;
    for (int pass = 0; pass < 3000 && !IsOver(); ++pass) {
      if (!engine || (crashes > 0 && random_() % crashes == 0)) {
        engine.reset();
        cache_.reset();
        if (has_cache)
          cache_ = *WatchCache::Create(cluster_,
                                       {.drivers = {{.ns = fleet_.ns, .driver_labels = labels_}}, .clock = clock_});
        engine = MakeEngine();
      }
      if (cache_) cache_->Turn({});
      const absl::StatusOr<ReconcileResult> result = engine->Reconcile({}, policy);
      REQUIRE((result.ok() || has_cache));
      if (result.ok() && result->plan.rollout) status = result->plan.rollout->gangs;
      if (result.ok()) {
        for (const NodeOutcome& outcome : result->outcomes) counted += outcome.gangs_interrupted;
      }
      gangs_.Step();
      cluster_->Advance(absl::Seconds(1));
      gangs_.Step();
    }
    REQUIRE(IsOver());
  }
  // Makes one node patch in ten fail: either the patch is refused because another client has written to the node, or
  // its response is lost.
  void FailPatches() {
    const auto fails = [this](const testing::Call& call, absl::StatusCode code) -> std::optional<absl::Status> {
      if (call.operation != Operation::kPatchNode || random_() % 20 != 0) return std::nullopt;
      if (code == absl::StatusCode::kAborted) {
        REQUIRE(cluster_->EditNode(call.object,
                                   [&](Node& node) { node.annotations["kubelet"] = std::to_string(random_()); }));
      }
      return absl::Status(code, "on purpose");
    };
    cluster_->SetFaultHooks([fails](const testing::Call& call) { return fails(call, absl::StatusCode::kAborted); },
                            [fails](const testing::Call& call) { return fails(call, absl::StatusCode::kUnavailable); });
  }
  // From now on, counts node patches in `patches`, and those that change taints in `taints`.
  void CountPatches() {
    cluster_->SetFaultHooks(
        [this](const testing::Call& call) -> std::optional<absl::Status> {
          if (call.operation != Operation::kPatchNode) return std::nullopt;
          ++patches;
          taints += call.parameters.find("taints=") != std::string::npos ? 1 : 0;
          return std::nullopt;
        },
        nullptr);
  }
  int Interruptions(const std::string& job) const { return gangs_.interruptions(job); }

  UpgradePolicy policy = {.auto_upgrade = true,
                          .max_parallel = std::nullopt,
                          .drain = DrainPolicy{},
                          .rollout = RolloutPolicy{.gangs = NodeGangs{}}};
  std::vector<std::string> jobs = {};
  int patches = 0;
  int taints = 0;
  // Number of interruptions that the engines have counted.
  int counted = 0;
  std::optional<RolloutGangs> status = std::nullopt;
  const std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  const std::shared_ptr<FakeCluster> cluster_ =
      std::make_shared<FakeCluster>(clock_, testing::FakeClusterOptions{.watches_follow = false});

 private:
  void AddJob(const std::string& job, const std::vector<std::string>& nodes) {
    std::vector<Pod> pods;
    for (const std::string& node : nodes) {
      pods.push_back(testing::PodBuilder("team", fmt::format("{}-{}", job, pods.size()))
                         .OnNode(node)
                         .WithLabel("jobset.sigs.k8s.io/jobset-name", job)
                         .Build());
    }
    gangs_.Add(job, std::move(pods), {.stop_delay = absl::Seconds(2)});
  }
  std::unique_ptr<UpgradeEngine> MakeEngine() {
    EngineOptions options{.snapshot = {.ns = fleet_.ns, .driver_labels = labels_},
                          .cache = cache_,
                          .ledger = AdmissionLedgerOptions{.ns = "ops", .name = "ledger"},
                          .clock = clock_};
    options.executor.calls_in_flight = 1;
    auto engine = UpgradeEngine::Create(Gpu(), cluster_, std::move(options));
    REQUIRE(engine.ok());
    return *std::move(engine);
  }
  bool IsOver() const {
    const std::vector<Node> nodes = cluster_->nodes();
    return gangs_.AllRun() && std::all_of(nodes.begin(), nodes.end(), [](const Node& node) {
             const auto label = node.labels.find(Gpu().StateLabel());
             return label != node.labels.end() && label->second == "upgrade-done" && !node.unschedulable;
           });
  }

  std::mt19937 random_;
  testing::Fleet fleet_;
  LabelSelector labels_;
  std::shared_ptr<WatchCache> cache_;
  testing::GangController gangs_;
};

TEST_CASE("B-21: each job is interrupted once, even if the operator crashes and writes fail") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    GangWorld world(seed);
    if (seed % 3 == 0) world.FailPatches();
    // If the drain has no deadline, the engine keeps no timer on the node.
    if (seed % 6 == 0) world.policy.drain->timeout = absl::InfiniteDuration();
    world.Run(seed % 2 == 0 ? 7 : 0, /*has_cache=*/seed % 5 < 2);
    for (const std::string& job : world.jobs) {
      CAPTURE(seed, job);
      CHECK(world.Interruptions(job) == 1);
    }
    for (const Node& node : world.cluster_->nodes()) CHECK_FALSE(node.annotations.contains(Gpu().UnitAnnotation()));
  }
}

TEST_CASE("B-20: the engine counts each interruption once") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    GangWorld world(seed);
    world.Run(0, /*has_cache=*/seed % 2 == 0);
    const int jobs = static_cast<int>(world.jobs.size());
    CAPTURE(seed, jobs);
    CHECK(world.counted == jobs);
    REQUIRE(world.status);
    CHECK(world.status->gangs == 0);
    CHECK(world.status->interrupted == jobs);
    CHECK(world.status->caused == jobs);
  }
}

TEST_CASE("B-13: the taint costs no request and is removed when the nodes are done") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    GangWorld steered(seed);
    GangWorld plain(seed);
    plain.policy.rollout->gangs->steer = Steer::kNone;
    const Taint foreign{.key = "team", .value = "a", .effect = "NoExecute"};
    for (GangWorld* world : {&steered, &plain}) {
      const std::string tainted = world->cluster_->nodes().front().name;
      REQUIRE(world->cluster_->EditNode(tainted, [&](Node& node) { node.taints = {foreign}; }));
      world->CountPatches();
      world->Run(0, /*has_cache=*/seed % 2 == 0);
      for (const Node& node : world->cluster_->nodes()) {
        CHECK(node.taints == (node.name == tainted ? std::vector{foreign} : std::vector<Taint>()));
      }
    }
    // Each node gets the taint once and loses it once.
    CHECK(steered.taints == 2 * static_cast<int>(steered.cluster_->nodes().size()));
    CHECK(plain.taints == 0);
    CHECK(steered.patches == plain.patches);
  }
}

TEST_CASE("Nodes that start in the order of their names interrupt jobs several times") {
  int interruptions = 0;
  int jobs = 0;
  for (unsigned seed = 1; seed <= 50; ++seed) {
    GangWorld world(seed);
    world.policy.rollout->gangs.reset();
    world.Run(0);
    for (const std::string& job : world.jobs) interruptions += world.Interruptions(job);
    jobs += static_cast<int>(world.jobs.size());
  }
  CAPTURE(interruptions, jobs);
  CHECK(interruptions > 3 * jobs / 2);
}

}  // namespace
}  // namespace driverupgrade::tests
