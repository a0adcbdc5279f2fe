#include "property/random_cluster.h"

#include <algorithm>

namespace driverupgrade::tests {
namespace {

// Returns names whose alphabetical order differs from the order of their numbers.
std::vector<std::string> RandomNames(SeededRandom& random) {
  std::vector<std::string> names = {"node-10", "node-2", "node-1",  "gpu-10", "gpu-9", "zeta",
                                    "alpha",   "node-a", "node-aa", "a.b.c",  "0",     "node-20"};
  random.Shuffle(names);
  names.resize(static_cast<std::size_t>(random.Below(static_cast<int>(names.size()) + 1)));
  return names;
}

absl::Time RandomActiveSince(SeededRandom& random) {
  return random.Pick({absl::InfinitePast(), absl::InfinitePast(), kRandomNow - absl::Hours(1),
                      kRandomNow - absl::Seconds(30), kRandomNow});
}

}  // namespace

RandomCluster MakeRandomCluster(std::uint64_t seed) {
  SeededRandom random(seed);
  const DriverIdentity identity = *DriverIdentity::Create("nvidia.com", "gpu");
  const bool pod_deletion = random.Chance(50);
  const StateMachineOptions options = RandomOptions(random);
  RandomCluster cluster{
      .seed = seed, .machine = StateMachine(identity, options, pod_deletion), .policy = RandomPolicy(random)};
  cluster.now = kRandomNow + absl::Milliseconds(random.Pick({0, 0, 1, 500, 999}));
  cluster.snapshot.active_since = RandomActiveSince(random);
  cluster.snapshot.driver = std::make_shared<const DriverFacts>(RandomFacts(random));
  for (const std::string& name : RandomNames(random)) {
    cluster.workloads[name] = RandomWorkloads(random, name);
    cluster.snapshot.nodes.push_back(
        std::make_shared<const NodeView>(RandomNode(random, identity, name, cluster.workloads[name])));
  }
  std::sort(cluster.snapshot.nodes.begin(), cluster.snapshot.nodes.end(),
            [](const auto& a, const auto& b) { return a->node.name < b->node.name; });
  if (random.Chance(20)) {
    cluster.snapshot.findings.push_back({.code = FindingCode::kNodeMissing, .node = "gone", .message = "no such node"});
  }
  return cluster;
}

}  // namespace driverupgrade::tests
