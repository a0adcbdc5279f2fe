// Tests the guarantees that Step makes for any input: arch-A1, arch-A5, arch-A7, arch-A10, and the invariants of its
// plans.
#include <algorithm>
#include <map>
#include <set>

#include "decide/verdict.h"
#include "property/plan_invariants.h"
#include "property/random_requestor.h"
#include "property/seeds.h"
#include "testing/transition_table.h"

namespace driverupgrade::tests {
namespace {

// Returns a deep copy, because snapshots share their views.
std::vector<NodeView> CopyOf(const ClusterSnapshot& snapshot) {
  std::vector<NodeView> views;
  for (const auto& view : snapshot.nodes) views.push_back(*view);
  return views;
}

TEST_CASE("arch-A1: equal inputs give equal plans, byte for byte, and are not changed") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    const std::vector<NodeView> before = CopyOf(cluster.snapshot);
    const DriverFacts facts = *cluster.snapshot.driver;
    const Plan plan = cluster.Step();
    if (CopyOf(cluster.snapshot) != before || *cluster.snapshot.driver != facts) return "the input has changed";
    const RandomCluster again = MakeRandomCluster(cluster.seed);
    if (again.Step() != plan) return "another plan";
    return Describe(again.Step()) == Describe(plan) ? "" : "another description";
  });
}

// Plans, gates, pod interest and findings by node, to compare plans that list the same nodes in a different order.
struct ByNode {
  std::map<std::string, NodePlan> plans = {};
  std::map<std::string, NodeGate> gates = {};
  std::set<std::string> interest = {};
  std::multiset<std::string> findings = {};
  friend bool operator==(const ByNode&, const ByNode&) = default;
};

ByNode Sorted(const Plan& plan) {
  ByNode result;
  for (const NodePlan& node : plan.nodes) result.plans[node.node] = node;
  for (const NodeGate& gate : plan.gates) result.gates[gate.node] = gate;
  result.interest.insert(plan.pod_interest.begin(), plan.pod_interest.end());
  for (const Finding& finding : plan.findings) result.findings.insert(finding.node + ": " + finding.message);
  return result;
}

TEST_CASE(
    "Views from ShareView, which decodes the marks in advance, give the same plan as views without decoded marks") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    RandomCluster shared = cluster;
    for (auto& view : shared.snapshot.nodes) view = ShareView(*view, cluster.machine.identity());
    if (CopyOf(shared.snapshot) != CopyOf(cluster.snapshot)) return "sharing changes a view";
    return shared.Step() == cluster.Step() ? "" : "another plan";
  });
}

TEST_CASE("dep-F14: the order of the nodes in the snapshot has no effect") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    const Plan plan = cluster.Step();
    RandomCluster shuffled = cluster;
    SeededRandom(cluster.seed).Shuffle(shuffled.snapshot.nodes);
    const Plan other = shuffled.Step();
    if (other.totals != plan.totals || other.budget != plan.budget || other.wake_at != plan.wake_at) return "totals";
    return Sorted(other) == Sorted(plan) ? "" : "another plan for some node";
  });
}

TEST_CASE("arch-A1: the order of containers and of owners other than controllers has no effect") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    RandomCluster shuffled = cluster;
    SeededRandom random(cluster.seed);
    for (auto& view : shuffled.snapshot.nodes) {
      NodeView changed = *view;
      for (Pod& pod : changed.driver_pods) random.Shuffle(pod.container_statuses);
      for (Pod& pod : changed.driver_pods) random.Shuffle(pod.owners);
      view = std::make_shared<const NodeView>(std::move(changed));
    }
    return shuffled.Step() == cluster.Step() ? "" : "another plan";
  });
}

TEST_CASE("Step handles policies that Validate refuses") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    RandomCluster wild = cluster;
    SeededRandom random(cluster.seed);
    wild.policy = RandomInvalidPolicy(random);
    return wild.Step() == wild.Step() ? "" : "another plan";
  });
}

TEST_CASE("Every plan keeps the invariants: legal edges, own keys, cordons, evacuation, one gate") {
  ForEachSeed([](const RandomCluster& cluster) { return BrokenInvariant(cluster, cluster.Step()); });
}

TEST_CASE("dep-F9: a node that Release has released is not released again") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    for (const auto& view : cluster.snapshot.nodes) {
      const NodePlan plan = cluster.machine.Release(*view, cluster.now);
      NodeView released = *view;
      released.node = After(*view, plan);
      if (released.node.labels.contains(cluster.machine.identity().StateLabel())) return view->node.name + ": a label";
      if (cluster.machine.Release(released, cluster.now).patch) return view->node.name + ": a second patch";
    }
    return "";
  });
}

bool IsAdmissions(const Verdict& verdict) { return verdict.candidate.has_value(); }

// arch-A5, arch-A10: Step and Judge must agree about each node, except for nodes that request a slot.
std::string BrokenLocality(const RandomCluster& cluster, const NodeView& view, const ByNode& plan) {
  const auto judge = [&](bool admitted) {
    return cluster.machine.Judge(view, *cluster.snapshot.driver, cluster.policy, cluster.now,
                                 cluster.snapshot.active_since, admitted);
  };
  const std::string& name = view.node.name;
  const auto gate = plan.gates.find(name);
  Verdict verdict = judge(/*admitted=*/false);
  if (IsAdmissions(verdict)) {
    const bool refused = gate != plan.gates.end() && gate->second.state == UpgradeState::kUpgradeRequired;
    if (refused) verdict.gate = gate->second.gate;
    if (!refused) verdict = judge(/*admitted=*/true);
  }
  const bool acts = verdict.plan.patch || !verdict.plan.evict.empty() || !verdict.plan.remove.empty();
  const auto planned = plan.plans.find(name);
  if (acts != (planned != plan.plans.end())) return name + ": acts in one of them only";
  if (acts && planned->second != verdict.plan) return name + ": another plan";
  if (verdict.gate.has_value() != (gate != plan.gates.end())) return name + ": a gate in one of them only";
  if (verdict.gate && gate->second.gate != *verdict.gate) return name + ": another gate";
  return verdict.pod_interest == plan.interest.contains(name) ? "" : name + ": another interest";
}

TEST_CASE("arch-A10: Step and Judge make the same decision about each node") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    const ByNode plan = Sorted(cluster.Step());
    for (const auto& view : cluster.snapshot.nodes) {
      if (std::string broken = BrokenLocality(cluster, *view, plan); !broken.empty()) return broken;
    }
    return "";
  });
}

TEST_CASE("arch-A5: a change to one node does not affect other nodes, except nodes that request a slot") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    if (cluster.snapshot.nodes.empty()) return "";
    SeededRandom random(cluster.seed);
    RandomCluster changed = cluster;
    auto& victim =
        changed.snapshot.nodes[static_cast<std::size_t>(random.Below(static_cast<int>(changed.snapshot.nodes.size())))];
    const std::string name = victim->node.name;
    victim = std::make_shared<const NodeView>(
        RandomNode(random, cluster.machine.identity(), name, RandomWorkloads(random, name)));
    const ByNode before = Sorted(cluster.Step());
    const ByNode after = Sorted(changed.Step());
    for (const auto& view : cluster.snapshot.nodes) {
      if (view->node.name == name) continue;
      const Verdict verdict = cluster.machine.Judge(*view, *cluster.snapshot.driver, cluster.policy, cluster.now,
                                                    cluster.snapshot.active_since, /*admitted=*/false);
      const bool same = before.plans.contains(view->node.name) == after.plans.contains(view->node.name);
      if (verdict.candidate) continue;
      if (!same) return view->node.name + " acts only with, or only without the change";
      if (same && before.plans.contains(view->node.name) &&
          before.plans.at(view->node.name) != after.plans.at(view->node.name)) {
        return view->node.name + " acts in another way";
      }
    }
    return "";
  });
}

TEST_CASE("Requestor mode: equal inputs give equal plans, with at most one gate per node and one call per object") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    const RandomCluster requestor = WithRequestor(cluster);
    const Plan plan = requestor.Step();
    if (plan != requestor.Step()) return "another plan";
    std::set<std::string> gated;
    for (const NodeGate& gate : plan.gates) {
      if (!gated.insert(gate.node).second) return gate.node + ": two gates";
    }
    for (const NodePlan& node : plan.nodes) {
      std::set<std::string> objects;
      for (const MaintenanceCall& call : node.maintenance) {
        if (!objects.insert(call.object.name).second) return node.node + ": two calls about one object";
      }
    }
    return "";
  });
}

// This test is needed because the other properties prove nothing about input that the generator never creates.
TEST_CASE("The random clusters reach every transition and every gate, and leave no state in any other way") {
  std::set<std::pair<UpgradeState, UpgradeState>> edges;
  std::set<GateReason> reasons;
  const auto note = [&](const Plan& plan) {
    for (const NodePlan& node : plan.nodes) {
      UpgradeState from = node.from;
      for (const UpgradeState to : node.path) {
        edges.insert({from, to});
        from = to;
      }
    }
    for (const NodeGate& gate : plan.gates) reasons.insert(gate.gate.reason);
  };
  ForEachSeed([&](const RandomCluster& cluster) -> std::string {
    note(cluster.Step());
    note(WithRequestor(cluster).Step());
    return "";
  });
  for (const auto& [from, to] : edges) {
    CAPTURE(std::string(ToString(from)), std::string(ToString(to)));
    CHECK(IsLegalEdge(from, to));
  }
  for (const Transition& transition : kTransitions) {
    CAPTURE(std::string(ToString(transition.from)), std::string(ToString(transition.to)));
    CHECK(edges.contains({transition.from, transition.to}));
  }
  for (const GateTraits& gate : kGates) {
    if (gate.reason == GateReason::kLedger) continue;  // the ledger sets this gate after Step
    // The random policies have no rollout; incremental_property_test.cc covers rollouts.
    if (GateReason::kHalted <= gate.reason && gate.reason <= GateReason::kGangRuns) continue;
    // Random clusters have no devices; isolation_test.cc covers devices.
    if (GateReason::kDevicesTainted <= gate.reason && gate.reason <= GateReason::kDevicesInUse) continue;
    if (gate.reason == GateReason::kDevicesMissing) continue;
    if (gate.reason == GateReason::kUnreadable)
      continue;  // covered by unreadable_object_test: random clusters are readable
    CAPTURE(std::string(gate.name));
    CHECK(reasons.contains(gate.reason));
  }
}

}  // namespace
}  // namespace driverupgrade::tests
