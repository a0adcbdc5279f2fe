#include "simulation/world/bad_node.h"

#include "driverupgrade/testing/builders.h"

namespace driverupgrade::testing::internal {

std::optional<BadNode> BadNode::Draw(World& world) {
  Random random(world.seed, "bad node");
  if (world.setup.light || !random.Percent(10)) return std::nullopt;
  // In these modes, there is no bad node: the maintenance operator or Kubernetes, not the engine, limits how many nodes
  // are upgraded at the same time.
  if (world.setup.requestor || world.setup.rolling) return std::nullopt;
  const int parallel = random.Between(2, 4);
  const bool unavailable = random.Percent(50);
  const int way = random.Below(6);
  const std::string name = world.AnyNode(random);
  if (name.empty() || static_cast<int>(world.cluster->nodes().size()) < 3 + parallel) return std::nullopt;
  return BadNode(world, name, parallel, unavailable, way);
}

void BadNode::SetSlots(int slots) const {
  UpgradePolicy policy = world_.policy;
  policy.max_parallel = slots;
  policy.max_unavailable = std::nullopt;
  if (unavailable_) policy.max_unavailable = Count{slots};
  // A failure policy would stop the other nodes by design.
  policy.failure_policy.reset();
  world_.SetPolicy(std::move(policy));
}

void BadNode::LeaveOut() const {
  // Removes everything else that could block the other nodes: administrators' cordons, and disruption budgets, because
  // some of the pods that they select may not be ready.
  for (const char* budget : {"web", "never", "second"}) world_.cluster->RemoveDisruptionBudget(kWorkloadNs, budget);
  for (const Node& node : world_.cluster->nodes()) world_.cluster->Uncordon(node.name);
  world_.cluster->EditNode(name_, [&](Node& node) { node.labels[world_.identity.SkipUpgradeLabel()] = "true"; });
  SetSlots(parallel_ - 1);
}

void BadNode::MakeBad() const {
  FakeCluster& cluster = *world_.cluster;
  world_.trace.Line("--- {} goes bad, by way {}", name_, way_);
  const std::string state = world_.identity.StateLabel();
  switch (way_) {
    case 0: cluster.AddCrashRule(kDriverNs, kDriver, "", name_); break;
    case 1:
    case 2: {
      PodBuilder pod(kWorkloadNs, "held");
      pod.OnNode(name_).WithLabel("app", "held").WithLabel("uses", "driver").OwnedByJob("held");
      cluster.AddPod(pod.Build(), {.stop_delay = way_ == 1 ? absl::InfiniteDuration() : absl::Seconds(1)});
      if (way_ == 2) {
        cluster.AddDisruptionBudget({.ns = kWorkloadNs,
                                     .name = "held",
                                     .selector = LabelSelector::FromMatchLabels({{"app", "held"}}),
                                     .max_unavailable = 0});
      }
      break;
    }
    case 3: cluster.SetNodeReady(name_, false); break;
    case 4: cluster.EditNode(name_, [&](Node& node) { node.labels[state] = "no-state"; }); break;
    default: world_.unwritable = name_; break;
  }
  cluster.EditNode(name_, [&](Node& node) { node.labels.erase(world_.identity.SkipUpgradeLabel()); });
  SetSlots(parallel_);
}

}  // namespace driverupgrade::testing::internal
