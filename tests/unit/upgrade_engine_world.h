// An engine that reads from lists, on the fake cluster in virtual time.
#ifndef DRIVERUPGRADE_TESTS_UNIT_UPGRADE_ENGINE_WORLD_H_
#define DRIVERUPGRADE_TESTS_UNIT_UPGRADE_ENGINE_WORLD_H_

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {

using testing::AddFleet;
using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;
using testing::Fleet;
using testing::FleetOptions;

inline std::string StateOf(const Node& node, const DriverIdentity& identity = Gpu()) {
  const auto label = node.labels.find(identity.StateLabel());
  return label == node.labels.end() ? "" : label->second;
}

inline bool IsBusy(const std::string& state) {
  const auto parsed = ParseUpgradeState(state);
  return !parsed || IsInProgress(*parsed);
}

/// A cluster, an engine, and the largest numbers of nodes that were in progress or cordoned at the same time. These
/// numbers come from the cluster's commits, and do not rely on the engine.
struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster = {};
  UpgradePolicy policy = {.auto_upgrade = true, .max_parallel = 2, .max_unavailable = Count{3}};
  std::unique_ptr<UpgradeEngine> engine = {};
  std::map<std::string, Node> nodes = {};
  int most_in_progress = 0;
  int most_unschedulable = 0;

  explicit World(testing::FakeClusterOptions options = {}) : cluster(std::make_shared<FakeCluster>(clock, options)) {
    policy.drain = DrainPolicy{};
    cluster->SetChangeObserver([this](const Change& change) { Watch(change); });
  }
  void Watch(const Change& change) {
    if (change.node.after != nullptr) nodes[change.node.after->name] = *change.node.after;
    if (change.node.before != nullptr && change.node.after == nullptr) nodes.erase(change.node.before->name);
    int in_progress = 0;
    int unschedulable = 0;
    for (const auto& [name, node] : nodes) {
      const bool administrators = node.annotations.contains(Gpu().InitiallyUnschedulableAnnotation());
      in_progress += IsBusy(StateOf(node)) && !administrators;
      unschedulable += node.unschedulable;
    }
    most_in_progress = std::max(most_in_progress, in_progress);
    most_unschedulable = std::max(most_unschedulable, unschedulable);
  }
  std::unique_ptr<UpgradeEngine> NewEngine(const DriverIdentity& identity, const Fleet& fleet) {
    EngineOptions options{
        .snapshot = {.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})},
        .clock = clock};
    options.executor.calls_in_flight = 1;
    auto created = UpgradeEngine::Create(identity, cluster, options);
    REQUIRE(created.ok());
    return *std::move(created);
  }
  void Start(const Fleet& fleet) { engine = NewEngine(Gpu(), fleet); }
  Plan Pass() {
    auto result = engine->Reconcile({}, policy);
    REQUIRE(result.ok());
    return result->plan;
  }
  /// Runs a pass every second until every node has `state`, or until `limit` has passed. Returns the last plan.
  Plan RunUntilAll(const std::string& state, absl::Duration limit = absl::Hours(1)) {
    const absl::Time end = clock->Now() + limit;
    while (true) {
      Plan plan = Pass();
      if (plan.nodes.empty() && AllIn(state)) return plan;
      if (clock->Now() >= end) return plan;
      cluster->Advance(absl::Seconds(1));
    }
  }
  bool AllIn(const std::string& state) const {
    for (const Node& node : cluster->nodes()) {
      if (StateOf(node) != state) return false;
    }
    return true;
  }
  int EventCount(const std::string& node, const std::string& message) const {
    int count = 0;
    for (const RecordEventParams& event : cluster->events())
      count += event.node_name == node && event.message == message;
    return count;
  }
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_UNIT_UPGRADE_ENGINE_WORLD_H_
