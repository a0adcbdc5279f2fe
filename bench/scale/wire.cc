// Measures the cost of receiving realistic objects: transport, JSON, facade and cache.
#include <malloc.h>
#include <sys/resource.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "driverupgrade/kubernetes/cpprest_transport.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/watch_cache.h"
#include "fmt/format.h"
#include "scale/scale.h"
#include "scale/wire_objects.h"
#include "scale/wire_server.h"

namespace driverupgrade::bench {
namespace {

absl::Duration ProcessorTime() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime);
}

// Measures time and memory from its construction to Stop.
class Meter {
 public:
  Meter() {
    malloc_trim(0);
    ResetPeak();
    resident_ = ResidentBytes();
    processor_ = ProcessorTime();
    began_ = absl::Now();
  }
  WireCost Stop(int objects) const {
    return {.objects = objects,
            .wall_time = absl::Now() - began_,
            .processor_time = ProcessorTime() - processor_,
            .before_bytes = resident_,
            .peak_bytes = PeakResidentBytes()};
  }

 private:
  std::size_t resident_ = 0;
  absl::Duration processor_ = {};
  absl::Time began_ = {};
};

// Reads the pods of all nodes, several nodes at a time. Returns the number of pods.
int ReadAllPods(WatchCache& cache, int nodes, int threads) {
  std::atomic<int> next = 0;
  std::atomic<int> pods = 0;
  std::vector<std::jthread> readers;
  for (int i = 0; i < threads; ++i) {
    readers.emplace_back([&] {
      for (int node = next++; node < nodes; node = next++) {
        const std::string name = WireNodeName(node);
        if (!cache.ReadPods({}, name).ok()) continue;
        if (const auto known = cache.PodsOn(name)) pods += static_cast<int>(known->size());
      }
    });
  }
  readers.clear();
  return pods;
}

template <typename Condition>
bool Await(Condition condition, absl::Duration limit = absl::Minutes(10)) {
  const absl::Time end = absl::Now() + limit;
  while (!condition() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(5));
  return condition();
}

// Reports whether the cache has received the last change: the watch reports the pods in order, and the pods of the last
// node come last.
bool HasLastChange(const WatchCache& cache, int nodes, int pods_per_node) {
  const std::string last = std::to_string(kChangedVersion + static_cast<long long>(nodes) * pods_per_node - 1);
  const auto pods = cache.PodsOn(WireNodeName(nodes - 1));
  if (!pods) return false;
  for (const Pod& pod : *pods) {
    if (pod.resource_version == last) return true;
  }
  return false;
}

absl::Status MeasureCache(const std::shared_ptr<HttpTransport>& transport,
                          const std::shared_ptr<ClusterFacade>& cluster, int pods_per_node, int readers,
                          WireFigures& figures) {
  const DriverScope driver{.ns = "gpu-operator", .driver_labels = LabelSelector::FromMatchLabels({{"app", "driver"}})};
  const auto cache = *WatchCache::Create(cluster, {.drivers = {driver}});
  std::set<std::string> interest;
  for (int node = 0; node < figures.nodes; ++node) interest.insert(WireNodeName(node));

  const Meter sync;
  cache->Start();
  if (!Await([&] { return cache->Synced(); })) return absl::DeadlineExceededError("the cache has not started");
  figures.sync = sync.Stop(2 * figures.nodes);
  cache->SetInterest(0, interest);

  const Meter read;
  const int pods = ReadAllPods(*cache, figures.nodes, readers);
  figures.read = read.Stop(pods);
  cache->Take(0);

  const Meter follow;
  if (const auto fed = transport->Send({}, {.path = kFeedPath}); !fed.ok()) return fed.status();
  const bool followed = Await([&] { return HasLastChange(*cache, figures.nodes, pods_per_node); });
  figures.follow = follow.Stop(followed ? figures.nodes * pods_per_node : 0);
  malloc_trim(0);
  figures.resident_bytes = ResidentBytes();
  cache->Stop();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<WireFigures> MeasureWire(int nodes, int pods_per_node, int readers) {
  WireFigures figures{.nodes = nodes,
                      .node_bytes = NodeJson(0, kListedVersion).size(),
                      .pod_bytes = PodJson(0, 1, kListedVersion).size()};
  const WireServer server(nodes, pods_per_node);
  if (server.url().empty()) return absl::InternalError("the server could not be started");
  auto transport = MakeCpprestTransport({.server = server.url()}, {});
  if (!transport.ok()) return transport.status();
  const std::shared_ptr<ClusterFacade> cluster = MakeRestCluster(*transport);
  {
    const Meter list;
    const absl::StatusOr<std::vector<Node>> listed = cluster->ListNodes({}, {});
    if (!listed.ok()) return listed.status();
    figures.list = list.Stop(static_cast<int>(listed->size()));
  }
  const absl::Status status = MeasureCache(*transport, cluster, pods_per_node, readers, figures);
  if (!status.ok()) return status;
  return figures;
}

}  // namespace driverupgrade::bench
