#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "scale/scale.h"

namespace driverupgrade::bench {
namespace {

using testing::FakeClock;
using testing::FakeCluster;

constexpr int kWatches = 5;  // nodes, pods, DaemonSets, revisions, driver pods

// Records when the first patch of a node starts.
class FirstPatch final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;

  void Await(const std::string& node) {
    const std::lock_guard lock(mutex_);
    node_ = node;
    at_.reset();
  }
  absl::Time At() {
    std::unique_lock lock(mutex_);
    patched_.wait(lock, [this] { return at_.has_value(); });
    return *at_;
  }
  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override {
    {
      const std::lock_guard lock(mutex_);
      if (params.name == node_ && !at_) at_ = absl::Now();
    }
    patched_.notify_all();
    return ForwardingFacade::PatchNode(context, params);
  }

 private:
  std::mutex mutex_;
  std::condition_variable patched_;
  std::string node_;
  std::optional<absl::Time> at_;
};

}  // namespace

LatencyFigures MeasureLatency(int nodes, int samples) {
  const auto clock = std::make_shared<FakeClock>();
  const auto cluster = std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.keep_journal = false});
  const auto line = std::make_shared<FirstPatch>(cluster);
  const testing::Fleet fleet = AddFleet(*cluster, {.node_count = nodes});
  const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
  const auto cache =
      *WatchCache::Create(line, {.drivers = {{.ns = fleet.ns, .driver_labels = labels}}, .clock = clock});
  EngineOptions options{.snapshot = {.ns = fleet.ns, .driver_labels = labels}, .cache = cache, .clock = clock};
  options.executor.events = false;
  const DriverIdentity identity = *DriverIdentity::Create("nvidia.com", "gpu");
  const auto engine = *UpgradeEngine::Create(identity, line, std::move(options));
  UpgradeController controller(*engine, cache, {.passes_apart = absl::ZeroDuration()});
  controller.SetPolicy({.auto_upgrade = true, .max_parallel = std::nullopt, .max_unavailable = std::nullopt});
  cache->Start();
  LatencyFigures figures{.nodes = nodes};
  {
    std::jthread loop([&controller](std::stop_token stop) { controller.Run(std::move(stop)); });
    // Wait until the last node is marked as done. By then, everything has been read, and the engine is idle.
    while (!cluster->node(fleet.node_names.back())->labels.contains(identity.StateLabel())) std::this_thread::yield();
    for (int i = 0; i < samples; ++i) {
      const std::string& node = fleet.node_names[static_cast<std::size_t>(i * 7919 % nodes)];
      cluster->AwaitWatchesIdle(kWatches);
      line->Await(node);
      const absl::Time began = absl::Now();
      cluster->EditNode(node,
                        [&](Node& edited) { edited.annotations[identity.UpgradeRequestedAnnotation()] = "true"; });
      figures.samples.push_back(line->At() - began);
    }
  }
  cache->Stop();
  std::sort(figures.samples.begin(), figures.samples.end());
  return figures;
}

}  // namespace driverupgrade::bench
