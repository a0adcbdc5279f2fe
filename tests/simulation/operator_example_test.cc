// The example of docs/testing-your-operator.md: an operator's own options and hooks, faults, and the invariants.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/testing/invariants.h"
#include "driverupgrade/upgrade_engine.h"
#include "support/catch.h"

namespace {

using namespace driverupgrade;           // NOLINT: an example
using namespace driverupgrade::testing;  // NOLINT: an example

// The operator's own callback, which selects the pods that use the driver.
absl::StatusOr<bool> UsesGpu(const CallContext&, const Pod& pod) {
  return std::binary_search(pod.resource_names.begin(), pod.resource_names.end(), "nvidia.com/gpu");
}

TEST_CASE("An operator evicts only the pods that use the GPU, even if it is killed and a response is lost") {
  // A cluster in memory: three nodes with a driver, and on each node a web server that does not use the GPU.
  auto clock = std::make_shared<FakeClock>();
  auto cluster = std::make_shared<FakeCluster>(clock);
  const Fleet fleet = AddFleet(*cluster, {.node_count = 3});
  // A training pod runs on the first node.
  cluster->AddPod(PodBuilder("team-b", "training")
                      .OnNode(fleet.node_names[0])
                      .OwnedByReplicaSet("training")
                      .WithResource("nvidia.com/gpu")
                      .Build());
  const auto web_uids = [&] {
    std::vector<std::string> uids;
    for (const Pod& pod : cluster->pods()) {
      if (pod.ref.ns == "team-a") uids.push_back(pod.ref.uid);
    }
    return uids;
  };
  const auto web_before = web_uids();

  // The operator: its identity, its policy and its options. The checker judges every request that passes through its
  // guard.
  const DriverIdentity identity = *DriverIdentity::Create("nvidia.com", "gpu");
  const LabelSelector driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
  const UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 1};
  EngineOptions options{.snapshot = {.ns = fleet.ns, .driver_labels = driver_labels, .uses_driver = UsesGpu},
                        .clock = clock};
  options.executor.calls_in_flight = 1;  // makes all calls in this thread
  InvariantChecker checker(cluster, InvariantsOf(identity, options, policy));
  options.observer = checker.MakeObserver();
  const auto make_engine = [&] { return *UpgradeEngine::Create(identity, checker.Guard("operator"), options); };

  // A new driver arrives. The response to the first patch is lost, and after six passes the operator is killed.
  cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  cluster->FailNextAfterApplying(Operation::kPatchNode, absl::UnavailableError("504 gateway timeout"));
  auto engine = make_engine();
  for (int pass = 0; pass < 300; ++pass) {
    REQUIRE(engine->Reconcile({}, policy).ok());
    REQUIRE(checker.Report() == "");  // or, for example, "I3: node node-1: the cordon that was lifted ..."
    if (pass == 5) engine = make_engine();
    cluster->Advance(absl::Seconds(2));
  }

  CHECK_FALSE(cluster->pod("team-b", "training").has_value());  // the pod that used the GPU was evicted
  CHECK(web_uids() == web_before);                              // the other pods were not evicted
  for (const Pod& pod : cluster->daemon_set_pods(fleet.ns, fleet.daemon_set)) CHECK(RevisionHash(pod) == "rev-2");
  for (const Node& node : cluster->nodes()) CHECK_FALSE(node.unschedulable);
  CHECK(checker.upgrades() == 3);
}

}  // namespace
