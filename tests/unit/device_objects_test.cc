#include "read/device_objects.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::ChangedNodes;
using internal::DeviceObjects;

const std::vector<std::string> kGpu = {"gpu.nvidia.com"};
const std::string kEveryNode(internal::kAllNodes);

DeviceTaintRule RuleOn(const std::string& name, const std::string& node) {
  return {.name = name, .uid = "u-" + name, .node_name = node, .driver = "gpu.nvidia.com", .pool = node};
}

ResourceClaim ClaimOn(const std::string& name, const std::string& node, const std::string& driver = "gpu.nvidia.com") {
  ResourceClaim claim{.ns = "team-a", .name = name, .uid = "u-" + name, .resource_version = "1"};
  if (!node.empty()) claim.allocated = {{.driver = driver, .pool = node}};
  claim.reserved_for = {{.resource = "pods", .name = "p", .uid = "u-p"}};
  return claim;
}

ResourceSlice SliceOn(const std::string& name, const std::string& node) {
  return {.name = name, .node_name = node, .driver = "gpu.nvidia.com", .pool = node, .devices = {{"gpu-0", "580.1"}}};
}

// Returns a DeviceObjects instance that has received a list of every kind.
DeviceObjects Listed(const std::vector<std::string>& drivers = kGpu) {
  DeviceObjects objects;
  objects.Keep(drivers);
  objects.Listed<DeviceTaintRule>({RuleOn("r1", "n1"), RuleOn("r2", "n2")});
  objects.Listed<ResourceClaim>({ClaimOn("b", "n1"), ClaimOn("a", "n1"), ClaimOn("c", "n2"), ClaimOn("free", "")});
  objects.Listed<ResourceSlice>({SliceOn("s1", "n1"), SliceOn("s2", "n2")});
  return objects;
}

TEST_CASE("The devices of a node are its rules, the claims allocated from its pool, and its slices") {
  const DeviceObjects objects = Listed();
  CHECK(objects.On("n1", kGpu).value() == NodeDevices{.rules = {RuleOn("r1", "n1")},
                                                      .claims = {ClaimOn("a", "n1"), ClaimOn("b", "n1")},
                                                      .slices = {SliceOn("s1", "n1")}});
  CHECK(objects.On("n3", kGpu).value() == NodeDevices{});
  CHECK(objects.On("n1", {"other.example.com"}).value() == NodeDevices{});
}

TEST_CASE("Devices are unknown until every kind has been read, and the error of a failed read is returned") {
  DeviceObjects objects;
  objects.Keep(kGpu);
  CHECK(objects.On("n1", kGpu).status() == absl::UnavailableError("DeviceTaintRules: has not been read yet"));
  CHECK(objects.Listed<DeviceTaintRule>({}) == ChangedNodes{kEveryNode});
  CHECK(objects.Failed<ResourceClaim>(absl::NotFoundError("404 page not found")) == ChangedNodes{kEveryNode});
  CHECK(objects.Failed<ResourceClaim>(absl::NotFoundError("404 page not found")).empty());
  CHECK(objects.Listed<ResourceSlice>({}) == ChangedNodes{kEveryNode});
  CHECK(objects.On("n1", kGpu).status() == absl::NotFoundError("ResourceClaims: 404 page not found"));
  CHECK(objects.Listed<ResourceClaim>({ClaimOn("a", "n1")}) == ChangedNodes{kEveryNode, "n1"});
  CHECK(objects.On("n1", kGpu).value().claims.size() == 1);
}

TEST_CASE(
    "A change before the first list is ignored, because one object must not count as the complete list of its kind") {
  DeviceObjects objects;
  objects.Keep(kGpu);
  CHECK(objects.Changed(ClaimOn("a", "n1")).empty());
  CHECK(objects.Deleted(ClaimOn("a", "n1")).empty());
  objects.Listed<ResourceClaim>({});
  CHECK_FALSE(objects.On("n1", kGpu).ok());
}

TEST_CASE("If a claim moves to another node, both nodes count as changed, and a deallocated claim is forgotten") {
  DeviceObjects objects = Listed();
  CHECK(objects.Changed(ClaimOn("a", "n1")).empty());
  CHECK(objects.Changed(ClaimOn("a", "n2")) == ChangedNodes{"n1", "n2"});
  CHECK(objects.On("n2", kGpu).value().claims == std::vector{ClaimOn("a", "n2"), ClaimOn("c", "n2")});
  CHECK(objects.Changed(ClaimOn("a", "")) == ChangedNodes{"n2"});
  CHECK(objects.Deleted(ClaimOn("a", "")).empty());
  CHECK(objects.Deleted(ClaimOn("b", "n1")) == ChangedNodes{"n1"});
  CHECK(objects.On("n1", kGpu).value().claims.empty());
  CHECK(objects.Listed<ResourceClaim>({ClaimOn("c", "n2")}).empty());
}

TEST_CASE("An object that is missing from a later list is removed") {
  DeviceObjects objects = Listed();
  CHECK(objects.Listed<DeviceTaintRule>({RuleOn("r2", "n2")}) == ChangedNodes{"n1"});
  CHECK(objects.On("n1", kGpu).value().rules.empty());
}

TEST_CASE("Objects of other drivers, and objects without a node, are not kept") {
  DeviceObjects objects = Listed();
  CHECK(objects.Changed(ClaimOn("x", "n1", "dra.net")).empty());
  CHECK(objects.Changed(SliceOn("network", "")).empty());
  DeviceTaintRule other = RuleOn("other", "n1");
  other.driver = "dra.net";
  CHECK(objects.Changed(other).empty());
  CHECK(objects.On("n1", {"gpu.nvidia.com", "dra.net"}).value().claims.size() == 2);
}

TEST_CASE("A claim is known once it has been read with an allocation, whichever driver allocated it") {
  DeviceObjects objects = Listed();
  CHECK(objects.KnowsClaim("team-a", "a"));
  CHECK_FALSE(objects.KnowsClaim("team-a", "free"));
  CHECK_FALSE(objects.KnowsClaim("team-a", "unheard-of"));
  objects.Changed(ClaimOn("x", "n1", "dra.net"));
  CHECK(objects.KnowsClaim("team-a", "x"));
  objects.Changed(ClaimOn("x", ""));
  CHECK_FALSE(objects.KnowsClaim("team-a", "x"));
  objects.Changed(ClaimOn("y", "n1", "dra.net"));
  objects.Deleted(ClaimOn("y", "n1", "dra.net"));
  CHECK_FALSE(objects.KnowsClaim("team-a", "y"));
  objects.Changed(ClaimOn("z", "n1", "dra.net"));
  objects.Listed<ResourceClaim>({ClaimOn("a", "n1")});
  CHECK_FALSE(objects.KnowsClaim("team-a", "z"));
  objects.Failed<ResourceClaim>(absl::UnavailableError("503"));
  CHECK_FALSE(objects.KnowsClaim("team-a", "a"));
  objects.Failed<ResourceClaim>(absl::NotFoundError("404"));
  CHECK(objects.KnowsClaim("team-a", "a"));
}

TEST_CASE("A rule that an administrator created for all drivers of a pool belongs to the node of the pool") {
  DeviceObjects objects = Listed();
  const DeviceTaintRule rule{.name = "by-hand", .pool = "n1", .effect = DeviceTaintEffect::kNoSchedule};
  CHECK(objects.Changed(rule) == ChangedNodes{"n1"});
  CHECK(objects.On("n1", kGpu).value().rules == std::vector{rule, RuleOn("r1", "n1")});
}

TEST_CASE("Engines of different drivers share the objects") {
  DeviceObjects objects;
  objects.Keep(kGpu);
  objects.Keep({"dra.net"});
  objects.Listed<DeviceTaintRule>({});
  objects.Listed<ResourceSlice>({});
  ResourceClaim both = ClaimOn("both", "n1");
  both.allocated.push_back({.driver = "dra.net", .pool = "n2"});
  CHECK(objects.Listed<ResourceClaim>({both}) == ChangedNodes{kEveryNode, "n1", "n2"});
  CHECK(objects.On("n1", kGpu).value().claims == std::vector{both});
  CHECK(objects.On("n1", {"dra.net"}).value().claims.empty());
  CHECK(objects.On("n2", {"dra.net"}).value().claims == std::vector{both});
}

TEST_CASE("An unreadable object affects only its node, or every node if it does not name a node") {
  DeviceObjects objects = Listed();
  DeviceTaintRule rule = RuleOn("r1", "n1");
  rule.unreadable = "spec.taint.effect: expected the effect of a device taint, got \"Later\"";
  CHECK(objects.Changed(rule) == ChangedNodes{"n1"});
  CHECK(objects.On("n1", kGpu).value().rules == std::vector{rule});
  CHECK(objects.Findings().empty());

  const ResourceClaim claim{.ns = "team-a", .name = "b", .uid = "u-b", .unreadable = "status: expected an object"};
  CHECK(objects.Changed(claim) == ChangedNodes{"n1", kEveryNode});
  const std::string text = "ResourceClaim team-a/b (UID u-b) cannot be read: status: expected an object";
  CHECK(objects.On("n2", kGpu).status() == absl::DataLossError(text));
  CHECK(objects.Findings() == std::vector{Finding{.code = FindingCode::kUnreadable, .message = text}});
  CHECK(objects.Changed(ClaimOn("b", "n1")) == ChangedNodes{"n1", kEveryNode});
  CHECK(objects.On("n2", kGpu).ok());
  CHECK(objects.Findings().empty());
}

TEST_CASE("Unpacked objects equal the packed originals") {
  const absl::Time time = absl::FromUnixSeconds(1'795'000'000);
  DeviceObjects objects = Listed();
  DeviceTaintRule rule{
      .name = "all",
      .uid = "u",
      .resource_version = "9",
      .generation = 3,
      .labels = {{"a", "b"}},
      .node_name = "n1",
      .node_uid = "u-n1",
      .driver = "gpu.nvidia.com",
      .pool = "n1",
      .key = "k",
      .value = "v",
      .effect = DeviceTaintEffect::kNoExecute,
      .time_added = time,
      .deletion_timestamp = absl::InfiniteFuture(),
      .conditions = {{.type = "T", .status = "False", .last_transition_time = time, .observed_generation = 3}}};
  ResourceClaim claim{.ns = "n",
                      .name = "all",
                      .uid = "u",
                      .resource_version = "9",
                      .pod_uid = "p",
                      .allocated = {{.driver = "gpu.nvidia.com", .pool = "n1", .admin_access = true}},
                      .allocation_time = time,
                      .reserved_for = {{"pods", "p", "u1"}, {"podgroups", "g", "u2"}},
                      .deletion_timestamp = time};
  ResourceSlice slice{.name = "all",
                      .uid = "u",
                      .resource_version = "9",
                      .node_name = "n1",
                      .driver = "gpu.nvidia.com",
                      .pool = "n1",
                      .pool_generation = 1'000'000'000'000,
                      .pool_slices = 2,
                      .devices = {{"gpu-0", "580.1"}, {"gpu-1", ""}}};
  objects.Listed<DeviceTaintRule>({rule});
  objects.Listed<ResourceClaim>({claim});
  objects.Listed<ResourceSlice>({slice});
  CHECK(objects.On("n1", kGpu).value() == NodeDevices{.rules = {rule}, .claims = {claim}, .slices = {slice}});
}

}  // namespace
}  // namespace driverupgrade::tests
