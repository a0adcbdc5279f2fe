// Devices that a DRA driver publishes, and pods that claim these devices (Mode::kDevices). Checks the invariant for
// devices: an upgrade that isolates devices removes only pods with claims, and the engine does not replace a driver
// while a pod holds a claim.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "driverupgrade/testing/builders.h"
#include "fmt/format.h"
#include "simulation/world/actors.h"

namespace driverupgrade::testing::internal {
namespace {

constexpr int kDevicesPerNode = 8;
// Maximum delay of a request sent while the node was cordoned (F7), as measured by a clock that may run slow.
constexpr absl::Duration kCordonIsRemembered = absl::Minutes(10);

class DevicesActor final : public Actor {
 public:
  explicit DevicesActor(World& world) : Actor(world, "devices") {
    for (const Node& node : world_.cluster->nodes()) {
      NoteNode(node);
      if (node.labels.contains("zone")) Publish(node.name, "rev-1");
    }
    if (world_.setup.devices.served != DeviceOptions::Served::kNone) AddWorkloads();
  }

  bool acts_when_calm() const override { return true; }

  // Must not call the cluster, because the cluster is locked.
  void See(const Change& change) override {
    if (change.node.after != nullptr) NoteNode(*change.node.after);
    if (change.node.after == nullptr && change.node.before != nullptr) nodes_.erase(change.node.before->name);
    if (change.resource_claim.before != nullptr) ForgetClaim(*change.resource_claim.before);
    if (change.resource_claim.after != nullptr) NoteClaim(*change.resource_claim.after);
    const Pod* before = change.pod.before;
    if (before == nullptr || before->deletion_timestamp || change.actor != testing::Actor::kClient) return;
    if (change.pod.after == nullptr || change.pod.after->deletion_timestamp) JudgeRemoval(*before);
  }

 private:
  struct SeenNode {
    bool isolated = false;
    bool ready = true;
    absl::Time cordoned_until = absl::InfinitePast();
    std::set<std::string> claims = {};  // names of claims that a pod has reserved
  };

  absl::Duration Pause() override { return random_.Between(absl::Seconds(1), absl::Seconds(8)); }

  // Publishes the devices of nodes whose driver is ready, and withdraws the devices of other nodes.
  void Act() override {
    std::map<std::string, std::string> ready;
    for (const Pod& pod : world_.cluster->daemon_set_pods(kDriverNs, kDriver)) {
      if (IsReady(pod) && !pod.deletion_timestamp) ready[pod.node_name] = RevisionHash(pod);
    }
    for (const Node& node : world_.cluster->nodes()) {
      if (!node.labels.contains("zone")) continue;
      const auto found = ready.find(node.name);
      if (found == ready.end()) {
        world_.cluster->WithdrawDevices(kDeviceDriver, node.name);
      } else {
        Publish(node.name, found->second);
      }
    }
  }

  // A plugin may publish only some of the devices at first.
  void Publish(const std::string& node, const std::string& version) {
    const int count = random_.Percent(5) ? kDevicesPerNode / 2 : kDevicesPerNode;
    ResourceSlice slice{.node_name = node, .driver = kDeviceDriver};
    for (int i = 0; i < count; ++i) {
      slice.devices.push_back({.name = fmt::format("gpu-{}", i), .driver_version = version});
    }
    world_.cluster->PublishDevices(std::move(slice));
  }

  // The workloads together claim three quarters of the devices.
  void AddWorkloads() {
    const int nodes = world_.setup.nodes;
    for (const int devices : {1, 2, 4}) {
      world_.cluster->AddWorkload({.ns = kWorkloadNs,
                                   .name = fmt::format("train-{}", devices),
                                   .replicas = std::max(1, kDevicesPerNode * nodes / 4 / devices),
                                   .behavior = {.start_delay = absl::Seconds(random_.Between(1, 10)),
                                                .stop_delay = absl::Seconds(random_.Between(1, 30))},
                                   .devices = DeviceRequest{.driver = kDeviceDriver, .count = devices}});
    }
  }

  void NoteNode(const Node& node) {
    SeenNode& seen = nodes_[node.name];
    const bool isolated = node.annotations.contains(world_.identity.IsolatedDevicesAnnotation());
    if (isolated && !seen.isolated) world_.CameBy(Mode::kDevices);
    seen.isolated = isolated;
    seen.ready = node.ready;
    if (node.unschedulable) seen.cordoned_until = world_.Now() + kCordonIsRemembered;
  }

  void NoteClaim(const ResourceClaim& claim) {
    if (claim.reserved_for.empty()) return;
    for (const AllocatedPool& pool : claim.allocated) nodes_[pool.pool].claims.insert(claim.ns + "/" + claim.name);
  }
  void ForgetClaim(const ResourceClaim& claim) {
    for (const AllocatedPool& pool : claim.allocated) nodes_[pool.pool].claims.erase(claim.ns + "/" + claim.name);
  }

  // Checks the rules.
  void JudgeRemoval(const Pod& pod) {
    const auto found = nodes_.find(pod.node_name);
    if (found == nodes_.end() || !found->second.isolated || world_.Now() < found->second.cordoned_until) return;
    const SeenNode& node = found->second;
    const bool is_driver = pod.ref.ns == kDriverNs && world_.driver_labels.Matches(pod.labels);
    // A pod on a NotReady node does not count after its grace period (dep-F11), so this check is limited to Ready
    // nodes.
    if (is_driver && node.ready && !node.claims.empty()) {
      world_.checker->Fail(
          "I24", fmt::format("the driver of {} was replaced while {} was held", pod.node_name, *node.claims.begin()));
    }
    if (is_driver || !pod.resource_claims.empty() || (world_.setup.hooks && pod.labels.contains("uses"))) return;
    world_.checker->Fail(
        "I24", fmt::format("{} was removed from {}, whose devices it does not use", pod.ref.ToString(), pod.node_name));
  }

  std::map<std::string, SeenNode> nodes_;
};

}  // namespace

std::unique_ptr<Actor> MakeDevices(World& world) { return std::make_unique<DevicesActor>(world); }

}  // namespace driverupgrade::testing::internal
