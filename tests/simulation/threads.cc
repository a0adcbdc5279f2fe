// Runs rollouts with engines that use their own threads, with several calls in flight, running watches and light
// faults. Some engines are destroyed while calls are in flight.
//
//     simulate_threads --first-seed 1 --seeds 200
//
// A seed determines the parameters, but not the scheduling of the threads, so a run cannot be repeated exactly. Run
// under ThreadSanitizer, the program finds bugs that appear only with several threads. It checks every commit
// (crash/witness.h) and the final state.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "crash/witness.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "fmt/format.h"
#include "simulation/world/random.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::Call;
using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;
using testing::internal::Random;

constexpr absl::Duration kTick = absl::Milliseconds(200);
constexpr absl::Duration kFaultsEnd = absl::Minutes(1);
constexpr absl::Duration kLimit = absl::Hours(1);
// Real time within which every thread is scheduled at least once, even on a busy machine. The hour of virtual time
// above is not enough, because it can pass within a moment of real time.
constexpr std::chrono::minutes kPatience(1);

struct Draw {
  explicit Draw(std::uint64_t seed) : random(seed, "threads") {}
  Random random;
  const int nodes = random.Between(3, 12);
  const int parallel = random.Between(1, 4);
  const int calls_in_flight = random.Pick({2, 4, 16});
  const bool cache = random.Percent(70);
  const bool ledger = random.Percent(50);
  const bool every_state = random.Percent(30);
  const bool events = random.Percent(50);
  const int faults_per_mille = random.Pick({0, 10, 50});
  // Several lives require a ledger, because without a ledger, the budgets are guaranteed only for an engine that does
  // not crash.
  const int lives = ledger ? random.Between(1, 4) : 1;
};

// Draws a fault for some of the calls. Thread-safe, because the threads of the engine make the calls.
class Faults {
 public:
  Faults(std::uint64_t seed, int per_mille) : random_(seed, "faults"), per_mille_(per_mille) {}

  std::optional<absl::Status> Refuse(const Call& call) {
    if (!IsDrawn()) return std::nullopt;
    if (IsWrite(call.operation)) return absl::AbortedError("409");
    return absl::UnavailableError("503");
  }
  std::optional<absl::Status> LoseAnswer(const Call& call) {
    if (!IsWrite(call.operation) || !IsDrawn()) return std::nullopt;
    return absl::DeadlineExceededError("no answer");
  }
  void End() {
    const std::lock_guard lock(mutex_);
    per_mille_ = 0;
  }

 private:
  bool IsDrawn() {
    const std::lock_guard lock(mutex_);
    return random_.PerMille(per_mille_);
  }

  std::mutex mutex_;
  Random random_;
  int per_mille_;
};

class Rollout {
 public:
  explicit Rollout(std::uint64_t seed)
      : draw_(seed), faults_(seed, draw_.faults_per_mille), witness_(draw_.parallel), policy_(Policy(draw_)) {
    testing::AddFleet(*cluster_, {.node_count = draw_.nodes,
                                  .node_prefix = "n",
                                  .ns = "gpu",
                                  .daemon_set = "driver",
                                  .hash = "old",
                                  .driver_behavior = {.start_delay = absl::Seconds(2), .stop_delay = absl::Seconds(1)},
                                  .workload_max_unavailable = 2});
    cluster_->SetChangeObserver([this](const Change& change) { witness_.Watch(change); });
    cluster_->SetFaultHooks([this](const Call& call) { return faults_.Refuse(call); },
                            [this](const Call& call) { return faults_.LoseAnswer(call); });
    if (!draw_.cache) return;
    // The cache uses the cluster's clock; otherwise the watches would seem to end as soon as they start.
    cache_ = *WatchCache::Create(cluster_, {.drivers = {{.ns = "gpu", .driver_labels = labels_}}, .clock = clock_});
    cache_->Start();
  }
  ~Rollout() {
    if (cache_) cache_->Stop();
    cluster_->SetFaultHooks(nullptr, nullptr);
    cluster_->SetChangeObserver(nullptr);
  }

  // Returns the first error, or an empty string if the rollout succeeded.
  std::string Run() {
    cluster_->SetTemplate("gpu", "driver", "new");
    for (int life = 1; life < draw_.lives; ++life) Live(draw_.random.Between(absl::Seconds(1), absl::Seconds(15)));
    Live(kFaultsEnd);
    faults_.End();
    Live(kLimit, kPatience);
    return WhatIsWrong();
  }

 private:
  static UpgradePolicy Policy(const Draw& draw) {
    return {.auto_upgrade = true,
            .max_parallel = draw.parallel,
            .drain = DrainPolicy{.timeout = absl::InfiniteDuration()},
            .pacing = draw.every_state ? Pacing::kEveryState : Pacing::kChained};
  }

  // Runs one engine until all nodes are done or its time has expired. Then destroys the engine while its calls are in
  // flight.
  void Live(absl::Duration time, std::chrono::minutes patience = std::chrono::minutes(0)) {
    EngineOptions options{.snapshot = {.ns = "gpu", .driver_labels = labels_}, .cache = cache_, .clock = clock_};
    options.executor.calls_in_flight = draw_.calls_in_flight;
    options.executor.events = draw_.events;
    if (draw_.ledger) options.ledger = AdmissionLedgerOptions{.ns = "gpu", .name = "driver-upgrades"};
    auto engine = *UpgradeEngine::Create(Gpu(), cluster_, std::move(options));
    UpgradeController controller(*engine, cache_, {.poll_interval = absl::Seconds(1)});
    controller.SetPolicy(policy_);
    const absl::Time end = clock_->Now() + time;
    const auto gives_up = std::chrono::steady_clock::now() + patience;
    while ((clock_->Now() < end || std::chrono::steady_clock::now() < gives_up) && !IsDone()) {
      controller.Step({});
      cluster_->Advance(kTick);
    }
  }

  bool IsDone() const {
    const std::vector<Node> nodes = cluster_->nodes();
    return std::all_of(nodes.begin(), nodes.end(),
                       [](const Node& node) { return StateOf(node) == UpgradeState::kDone; }) &&
           !AnyOldDriver();
  }

  bool AnyOldDriver() const {
    const std::vector<Pod> pods = cluster_->daemon_set_pods("gpu", "driver");
    return std::any_of(pods.begin(), pods.end(),
                       [](const Pod& pod) { return RevisionHash(pod) != "new" || !IsReady(pod); });
  }

  std::string WhatIsWrong() const {
    if (!witness_.broken().empty()) return witness_.broken();
    if (!IsDone()) return "L1: not done";
    for (const Node& node : cluster_->nodes()) {
      if (node.unschedulable) return "L2: " + node.name + " is done, and cordoned";
      if (!node.annotations.empty()) return "L2: " + node.name + " is done, but has annotations";
    }
    return "";
  }

  Draw draw_;
  Faults faults_;
  Witness witness_;
  const UpgradePolicy policy_;
  const LabelSelector labels_ = LabelSelector::FromMatchLabels({{"app", "driver"}});
  const std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  const std::shared_ptr<FakeCluster> cluster_ =
      std::make_shared<FakeCluster>(clock_, testing::FakeClusterOptions{.keep_journal = false, .watches_follow = true});
  std::shared_ptr<WatchCache> cache_;
};

}  // namespace
}  // namespace driverupgrade::tests

int main(int argc, char** argv) {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 200;
  CLI::App app{"Rollouts by engines with threads of their own. Exit codes: 0 nothing was broken; 1 something was."};
  app.add_option("--first-seed,--seed", first_seed, "the first seed")->capture_default_str();
  app.add_option("--seeds", seeds, "how many")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  int failed = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const std::string wrong = driverupgrade::tests::Rollout(seed).Run();
    if (wrong.empty()) continue;
    ++failed;
    fmt::print("seed {}: {}\n", seed, wrong);
    std::fflush(stdout);
  }
  fmt::print("{} seeds, {} failed\n", seeds, failed);
  return failed == 0 ? 0 : 1;
}
