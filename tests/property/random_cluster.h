/// Random clusters, policies and options of every kind, each generated from a seed.
///
/// Defines RandomCluster and MakeRandomCluster.
///
///     const RandomCluster cluster = MakeRandomCluster(/*seed=*/42);
///     const Plan plan = cluster.Step();
///
/// The data need not make sense: annotations can be invalid, states can contradict pods, and attempts can be stale.
/// Only the guarantees in the headers hold: nodes and pods are in order, and policies are valid.
///
/// To extend the generator, add to random_node.cc a function that changes the view, and call it last in RandomNode, so
/// that the clusters of existing seeds change little.
#ifndef DRIVERUPGRADE_TESTS_PROPERTY_RANDOM_CLUSTER_H_
#define DRIVERUPGRADE_TESTS_PROPERTY_RANDOM_CLUSTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "driverupgrade/state_machine.h"
#include "property/seeded_random.h"

namespace driverupgrade::tests {

/// A node's pods other than driver pods, and the results of the operator's filter for these pods.
struct Workloads {
  std::vector<Pod> pods = {};
  std::set<std::string> using_driver = {};
  std::map<std::string, std::string> hook_errors = {};
};

struct RandomCluster {
  std::uint64_t seed = 0;
  StateMachine machine;
  UpgradePolicy policy = {};
  ClusterSnapshot snapshot = {};
  /// Workloads by node. Includes nodes whose pods are not in the snapshot.
  std::map<std::string, Workloads> workloads = {};
  absl::Time now = absl::UnixEpoch();

  Plan Step() const { return machine.Step(snapshot, policy, now); }
};

RandomCluster MakeRandomCluster(std::uint64_t seed);

/// The current time of every random cluster, apart from a fraction of a second.
inline const absl::Time kRandomNow = absl::FromUnixSeconds(1'000'000);
/// UID of the driver's first DaemonSet, and its target revision unless the DaemonSet controller is lagging.
inline constexpr const char* kDaemonSetUid = "ds";
inline constexpr const char* kWantedRevision = "new";

// Components of a random cluster, for tests that need only one component.
UpgradePolicy RandomPolicy(SeededRandom& random);
/// Returns a policy that can have any number in any field, because Step must not crash on a policy that Validate
/// rejects.
UpgradePolicy RandomInvalidPolicy(SeededRandom& random);
StateMachineOptions RandomOptions(SeededRandom& random);
DriverFacts RandomFacts(SeededRandom& random);
std::vector<Pod> RandomDriverPods(SeededRandom& random, const std::string& node);
Workloads RandomWorkloads(SeededRandom& random, const std::string& node);
/// Returns a node with any marks that an upgrade, an administrator or another driver can leave on a node.
NodeView RandomNode(SeededRandom& random, const DriverIdentity& identity, const std::string& name, Workloads workloads);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_PROPERTY_RANDOM_CLUSTER_H_
