#include <malloc.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/watch_cache.h"
#include "fmt/format.h"
#include "scale/scale.h"

namespace driverupgrade::bench {
namespace {

using testing::NodeBuilder;
using testing::PodBuilder;

std::string NodeName(int node) { return fmt::format("gpu-worker-{:05}.cluster.example", node); }

// Returns a node of realistic size, with a dozen labels like those that cloud providers and device plugins set.
Node MakeNode(int number) {
  NodeBuilder builder(NodeName(number));
  builder.WithUid(fmt::format("3f2a6c1e-0000-4000-8000-{:012}", number)).WithResourceVersion("123456789");
  for (int i = 0; i < 12; ++i)
    builder.WithLabel(fmt::format("topology.example.com/label-{}", i), "some-value-or-other");
  builder.WithLabel("nvidia.com/gpu-driver-upgrade-state", "upgrade-done");
  return builder.Build();
}

Pod MakePod(int node, int number, bool driver) {
  PodBuilder builder(driver ? "gpu-operator" : fmt::format("team-{}", number % 7),
                     fmt::format("workload-{}-7d9f8b6c5d-{:05}", number, node));
  builder.WithUid(fmt::format("9b1d0c7a-{:04}-4000-8000-{:012}", number, node)).WithResourceVersion("123456789");
  builder.OnNode(NodeName(node)).WithLabel("app", driver ? "driver" : "workload");
  builder.WithLabel("pod-template-hash", "7d9f8b6c5d").WithResource("nvidia.com/gpu");
  Pod pod = driver ? builder.OwnedByDaemonSet("driver", "rev-1", "ds-uid").Build()
                   : builder.OwnedByReplicaSet("workload-7d9f8b6c5d", "rs-uid").Build();
  if (driver) return pod;
  // Adds annotations, because a PodFilter may read them.
  pod.annotations = {{"kubectl.kubernetes.io/default-container", "workload"}};
  pod.volumes = {{.name = "data", .kind = "persistentVolumeClaim"},
                 {.name = "shared-memory", .kind = "emptyDir"},
                 {.name = "kube-api-access-7xk2p", .kind = "projected"}};
  pod.scheduler_name = "default-scheduler";
  return pod;
}

// A cluster that stores nothing: each object is created on request.
class GeneratedCluster final : public ClusterReader {
 public:
  GeneratedCluster(int nodes, int pods_per_node) : nodes_(nodes), pods_per_node_(pods_per_node) {}

  bool Supports(Operation) const override { return true; }
  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext&, const ListPodsParams& params) override {
    std::vector<Pod> pods;
    const int node = std::stoi(params.node_name.substr(params.node_name.find_last_of('-') + 1, 5));
    for (int i = 0; i < pods_per_node_; ++i) pods.push_back(MakePod(node, i, i == 0));
    return pods;
  }
  absl::Status WatchNodes(const CallContext&, const WatchParams&, WatchSink<Node>& sink) override {
    return Tell<Node>(sink, nodes_, MakeNode);
  }
  absl::Status WatchPods(const CallContext&, const WatchParams& params, WatchSink<Pod>& sink) override {
    return Tell<Pod>(sink, params.list ? nodes_ : 0, [](int node) { return MakePod(node, 0, true); });
  }
  absl::Status WatchDaemonSets(const CallContext&, const WatchParams&, WatchSink<DaemonSet>& sink) override {
    return Tell<DaemonSet>(sink, 0, nullptr);
  }
  absl::Status WatchControllerRevisions(const CallContext&, const WatchParams&,
                                        WatchSink<ControllerRevision>& sink) override {
    return Tell<ControllerRevision>(sink, 0, nullptr);
  }

 private:
  template <typename T>
  static absl::Status Tell(WatchSink<T>& sink, int count, const std::function<T(int)>& make) {
    std::vector<T> objects;
    for (int i = 0; i < count; ++i) objects.push_back(make(i));
    sink.OnList(std::move(objects), "1");
    sink.OnBookmark("1");
    return absl::OkStatus();
  }

  const int nodes_;
  const int pods_per_node_;
};

std::size_t Allocated() { return mallinfo2().uordblks; }

}  // namespace

MemoryFigures MeasureMemory(int nodes, int pods_per_node) {
  MemoryFigures figures{.nodes = nodes, .pods = nodes * pods_per_node, .empty_bytes = ResidentBytes()};
  const std::size_t before = Allocated();
  const auto cluster = std::make_shared<GeneratedCluster>(nodes, pods_per_node);
  const DriverScope driver{.ns = "gpu-operator", .driver_labels = LabelSelector::FromMatchLabels({{"app", "driver"}})};
  const auto cache = *WatchCache::Create(cluster, {.drivers = {driver}});
  cache->Turn({});
  std::set<std::string> interest;
  for (int i = 0; i < nodes; ++i) interest.insert(NodeName(i));
  cache->SetInterest(0, interest);
  for (const std::string& node : interest) {
    if (!cache->ReadPods({}, node).ok()) figures.pods -= pods_per_node;
  }
  cache->Take(0);
  interest.clear();
  malloc_trim(0);
  figures.full_bytes = ResidentBytes();
  figures.allocated_bytes = Allocated() - before;
  return figures;
}

}  // namespace driverupgrade::bench
