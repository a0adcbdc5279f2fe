// Tests an engine alongside another client that immediately removes every state label, as NVIDIA's operators do with
// autoUpgrade: false.
#include <algorithm>
#include <string>

#include "support/catch.h"
#include "unit/cached_world.h"

namespace driverupgrade::tests {
namespace {

/// A fleet without workloads. Another client immediately removes all state labels from its nodes.
struct ErasedWorld : CachedWorld {
  explicit ErasedWorld(int node_count)
      : CachedWorld({.node_count = node_count, .workload = ""}, /*calls_in_flight=*/1, /*with_threads=*/false) {
    Settle();
  }
  void Erase() {
    for (const Node& node : cluster->nodes()) {
      if (!node.labels.contains(Gpu().StateLabel())) continue;
      cluster->EditNode(node.name, [](Node& edited) { edited.labels.erase(Gpu().StateLabel()); });
    }
  }
  /// Runs the controller and the eraser for `time`.
  void Run(absl::Duration time) {
    const absl::Time end = clock->Now() + time;
    while (clock->Now() < end) {
      controller->Step({});
      Erase();
      Settle();
      cluster->Advance(absl::Milliseconds(100));
      Settle();
      most_cordoned = std::max(most_cordoned, Cordoned());
    }
  }
  int Cordoned() const {
    const std::vector<Node> nodes = cluster->nodes();
    return static_cast<int>(
        std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.unschedulable; }));
  }
  int Events(const std::string& node, const std::string& beginning) const {
    int count = 0;
    for (const RecordEventParams& event : cluster->events()) {
      count += event.node_name == node && event.message.starts_with(beginning);
    }
    return count;
  }
  int most_cordoned = 0;
};

TEST_CASE(
    "W1: if another client erases labels, the labels of three idle nodes are written at most ten times in a minute") {
  ErasedWorld world(3);
  world.Run(absl::Minutes(1));
  const std::size_t written = world.Count(Operation::kPatchNode);
  CHECK(written >= 3);
  CHECK(written <= 10);
  for (const std::string& node : world.fleet.node_names) CHECK(world.Events(node, "LabelTakenAway") == 1);
  world.Run(absl::Hours(1));
  CHECK(world.Count(Operation::kPatchNode) - written <= 3 * 9);
  for (const std::string& node : world.fleet.node_names) CHECK(world.Events(node, "LabelTakenAway") <= 2);
}

TEST_CASE(
    "W1: if another client erases labels, the rollout of a driver that never becomes ready still stops at the first "
    "node") {
  ErasedWorld world(3);
  world.policy.max_parallel = 1;
  world.controller->SetPolicy(world.policy);
  world.cluster->SetDaemonSetBehavior(world.fleet.ns, world.fleet.daemon_set, {.start_delay = absl::Hours(24)});
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Run(absl::Minutes(10));
  CHECK(world.most_cordoned == 1);
  CHECK(world.Cordoned() == 1);
  CHECK(world.Count(Operation::kDeletePod) == 1);
}

TEST_CASE(
    "W1, W41: if another client erases labels, a rollout finishes within its budget, and no node stays cordoned") {
  ErasedWorld world(6);
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Run(absl::Minutes(10));
  CHECK(world.most_cordoned == 2);
  CHECK(world.Cordoned() == 0);
  CHECK(world.Count(Operation::kDeletePod) == 6);
  for (const Pod& pod : world.cluster->pods()) CHECK(RevisionHash(pod) == "rev-2");
}

TEST_CASE("W1: if another client erases labels, the wait for jobs still ends on time") {
  ErasedWorld world(1);
  world.policy.wait_for_completion = WaitForCompletionPolicy{
      .pod_selector = LabelSelector::FromMatchLabels({{"app", "train"}}), .timeout = absl::Seconds(5)};
  world.controller->SetPolicy(world.policy);
  world.cluster->AddPod({.ref = {.ns = "team", .name = "train"},
                         .node_name = world.fleet.node_names[0],
                         .labels = {{"app", "train"}},
                         .owners = {{.api_version = "batch/v1", .kind = "Job", .name = "train", .controller = true}}});
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  const absl::Time began = world.clock->Now();
  while (world.Count(Operation::kDeletePod) + world.Count(Operation::kEvictPod) == 0 &&
         world.clock->Now() < began + absl::Minutes(5)) {
    world.Run(absl::Seconds(1));
  }
  // A deadline ends a wait only after the engine has been active for one minute, or for the wait's timeout if the
  // timeout is shorter.
  CHECK(world.clock->Now() - began <= absl::Seconds(10));
}

}  // namespace
}  // namespace driverupgrade::tests
