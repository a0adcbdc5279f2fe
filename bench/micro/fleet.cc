#include "micro/fleet.h"

#include <map>
#include <utility>

#include "driverupgrade/testing/builders.h"
#include "fmt/format.h"

namespace driverupgrade::bench {
namespace {

constexpr char kDaemonSet[] = "ds-uid";

std::string NodeName(int index) { return fmt::format("gpu-worker-{:06}.cluster.example", index); }

Pod DriverPod(int node, const std::string& revision) {
  return testing::PodBuilder("gpu-operator", fmt::format("nvidia-driver-daemonset-{:06}", node))
      .WithUid(fmt::format("driver-uid-{:06}", node))
      .OnNode(NodeName(node))
      .WithLabel("app", "nvidia-driver-daemonset")
      .OwnedByDaemonSet("nvidia-driver-daemonset", revision, kDaemonSet)
      .Build();
}

std::shared_ptr<const NodeView> Done(int index, const DriverIdentity& identity) {
  NodeView view{.node = FleetNode(index, "upgrade-done")};
  view.driver_pods = {DriverPod(index, "new")};
  return ShareView(std::move(view), identity);
}

std::shared_ptr<const NodeView> Waiting(int index, const DriverIdentity& identity) {
  NodeView view{.node = FleetNode(index, "upgrade-required")};
  view.driver_pods = {DriverPod(index, "old")};
  return ShareView(std::move(view), identity);
}

// Evictions were refused a second ago, so the node can only wait.
std::shared_ptr<const NodeView> Draining(int index, const DriverIdentity& identity, absl::Time now) {
  NodeView view{.node = FleetNode(index, "drain-required")};
  view.node.unschedulable = true;
  view.node.annotations[std::string(kCordonedByAnnotation)] = identity.Name();
  view.node.annotations[identity.StageAnnotation()] =
      fmt::format("drain-required@{}@new", absl::ToUnixSeconds(now) - 30);
  view.driver_pods = {DriverPod(index, "old")};
  view.pods.emplace();
  for (int i = 0; i < 8; ++i) {
    view.pods->push_back(FleetPod(index, i));
    view.attempts.pods[view.pods->back().ref.uid] = {.count = 1,
                                                     .sent_at = now - absl::Seconds(1),
                                                     .outcome = Outcome::kApplied,
                                                     .answered_at = now - absl::Seconds(1),
                                                     .refusal = Refusal::kDisruptionBudget,
                                                     .budget = "trainer"};
  }
  return ShareView(std::move(view), identity);
}

}  // namespace

Node FleetNode(int index, const std::string& state) {
  testing::NodeBuilder node(NodeName(index));
  node.WithUid(fmt::format("3f2a6c1e-0000-4000-8000-{:012}", index))
      .WithResourceVersion(std::to_string(1'000'000 + index));
  node.WithLabel("nvidia.com/gpu-driver-upgrade-state", state).WithLabel("kubernetes.io/hostname", NodeName(index));
  for (int i = 0; i < 24; ++i) node.WithLabel(fmt::format("feature.node.kubernetes.io/cpu-cpuid.F{:02}", i), "true");
  node.WithAnnotation("volumes.kubernetes.io/controller-managed-attach-detach", "true");
  return node.Build();
}

Pod FleetPod(int node, int index) {
  return testing::PodBuilder(fmt::format("team-{}", index % 4), fmt::format("trainer-{:06}-{}", node, index))
      .WithUid(fmt::format("9b1d0c7a-{:04}-4000-8000-{:012}", index, node))
      .WithResourceVersion(std::to_string(2'000'000 + node))
      .OnNode(NodeName(node))
      .WithLabel("app", "trainer")
      .WithLabel("pod-template-hash", "7d9f8b6c5d")
      .OwnedByReplicaSet("trainer-7d9f8b6c5d", "rs-uid")
      .WithResource("nvidia.com/gpu")
      .Build();
}

MidRollout::MidRollout(int nodes)
    : identity(*DriverIdentity::Create("nvidia.com", "gpu")), machine(identity, StateMachineOptions{}) {
  policy = {.auto_upgrade = true, .max_parallel = nodes / 10, .max_unavailable = Percent{25}, .drain = DrainPolicy{}};
  DriverFacts facts;
  facts.daemon_sets[kDaemonSet] = {
      .daemon_set = {.ns = "gpu-operator", .name = "nvidia-driver-daemonset", .uid = kDaemonSet},
      .wanted_revision = "new"};
  snapshot.driver = std::make_shared<const DriverFacts>(std::move(facts));
  snapshot.active_since = now - absl::Hours(1);
  for (int i = 0; i < nodes; ++i) {
    const int kind = i % 10;
    snapshot.nodes.push_back(kind == 0   ? Draining(i, identity, now)
                             : kind <= 5 ? Waiting(i, identity)
                                         : Done(i, identity));
  }
}

}  // namespace driverupgrade::bench
