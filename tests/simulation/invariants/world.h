// Test fixture for the checker: a fleet, a checker, and functions that send requests that our engine would never send.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_INVARIANTS_WORLD_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_INVARIANTS_WORLD_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/testing/invariants.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {

using testing::AddFleet;
using testing::FakeClock;
using testing::FakeCluster;
using testing::Fleet;
using testing::InvariantChecker;
using testing::InvariantOptions;
using testing::InvariantsOf;
using testing::PodBuilder;

using Edits = std::map<std::string, std::optional<std::string>>;

/// A fleet, a checker, and a guarded cluster through which the tests act as an engine.
struct World {
  explicit World(UpgradePolicy policy = {.auto_upgrade = true, .max_parallel = 1, .drain = DrainPolicy{}},
                 RestartOnlyPredicate restart_only = nullptr, absl::Duration template_delay = absl::ZeroDuration())
      : cluster(std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.template_delay = template_delay})) {
    fleet = AddFleet(*cluster, {.node_count = 4, .node_labels = {{"driver", "gpu"}}});
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    const EngineOptions engine{
        .snapshot = {.ns = fleet.ns, .driver_labels = labels, .restart_only = std::move(restart_only)}};
    checker = std::make_unique<InvariantChecker>(cluster, InvariantsOf(Gpu(), engine, std::move(policy)));
    guarded = checker->Guard("engine");
    observer = checker->MakeObserver();
  }
  /// Replaces the checker with one that treats the guarded cluster as the requestor with this ID.
  void JudgeRequestor(const std::string& id, const UpgradePolicy& policy) {
    JudgeBy(policy, [&](InvariantOptions& options) { options.requestor_id = id; });
  }
  /// Replaces the checker. `edit` changes the options of the new checker.
  void JudgeBy(const UpgradePolicy& policy, const std::function<void(InvariantOptions&)>& edit) {
    checker.reset();  // only one checker may observe the cluster
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    InvariantOptions options =
        InvariantsOf(Gpu(), EngineOptions{.snapshot = {.ns = fleet.ns, .driver_labels = labels}}, policy);
    edit(options);
    checker = std::make_unique<InvariantChecker>(cluster, std::move(options));
    guarded = checker->Guard("engine");
    observer = checker->MakeObserver();
  }
  const std::string& NodeName(std::size_t i) const { return fleet.node_names[i]; }
  Node NodeAt(std::size_t i) const { return *cluster->node(NodeName(i)); }
  Pod DriverPodOn(std::size_t i) const {
    for (Pod& pod : cluster->pods_on(NodeName(i))) {
      if (pod.ref.ns == fleet.ns) return std::move(pod);
    }
    FAIL("no driver pod");
    return {};
  }
  PodRef WebPodOn(std::size_t i) const {
    for (const Pod& pod : cluster->pods_on(NodeName(i))) {
      if (pod.ref.ns == "team-a") return pod.ref;
    }
    FAIL("no workload pod");
    return {};
  }
  void Patch(std::size_t i, PatchNodeParams params) {
    const Node node = NodeAt(i);
    params.name = node.name;
    params.uid = node.uid;
    params.resource_version = node.resource_version;
    REQUIRE(guarded->PatchNode({}, params).ok());
  }
  void Announce(std::size_t i, UpgradeState from, std::vector<UpgradeState> path) {
    const Node node = NodeAt(i);
    NodePlan plan{.node = node.name, .uid = node.uid, .resource_version = node.resource_version, .from = from};
    plan.path = std::move(path);
    observer->OnPlan(Plan{.nodes = {plan}});
  }
  /// Moves the node along `path` and announces this path as an engine would.
  void Move(std::size_t i, UpgradeState from, std::vector<UpgradeState> path, PatchNodeParams params = {}) {
    REQUIRE(guarded->ListNodes({}, {}).ok());
    Announce(i, from, path);
    params.labels[Gpu().StateLabel()] = std::string(ToLabelValue(path.back()));
    Patch(i, std::move(params));
  }
  void Start(std::size_t i) {
    REQUIRE(guarded->ListNodes({}, {}).ok());
    StartUnread(i);
  }
  /// Starts the node without reading the nodes again first.
  void StartUnread(std::size_t i) {
    Announce(i, UpgradeState::kUnknown,
             {UpgradeState::kUpgradeRequired, UpgradeState::kCordonRequired, UpgradeState::kWaitForJobsRequired,
              UpgradeState::kDrainRequired});
    Patch(i, {.labels = {{Gpu().StateLabel(), "drain-required"}}, .unschedulable = true});
  }
  /// Reads the nodes, then records that the engine sends a patch that sets this state. By default, the patch starts the
  /// node.
  void Ask(std::size_t i, const std::string& state = "cordon-required") {
    REQUIRE(guarded->ListNodes({}, {}).ok());
    const Node node = NodeAt(i);
    guarded->NoteSent(PatchNodeParams{.name = node.name,
                                      .uid = node.uid,
                                      .resource_version = node.resource_version,
                                      .labels = {{Gpu().StateLabel(), state}}});
  }
  /// Sets the node's state as another client would.
  void Put(std::size_t i, const std::string& state, const std::function<void(Node&)>& edit = nullptr) {
    REQUIRE(cluster->EditNode(NodeName(i), [&](Node& node) {
      node.labels[Gpu().StateLabel()] = state;
      if (edit) edit(node);
    }));
  }
  std::string Broken() const { return checker->violation() ? checker->violation()->invariant : ""; }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster;
  Fleet fleet = {};
  std::unique_ptr<InvariantChecker> checker = {};
  std::shared_ptr<InvariantChecker::GuardedCluster> guarded = {};
  std::shared_ptr<Observer> observer = {};
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_INVARIANTS_WORLD_H_
