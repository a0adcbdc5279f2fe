// Tests the devices in a node's view, which are read from lists or from a cache.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "decide/attempt_log.h"
#include "driverupgrade/snapshot_builder.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/watch_cache.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::DeviceOptions;
using testing::FakeClock;
using testing::FakeCluster;
using testing::FakeClusterOptions;
using testing::Fleet;

const std::string kDriver = "gpu.nvidia.com";

// Two nodes with devices, and a pod with a claim on the first node.
struct World {
  explicit World(const DeviceOptions& devices = {})
      : cluster(std::make_shared<FakeCluster>(clock, FakeClusterOptions{.devices = devices, .watches_follow = false})) {
    for (const std::string& node : fleet.node_names) {
      cluster->PublishDevices(
          {.node_name = node, .driver = kDriver, .devices = {{"gpu-0", "580.1"}, {"gpu-1", "580.1"}}});
    }
    cluster->AddResourceClaim({.ns = "team-a", .name = "claim", .request = {.driver = kDriver}});
    Pod pod = testing::PodBuilder("team-a", "train").Pending().Build();
    pod.resource_claims = {"claim"};
    cluster->AddPod(pod);
    cluster->Advance(absl::Seconds(10));
  }

  DeviceTaintRule Taint(const std::string& node, const std::string& key) {
    const auto rule = cluster->CreateDeviceTaintRule({}, {.object = {.name = "rule-" + node,
                                                                     .node_name = node,
                                                                     .node_uid = cluster->node(node)->uid,
                                                                     .driver = kDriver,
                                                                     .pool = node,
                                                                     .key = key}});
    REQUIRE(rule.ok());
    // The device taint controller has since updated the rule.
    for (const DeviceTaintRule& stored : cluster->device_taint_rules()) {
      if (stored.uid == rule->uid) return stored;
    }
    return *rule;
  }

  SnapshotOptions Options() const {
    return {.ns = fleet.ns,
            .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}}),
            .devices = {kDriver}};
  }
  ClusterSnapshot Read() {
    auto snapshot = builder.Build({});
    REQUIRE(snapshot.ok());
    return *std::move(snapshot);
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster;
  Fleet fleet = AddFleet(*cluster, {.node_count = 2, .workload = ""});
  internal::AttemptLog log = {};
  SnapshotBuilder builder{Gpu(), cluster, Options(), /*requestor=*/std::nullopt, &log};
};

TEST_CASE("A view contains the rules, claims, and slices of its node") {
  World world;
  const DeviceTaintRule rule = world.Taint(world.fleet.node_names[0], "k");
  const ClusterSnapshot snapshot = world.Read();
  REQUIRE(snapshot.nodes.size() == 2);
  const NodeView& first = *snapshot.nodes[0];
  REQUIRE(first.devices);
  CHECK(first.devices_status.ok());
  CHECK(first.devices->rules == std::vector{rule});
  CHECK(first.devices->claims == world.cluster->resource_claims());
  REQUIRE(first.devices->claims.size() == 1);
  CHECK(first.devices->claims[0].reserved_for.size() == 1);
  REQUIRE(first.devices->slices.size() == 1);
  CHECK(first.devices->slices[0].devices.size() == 2);
  CHECK(snapshot.nodes[1]->devices->rules.empty());
  CHECK(snapshot.nodes[1]->devices->claims.empty());
  CHECK(snapshot.nodes[1]->devices->slices.size() == 1);
}

TEST_CASE("No DRA objects are read unless the options name drivers") {
  World world;
  SnapshotOptions options = world.Options();
  options.devices.clear();
  SnapshotBuilder builder(Gpu(), world.cluster, options);
  const auto snapshot = builder.Build({});
  REQUIRE(snapshot.ok());
  CHECK_FALSE(snapshot->nodes[0]->devices);
  CHECK(snapshot->nodes[0]->devices_status.ok());
  for (const Operation operation :
       {Operation::kListDeviceTaintRules, Operation::kListResourceClaims, Operation::kListResourceSlices}) {
    CHECK(world.cluster->CallCount(operation) == 0);
  }
}

TEST_CASE("A-1: a cluster without device taint rules is distinguished from a cluster that does not respond") {
  World without(DeviceOptions{.served = DeviceOptions::Served::kClaims});
  const ClusterSnapshot none = without.Read();
  REQUIRE(none.nodes[0]->devices);
  CHECK_FALSE(none.nodes[0]->devices->has_rules);
  // The node's claims still show which pods use the driver.
  CHECK(none.nodes[0]->devices->claims.size() == 1);
  CHECK(none.findings.empty());
  CHECK(without.cluster->CallCount(Operation::kListResourceSlices) == 0);

  World old(DeviceOptions{.served = DeviceOptions::Served::kNone});
  CHECK_FALSE(old.Read().nodes[0]->devices);
  CHECK(absl::IsNotFound(old.Read().nodes[0]->devices_status));

  World broken;
  broken.cluster->FailNext(Operation::kListResourceClaims, absl::UnavailableError("503"));
  const ClusterSnapshot snapshot = broken.Read();
  CHECK_FALSE(snapshot.nodes[0]->devices);
  CHECK(snapshot.nodes[0]->devices_status == absl::UnavailableError("ResourceClaims: 503"));
  REQUIRE(snapshot.findings.size() == 1);
  CHECK(snapshot.findings[0] == Finding{.code = FindingCode::kReadFailed, .message = "503"});
  CHECK(broken.Read().nodes[0]->devices);
}

TEST_CASE("A-4: a node is still managed if our own rule is all that is left on the node") {
  World world;
  REQUIRE(world.cluster->RemoveDaemonSet(world.fleet.ns, world.fleet.daemon_set));
  for (const char* name : {"ours", "others"}) world.cluster->AddNode(testing::NodeBuilder(name).Build());
  world.Taint("ours", Gpu().KeyPrefix());
  world.Taint("others", "example.com/repair");
  world.cluster->Advance(absl::Minutes(1));
  std::vector<std::string> managed;
  for (const auto& view : world.Read().nodes) managed.push_back(view->node.name);
  CHECK(managed == std::vector<std::string>{"ours"});
}

TEST_CASE("Calls for the rules of a node are forgotten once our rules on the node are deleted") {
  World world;
  const DeviceTaintRule rule = world.Taint(world.fleet.node_names[0], Gpu().KeyPrefix());
  const std::string uid = rule.node_uid;
  const DeviceCall call{.kind = DeviceCall::Kind::kDelete, .object = rule};
  world.log.DeviceCallSent(uid, call);
  world.log.DeviceCallAnswered(uid, rule.name, Outcome::kUnclear, "503", world.clock->Now());
  CHECK(world.Read().nodes[0]->attempts.devices.size() == 1);
  REQUIRE(world.cluster->RemoveDeviceTaintRule(rule.name));
  CHECK(world.Read().nodes[0]->attempts.devices.empty());
}

// ----- device holders

// Returns the names of the pods that use the driver, and the names and claims of the pods with unread claims (W35).
std::pair<std::set<std::string>, std::set<std::string>> HoldersOn(World& world) {
  ClusterSnapshot snapshot = world.Read();
  world.builder.ReadPods({}, {world.fleet.node_names[0]}, snapshot);
  std::pair<std::set<std::string>, std::set<std::string>> names;
  for (const Pod& pod : *snapshot.nodes[0]->pods) {
    if (snapshot.nodes[0]->pods_using_driver.contains(pod.ref.uid)) names.first.insert(pod.ref.name);
  }
  for (const auto& [pod, claim] : snapshot.nodes[0]->unread_claims) names.second.insert(pod.name + " " + claim);
  return names;
}

using Names = std::set<std::string>;

TEST_CASE("A pod on the node that has a claim uses the driver, whether or not the cluster has device taint rules") {
  World world(DeviceOptions{.served = GENERATE(DeviceOptions::Served::kRules, DeviceOptions::Served::kClaims)});
  CHECK(HoldersOn(world) == std::pair(Names{"train"}, Names{}));
}

TEST_CASE("While claims cannot be read, every pod with a claim counts as a pod that may use the driver") {
  World world;
  world.cluster->FailNext(GENERATE(Operation::kListResourceClaims, Operation::kListResourceSlices),
                          absl::ResourceExhaustedError("429"));
  CHECK(HoldersOn(world) == std::pair(Names{}, Names{"train claim"}));
  CHECK(HoldersOn(world) == std::pair(Names{"train"}, Names{}));
}

TEST_CASE("A pod counts as a pod that may use the driver until its claim has been read with an allocation") {
  World world;
  Pod pod = testing::PodBuilder("team-a", "next").OnNode(world.fleet.node_names[0]).Build();
  pod.resource_claims = {"later"};
  world.cluster->AddPod(pod);
  CHECK(HoldersOn(world) == std::pair(Names{"train"}, Names{"next later"}));
  world.cluster->AddResourceClaim({.ns = "team-a", .name = "later", .request = {.driver = kDriver}});
  CHECK(HoldersOn(world) == std::pair(Names{"train"}, Names{"next later"}));
}

// ----- from a cache

std::shared_ptr<WatchCache> CacheOf(World& world, std::vector<std::string> devices) {
  const SnapshotOptions options = world.Options();
  return *WatchCache::Create(
      world.cluster,
      {.drivers = {{.ns = options.ns, .driver_labels = options.driver_labels, .devices = std::move(devices)}},
       .clock = world.clock});
}

TEST_CASE("A cache follows the devices of nodes, and reports the nodes that have changed") {
  World world;
  const std::shared_ptr<WatchCache> cache = CacheOf(world, {kDriver});
  CHECK(absl::IsUnavailable(cache->Devices(0, world.fleet.node_names[0]).status()));
  cache->Turn({});
  REQUIRE(cache->Synced());
  cache->Take(0);
  const std::string node = world.fleet.node_names[0];
  CHECK(cache->Devices(0, node).value().claims == world.cluster->resource_claims());
  const DeviceTaintRule rule = world.Taint(node, "k");
  cache->Turn({});
  CHECK(cache->Take(0).nodes == std::set<std::string>{node});
  CHECK(cache->Devices(0, node).value().rules == std::vector{rule});
  REQUIRE(world.cluster->RemovePod("team-a", "train"));
  REQUIRE(world.cluster->WithdrawDevices(kDriver, world.fleet.node_names[1]));
  cache->Turn({});
  CHECK(cache->Take(0).nodes == std::set<std::string>{node, world.fleet.node_names[1]});
  CHECK(cache->Devices(0, node).value().claims.empty());
  CHECK(cache->Devices(0, world.fleet.node_names[1]).value().slices.empty());
}

TEST_CASE("A cache watches no DRA objects if its scopes name no DRA drivers") {
  World world;
  const std::shared_ptr<WatchCache> cache = CacheOf(world, {});
  cache->Turn({});
  CHECK(cache->Synced());
  CHECK(world.cluster->CallCount(Operation::kWatchResourceClaims) == 0);
  CHECK_FALSE(cache->Devices(0, world.fleet.node_names[0]).ok());
}

TEST_CASE("A cache of a cluster without device taint rules is synced, and reports that there are no rules") {
  World world(DeviceOptions{.served = DeviceOptions::Served::kClaims});
  const std::shared_ptr<WatchCache> cache = CacheOf(world, {kDriver});
  for (int i = 0; i < 2; ++i) {
    cache->Turn({});
    world.clock->Advance(absl::Minutes(1));
  }
  CHECK(cache->Synced());
  const NodeDevices devices = cache->Devices(0, world.fleet.node_names[0]).value();
  CHECK_FALSE(devices.has_rules);
  CHECK(devices.claims.size() == 1);
}

TEST_CASE("A cache for DRA drivers is refused if the cluster facade does not implement the DRA operations") {
  World world;
  world.cluster->SetSupported(Operation::kWatchResourceSlices, false);
  const SnapshotOptions options = world.Options();
  const absl::Status status =
      WatchCache::Create(
          world.cluster,
          {.drivers = {{.ns = options.ns, .driver_labels = options.driver_labels, .devices = {kDriver}}}})
          .status();
  CHECK(status == absl::UnimplementedError("watch cache: the cluster does not implement watch resource slices"));
}

}  // namespace
}  // namespace driverupgrade::tests
