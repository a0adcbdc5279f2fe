// Tests Dynamic Resource Allocation in the fake cluster, which must behave in the same way as Kubernetes 1.37.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "testing/gang_controller.h"
#include "unit/testing/watch_recorder.h"

namespace driverupgrade::testing {
namespace {

const std::string kDriver = "gpu.nvidia.com";

struct World {
  explicit World(DeviceOptions devices = {})
      : cluster(std::make_shared<FakeCluster>(clock, FakeClusterOptions{.devices = devices, .watches_follow = false})) {
    for (const char* name : {"n1", "n2"}) cluster->AddNode(NodeBuilder(name).Build());
    cluster->PublishDevices({.node_name = "n1", .driver = kDriver, .devices = {{"gpu-0", "580"}, {"gpu-1", "580"}}});
  }

  DeviceTaintRule Create(DeviceTaintEffect effect) {
    const auto rule = cluster->CreateDeviceTaintRule({}, {.object = {.name = "rule",
                                                                     .node_name = "n1",
                                                                     .node_uid = cluster->node("n1")->uid,
                                                                     .driver = kDriver,
                                                                     .pool = "n1",
                                                                     .key = "nvidia.com/gpu-driver-upgrade",
                                                                     .value = "upgrading",
                                                                     .effect = effect}});
    REQUIRE(rule.ok());
    return *rule;
  }
  DeviceTaintRule rule() { return cluster->device_taint_rules().at(0); }
  void Patch(DeviceTaintEffect effect) {
    const DeviceTaintRule now = rule();
    REQUIRE(cluster
                ->PatchDeviceTaintRule(
                    {}, {.name = now.name, .uid = now.uid, .resource_version = now.resource_version, .effect = effect})
                .ok());
  }
  /// Adds a pod with its own claim for one device.
  void AddPod(const std::string& name, bool admin_access = false) {
    Pod pod = PodBuilder("team-a", name).WithUid("u-" + name).Pending().Build();
    pod.resource_claims = {name};
    cluster->AddResourceClaim({.ns = "team-a",
                               .name = name,
                               .request = {.driver = kDriver, .admin_access = admin_access},
                               .pod_uid = pod.ref.uid});
    cluster->AddPod(pod, {.start_delay = absl::Seconds(1), .stop_delay = absl::Seconds(1)});
    cluster->Settle();
  }
  std::string NodeOf(const std::string& pod) const { return cluster->pod("team-a", pod)->node_name; }
  std::optional<ResourceClaim> ClaimOf(const std::string& name) const {
    for (const ResourceClaim& claim : cluster->resource_claims()) {
      if (claim.name == name) return claim;
    }
    return std::nullopt;
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster;
};

TEST_CASE("F2, F3: the server sets the time of a taint in whole seconds, and updates it when the effect changes") {
  World world({.controller_delay = std::nullopt});
  world.clock->Advance(absl::Milliseconds(1500));
  const absl::Time created = absl::FromUnixSeconds(absl::ToUnixSeconds(world.clock->Now()));
  const DeviceTaintRule rule = world.Create(DeviceTaintEffect::kNone);
  CHECK(rule.generation == 1);
  CHECK(rule.time_added == created);
  world.clock->Advance(absl::Seconds(7));
  world.Patch(DeviceTaintEffect::kNone);
  CHECK(world.rule() == rule);
  world.Patch(DeviceTaintEffect::kNoSchedule);
  CHECK(world.rule().generation == 2);
  CHECK(world.rule().time_added == created + absl::Seconds(7));
}

TEST_CASE("A device taint rule that the API server would refuse is refused") {
  World world;
  const auto create = [&](DeviceTaintRule rule) {
    return world.cluster->CreateDeviceTaintRule({}, {.object = std::move(rule)}).status();
  };
  CHECK(absl::IsInvalidArgument(create({.name = "A B", .key = "k"})));
  CHECK(absl::IsInvalidArgument(create({.name = "a", .key = ""})));
  CHECK(absl::IsInvalidArgument(create({.name = "a", .key = "k", .value = "nvidia.com/gpu"})));
  CHECK(create({.name = "a", .key = "k"}).ok());
}

TEST_CASE("F16: a controller reports which generation of a rule it has processed, unless its feature gate is off") {
  World world({.controller_delay = absl::Seconds(2)});
  world.Create(DeviceTaintEffect::kNone);
  world.cluster->Advance(absl::Seconds(1));
  CHECK(world.rule().conditions.empty());
  world.cluster->Advance(absl::Seconds(1));
  REQUIRE(world.rule().conditions.size() == 1);
  CHECK(world.rule().conditions[0].type == "EvictionInProgress");
  CHECK(world.rule().conditions[0].status == "False");
  CHECK(world.rule().conditions[0].observed_generation == 1);
  CHECK(world.rule().generation == 1);
  world.Patch(DeviceTaintEffect::kNoSchedule);
  CHECK(world.rule().conditions[0].observed_generation == 1);
  world.cluster->Advance(absl::Seconds(2));
  CHECK(world.rule().conditions[0].observed_generation == 2);
  CHECK(world.rule().conditions[0].reason == "OtherEffect");

  World off({.controller_delay = std::nullopt});
  off.Create(DeviceTaintEffect::kNone);
  off.cluster->Advance(absl::Hours(1));
  CHECK(off.rule().conditions.empty());
}

TEST_CASE("F5: a rule is deleted with the node that owns it, and so are the slices of the node") {
  World world;
  world.Create(DeviceTaintEffect::kNoSchedule);
  REQUIRE(world.cluster->RemoveNode("n1"));
  CHECK(world.cluster->device_taint_rules().empty());
  CHECK(world.cluster->resource_slices().empty());
}

TEST_CASE("A claim is allocated and reserved when its pod is scheduled, and deleted with the pod") {
  World world;
  world.clock->Advance(absl::Milliseconds(2500));
  world.AddPod("train");
  CHECK(world.NodeOf("train") == "n1");
  const ResourceClaim claim = world.ClaimOf("train").value();
  CHECK(claim.allocated == std::vector<AllocatedPool>{{.driver = kDriver, .pool = "n1"}});
  CHECK(claim.allocation_time == absl::FromUnixSeconds(absl::ToUnixSeconds(world.clock->Now())));
  CHECK(claim.reserved_for == std::vector<ClaimConsumer>{{"pods", "train", "u-train"}});
  CHECK(claim.pod_uid == "u-train");
  REQUIRE(world.cluster->DeletePod({}, {.pod = {"team-a", "train", "u-train"}}).ok());
  CHECK(world.ClaimOf("train")->reserved_for.size() == 1);
  world.cluster->Advance(absl::Minutes(1));
  CHECK_FALSE(world.ClaimOf("train"));
}

TEST_CASE("Pods wait while all devices are in use, and get devices that become free") {
  World world;
  for (const char* name : {"a", "b", "c"}) world.AddPod(name);
  CHECK(world.NodeOf("c").empty());
  CHECK(world.ClaimOf("c")->allocated.empty());
  world.AddPod("monitor", /*admin_access=*/true);
  CHECK(world.NodeOf("monitor") == "n1");
  REQUIRE(world.cluster->RemovePod("team-a", "a"));
  world.cluster->Settle();
  CHECK(world.NodeOf("c") == "n1");
}

TEST_CASE("F7, F10: no claim is allocated from tainted devices, even with admin access, and running pods stay") {
  World world;
  world.AddPod("before");
  world.Create(DeviceTaintEffect::kNone);
  world.AddPod("meanwhile");
  world.Patch(DeviceTaintEffect::kNoSchedule);
  CHECK(world.NodeOf("meanwhile") == "n1");
  REQUIRE(world.cluster->RemovePod("team-a", "meanwhile"));
  world.AddPod("after");
  world.AddPod("monitor", /*admin_access=*/true);
  CHECK(world.NodeOf("before") == "n1");
  CHECK(world.NodeOf("after").empty());
  CHECK(world.NodeOf("monitor").empty());
  REQUIRE(world.cluster->RemoveDeviceTaintRule("rule"));
  world.cluster->Settle();
  CHECK(world.NodeOf("after") == "n1");
  CHECK(world.NodeOf("monitor") == "n1");
}

TEST_CASE("F8: more pods can use an allocated claim, even if its devices are tainted") {
  World world;
  world.cluster->AddResourceClaim({.ns = "team-a", .name = "shared", .request = {.driver = kDriver}});
  const auto add = [&](const std::string& name) {
    Pod pod = PodBuilder("team-a", name).WithUid("u-" + name).Pending().Build();
    pod.resource_claims = {"shared"};
    world.cluster->AddPod(pod);
    world.cluster->Settle();
  };
  add("one");
  world.Create(DeviceTaintEffect::kNoSchedule);
  add("two");
  CHECK(world.NodeOf("two") == "n1");
  CHECK(world.ClaimOf("shared")->reserved_for.size() == 2);
  REQUIRE(world.cluster->RemovePod("team-a", "one"));
  CHECK_FALSE(world.ClaimOf("shared")->allocated.empty());
  REQUIRE(world.cluster->RemovePod("team-a", "two"));
  CHECK(world.ClaimOf("shared")->allocated.empty());
  CHECK_FALSE(world.ClaimOf("shared")->allocation_time);
}

TEST_CASE(
    "F18: for a while, the scheduler still allocates newly tainted devices, as the claim's allocation time shows") {
  World world({.late_allocations = absl::Seconds(3)});
  world.Create(DeviceTaintEffect::kNoSchedule);
  world.cluster->Advance(absl::Seconds(2));
  world.AddPod("late");
  CHECK(world.NodeOf("late") == "n1");
  CHECK(world.ClaimOf("late")->allocation_time >= world.rule().time_added);
  world.cluster->Advance(absl::Seconds(1));
  world.AddPod("waits");
  CHECK(world.NodeOf("waits").empty());
}

TEST_CASE("Each pod of a workload has its own claim, and so does its replacement") {
  World world;
  world.cluster->AddWorkload(
      {.ns = "team-a", .name = "serve", .replicas = 2, .devices = DeviceRequest{.driver = kDriver}});
  CHECK(world.cluster->resource_claims().size() == 2);
  const std::vector<Pod> pods = world.cluster->pods();
  REQUIRE(pods.size() == 2);
  for (const Pod& pod : pods) {
    CHECK(pod.node_name == "n1");
    REQUIRE(pod.resource_claims.size() == 1);
    CHECK(world.ClaimOf(pod.resource_claims[0])->pod_uid == pod.ref.uid);
  }
  REQUIRE(world.cluster->RemovePod("team-a", pods[0].ref.name));
  world.cluster->Advance(absl::Minutes(1));
  const std::vector<ResourceClaim> claims = world.cluster->resource_claims();
  REQUIRE(claims.size() == 2);
  for (const ResourceClaim& claim : claims) CHECK(claim.reserved_for.size() == 1);
}

TEST_CASE("The replacement of a pod that a test added requests the same devices, and uses the same shared claims") {
  World world;
  Pod pod = PodBuilder("team-a", "train").WithUid("u-train").OnNode("n1").OwnedByReplicaSet("train").Build();
  pod.resource_claims = {"gpu", "shared"};
  world.cluster->AddResourceClaim(
      {.ns = "team-a", .name = "gpu", .request = {.driver = kDriver, .count = 2}, .pod_uid = "u-train"});
  world.cluster->AddResourceClaim(
      {.ns = "team-a", .name = "shared", .request = {.driver = kDriver, .admin_access = true}});
  world.cluster->AddPod(pod);
  CHECK_FALSE(world.cluster->CanAllocate("n1", {{.driver = kDriver}}));
  REQUIRE(world.cluster->RemovePod("team-a", "train"));
  world.cluster->Advance(absl::Minutes(1));
  const std::vector<Pod> pods = world.cluster->pods();
  REQUIRE(pods.size() == 1);
  CHECK(pods[0].node_name == "n1");
  CHECK(pods[0].resource_claims == std::vector<std::string>{"shared", pods[0].ref.name + "-devices"});
  CHECK(world.cluster->resource_claims().size() == 2);
  CHECK(world.ClaimOf(pods[0].ref.name + "-devices")->pod_uid == pods[0].ref.uid);
  CHECK_FALSE(world.cluster->CanAllocate("n1", {{.driver = kDriver}}));
}

TEST_CASE("Devices can be allocated together if they are published, free, and not tainted") {
  World world;
  const auto can = [&](const std::string& node, const std::vector<DeviceRequest>& requests) {
    return world.cluster->CanAllocate(node, requests);
  };
  CHECK(can("n1", {{.driver = kDriver}, {.driver = kDriver}}));
  CHECK_FALSE(can("n1", {{.driver = kDriver}, {.driver = kDriver, .count = 2}}));
  CHECK(can("n1", {{.driver = kDriver, .count = 2}, {.driver = kDriver, .admin_access = true}}));
  CHECK_FALSE(can("n2", {{.driver = kDriver}}));
  CHECK(can("n2", {{.driver = kDriver, .count = 0}}));
  world.AddPod("train");
  CHECK(can("n1", {{.driver = kDriver}}));
  CHECK_FALSE(can("n1", {{.driver = kDriver, .count = 2}}));
  world.Create(DeviceTaintEffect::kNoSchedule);
  CHECK_FALSE(can("n1", {{.driver = kDriver}}));
  CHECK_FALSE(can("n1", {{.driver = kDriver, .admin_access = true}}));
}

TEST_CASE("A gang restarts with new claims, on nodes that have the devices") {
  World world;
  world.cluster->AddNode(NodeBuilder("n3").Build());
  world.cluster->PublishDevices(
      {.node_name = "n2", .driver = kDriver, .devices = {{"gpu-0", "580"}, {"gpu-1", "580"}}});
  world.cluster->PublishDevices({.node_name = "n3", .driver = kDriver, .devices = {{"gpu-0", "580"}}});
  GangController jobs(world.cluster, /*seed=*/1);
  std::vector<Pod> pods;
  std::vector<ResourceClaimSpec> claims;
  for (const std::string node : {"n1", "n2"}) {
    pods.push_back(PodBuilder("team-a", "job-" + node).WithUid("u-" + node).OnNode(node).Build());
    pods.back().resource_claims = {"claim-" + node};
    claims.push_back({.ns = "team-a",
                      .name = "claim-" + node,
                      .request = {.driver = kDriver, .count = 2},
                      .pod_uid = pods.back().ref.uid});
  }
  jobs.Add("job", pods, {}, claims);
  CHECK(world.ClaimOf("claim-n1")->reserved_for.at(0).uid == "u-n1");
  world.Create(DeviceTaintEffect::kNoSchedule);
  REQUIRE(world.cluster->RemovePod("team-a", "job-n1"));
  // The devices of n1 are tainted, and n3 does not have enough devices.
  jobs.Step();
  CHECK(jobs.NodesOf("job").empty());
  CHECK(world.cluster->resource_claims().empty());
  REQUIRE(world.cluster->RemoveDeviceTaintRule("rule"));
  jobs.Step();
  CHECK(jobs.NodesOf("job") == std::set<std::string>{"n1", "n2"});
  for (const char* name : {"claim-n1", "claim-n2"}) {
    const ResourceClaim claim = world.ClaimOf(name).value();
    REQUIRE(claim.reserved_for.size() == 1);
    CHECK(claim.pod_uid == claim.reserved_for[0].uid);
    CHECK(claim.reserved_for[0].name.ends_with(".restart-1"));
  }
}

TEST_CASE(
    "F24, F25: a plugin publishes one complete pool for its node, and a change of the devices raises its generation") {
  World world;
  const ResourceSlice first = world.cluster->resource_slices().at(0);
  CHECK(first.pool == "n1");
  CHECK(first.pool_generation == 1);
  CHECK(first.pool_slices == 1);
  CHECK(world.cluster->PublishDevices(first) == first);
  const ResourceSlice second =
      world.cluster->PublishDevices({.node_name = "n1", .driver = kDriver, .devices = {{"gpu-0", "581"}}});
  CHECK(second.pool_generation == 2);
  CHECK(second.uid == first.uid);
  REQUIRE(world.cluster->WithdrawDevices(kDriver, "n1"));
  CHECK_FALSE(world.cluster->WithdrawDevices(kDriver, "n1"));
  CHECK(world.cluster->PublishDevices(first).pool_generation == 3);
}

TEST_CASE("A cluster that does not serve a DRA kind returns an error for lists, watches, and writes") {
  World world({.served = DeviceOptions::Served::kClaims});
  CHECK(absl::IsNotFound(world.cluster->ListDeviceTaintRules({}, {}).status()));
  CHECK(absl::IsNotFound(world.cluster->CreateDeviceTaintRule({}, {.object = {.name = "r", .key = "k"}}).status()));
  WatchRecorder<DeviceTaintRule> rules;
  CHECK(absl::IsNotFound(world.cluster->WatchDeviceTaintRules({}, {}, rules)));
  CHECK(world.cluster->ListResourceClaims({}, {}).ok());
  World none({.served = DeviceOptions::Served::kNone});
  CHECK(absl::IsNotFound(none.cluster->ListResourceClaims({}, {}).status()));
  CHECK(absl::IsNotFound(none.cluster->ListResourceSlices({}, {}).status()));
}

TEST_CASE("DRA objects can be watched, and are restored from a backup") {
  World world({.controller_delay = std::nullopt});
  WatchRecorder<ResourceSlice> slices;
  REQUIRE(world.cluster->WatchResourceSlices({}, {}, slices).ok());
  CHECK(slices.Take() == std::vector<std::string>{"list 0-gpu.nvidia.com-n1", "bookmark"});
  world.cluster->BackUp();
  world.AddPod("train");
  WatchRecorder<ResourceClaim> claims;
  REQUIRE(world.cluster->WatchResourceClaims({}, {.ns = "team-a"}, claims).ok());
  CHECK(claims.Take() == std::vector<std::string>{"list team-a/train", "bookmark"});
  WatchRecorder<DeviceTaintRule> rules;
  REQUIRE(world.cluster->WatchDeviceTaintRules({}, {}, rules).ok());
  world.Create(DeviceTaintEffect::kNone);
  REQUIRE(world.cluster->WatchDeviceTaintRules({}, {.resource_version = rules.version}, rules).ok());
  CHECK(rules.Take() == std::vector<std::string>{"list", "bookmark", "change rule", "bookmark"});
  REQUIRE(world.cluster->RestoreBackup());
  CHECK(world.cluster->device_taint_rules().empty());
  CHECK(world.cluster->resource_claims().empty());
  CHECK(world.cluster->resource_slices().size() == 1);
}

}  // namespace
}  // namespace driverupgrade::testing
