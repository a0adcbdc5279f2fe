// Tests the packed form in which a cache keeps nodes and the pods on them (arch-A11).
#include "read/packed.h"

#include <cstddef>
#include <limits>
#include <utility>

#include "property/seeded_random.h"
#include "support/catch.h"

namespace driverupgrade::internal {
namespace {

/// Draws random values for every field, often from the ends of the field's range. The structured bindings name all
/// members, so that this class does not compile if a new member is not drawn.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Pod NextPod() {
    Pod pod;
    // `affinity_node` and `unscheduled` stay empty, because pods that wait for a node are never packed.
    auto& [ref, version, node, affinity_node, unscheduled, labels, owners, phase, deletion, finalizers, mirror,
           empty_dir, tolerates_since, ended, released, init, containers, not_ready_since, ready_since, resources,
           claims, annotations, volumes, scheduler, subdomain, pod_group, unreadable] = pod;
    auto& [ns, name, uid] = ref;
    for (std::string* text : {&ns, &name, &uid, &version, &node, &scheduler, &subdomain, &pod_group}) *text = Text();
    for (StringMap* map : {&labels, &annotations}) {
      for (int i = random_.Pick({0, 1, 7, 200}); i > 0; --i) (*map)[Text()] = Text();
    }
    for (int i = random_.Below(4); i > 0; --i) owners.push_back(Owner());
    phase = random_.Pick(
        {PodPhase::kUnknown, PodPhase::kPending, PodPhase::kRunning, PodPhase::kSucceeded, PodPhase::kFailed});
    if (random_.Chance(70)) deletion = Time();
    if (random_.Chance(70)) not_ready_since = Time();
    if (random_.Chance(70)) ready_since = Time();
    for (int i = random_.Below(3); i > 0; --i) finalizers.push_back(Text());
    for (int i = random_.Below(3); i > 0; --i) volumes.push_back({Text(), Text(), Text()});
    mirror = random_.Chance(50);
    empty_dir = random_.Chance(50);
    if (random_.Chance(50)) tolerates_since = Time();
    ended = random_.Chance(50);
    released = random_.Chance(50);
    for (int i = random_.Below(3); i > 0; --i) init.push_back(Container());
    for (int i = random_.Pick({0, 1, 130}); i > 0; --i) containers.push_back(Container());
    for (int i = random_.Below(4); i > 0; --i) resources.push_back(Text());
    for (int i = random_.Below(3); i > 0; --i) claims.push_back(Text());
    return pod;
  }
  Node NextNode() {
    Node node;
    auto& [name, uid, version, labels, annotations, unschedulable, deletion, taints, ready, ready_transition,
           extended_resources, conditions, unreadable] = node;
    for (std::string* text : {&name, &uid, &version, &unreadable}) *text = Text();
    for (StringMap* map : {&labels, &annotations, &conditions}) {
      for (int i = random_.Pick({0, 1, 7, 200}); i > 0; --i) (*map)[Text()] = Text();
    }
    for (int i = random_.Below(3); i > 0; --i) extended_resources.push_back(Text());
    unschedulable = random_.Chance(50);
    ready = random_.Chance(50);
    if (random_.Chance(50)) deletion = Time();
    for (int i = random_.Below(3); i > 0; --i) {
      taints.push_back({.key = Text(), .value = Text(), .effect = Text(), .time_added = Text()});
    }
    if (random_.Chance(50)) ready_transition = Time();
    return node;
  }

 private:
  // Draws strings whose lengths are on both sides of 128, because the encoded length takes a second byte from 128 on.
  std::string Text() {
    const auto length = [this] { return static_cast<std::size_t>(random_.Pick({1, 127, 128, 255, 256, 1000})); };
    switch (random_.Below(8)) {
      case 0: return "";
      case 1: return std::string(length(), '\xFF');
      case 2: return "größer, 大きい, 🚀";
      case 3: return {"a\0b\0", 4};
      case 4:
        return random_.Chance(5) ? std::string(static_cast<std::size_t>(random_.Between(16383, 16385)), 'x') : "x";
      case 5: return std::string(length(), 'y');
      default: return "9b1d0c7a-" + std::to_string(random_.Below(1'000'000));
    }
  }
  int Integer() {
    return random_.Pick({std::numeric_limits<int>::min(), -129, -1, 0, 1, 127, 128, std::numeric_limits<int>::max()});
  }
  absl::Time Time() {
    return random_.Pick({absl::InfinitePast(), absl::InfiniteFuture(), absl::UnixEpoch(),
                         absl::FromUnixSeconds(-62'135'596'800), absl::FromUnixNanos(-1),
                         absl::UnixEpoch() - absl::Nanoseconds(1) / 4, absl::FromUnixSeconds(1'700'000'000),
                         absl::FromUnixSeconds(std::numeric_limits<std::int64_t>::max())});
  }
  OwnerReference Owner() {
    OwnerReference owner;
    auto& [api_version, kind, name, uid, controller] = owner;
    for (std::string* text : {&api_version, &kind, &name, &uid}) *text = Text();
    controller = random_.Chance(50);
    return owner;
  }
  ContainerStatus Container() {
    ContainerStatus status;
    auto& [name, ready, restart_count, started, image_pull_fails, start_error, image] = status;
    start_error = Text();
    image = Text();
    name = Text();
    ready = random_.Chance(50);
    restart_count = Integer();
    started = random_.Chance(50);
    image_pull_fails = random_.Chance(50);
    return status;
  }

  tests::SeededRandom random_;
};

Pod PodOf(std::string uid, std::string version) {
  return {.ref = {.ns = "team-a", .name = "web", .uid = std::move(uid)},
          .resource_version = std::move(version),
          .node_name = "n1"};
}

TEST_CASE("An unpacked pod equals the packed pod") {
  Generator generator(20231106);
  for (int i = 0; i < 2000; ++i) {
    const Pod pod = generator.NextPod();
    CAPTURE(i);
    const PackedPod packed(pod);
    REQUIRE((packed.Unpack(pod.node_name) == pod));
    REQUIRE((packed.uid() == pod.ref.uid));
    REQUIRE((packed.resource_version() == pod.resource_version));
  }
}

TEST_CASE("An unpacked node equals the packed node, even if the node could not be read") {
  Generator generator(20231107);
  for (int i = 0; i < 2000; ++i) {
    const Node node = generator.NextNode();
    CAPTURE(i);
    const PackedNode packed(node);
    REQUIRE((packed.Unpack(node.name) == node));
    REQUIRE((packed.uid() == node.uid));
    REQUIRE((packed.resource_version() == node.resource_version));
    REQUIRE(packed.unschedulable() == node.unschedulable);
  }
}

TEST_CASE("A pod without any fields can be packed") {
  CHECK((PackedPod(Pod{}).Unpack("") == Pod{}));
  CHECK(PackedPod(Pod{}).uid().empty());
}

TEST_CASE("Each packed pod of a node is stored once, in its newest version, and sorted by UID") {
  PackedPods pods;
  CHECK(pods.Put(PodOf("b", "9")));
  CHECK(pods.Put(PodOf("c", "2")));
  CHECK(pods.Put(PodOf("a", "3")));
  CHECK(pods.Put(PodOf("b", "10")));
  CHECK_FALSE(pods.Put(PodOf("b", "9")));
  CHECK_FALSE(pods.Put(PodOf("b", "10")));
  CHECK((pods.Unpack("n1") == std::vector<Pod>{PodOf("a", "3"), PodOf("b", "10"), PodOf("c", "2")}));

  CHECK(pods.Erase("b"));
  CHECK_FALSE(pods.Erase("b"));
  CHECK_FALSE(pods.Erase("d"));
  CHECK((pods.Unpack("n1") == std::vector<Pod>{PodOf("a", "3"), PodOf("c", "2")}));
  pods.clear();
  CHECK(pods.Unpack("n1").empty());
}

}  // namespace
}  // namespace driverupgrade::internal
